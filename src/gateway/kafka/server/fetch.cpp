#include "gateway/kafka/server/fetch.h"

#include <algorithm>
#include <optional>

#include "base/held_bytes.h"
#include "base/log.h"
#include "gateway/kafka/server/repeats.h"
#include "queue/kafka/records.h"

namespace moraine::kafka {
namespace {

constexpr std::int16_t kVersionMin = 4;
constexpr std::int16_t kVersionOfTopicIds = 13;
// A watch of a partition.
constexpr std::size_t kWatchBytes = 128;
// How often a read that found more than expected is repeated, before it is accepted.
constexpr int kReadingsMax = 4;
// Partitions that are read before other requests run.
constexpr std::size_t kPartsPerTurn = 256;

std::size_t bounded(std::int32_t asked, std::size_t most) {
  return std::min(static_cast<std::size_t>(std::max(asked, 0)), most);
}

// One client sends a topic's id, as text, in the field of its name.
std::optional<TopicId> id_in_text(const std::string& text) {
  Uuid id;
  std::size_t digits = 0;
  for (const char c : text) {
    if (c == '-') continue;
    const int value = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (value < 0 || digits == 2 * id.bytes.size()) return std::nullopt;
    std::byte& byte = id.bytes[digits / 2];
    byte = static_cast<std::byte>((std::to_integer<int>(byte) << 4) | value);
    ++digits;
  }
  if (digits != 2 * id.bytes.size() || id.to_string() != text) return std::nullopt;
  return to_topic_id(id);
}

Slice batch_of_message(const queue::StoredEntry& entry) {
  BatchOptions options;
  options.base_offset = static_cast<std::int64_t>(entry.offset);
  options.partition_leader_epoch = kLeaderEpoch;
  Record record;
  record.timestamp = entry.max_timestamp_ms;
  record.value = entry.payload.span();
  BatchBuilder builder(options);
  if (!builder.append(record)) return {};
  return std::move(builder).build();
}

}  // namespace

FetchWork::FetchWork(ServerContext& server, FetchRequest request, RequestContext about)
    : server_(server),
      request_(std::move(request)),
      about_(std::move(about)),
      deadline_(server.executor.now() +
                std::clamp<Duration>(std::chrono::milliseconds(request_.max_wait_ms),
                                     Duration::zero(), kFetchWaitMax)),
      bytes_max_(bounded(request_.max_bytes, kFetchBytesMax)),
      bytes_min_(std::min(bounded(request_.min_bytes, kFetchBytesMax), bytes_max_)) {
  find_parts();
  keep_what_is_needed();
}

FetchWork::~FetchWork() {
  for (Part& part : parts_) {
    if (part.watch != 0) part.partition->unwatch(part.watch);
  }
  if (disconnect_hook_ != 0) about_.client->drop(disconnect_hook_);
}

TopicPtr FetchWork::find_topic(const FetchRequest::Topic& asked) const {
  if (about_.version >= kVersionOfTopicIds) return server_.topics.find(to_topic_id(asked.topic_id));
  if (TopicPtr topic = server_.topics.find(asked.name)) return topic;
  const auto id = id_in_text(asked.name);
  return id ? server_.topics.find(*id) : nullptr;
}

// A partition that is named again has its answer already.
void FetchWork::find_parts() {
  const bool by_id = about_.version >= kVersionOfTopicIds;
  Repeats named;
  std::vector<std::pair<TopicPtr, const FetchRequest::Partition*>> asked_for;
  for (const FetchRequest::Topic& asked : request_.topics) {
    const TopicPtr info = find_topic(asked);
    FetchResponse::Topic& topic = response_.topics.emplace_back();
    topic.name = asked.name;
    topic.topic_id = asked.topic_id;
    for (const FetchRequest::Partition& partition : asked.partitions) {
      const bool first = by_id ? named.first(asked.topic_id, partition.partition)
                               : named.first(asked.name, partition.partition);
      if (!first) continue;
      topic.partitions.emplace_back();
      asked_for.emplace_back(info, &partition);
    }
    if (topic.partitions.empty()) response_.topics.pop_back();
  }
  const ErrorCode missing =
      by_id ? ErrorCode::kUnknownTopicId : ErrorCode::kUnknownTopicOrPartition;
  for (FetchResponse::Topic& topic : response_.topics) {
    for (FetchResponse::Partition& answer : topic.partitions) {
      const auto& [info, partition] = asked_for[parts_.size()];
      parts_.push_back(find_part(info, missing, *partition, answer));
      failed_ |= !parts_.back().partition;
    }
  }
}

// The memory that it may hold for long while it waits.
void FetchWork::keep_what_is_needed() {
  request_.topics = {};
  request_.forgotten_topics = {};
  std::size_t bytes = parts_.size() * (sizeof(Part) + kWatchBytes);
  for (const FetchResponse::Topic& topic : response_.topics) {
    bytes += sizeof(topic) + topic.name.size();
    bytes += topic.partitions.capacity() * sizeof(FetchResponse::Partition);
  }
  if (about_.memory && bytes < about_.memory->bytes()) about_.memory->settle(bytes);
}

FetchWork::Part FetchWork::find_part(const TopicPtr& topic, ErrorCode missing,
                                     const FetchRequest::Partition& asked,
                                     FetchResponse::Partition& answer) {
  Part part;
  part.answer = &answer;
  answer.partition_index = asked.partition;
  if (about_.version < kVersionMin) {
    answer.error_code = ErrorCode::kUnsupportedVersion;
    return part;
  }
  FoundPartition found = find_partition(server_, topic, asked.partition);
  answer.error_code = topic ? found.error : missing;
  if (!found.partition) return part;
  answer.error_code = check_leader_epoch(asked.current_leader_epoch);
  if (answer.error_code != ErrorCode::kNone) return part;
  if (asked.fetch_offset < 0) {
    answer.error_code = ErrorCode::kOffsetOutOfRange;
    return part;
  }
  part.topic = std::move(found.topic);
  part.partition = std::move(found.partition);
  part.offset = static_cast<queue::Offset>(asked.fetch_offset);
  part.bytes_max = bounded(asked.partition_max_bytes, kFetchBytesMax);
  return part;
}

bool FetchWork::set_offsets(Part& part) {
  if (part.answer->error_code != ErrorCode::kNone) return false;
  const queue::PartitionInfo info = part.partition->info();
  if (part.partition->stopped()) {
    part.answer->error_code = ErrorCode::kNotLeaderOrFollower;
  } else if (part.offset < info.start || part.offset > info.end) {
    part.answer->error_code = ErrorCode::kOffsetOutOfRange;
  }
  if (part.answer->error_code != ErrorCode::kNone) {
    part.answer->high_watermark = -1;
    part.answer->last_stable_offset = -1;
    part.answer->log_start_offset = -1;
    failed_ = true;
    return false;
  }
  part.answer->high_watermark = static_cast<std::int64_t>(info.end);
  part.answer->last_stable_offset = part.answer->high_watermark;
  part.answer->log_start_offset = static_cast<std::int64_t>(info.start);
  part.written_bytes = info.written_bytes;
  return true;
}

bool FetchWork::any_data() {
  bool found = false;
  for (Part& part : parts_) {
    if (!part.partition || !set_offsets(part)) continue;
    found |= !at_end(part);
  }
  return found;
}

// The expected size of read_all(): what is requested, or one batch, but no more than is stored from
// the offsets on. Parts that are answered with an error are not read.
std::size_t FetchWork::room_needed() const {
  std::uint64_t asked = 0;
  std::uint64_t stored = 0;
  for (const Part& part : parts_) {
    if (!part.partition || part.answer->error_code != ErrorCode::kNone) continue;
    const queue::PartitionInfo info = part.partition->info();
    if (part.offset >= info.end || info.start >= info.end) continue;
    const std::uint64_t messages = info.end - info.start;
    const std::uint64_t left = std::min(messages, info.end - part.offset);
    const std::uint64_t likely = 2 * (info.bytes / messages + 1) * left;
    const std::uint64_t here = std::min(info.bytes, likely);
    asked += std::min<std::uint64_t>(part.bytes_max, here);
    stored += here;
  }
  const std::uint64_t one_batch = std::min<std::uint64_t>(stored, kCrowdedFetchBytesMax);
  return std::max(std::min<std::uint64_t>(asked, bytes_max_), one_batch);
}

Task<void> FetchWork::take_room(std::size_t bytes) {
  const std::size_t more = bytes - std::min(bytes, room_.bytes());
  if (more > 0) co_await kafka::take_room(server_, *about_.client, room_, more);
}

Task<void> FetchWork::read_within_budget() {
  const std::size_t limit = server_.responses.limit();
  const std::size_t left = limit - std::min(limit, server_.responses.used());
  std::size_t most = std::max(kCrowdedFetchBytesMax, left / kFetchPartOfRest);
  if (about_.client->unsent_bytes() > 0) most = std::min(most, kUnsentBytesMax);
  bytes_max_ = std::min(bytes_max_, most);
  bytes_min_ = std::min(bytes_min_, bytes_max_);
  std::size_t need = room_needed();
  for (int reading = 1; true; ++reading) {
    co_await take_room(need);
    if (about_.client->disconnected()) co_return;
    ready_bytes_ = co_await read_all();
    if (held_bytes_ <= room_.bytes() || reading == kReadingsMax) break;
    if (room_.budget()->grow_now(room_, held_bytes_ - room_.bytes())) break;
    need = held_bytes_;
    drop_records();
  }
  room_.settle(held_bytes_);
}

Task<FetchOutcome> FetchWork::run() {
  while (true) {
    const bool has_data = any_data();
    if (has_data) {
      co_await read_within_budget();
      if (ready_bytes_ >= bytes_min_ || failed_ || time_over()) break;
      drop_records();
      room_.release();
    } else if (bytes_min_ == 0 || parts_.empty() || failed_ || time_over()) {
      break;
    }
    co_await wait_for_change();
  }
  for (const Part& part : parts_) server_.metrics.counted(part.answer->error_code);
  co_return FetchOutcome{std::move(response_), std::move(room_)};
}

bool FetchWork::time_over() const {
  return about_.client->disconnected() || server_.executor.now() >= deadline_;
}

void FetchWork::drop_records() {
  for (Part& part : parts_) part.answer->records = {};
  held_bytes_ = 0;
}

void FetchWork::copy_small_parts(std::vector<Slice>& slices) {
  std::size_t held = HeldBytes(slices).total();
  if (!server_.responses.roomy() || held_bytes_ + held > kSharedBlockBytesMax) {
    std::vector<Slice*> all;
    all.reserve(slices.size());
    for (Slice& slice : slices) all.push_back(&slice);
    release_large_blocks(all);
    held = HeldBytes(slices).total();
  }
  held_bytes_ += held;
}

// Parts that are in memory are read without leaving this lane. What the others need is loaded
// meanwhile, from the first one on that is not.
Task<std::size_t> FetchWork::read_all() {
  std::size_t total = 0;
  bool loading = false;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    Part& part = parts_[i];
    if (i % kPartsPerTurn == kPartsPerTurn - 1) co_await yield(server_.executor);
    if (!part.partition || part.answer->error_code != ErrorCode::kNone) continue;
    if (total > 0 && total >= bytes_max_) break;
    const std::size_t left = bytes_max_ - std::min(total, bytes_max_);
    if (!set_offsets(part) || at_end(part)) continue;
    const queue::ReadRequest request{part.offset, std::min(part.bytes_max, left)};
    Result<queue::ReadAnswer> read;
    if (auto cached = part.partition->read_cached(request)) {
      read = std::move(*cached);
    } else {
      if (!std::exchange(loading, true)) read_ahead(i, left);
      read = co_await part.partition->read(request);
    }
    total += take_answer(part, std::move(read), request.bytes_max, total == 0);
  }
  co_return total;
}

void FetchWork::read_ahead(std::size_t from, std::size_t bytes) {
  std::size_t total = 0;
  for (std::size_t i = from; i < parts_.size() && total < bytes; ++i) {
    const Part& part = parts_[i];
    if (!part.partition || part.answer->error_code != ErrorCode::kNone) continue;
    part.partition->read_ahead(part.offset, part.bytes_max);
    total += part.bytes_max;
  }
}

std::size_t FetchWork::take_answer(Part& part, Result<queue::ReadAnswer> read, std::size_t most,
                                   bool first) {
  if (!read) {
    part.answer->error_code = partition_error(read.error());
    if (read.error().code == Errc::kCorrupt) log_damage(part, read.error());
    failed_ = true;
    return 0;
  }
  part.answer->high_watermark = static_cast<std::int64_t>(read->end);
  part.answer->last_stable_offset = part.answer->high_watermark;
  part.answer->log_start_offset = static_cast<std::int64_t>(read->start);
  std::size_t bytes = 0;
  for (queue::StoredEntry& entry : read->entries) {
    const bool whole = entry.format == queue::EntryFormat::kKafkaBatch;
    Slice batch = whole ? std::move(entry.payload) : batch_of_message(entry);
    if (bytes + batch.size() > most && !(first && bytes == 0)) break;
    bytes += batch.size();
    part.answer->records.slices.push_back(std::move(batch));
  }
  read->entries.clear();
  copy_small_parts(part.answer->records.slices);
  return bytes;
}

void FetchWork::log_damage(const Part& part, const Error& error) {
  server_.damaged_reads.write(server_.executor.now(), {{"topic", part.topic->name},
                                                       {"partition", part.answer->partition_index},
                                                       {"offset", part.offset},
                                                       {"reason", error.context}});
}

void FetchWork::watch_all() {
  if (std::exchange(watching_, true)) return;
  for (Part& part : parts_) {
    if (!part.partition) continue;
    part.watch = part.partition->watch([changed = changed_] { changed->set(); });
  }
  disconnect_hook_ = about_.client->on_disconnect([changed = changed_] { changed->set(); });
}

// Whether there may be enough to answer by now.
bool FetchWork::worth_reading() const {
  bool moved = false;
  std::uint64_t fresh = 0;
  for (const Part& part : parts_) {
    if (!part.partition) continue;
    const queue::PartitionInfo info = part.partition->info();
    if (part.partition->stopped() || info.start > part.offset) return true;
    moved |= static_cast<std::int64_t>(info.end) != part.answer->high_watermark;
    fresh += info.written_bytes - part.written_bytes;
  }
  return moved && (fresh == 0 || ready_bytes_ + fresh >= bytes_min_);
}

Task<void> FetchWork::wait_for_change() {
  watch_all();
  server_.metrics.fetches_waiting.add(1);
  while (!time_over() && !worth_reading()) co_await changed_->wait_until(deadline_);
  server_.metrics.fetches_waiting.add(-1);
}

Task<FetchOutcome> fetch(ServerContext& server, FetchRequest request, RequestContext about) {
  constexpr std::int32_t kNoSession = -1;
  constexpr std::int32_t kNewSession = 0;
  if (request.session_epoch != kNoSession && request.session_epoch != kNewSession) {
    // Sessions are never created: the client continues with full requests.
    FetchOutcome outcome;
    outcome.response.error_code = server.metrics.counted(ErrorCode::kFetchSessionIdNotFound);
    co_return outcome;
  }
  FetchWork work(server, std::move(request), std::move(about));
  co_return co_await work.run();
}

}  // namespace moraine::kafka
