#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "gateway/kafka/protocol/records.h"
#include "gateway/kafka/server/handlers.h"
#include "gateway/kafka/server/topic_batches.h"
#include "scheme/topic_config.h"

namespace moraine::kafka {
namespace {

constexpr std::int16_t kVersionMin = 3;
constexpr std::int16_t kVersionOfZstd = 7;

// The minimum timeout of a write, whatever the client sends: a short pause of a disk is no failure.
constexpr std::chrono::milliseconds kTimeoutMin{1000};
// The maximum, so that a connection does not wait for ever.
constexpr std::chrono::milliseconds kTimeoutMax = std::chrono::minutes(10);

// Of all error messages of one answer: past it errors have codes only.
constexpr std::size_t kErrorTextBytesMax = std::size_t{256} << 10;

using Outcome = ProduceResponse::Partition;

// A batch that is being written to its partition.
struct Write {
  Outcome* outcome = nullptr;
  std::shared_ptr<queue::Partition> partition;
  std::shared_ptr<OneShot<queue::WriteAnswer>> answer;
  std::optional<queue::WriteAnswer> got;
  std::int64_t append_time = -1;
};

// Shared with the task that collects answers, which may outlive the request.
struct Collection {
  std::vector<Write> writes;
  OneShot<bool> done;    // False: the time is over, or the client has disconnected.
  RequestMemory memory;  // The partitions hold the payloads until they answer.
  std::vector<ByteBudget::Lease> recompressed;  // Of recompressed payloads.
  // Bytes of error texts that the answer may still have: the request reserved no more.
  std::size_t text_left = kErrorTextBytesMax;
  std::size_t records_left = kRecordErrorsMax;
};

void explain(Outcome& outcome, std::string text, Collection& all) {
  if (text.size() > all.text_left) return;
  all.text_left -= text.size();
  outcome.error_message = std::move(text);
}

void refuse_with(Outcome& outcome, Refusal refusal, Collection& all) {
  outcome.error_code = refusal.code;
  explain(outcome, std::move(refusal.message), all);
}

Checked<void> check_batch(const RecordBatch& batch, const TopicSettings& settings,
                          std::int16_t version) {
  const ProduceRules rules{.bytes_max = static_cast<std::size_t>(settings.max_message_bytes),
                           .zstd_allowed = version >= kVersionOfZstd};
  if (auto checked = check_produced(batch, rules); !checked) return checked;
  if (batch.header.transactional()) {
    return refuse(ErrorCode::kTransactionalIdAuthorizationFailed, std::string(kNoTransactions));
  }
  return check_records(batch, kCheckedBytesMax);
}

queue::WriteRequest write_of(const RecordBatch& batch) {
  const BatchHeader& header = batch.header;
  queue::WriteRequest request;
  request.payload = batch.bytes;
  request.format = queue::EntryFormat::kKafkaBatch;
  request.count = static_cast<std::uint32_t>(header.record_count);
  request.max_timestamp_ms = header.max_timestamp;
  request.checksum_verified = true;  // By check_produced(), or it was computed here.
  if (header.has_producer()) {
    request.producer.source_id = fmt::format("kafka:{}", header.producer_id);
    request.producer.numbering = queue::Numbering::kSequence;
    request.producer.number = static_cast<std::uint64_t>(header.base_sequence);
    request.producer.epoch = header.producer_epoch;
  }
  return request;
}

// The memory of a recompressed batch is reserved in the budget of requests.
Checked<RecordBatch> recompress(const RecordBatch& batch, const TopicSettings& settings,
                                Collection& all) {
  auto made = in_topic_codec(batch, settings);
  ByteBudget* const budget = all.memory ? all.memory->budget() : nullptr;
  if (!made || !budget) return made;
  // A lease for each: a lease that holds bytes may exceed the limit.
  ByteBudget::Lease& lease = all.recompressed.emplace_back();
  if (budget->grow_now(lease, made->bytes.size())) return made;
  return refuse(ErrorCode::kRequestTimedOut,
                "no memory to compress the batch in the topic's codec; retry");
}

// The batch of a request as it is to be stored, except for the time of appending.
std::expected<RecordBatch, BatchRefusal> prepare(ServerContext& server,
                                                 const TopicSettings& settings,
                                                 const Records& records, std::int16_t version,
                                                 Collection& all) {
  const auto refused = [](Refusal refusal) {
    return std::unexpected(BatchRefusal{std::move(refusal), {}});
  };
  auto batch = single_batch(records.joined());
  if (!batch) return refused(std::move(batch.error()));
  if (auto checked = check_batch(*batch, settings, version); !checked) {
    return refused(std::move(checked.error()));
  }
  const std::int64_t now_ms = server.clock.since_epoch().count();
  if (auto checked = check_times(*batch, settings, now_ms, all.records_left); !checked) {
    all.records_left -= checked.error().records.size();
    return std::unexpected(std::move(checked.error()));
  }
  if (!needs_other_codec(*batch, settings)) return std::move(*batch);
  auto made = recompress(*batch, settings, all);
  if (!made) return refused(std::move(made.error()));
  return std::move(*made);
}

// Queues one batch, or sets the error in `outcome`.
std::optional<Write> queue_batch(ServerContext& server, const FoundPartition& found,
                                 const TopicSettings& settings, const Records& records,
                                 std::int16_t version, Collection& all, Outcome& outcome) {
  const std::size_t recompressed = all.recompressed.size();
  auto batch = prepare(server, settings, records, version, all);
  if (!batch) {
    refuse_with(outcome, std::move(batch.error().refusal), all);
    outcome.record_errors = std::move(batch.error().records);
    return std::nullopt;
  }
  queue::WriteRequest request = write_of(*batch);
  Write write;
  if (settings.log_append_time) {
    write.append_time = server.clock.since_epoch().count();
    const auto placed = place(*batch, {.log_append_time = write.append_time});
    request.payload = Records{{placed[0], placed[1]}}.joined();
    // The copy is no longer than the request's own batch, so it need not wait; it replaces a
    // recompressed one.
    const bool paid = all.recompressed.size() > recompressed;
    if (!paid && all.memory && all.memory->budget() != nullptr) {
      all.memory->settle(all.memory->bytes() + request.payload.size());
    }
    request.max_timestamp_ms = write.append_time;
  }
  write.outcome = &outcome;
  write.partition = found.partition;
  write.answer = found.partition->write(std::move(request));
  return write;
}

ErrorCode error_of(const queue::WriteAnswer& answer) {
  switch (answer.status) {
    case queue::WriteStatus::kOk: return ErrorCode::kNone;
    case queue::WriteStatus::kDuplicate:
      return answer.offset ? ErrorCode::kNone : ErrorCode::kDuplicateSequenceNumber;
    case queue::WriteStatus::kOutOfOrder: return ErrorCode::kOutOfOrderSequenceNumber;
    case queue::WriteStatus::kStaleEpoch: return ErrorCode::kInvalidProducerEpoch;
    case queue::WriteStatus::kInvalid: return ErrorCode::kInvalidRecord;
    // The topic's limits: a retry will fail again.
    case queue::WriteStatus::kFullByCount:
    case queue::WriteStatus::kFullByBytes: return ErrorCode::kPolicyViolation;
    // Clients retry these.
    case queue::WriteStatus::kDiskFull: return ErrorCode::kStorageError;
    case queue::WriteStatus::kOverloaded:
    case queue::WriteStatus::kFailedBefore:
    case queue::WriteStatus::kUnknown:
      return answer.disk_full ? ErrorCode::kStorageError : ErrorCode::kRequestTimedOut;
    // The client takes a new epoch and begins with sequence 0.
    case queue::WriteStatus::kSourceForgotten: return ErrorCode::kUnknownProducerId;
    case queue::WriteStatus::kStopped: return ErrorCode::kNotLeaderOrFollower;
  }
  return ErrorCode::kUnknownServerError;
}

void tell(const Write& write, Collection& all) {
  Outcome& outcome = *write.outcome;
  const queue::WriteAnswer& answer = *write.got;
  outcome.error_code = error_of(answer);
  outcome.log_start_offset = static_cast<std::int64_t>(write.partition->info().start);
  if (outcome.error_code != ErrorCode::kNone) {
    explain(outcome,
            answer.detail.empty() ? std::string(queue::to_string(answer.status)) : answer.detail,
            all);
    return;
  }
  outcome.base_offset = static_cast<std::int64_t>(answer.offset.value_or(0));
  if (answer.status == queue::WriteStatus::kOk) outcome.log_append_time_ms = write.append_time;
}

Task<void> collect(std::shared_ptr<Collection> all) {
  for (Write& write : all->writes) write.got = co_await *write.answer;
  all->done.set(true);
}

// Waits for the answers, at most until `deadline` and while the client is connected.
Task<void> wait_for(ServerContext& server, std::shared_ptr<Collection> all,
                    std::shared_ptr<Client> client, Instant deadline) {
  server.writes.spawn(collect(all));
  if (!all->done.ready() && !client->disconnected()) {
    Executor& executor = server.executor;
    const TimerId timer = executor.schedule(deadline, [all] { all->done.set(false); });
    const std::uint64_t hook =
        client->on_disconnect([all, &executor] { executor.post([all] { all->done.set(false); }); });
    co_await all->done;
    client->drop(hook);
    executor.cancel(timer);
  }
  for (const Write& write : all->writes) {
    if (write.got) {
      tell(write, *all);
    } else {
      refuse_with(*write.outcome, {ErrorCode::kRequestTimedOut, "not durable in time"}, *all);
    }
  }
}

// One answer for every partition of the request.
ProduceResponse all_answered(const ProduceRequest& request, ErrorCode code) {
  const bool transactional = code == ErrorCode::kTransactionalIdAuthorizationFailed;
  ProduceResponse response;
  for (const ProduceRequest::Topic& topic : request.topics) {
    ProduceResponse::Topic& answered = response.topics.emplace_back();
    answered.name = topic.name;
    for (const ProduceRequest::Partition& partition : topic.partitions) {
      answered.partitions.emplace_back().index = partition.index;
      answered.partitions.back().error_code = code;
      if (transactional) answered.partitions.back().error_message = kNoTransactions;
    }
  }
  return response;
}

// The error of the request as a whole.
ErrorCode refusal_of(const ProduceRequest& request, std::int16_t version) {
  if (version < kVersionMin) return ErrorCode::kUnsupportedVersion;
  if (request.acks < -1 || request.acks > 1) return ErrorCode::kInvalidRequiredAcks;
  if (request.transactional_id) return ErrorCode::kTransactionalIdAuthorizationFailed;
  return ErrorCode::kNone;
}

}  // namespace

Task<ProduceOutcome> produce(ServerContext& server, ProduceRequest request, RequestContext about) {
  ProduceOutcome outcome;
  const ErrorCode refusal = refusal_of(request, about.version);
  if (request.transactional_id) server.log_refusal(*about.client, kNoTransactions);
  outcome.response = all_answered(request, refusal);
  const auto all = std::make_shared<Collection>();
  all->memory = std::move(about.memory);
  for (std::size_t t = 0; refusal == ErrorCode::kNone && t < request.topics.size(); ++t) {
    ProduceRequest::Topic& topic = request.topics[t];
    const TopicPtr info = server.topics.find(topic.name);
    const TopicSettings settings = info ? topic_settings(*info) : TopicSettings{};
    for (std::size_t p = 0; p < topic.partitions.size(); ++p) {
      Outcome& answer = outcome.response.topics[t].partitions[p];
      const FoundPartition found = find_partition(server, info, answer.index);
      answer.error_code = found.error;
      if (!found.reason.empty()) explain(answer, found.reason, *all);
      if (!found.partition) continue;
      auto write = queue_batch(server, found, settings, topic.partitions[p].records, about.version,
                               *all, answer);
      if (write) all->writes.push_back(std::move(*write));
    }
  }
  request.topics.clear();  // The partitions hold the payloads.
  if (!all->writes.empty()) {
    const auto timeout =
        std::clamp(std::chrono::milliseconds(request.timeout_ms), kTimeoutMin, kTimeoutMax);
    co_await wait_for(server, all, about.client, server.executor.now() + timeout);
  }
  for (const ProduceResponse::Topic& topic : outcome.response.topics) {
    for (const Outcome& answer : topic.partitions) {
      outcome.failed |= server.metrics.counted(answer.error_code) != ErrorCode::kNone;
    }
  }
  co_return outcome;
}

}  // namespace moraine::kafka
