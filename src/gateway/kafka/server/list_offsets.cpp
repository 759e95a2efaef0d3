#include <algorithm>
#include <optional>

#include "gateway/kafka/server/handlers.h"
#include "gateway/kafka/server/repeats.h"
#include "queue/kafka/records.h"

namespace moraine::kafka {
namespace {

using Answer = ListOffsetsResponse::Partition;

constexpr int kBatchesSearchedMax = 1'000;

// The first record of an entry that `wanted` accepts, as (time, offset).
template <class Wanted>
Checked<std::optional<TimedOffset>> first_in(const queue::StoredEntry& entry, Wanted wanted) {
  const auto offset = static_cast<std::int64_t>(entry.offset);
  if (entry.format != queue::EntryFormat::kKafkaBatch) {
    const TimedOffset found{entry.max_timestamp_ms, offset};
    return wanted(found) ? std::optional(found) : std::nullopt;
  }
  auto batch = parse_batch(entry.payload);
  if (!batch) return std::unexpected(std::move(batch.error()));
  auto reader = RecordReader::open(*batch);
  if (!reader) return std::unexpected(std::move(reader.error()));
  Record record;
  while (true) {
    const auto more = reader->next(record);
    if (!more) return std::unexpected(more.error());
    if (!*more) return std::nullopt;
    const TimedOffset found{record.timestamp, offset + reader->offset_delta()};
    if (wanted(found)) return found;
  }
}

void take_found(Answer& answer, const Checked<std::optional<TimedOffset>>& found) {
  if (!found) {
    answer.error_code = ErrorCode::kStorageError;
  } else if (*found) {
    answer.timestamp = (*found)->timestamp;
    answer.offset = (*found)->offset;
  }
}

// The first record from the start on that is not older than `time`.
Task<void> find_by_time(queue::Partition& partition, std::int64_t time, Answer& answer) {
  auto entry = co_await partition.find_time(time);
  for (int searched = 0; searched < kBatchesSearchedMax; ++searched) {
    if (!entry) answer.error_code = partition_error(entry.error());
    if (!entry || !*entry) co_return;
    const auto start = static_cast<std::int64_t>(partition.info().start);
    const auto found = first_in(**entry, [=](const TimedOffset& record) {
      return record.offset >= start && record.timestamp >= time;
    });
    take_found(answer, found);
    if (!found || *found) co_return;
    // Its records of that time were deleted.
    entry = co_await partition.find_time_from((*entry)->offset + (*entry)->count, time);
  }
}

// The newest record of an entry from `start` on.
Checked<std::optional<TimedOffset>> newest_in(const queue::StoredEntry& entry, std::int64_t start) {
  std::optional<TimedOffset> newest;
  auto read = first_in(entry, [&](const TimedOffset& record) {
    const bool newer = !newest || record.timestamp > newest->timestamp;
    if (record.offset >= start && newer) newest = record;
    return false;
  });
  if (!read) return read;
  return newest;
}

Task<void> find_newest(queue::Partition& partition, Answer& answer) {
  const auto entry = co_await partition.find_newest();
  if (!entry) answer.error_code = partition_error(entry.error());
  if (!entry || !*entry) co_return;
  const auto start = static_cast<std::int64_t>(partition.info().start);
  auto newest = newest_in(**entry, start);
  // The newest record of the batch may be deleted; then another batch may have a newer one. Each
  // step halves the possible time range.
  std::int64_t low = newest && *newest ? (*newest)->timestamp : -1;
  std::int64_t high = newest ? (*entry)->max_timestamp_ms : low;
  std::optional<queue::StoredEntry> later;
  while (low < high) {
    const std::int64_t middle = high - (high - low) / 2;
    auto found = co_await partition.find_time_from((*entry)->offset + (*entry)->count, middle);
    if (!found) {
      answer.error_code = partition_error(found.error());
      co_return;
    }
    if (*found) {
      low = std::max(middle, (*found)->max_timestamp_ms);
      later = std::move(*found);
    } else {
      high = middle - 1;
    }
  }
  if (later) newest = newest_in(*later, start);
  take_found(answer, newest);
}

Task<void> answer_partition(ServerContext& server, TopicPtr topic,
                            ListOffsetsRequest::Partition asked, std::int16_t version,
                            Answer& answer) {
  answer.partition_index = asked.partition_index;
  const FoundPartition found = find_partition(server, std::move(topic), asked.partition_index);
  answer.error_code =
      found.partition ? check_leader_epoch(asked.current_leader_epoch) : found.error;
  if (answer.error_code != ErrorCode::kNone) co_return;
  const queue::PartitionInfo info = found.partition->info();
  if (asked.timestamp == kLatestOffset) {
    answer.offset = static_cast<std::int64_t>(info.end);
  } else if (asked.timestamp == kEarliestOffset || asked.timestamp == kEarliestLocalOffset) {
    answer.offset = static_cast<std::int64_t>(info.start);
  } else if (asked.timestamp == kOffsetOfMaxTimestamp) {
    co_await find_newest(*found.partition, answer);
  } else if (asked.timestamp >= 0) {
    co_await find_by_time(*found.partition, asked.timestamp, answer);
  } else {
    answer.error_code = ErrorCode::kInvalidRequest;
  }
  if (answer.offset >= 0) answer.leader_epoch = kLeaderEpoch;
  if (version == 0 && answer.offset >= 0 && asked.max_num_offsets > 0) {
    answer.old_style_offsets.push_back(answer.offset);
  }
}

}  // namespace

Task<ListOffsetsResponse> serve(ServerContext& server, ListOffsetsRequest request,
                                RequestContext about) {
  ListOffsetsResponse response;
  Repeats named;
  for (const ListOffsetsRequest::Topic& asked : request.topics) {
    ListOffsetsResponse::Topic& topic = response.topics.emplace_back();
    topic.name = asked.name;
    const TopicPtr info = server.topics.find(asked.name);
    for (const ListOffsetsRequest::Partition& partition : asked.partitions) {
      Answer& answer = topic.partitions.emplace_back();
      if (named.first(asked.name, partition.partition_index)) {
        co_await answer_partition(server, info, partition, about.version, answer);
      } else {
        answer.partition_index = partition.partition_index;
        answer.error_code = ErrorCode::kInvalidRequest;
      }
      server.metrics.counted(answer.error_code);
    }
  }
  co_return response;
}

Task<OffsetForLeaderEpochResponse> serve(ServerContext& server, OffsetForLeaderEpochRequest request,
                                         RequestContext) {
  OffsetForLeaderEpochResponse response;
  for (const OffsetForLeaderEpochRequest::Topic& asked : request.topics) {
    OffsetForLeaderEpochResponse::Topic& topic = response.topics.emplace_back();
    topic.name = asked.name;
    for (const OffsetForLeaderEpochRequest::Partition& partition : asked.partitions) {
      OffsetForLeaderEpochResponse::Partition& answer = topic.partitions.emplace_back();
      answer.partition = partition.partition;
      const FoundPartition found = find_partition(server, asked.name, partition.partition);
      answer.error_code =
          found.partition ? check_leader_epoch(partition.current_leader_epoch) : found.error;
      if (server.metrics.counted(answer.error_code) != ErrorCode::kNone) continue;
      if (partition.leader_epoch > kLeaderEpoch) continue;
      answer.leader_epoch = kLeaderEpoch;
      answer.end_offset = static_cast<std::int64_t>(found.partition->info().end);
    }
  }
  co_return response;
}

}  // namespace moraine::kafka
