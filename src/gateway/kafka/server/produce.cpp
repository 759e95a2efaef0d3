#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "client/unpacking.h"
#include "gateway/kafka/server/handlers.h"
#include "gateway/kafka/server/topic_batches.h"
#include "queue/kafka/records.h"
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

using client::kPlainInlineMax;
using client::kUnpackedInlineMax;
constexpr std::size_t kRequestInlineMax = std::size_t{256} << 10;  // Of one request, packed.
// As kUnpackedInlineMax, for batches that are compressed in another codec.
constexpr std::size_t kRecompressedInlineMax = std::size_t{4} << 10;

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

// A batch of the request, from its checks to its write.
struct Checking {
  Outcome* outcome = nullptr;
  std::shared_ptr<queue::Partition> partition;
  std::shared_ptr<const TopicSettings> settings;
  std::expected<RecordBatch, BatchRefusal> batch;
  bool unpacked = false;      // Its records were checked, or it was refused before.
  bool recompressed = false;  // `batch` is not part of the request's memory.
};

std::unexpected<BatchRefusal> refused(Refusal refusal) {
  return std::unexpected(BatchRefusal{std::move(refusal), {}});
}

// The checks that need no unpacking.
std::expected<RecordBatch, BatchRefusal> check_outside(const Records& records,
                                                       const TopicSettings& settings,
                                                       std::int16_t version) {
  auto batch = single_batch(records.joined());
  if (!batch) return refused(std::move(batch.error()));
  const ProduceRules rules{.bytes_max = static_cast<std::size_t>(settings.max_message_bytes),
                           .zstd_allowed = version >= kVersionOfZstd};
  if (auto checked = check_produced(*batch, rules); !checked) {
    return refused(std::move(checked.error()));
  }
  if (batch->header.transactional()) {
    return refused({ErrorCode::kTransactionalIdAuthorizationFailed, std::string(kNoTransactions)});
  }
  return std::move(*batch);
}

// The rest: records, times, codec; unpacks at most `plain_max` bytes and names at most
// `records_left` records, which it reduces. False, and nothing changes: there are more bytes. Uses
// nothing but its arguments, so it may run on any thread.
bool check_inside(Checking& checking, std::int64_t now_ms, std::size_t plain_max,
                  std::size_t& records_left) {
  RecordBatch& batch = *checking.batch;
  const TopicSettings& settings = *checking.settings;
  if (auto checked = check_records(batch, plain_max); !checked) {
    const bool longer = checked.error().code == ErrorCode::kMessageTooLarge;
    if (longer && plain_max < kCheckedBytesMax) return false;
    checking.batch = refused(std::move(checked.error()));
  } else if (auto timed = check_times(batch, settings, now_ms, records_left); !timed) {
    records_left -= timed.error().records.size();
    checking.batch = std::unexpected(std::move(timed.error()));
  } else if (needs_other_codec(batch, settings)) {
    auto made = in_topic_codec(batch, settings);
    checking.recompressed = made.has_value();
    if (made) {
      checking.batch = std::move(*made);
    } else {
      checking.batch = refused(std::move(made.error()));
    }
  }
  checking.unpacked = true;
  return true;
}

// Whether unpacking takes so little time that the lane does it at once; `left` is what it still
// unpacks of the request.
bool is_short(const RecordBatch& batch, const TopicSettings& settings, std::size_t left) {
  const bool recompress = needs_other_codec(batch, settings);
  if (!recompress && batch.header.codec() == Compression::kNone) return true;
  return batch.bytes.size() <=
         std::min(left, recompress ? kRecompressedInlineMax : kUnpackedInlineMax);
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
void reserve_recompressed(Checking& checking, Collection& all) {
  ByteBudget* const budget = all.memory ? all.memory->budget() : nullptr;
  if (!checking.recompressed || !budget) return;
  // A lease for each: a lease that holds bytes may exceed the limit.
  if (budget->grow_now(all.recompressed.emplace_back(), checking.batch->bytes.size())) return;
  checking.batch = refused(
      {ErrorCode::kRequestTimedOut, "no memory to compress the batch in the topic's codec; retry"});
}

// Queues one batch, or sets the error in its outcome.
std::optional<Write> queue_batch(ServerContext& server, Checking& checking, Collection& all) {
  Outcome& outcome = *checking.outcome;
  if (!checking.batch) {
    refuse_with(outcome, std::move(checking.batch.error().refusal), all);
    outcome.record_errors = std::move(checking.batch.error().records);
    return std::nullopt;
  }
  queue::WriteRequest request = write_of(*checking.batch);
  Write write;
  if (checking.settings->log_append_time) {
    write.append_time = server.clock.since_epoch().count();
    const auto placed = place(*checking.batch, {.log_append_time = write.append_time});
    request.payload = Records{{placed[0], placed[1]}}.joined();
    // The copy is no longer than the request's own batch, so it need not wait; it replaces a
    // recompressed one.
    if (!checking.recompressed && all.memory && all.memory->budget() != nullptr) {
      all.memory->settle(all.memory->bytes() + request.payload.size());
    }
    request.max_timestamp_ms = write.append_time;
  }
  write.outcome = &outcome;
  write.partition = std::move(checking.partition);
  write.answer = write.partition->write(std::move(request));
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

// Finds the partitions and checks their batches, except for the long ones' insides.
std::vector<Checking> check_all(ServerContext& server, const ProduceRequest& request,
                                std::int16_t version, ProduceResponse& response, Collection& all) {
  std::vector<Checking> batches;
  std::size_t inline_left = kRequestInlineMax;
  const std::int64_t now_ms = server.clock.since_epoch().count();
  for (std::size_t t = 0; t < request.topics.size(); ++t) {
    const ProduceRequest::Topic& topic = request.topics[t];
    const TopicPtr info = server.topics.find(topic.name);
    const auto settings =
        std::make_shared<const TopicSettings>(info ? topic_settings(*info) : TopicSettings{});
    for (std::size_t p = 0; p < topic.partitions.size(); ++p) {
      Outcome& answer = response.topics[t].partitions[p];
      FoundPartition found = find_partition(server, info, answer.index);
      answer.error_code = found.error;
      if (!found.reason.empty()) explain(answer, found.reason, all);
      if (!found.partition) continue;
      Checking& checking = batches.emplace_back();
      checking.outcome = &answer;
      checking.partition = std::move(found.partition);
      checking.settings = settings;
      checking.batch = check_outside(topic.partitions[p].records, *settings, version);
      if (!checking.batch) {
        checking.unpacked = true;
      } else if (is_short(*checking.batch, *settings, inline_left)) {
        const bool packed = checking.batch->header.codec() != Compression::kNone;
        if (packed) inline_left -= std::min(inline_left, checking.batch->bytes.size());
        check_inside(checking, now_ms, packed ? kPlainInlineMax : kCheckedBytesMax,
                     all.records_left);
        reserve_recompressed(checking, all);
      }
    }
  }
  return batches;
}

bool has_to_be_unpacked(const Checking& checking) {
  return !checking.unpacked;
}

// Checks the insides of long batches: in the background, or on the lane, in turns, when the
// background has enough to do already.
Task<void> unpack(ServerContext& server, std::vector<Checking>& batches, Collection& all) {
  const std::int64_t now_ms = server.clock.since_epoch().count();
  Executor& where = client::unpacking_executor(server.background, server.executor);
  for (Checking& checking : batches) {
    if (checking.unpacked) continue;
    co_await yield(where);
    check_inside(checking, now_ms, kCheckedBytesMax, all.records_left);
    co_await hop(server.executor);
    reserve_recompressed(checking, all);
  }
}

}  // namespace

Task<ProduceOutcome> produce(ServerContext& server, ProduceRequest request, RequestContext about) {
  Turns::Turn turn(about.client->produce_turns());
  ProduceOutcome outcome;
  const ErrorCode refusal = refusal_of(request, about.version);
  if (request.transactional_id) server.log_refusal(*about.client, kNoTransactions);
  outcome.response = all_answered(request, refusal);
  const auto all = std::make_shared<Collection>();
  all->memory = std::move(about.memory);
  std::vector<Checking> batches;
  if (refusal == ErrorCode::kNone) {
    batches = check_all(server, request, about.version, outcome.response, *all);
  }
  request.topics.clear();  // The batches hold their payloads.
  if (std::ranges::any_of(batches, &has_to_be_unpacked)) co_await unpack(server, batches, *all);
  co_await turn.wait();
  for (Checking& checking : batches) {
    auto write = queue_batch(server, checking, *all);
    if (write) all->writes.push_back(std::move(*write));
  }
  turn.end();
  batches.clear();  // The partitions hold the payloads.
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
