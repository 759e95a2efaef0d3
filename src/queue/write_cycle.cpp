// The write cycle: takes what waits, makes one transaction of it, and answers when it is durable.

#include <fmt/format.h>

#include <algorithm>

#include "base/checksum.h"
#include "base/log.h"
#include "queue/facts.h"
#include "queue/stored_partition.h"

namespace moraine::queue {
namespace {

constexpr Duration kQuotaPauseMax = 100ms;
constexpr Duration kPauseAfterFailure = 10ms;

WriteAnswer refused(WriteStatus status, std::string detail) {
  WriteAnswer answer;
  answer.status = status;
  answer.detail = std::move(detail);
  return answer;
}

std::vector<HeadBlob> levels(const std::vector<StoredBlob>& head) {
  std::vector<HeadBlob> levels;
  levels.reserve(head.size());
  for (const StoredBlob& blob : head) levels.push_back({blob.bytes, blob.level});
  return levels;
}

}  // namespace

bool StoredPartition::has_work() const {
  return !waiting_.empty() || !actions_.empty() || retention_due();
}

void StoredPartition::kick() {
  if (cycling_ || stopped_) return;
  cycling_ = true;
  scope_.spawn(run_cycles());
}

Task<void> StoredPartition::run_cycles() {
  const auto self = shared_from_this();
  // What is asked in one turn of the loop goes together.
  co_await yield(world_.executor);
  while (!stopped_ && has_work()) {
    co_await wait_for_quota();
    co_await probe_space();
    if (!stopped_ && !co_await run_cycle()) co_await sleep_for(world_.executor, kPauseAfterFailure);
  }
  cycling_ = false;
}

Task<void> StoredPartition::wait_for_quota() {
  while (config_.write_bytes_per_second > 0 && !stopped_) {
    const auto rate = static_cast<double>(config_.write_bytes_per_second);
    const Instant now = world_.executor.now();
    const double passed = std::chrono::duration<double>(now - quota_at_).count();
    quota_ = std::min(quota_ + passed * rate, rate);
    quota_at_ = now;
    if (quota_ > 0 || waiting_.empty() || !actions_.empty()) co_return;
    const auto needed = std::chrono::duration<double>(-quota_ / rate + 0.001);
    co_await sleep_for(
        world_.executor,
        std::min<Duration>(std::chrono::duration_cast<Duration>(needed), kQuotaPauseMax));
  }
}

// A full disk is asked again from time to time; otherwise each write tells.
Task<void> StoredPartition::probe_space() {
  if (!disk_full_) co_return;
  const Instant now = world_.executor.now();
  if (now - space_probed_at_ < kSpaceProbePeriod) co_return;
  space_probed_at_ = now;
  const auto colour = co_await tablet_->ask_colour();
  if (colour) disk_full_ = *colour >= blob::Colour::kYellow;
}

std::optional<WriteAnswer> StoredPartition::refusal() const {
  if (disk_full_) return refused(WriteStatus::kDiskFull, "the disks are nearly full");
  if (end_ - start_ >= config_.count_max) {
    return refused(WriteStatus::kFullByCount,
                   fmt::format("{} messages, the limit is {}", end_ - start_, config_.count_max));
  }
  if (bytes_ >= config_.bytes_max) {
    return refused(WriteStatus::kFullByBytes,
                   fmt::format("{} bytes, the limit is {}", bytes_, config_.bytes_max));
  }
  return std::nullopt;
}

Task<bool> StoredPartition::run_cycle() {
  Cycle cycle;
  cycle.now_ms = now_ms();
  cycle.end = end_;
  cycle.start = start_;
  take_actions(cycle);
  take_writes(cycle);
  co_await lay_out_cycle(cycle);
  add_removals(cycle);
  add_facts(cycle);
  Result<void> done;
  if (!cycle.commands.empty()) {
    if (stopped_) {
      done = fail(Errc::kUnavailable, "the partition stops");
    } else {
      done = co_await tablet_->execute(std::move(cycle.commands));
    }
  }
  if (done) {
    apply(cycle);
  } else {
    fail_cycle(cycle, done.error());
  }
  co_return done.has_value();
}

void StoredPartition::take_actions(Cycle& cycle) {
  while (!actions_.empty() && cycle.actions.size() < kCycleActionsMax) {
    Action action = std::move(actions_.front());
    actions_.pop_front();
    if (auto* set = std::get_if<SetConsumer>(&action.what)) {
      set->offset.offset = std::min(set->offset.offset, end_);
      set->offset.committed_ms = cycle.now_ms;
      cycle.consumers[set->offset.consumer] = std::move(set->offset);
    } else if (auto* forget = std::get_if<ForgetConsumer>(&action.what)) {
      cycle.consumers[forget->consumer] = std::nullopt;
    } else {
      cycle.start = std::max(cycle.start, std::get<Trim>(action.what).offset);
    }
    cycle.actions.push_back(std::move(action.done));
  }
}

void StoredPartition::take_writes(Cycle& cycle) {
  if (config_.write_bytes_per_second > 0 && quota_ <= 0) return;
  const std::optional<WriteAnswer> refusal_now = refusal();
  std::size_t taken = 0;
  while (!waiting_.empty() && taken < kCycleWritesMax && cycle.new_bytes < kCycleBytesMax) {
    WriteRequest& request = waiting_.front().request;
    const bool finishes_parts = request.parts > 1 && request.part + 1 == request.parts;
    // The last part of a message is a transaction of its own.
    if (finishes_parts && (taken > 0 || cycle.whole)) break;
    const std::size_t bytes = request.payload.size() + kPieceEntryBytes;
    if (taken > 0 && cycle.new_bytes + bytes > kCycleBytesMax) break;
    waiting_bytes_ -= bytes;
    WriteAnswer answer = refusal_now         ? *refusal_now
                         : request.parts > 1 ? take_part(cycle, request)
                                             : take_write(cycle, request);
    if (answer.status == WriteStatus::kDuplicate) ++counters_.duplicates;
    answer.write_time_ms = cycle.now_ms;
    cycle.answers.emplace_back(std::move(waiting_.front().done), std::move(answer));
    waiting_.pop_front();
    ++taken;
    if (finishes_parts) break;
  }
  if (waiting_.empty()) refusing_ = false;
  quota_ -= static_cast<double>(cycle.new_bytes);
}

const Source* StoredPartition::source(const Cycle& cycle, const std::string& id) const {
  const auto changed = cycle.sources.find(id);
  return changed == cycle.sources.end() ? sources_.find(id) : &changed->second;
}

WriteAnswer StoredPartition::take_write(Cycle& cycle, WriteRequest& request) {
  Producer& producer = request.producer;
  const bool numbered = producer.numbering != Numbering::kNone;
  const Source* known = numbered ? source(cycle, producer.source_id) : nullptr;
  const Judgement judged = judge(known, producer, request.count);
  WriteAnswer answer = refused(judged.status, judged.detail);
  answer.offset = judged.offset;
  if (known) answer.max_number = known->max_number;
  if (judged.status != WriteStatus::kOk) return answer;
  StoredEntry entry;
  entry.offset = cycle.end;
  entry.count = request.count;
  entry.format = request.format;
  entry.max_timestamp_ms = request.max_timestamp_ms;
  entry.write_time_ms = cycle.now_ms;
  entry.source_id = producer.source_id;
  entry.number = producer.number;
  entry.payload = std::move(request.payload);
  cycle.end += request.count;
  cycle.new_bytes += piece_cost(entry);
  answer.offset = entry.offset;
  if (numbered) {
    Source next = after(known, producer, request.count, entry.offset, cycle.now_ms);
    answer.max_number = next.max_number;
    cycle.sources[producer.source_id] = std::move(next);
  }
  cycle.entries.push_back(std::move(entry));
  return answer;
}

void StoredPartition::drop_open_message(Cycle& cycle, const std::string& source_id) {
  const auto found = open_messages_.find(source_id);
  if (found == open_messages_.end()) return;
  for (std::uint32_t part = 0; part < found->second.next; ++part) {
    cycle.commands.emplace_back(delete_key(part_key(index_, found->second.slot, part)));
  }
  open_messages_.erase(found);
}

// Parts are kept under names of their own until the last one comes; then one transaction joins them
// to a message, which takes its offset.
WriteAnswer StoredPartition::take_part(Cycle& cycle, WriteRequest& request) {
  const Producer& producer = request.producer;
  const std::string& id = producer.source_id;
  const Source* known = producer.numbering == Numbering::kNone ? nullptr : source(cycle, id);
  const Judgement judged = judge(known, producer, 1);
  if (judged.status != WriteStatus::kOk) {
    WriteAnswer answer = refused(judged.status, judged.detail);
    answer.offset = judged.offset;
    return answer;
  }
  if (request.part == 0) {
    drop_open_message(cycle, id);
    if (open_messages_.size() >= kOpenMessagesMax) {
      return refused(WriteStatus::kOverloaded, "too many messages come in parts");
    }
    open_messages_[id] = {next_slot_++, producer, request.parts, 0, 0, 0};
  }
  const auto found = open_messages_.find(id);
  const bool next = found != open_messages_.end() && found->second.next == request.part &&
                    found->second.parts == request.parts &&
                    found->second.producer.number == producer.number;
  if (!next || found->second.bytes + request.payload.size() > kEntryBytesMax) {
    drop_open_message(cycle, id);
    return refused(WriteStatus::kInvalid, "not the next part of a message");
  }
  OpenMessage& message = found->second;
  message.crc = crc32c(request.payload, message.crc);
  message.bytes += request.payload.size();
  cycle.new_bytes += request.payload.size();
  cycle.commands.emplace_back(
      WriteKey{part_key(index_, message.slot, message.next++), request.payload, true});
  WriteAnswer answer;
  if (message.next < message.parts) return answer;
  WriteRequest whole;
  whole.max_timestamp_ms = request.max_timestamp_ms;
  whole.producer = producer;
  answer = take_write(cycle, whole);
  cycle.whole = std::move(cycle.entries.back());
  cycle.entries.pop_back();
  return answer;
}

// Reads back what is to be rewritten. If that cannot be had now, the new blob stands beside it.
Task<void> StoredPartition::lay_out_cycle(Cycle& cycle) {
  if (cycle.entries.empty() && !cycle.whole) co_return;
  LayoutRequest request;
  request.partition = index_;
  request.head.assign(blobs_.begin() + static_cast<std::ptrdiff_t>(head_from()), blobs_.end());
  const std::vector<HeadBlob> head = levels(request.head);
  request.plan = cycle.whole
                     ? plan_whole_head(head)
                     : plan_head(head, cycle.new_bytes + kPieceHeaderBytes, config_.low_watermark);
  for (std::size_t i = request.plan.rewritten_from; i < request.head.size(); ++i) {
    const auto piece = co_await piece_at(request.head[i].name.offset);
    if (!piece || !*piece) {
      request.entries.clear();
      request.plan.rewritten_from = request.head.size();
      break;
    }
    for (std::size_t j = 0; j < (*piece)->entries(); ++j) {
      request.entries.push_back((*piece)->entry(j));
    }
  }
  for (StoredEntry& entry : cycle.entries) request.entries.push_back(std::move(entry));
  request.low_watermark = std::min(config_.low_watermark, kLevelBorders[0]);
  request.now_ms = cycle.now_ms;
  if (!request.entries.empty() || !request.head.empty()) {
    cycle.layout = lay_out(std::move(request));
    for (Command& command : cycle.layout.commands) cycle.commands.push_back(std::move(command));
  }
  if (cycle.whole) add_whole_message(cycle);
}

void StoredPartition::add_whole_message(Cycle& cycle) {
  const OpenMessage message = open_messages_.extract(cycle.whole->source_id).mapped();
  const auto bytes = static_cast<std::uint32_t>(message.bytes);
  Slice front = encode_piece_front(*cycle.whole, bytes, message.crc);
  StoredBlob blob;
  blob.name = {index_, cycle.whole->offset, 1,
               std::max<std::int64_t>(cycle.whole->max_timestamp_ms, 0), false};
  blob.bytes = front.size() + message.bytes;
  blob.written_ms = cycle.now_ms;
  blob.pieces = {{blob.name.offset, 1, 0, blob.bytes}};
  ConcatKeys join;
  join.inputs.push_back(key_prefix('x', index_) + "front");
  for (std::uint32_t part = 0; part < message.parts; ++part) {
    join.inputs.push_back(part_key(index_, message.slot, part));
  }
  join.output = blob.key();
  cycle.commands.emplace_back(WriteKey{join.inputs.front(), std::move(front), true});
  cycle.commands.emplace_back(std::move(join));
  cycle.layout.added.push_back(std::move(blob));
}

RetentionView StoredPartition::retention_view(Offset start) const {
  RetentionView view;
  view.now_ms = now_ms();
  view.total_bytes = bytes_;
  view.start = start;
  for (const std::string& name : config_.important_consumers) {
    const auto found = consumers_.find(name);
    const Offset read = found == consumers_.end() ? start : found->second.offset;
    view.unread_from = std::min(view.unread_from.value_or(read), read);
  }
  return view;
}

bool StoredPartition::retention_due() const {
  if (blobs_.empty()) return false;
  const StoredBlob& oldest = blobs_.front();
  return removable({oldest.end(), oldest.bytes, oldest.written_ms}, retention_view(start_),
                   config_);
}

void StoredPartition::retention_tick() {
  if (stopped_) return;
  if (retention_due()) kick();
  retention_timer_ = world_.executor.schedule(world_.executor.now() + kRetentionPeriod,
                                              [this] { retention_tick(); });
}

// Old blobs, except those that this transaction changes.
void StoredPartition::add_removals(Cycle& cycle) {
  RetentionView view = retention_view(cycle.start);
  const std::size_t untouched = blobs_.size() - cycle.layout.replaced;
  while (cycle.removed < std::min(untouched, kRemovedBlobsPerCycle)) {
    const StoredBlob& oldest = blobs_[cycle.removed];
    if (!removable({oldest.end(), oldest.bytes, oldest.written_ms}, view, config_)) break;
    cycle.commands.emplace_back(delete_key(oldest.key()));
    cycle.start = std::max(cycle.start, oldest.end());
    view.start = cycle.start;
    view.total_bytes -= oldest.bytes;
    ++cycle.removed;
  }
  cycle.forgotten = sources_.stale(cycle.start, cycle.now_ms, config_, kForgottenSourcesPerCycle);
}

void StoredPartition::add_facts(Cycle& cycle) {
  for (const auto& [id, source] : cycle.sources) {
    cycle.commands.emplace_back(WriteKey{source_key(index_, id), encode_source(source)});
  }
  std::erase_if(cycle.forgotten,
                [&cycle](const std::string& id) { return cycle.sources.contains(id); });
  for (const std::string& id : cycle.forgotten) {
    cycle.commands.emplace_back(delete_key(source_key(index_, id)));
  }
  for (const auto& [name, consumer] : cycle.consumers) {
    const std::string key = consumer_key(index_, name);
    if (consumer) {
      cycle.commands.emplace_back(WriteKey{key, encode_consumer(*consumer)});
    } else {
      cycle.commands.emplace_back(delete_key(key));
    }
  }
  if (cycle.start != start_) {
    const Bounds bounds{cycle.start, std::max(cycle.end, cycle.start)};
    cycle.commands.emplace_back(WriteKey{meta_key(index_), encode_bounds(bounds)});
  }
}

void StoredPartition::apply(Cycle& cycle) {
  for (std::size_t i = 0; i < cycle.layout.replaced; ++i) {
    bytes_ -= blobs_.back().bytes;
    blobs_.pop_back();
  }
  for (std::size_t i = 0; i < cycle.removed; ++i) {
    counters_.removed_bytes += blobs_.front().bytes;
    bytes_ -= blobs_.front().bytes;
    blobs_.pop_front();
  }
  for (StoredBlob& blob : cycle.layout.added) {
    bytes_ += blob.bytes;
    blobs_.push_back(std::move(blob));
  }
  for (Piece& piece : cycle.layout.fresh) {
    const PieceHeader& header = piece.header();
    cache_.insert(cache_key(header.first_offset, header.messages), std::move(piece));
  }
  for (auto& [id, source] : cycle.sources) sources_.set(id, std::move(source));
  for (const std::string& id : cycle.forgotten) sources_.erase(id);
  for (auto& [name, consumer] : cycle.consumers) {
    if (consumer) {
      consumers_[name] = std::move(*consumer);
    } else {
      consumers_.erase(name);
    }
  }
  counters_.removed_messages += cycle.start - start_;
  counters_.written_messages += cycle.end - end_;
  counters_.written_bytes += cycle.new_bytes;
  counters_.rewritten_bytes += cycle.layout.rewritten_bytes;
  if (cycle.layout.compacted) ++counters_.compactions;
  start_ = cycle.start;
  const bool moved = std::exchange(end_, cycle.end) != cycle.end;
  disk_full_ = disk_full_ || tablet_->colour() >= blob::Colour::kYellow;
  for (auto& [done, answer] : cycle.answers) done->set(std::move(answer));
  for (auto& done : cycle.actions) done->set(Result<void>());
  if (moved) tell_watches();
}

// Everything behind a failed write fails: stored later, it would make the failed one a duplicate.
void StoredPartition::fail_cycle(Cycle& cycle, const Error& error) {
  const bool known = error.code == Errc::kOverloaded || error.code == Errc::kInvalidArgument;
  log_warning("a partition's write failed", {{"partition", index_}, {"why", error.message()}});
  // What was on its way of messages in parts is not known to be there.
  open_messages_.clear();
  const WriteStatus status = known ? WriteStatus::kOverloaded : WriteStatus::kUnknown;
  for (auto& [done, answer] : cycle.answers) done->set(refused(status, error.message()));
  for (auto& done : cycle.actions) done->set(std::unexpected(error));
  fail_waiting(WriteStatus::kFailedBefore, error.message());
}

void StoredPartition::fail_waiting(WriteStatus status, const std::string& detail) {
  waiting_bytes_ = 0;
  refusing_ = false;
  for (Waiting& waiting : std::exchange(waiting_, {})) waiting.done->set(refused(status, detail));
  for (Action& action : std::exchange(actions_, {})) {
    action.done->set(fail(Errc::kUnavailable, detail));
  }
}

}  // namespace moraine::queue
