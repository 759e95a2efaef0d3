#include "client/topic_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/event.h"

namespace moraine::client {
namespace {

using queue::WriteStatus;

Errc code_of(WriteStatus status) {
  switch (status) {
    case WriteStatus::kOk:
    case WriteStatus::kDuplicate:
    case WriteStatus::kInvalid: return Errc::kInvalidArgument;
    case WriteStatus::kOutOfOrder:
    case WriteStatus::kStaleEpoch:
    case WriteStatus::kSourceForgotten: return Errc::kConflict;
    case WriteStatus::kOverloaded: return Errc::kOverloaded;
    case WriteStatus::kFullByCount:
    case WriteStatus::kFullByBytes:
    case WriteStatus::kDiskFull: return Errc::kNoSpace;
    case WriteStatus::kFailedBefore: return Errc::kUnavailable;
    case WriteStatus::kUnknown: return Errc::kUnknownOutcome;
    case WriteStatus::kStopped: return Errc::kNotHere;
  }
  return Errc::kUnknownOutcome;
}

Result<Written> outcome_of(const queue::WriteAnswer& answer, queue::PartitionIndex partition) {
  Written written;
  written.partition = partition;
  written.offset = answer.offset;
  if (answer.status == WriteStatus::kOk) return written;
  if (answer.status == WriteStatus::kDuplicate) {
    written.duplicate = true;
    return written;
  }
  const std::string_view status = queue::to_string(answer.status);
  return fail(code_of(answer.status), answer.detail.empty() ? std::string(status) : answer.detail);
}

Result<void> check(const MessageReadOptions& options) {
  if (options.bytes_max == 0 || options.bytes_max > kTopicReadBytesMax) {
    return fail(Errc::kInvalidArgument, fmt::format("bytes_max {}; from 1 to {} are possible",
                                                    options.bytes_max, kTopicReadBytesMax));
  }
  if (options.messages_max == 0 || options.messages_max > kTopicReadMessagesMax) {
    return fail(Errc::kInvalidArgument, fmt::format("messages_max {}; from 1 to {} are possible",
                                                    options.messages_max, kTopicReadMessagesMax));
  }
  if (options.wait.count() < 0 || options.wait > kTopicReadWaitMax) {
    return fail(Errc::kInvalidArgument,
                fmt::format("a wait of {} ms; at most {} hours are possible", options.wait.count(),
                            kTopicReadWaitMax.count()));
  }
  return {};
}

}  // namespace

// Wakes a read when its partition has changed or waits are ended.
class TopicClient::PartitionWatch {
 public:
  PartitionWatch(TopicClient& client, PartitionPtr partition)
      : client_(client), partition_(std::move(partition)) {
    watch_ = partition_->watch([changed = changed_] { changed->set(); });
    client_.waits_.insert(this);
  }
  PartitionWatch(const PartitionWatch&) = delete;
  PartitionWatch& operator=(const PartitionWatch&) = delete;
  ~PartitionWatch() {
    client_.waits_.erase(this);
    partition_->unwatch(watch_);
  }

  const PartitionPtr& partition() const { return partition_; }
  void end() { changed_->set(); }
  // Returns when something has changed since the last wait, or the time is over.
  auto wait_until(Instant deadline) { return changed_->wait_until(deadline); }

 private:
  TopicClient& client_;
  const PartitionPtr partition_;
  // Callbacks may come after the watch has ended.
  const std::shared_ptr<Signal> changed_ = std::make_shared<Signal>(client_.lane_);
  std::uint64_t watch_ = 0;
};

Result<TopicClient::PartitionPtr> TopicClient::find(const TopicInfo& topic,
                                                    queue::PartitionIndex index) {
  const TopicPtr current = topics_.find(topic.id);
  if (!current) return fail(Errc::kNotFound, fmt::format("topic {} was removed", topic.name));
  if (index >= current->partitions) {
    return fail(Errc::kInvalidArgument, fmt::format("partition {}; topic {} has {}", index,
                                                    current->name, current->partitions));
  }
  PartitionPtr partition = topics_.partition_anywhere(topic.id, index);
  if (partition) return partition;
  const std::optional<Error> why = topics_.start_error(topic.id, index);
  return fail(Errc::kNotHere,
              fmt::format("partition {} of topic {} does not run yet, or it is not known where{}{}",
                          index, current->name, why ? "; the last attempt failed: " : "",
                          why ? why->message() : ""));
}

Task<Result<Written>> TopicClient::write(TopicPtr topic, NewBatch batch) {
  CO_TRY(const PartitionPtr partition, find(*topic, batch.partition));
  const auto pending = partition->write(std::move(batch.request));
  const queue::WriteAnswer answer = co_await *pending;
  co_return outcome_of(answer, batch.partition);
}

Task<Result<bool>> TopicClient::add_entry(BatchReader& reader, const queue::StoredEntry& entry) {
  CO_TRY(const std::optional<bool> added, reader.add_if_short(entry));
  if (added) co_return *added;
  co_await yield(unpacking_executor(background_, lane_));
  Result<bool> more = reader.add(entry);
  co_await hop(lane_);
  co_return more;
}

Task<Result<MessageBatch>> TopicClient::read_once(PartitionPtr partition,
                                                  MessageReadOptions options) {
  queue::ReadRequest request;
  request.offset = options.offset;
  request.bytes_max = options.bytes_max;
  request.entries_max = options.messages_max;
  CO_TRY(const queue::ReadAnswer found, co_await partition->read(request));
  BatchReader reader(options);
  std::size_t turn_end = kPlainInlineMax;
  for (const queue::StoredEntry& entry : found.entries) {
    if (reader.plain_bytes() >= turn_end) {
      turn_end = reader.plain_bytes() + kPlainInlineMax;
      co_await yield(lane_);
    }
    CO_TRY(const bool more, co_await add_entry(reader, entry));
    if (!more) break;
  }
  MessageBatch batch = std::move(reader).finish();
  batch.begin = found.start;
  batch.end = found.end;
  co_return batch;
}

Task<Result<MessageBatch>> TopicClient::read(TopicPtr topic, MessageReadOptions options) {
  CO_TRY_VOID(check(options));
  const Instant deadline = lane_.now() + options.wait;
  std::optional<PartitionWatch> watch;
  // The first attempt does not watch the partition: often there is something to read.
  for (bool watches = false;; watches = true) {
    CO_TRY(const PartitionPtr partition, find(*topic, options.partition));
    if (watches && waits_ended_) {
      co_return fail(Errc::kUnavailable, "the database is being closed");
    }
    if (watch && watch->partition() != partition) watch.reset();
    if (watches && !watch) {
      if (waits_.size() >= kWaitingReadsMax) {
        co_return fail(Errc::kOverloaded, fmt::format("{} reads wait", waits_.size()));
      }
      watch.emplace(*this, partition);
    }
    auto batch = co_await read_once(partition, options);
    if (!batch && batch.error().code == Errc::kCorrupt) {
      co_return std::unexpected(std::move(batch).error().within(
          fmt::format("topic {}, partition {}", topic->name, options.partition)));
    }
    if (!batch || !batch->messages.empty() || lane_.now() >= deadline) co_return batch;
    if (batch->next_offset != options.offset) {
      options.offset = batch->next_offset;  // Only markers so far.
    } else if (watch) {
      co_await watch->wait_until(deadline);
    }
  }
}

Task<Result<void>> TopicClient::commit(TopicPtr topic, queue::PartitionIndex partition,
                                       queue::ConsumerOffset offset) {
  CO_TRY(const PartitionPtr found, find(*topic, partition));
  co_return co_await found->commit(std::move(offset));
}

Task<Result<std::optional<CommittedOffset>>> TopicClient::committed(TopicPtr topic,
                                                                    queue::PartitionIndex partition,
                                                                    std::string consumer) {
  CO_TRY(const PartitionPtr found, find(*topic, partition));
  CO_TRY_VOID(co_await found->refresh_committed(consumer));
  auto stored = found->committed(consumer);
  if (!stored) co_return std::nullopt;
  co_return CommittedOffset{stored->offset, std::move(stored->metadata)};
}

Task<Result<PartitionFigures>> TopicClient::figures(TopicPtr topic,
                                                    queue::PartitionIndex partition) {
  CO_TRY(const PartitionPtr found, find(*topic, partition));
  CO_TRY_VOID(co_await found->refresh_info());
  const queue::PartitionInfo info = found->info();
  co_return PartitionFigures{info.start, info.end, info.bytes};
}

void TopicClient::end_waits() {
  waits_ended_ = true;
  for (PartitionWatch* watch : waits_) watch->end();
}

}  // namespace moraine::client
