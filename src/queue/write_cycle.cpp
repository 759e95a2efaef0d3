// The write cycle: takes the queued writes, commits them in one transaction, and answers them.

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/log.h"
#include "queue/facts.h"
#include "queue/stored_partition.h"

namespace moraine::queue {
namespace {

constexpr Duration kQuotaPauseMax = 100ms;
// Doubled with each failure in a row.
constexpr Duration kPauseAfterFailure = 10ms;
constexpr std::uint64_t kPauseDoublingsMax = 6;
constexpr std::size_t kSourceFactBytes = 256;  // At most, without the source's id.

std::vector<HeadBlob> levels(const std::vector<StoredBlob>& head) {
  std::vector<HeadBlob> levels;
  levels.reserve(head.size());
  for (const StoredBlob& blob : head) levels.push_back({blob.bytes, blob.level});
  return levels;
}

}  // namespace

bool StoredPartition::has_work() const {
  return !waiting_.empty() || !actions_.empty() || stray_parts_ || retention_due() || sources_due();
}

void StoredPartition::kick() {
  if (cycling_ || stopped_) return;
  cycling_ = true;
  scope_.spawn(run_cycles());
}

Task<void> StoredPartition::run_cycles() {
  const auto self = shared_from_this();
  // Requests of one turn of the event loop share a transaction.
  co_await yield(world_.executor);
  while (!stopped_ && has_work()) {
    co_await wait_for_quota();
    co_await probe_space();
    if (stopped_) break;
    if (co_await run_cycle()) {
      failures_in_row_ = 0;
      continue;
    }
    const std::uint64_t doublings = std::min(failures_in_row_ - 1, kPauseDoublingsMax);
    co_await sleep_for(world_.executor, kPauseAfterFailure * (1 << doublings), scope_);
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
    const Duration pause =
        std::min<Duration>(std::chrono::duration_cast<Duration>(needed), kQuotaPauseMax);
    co_await action_queued_.wait_until(now + pause, scope_);
  }
}

// A full disk is polled from time to time; otherwise the colour comes with each write.
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
  cycle.first = end_;
  cycle.end = end_;
  cycle.start = start_;
  if (stray_parts_) {
    // Before the parts of messages that begin in this cycle.
    cycle.commands.emplace_back(DeleteKeys{KeyRange::prefix(key_prefix('x', index_))});
    cycle.drops_parts = true;
  }
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
      if (!has_bug(SeededBug::kNone)) co_await apply_seeded_bug(cycle);
      done = co_await tablet_->execute(std::move(cycle.commands));
    }
  }
  if (done && cycle.shown) {
    answer_writes(cycle);
    answer_actions(cycle);
  } else if (done) {
    apply(cycle);
  } else {
    fail_cycle(cycle, done.error());
  }
  co_return done.has_value();
}

// Whether the consumer is known, or one more is allowed, which is counted at once.
bool StoredPartition::may_add_consumer(const Cycle& cycle, const std::string& name) {
  return consumers_.contains(name) || cycle.consumers.contains(name) || facts_.reserve_consumer();
}

void StoredPartition::take_actions(Cycle& cycle) {
  while (!actions_.empty() && cycle.actions.size() < kCycleActionsMax &&
         cycle.fact_bytes < kCycleFactBytesMax) {
    Action action = std::move(actions_.front());
    actions_.pop_front();
    if (auto* set = std::get_if<SetConsumer>(&action.what)) {
      if (!may_add_consumer(cycle, set->offset.consumer)) {
        action.done->set(
            fail(Errc::kOverloaded,
                 fmt::format("{} offsets are committed in the partitions of this node, its limit; "
                             "remove consumer groups that are no longer used",
                             facts_.counts()->limits().consumers_max)));
        continue;
      }
      set->offset.committed_ms = cycle.now_ms;
      cycle.fact_bytes += set->offset.metadata.size() + kConsumerNameBytesMax;
      cycle.consumers[set->offset.consumer] = std::move(set->offset);
    } else if (auto* forget = std::get_if<ForgetConsumer>(&action.what)) {
      cycle.consumers[forget->consumer] = std::nullopt;
    } else {
      cycle.start = std::max(cycle.start, std::get<Trim>(action.what).offset);
    }
    cycle.actions.push_back(std::move(action.done));
  }
}

bool StoredPartition::full(const Cycle& cycle) {
  return cycle.answers.size() >= kCycleWritesMax || cycle.new_bytes >= kCycleBytesMax ||
         cycle.end - cycle.first >= kCycleMessagesMax ||
         cycle.fact_bytes >= 2 * kCycleFactBytesMax ||
         cycle.commands.size() + cycle.sources.size() >= kCycleCommandsMax;
}

void StoredPartition::take_writes(Cycle& cycle) {
  if (const std::optional<WriteAnswer> refusal_now = refusal()) {
    return refuse_writes(cycle, *refusal_now);
  }
  if (config_.write_bytes_per_second > 0 && quota_ <= 0) return;
  // At least one write is taken; more only while the quota lasts.
  const double quota = config_.write_bytes_per_second > 0 ? quota_ : kCycleBytesMax;
  const auto room = static_cast<std::size_t>(std::min<double>(quota, kCycleBytesMax));
  while (!waiting_.empty() && !full(cycle)) {
    WriteRequest& request = waiting_.front().request;
    const bool first = cycle.answers.empty();
    const bool finishes_parts = request.parts > 1 && request.part + 1 == request.parts;
    // The last part of a message gets a transaction of its own.
    if (finishes_parts && !first) break;
    const std::size_t bytes = request.payload.size() + kPieceEntryBytes;
    if (!first && cycle.new_bytes + bytes > room) break;
    waiting_bytes_ -= bytes;
    WriteAnswer answer = request.parts > 1 ? take_part(cycle, request) : take_write(cycle, request);
    if (answer.status == WriteStatus::kDuplicate) ++counters_.duplicates;
    const bool parts_failed = request.parts > 1 && (answer.status == WriteStatus::kOverloaded ||
                                                    answer.status == WriteStatus::kInvalid);
    answer.write_time_ms = cycle.now_ms;
    cycle.answers.push_back(
        {std::move(waiting_.front().done), std::move(answer), std::move(request.producer)});
    waiting_.pop_front();
    if (parts_failed) {
      note_refused(cycle.answers.back().producer);
      fail_source(cycle, std::string(cycle.answers.back().producer.source_id));
    }
    if (finishes_parts) break;
  }
  if (waiting_.empty()) refusing_ = false;
  quota_ -= static_cast<double>(cycle.new_bytes);
}

// Refuses all queued writes: stored later, they would make the refused ones duplicates.
void StoredPartition::refuse_writes(Cycle& cycle, const WriteAnswer& refusal) {
  while (!waiting_.empty()) {
    Waiting& waiting = waiting_.front();
    waiting_bytes_ -= waiting.request.payload.size() + kPieceEntryBytes;
    note_refused(waiting.request.producer);
    cycle.answers.push_back({std::move(waiting.done), refusal, {}});
    waiting_.pop_front();
    if (has_bug(SeededBug::kServeBehindRefused)) break;
  }
  refusing_ = false;
}

// Refuses the queued writes of the source, for the same reason.
void StoredPartition::fail_source(Cycle& cycle, const std::string& source_id) {
  std::deque<Waiting> others;
  for (Waiting& waiting : std::exchange(waiting_, {})) {
    if (waiting.request.producer.source_id != source_id) {
      others.push_back(std::move(waiting));
      continue;
    }
    waiting_bytes_ -= waiting.request.payload.size() + kPieceEntryBytes;
    note_refused(waiting.request.producer);
    cycle.answers.push_back({std::move(waiting.done),
                             refused(WriteStatus::kFailedBefore, "an earlier part failed"),
                             {}});
  }
  waiting_ = std::move(others);
}

void StoredPartition::note_refused(const Producer& producer) {
  if (has_bug(SeededBug::kForgetRefused) || stopped_) return;
  const bool known = sources_.find(producer.source_id) != nullptr;
  refusals_.refused(producer, known, world_.executor.now());
}

std::string StoredPartition::forgotten_reason() const {
  std::string reason = fmt::format(
      "the source was forgotten: more than {} have written to the partition", config_.sources_max);
  if (facts_.counts() == nullptr) return reason;
  return reason + fmt::format(", or more than {} to all partitions of the node",
                              facts_.counts()->limits().sources_max);
}

Judgement StoredPartition::judge_write(const Source* known, const WriteRequest& request) {
  const Instant now = world_.executor.now();
  if (!known && sources_.take_forgotten(request.producer.source_id)) {
    note_refused(request.producer);
    return {WriteStatus::kSourceForgotten, std::nullopt, forgotten_reason()};
  }
  if (!known && !refusals_.begins(request.producer, now)) {
    return {WriteStatus::kFailedBefore, std::nullopt,
            fmt::format("sequence {} of an unknown producer; earlier batches may still be retried",
                        request.producer.number)};
  }
  Judgement judged = judge(known, request.producer, request.count);
  if (judged.status == WriteStatus::kOutOfOrder && refusals_.may_have_refused(now)) {
    judged.status = WriteStatus::kFailedBefore;
  }
  return judged;
}

const Source* StoredPartition::source(const Cycle& cycle, const std::string& id) const {
  const auto changed = cycle.sources.find(id);
  return changed == cycle.sources.end() ? sources_.find(id) : &changed->second;
}

WriteAnswer StoredPartition::take_write(Cycle& cycle, WriteRequest& request) {
  Producer& producer = request.producer;
  const bool numbered = producer.numbering != Numbering::kNone;
  const Source* known = numbered ? source(cycle, producer.source_id) : nullptr;
  const Judgement judged = judge_write(known, request);
  WriteAnswer answer = refused(judged.status, judged.detail);
  answer.offset = judged.offset;
  if (known) answer.max_number = known->max_number;
  cycle.confirm = cycle.confirm || judged.status == WriteStatus::kOutOfOrder;
  if (judged.status != WriteStatus::kOk) return answer;
  StoredEntry entry;
  entry.offset = cycle.end;
  entry.count = request.count;
  entry.format = request.format;
  entry.max_timestamp_ms = request.max_timestamp_ms;
  entry.write_time_ms = cycle.now_ms;
  entry.source_id = producer.source_id;
  entry.number = producer.number;
  entry.checksum_verified = request.checksum_verified;
  entry.payload = std::move(request.payload);
  cycle.end += request.count;
  cycle.new_bytes += piece_cost(entry);
  answer.offset = entry.offset;
  if (numbered) {
    Source next = after(known, producer, request.count, entry.offset, cycle.now_ms);
    answer.max_number = next.max_number;
    if (!cycle.sources.contains(producer.source_id)) {
      cycle.fact_bytes += producer.source_id.size() + kSourceFactBytes;
    }
    cycle.sources[producer.source_id] = std::move(next);
  }
  cycle.entries.push_back(std::move(entry));
  return answer;
}

// Reads back the blobs to be rewritten. If they cannot be read now, the new blob is stored alone.
Task<void> StoredPartition::lay_out_cycle(Cycle& cycle) {
  if (cycle.entries.empty() && !cycle.whole) co_return;
  LayoutRequest request;
  request.partition = index_;
  request.head.assign(blobs_.begin() + static_cast<std::ptrdiff_t>(head_from()), blobs_.end());
  const std::vector<HeadBlob> head = levels(request.head);
  const bool many =
      !request.head.empty() && cycle.end - request.head.front().name.offset >= kHeadMessagesMax;
  request.plan = cycle.whole || many
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
  request.low_watermark = std::min<std::uint64_t>(config_.low_watermark, kPieceBytesMax);
  request.now_ms = cycle.now_ms;
  if (!request.entries.empty() || !request.head.empty()) {
    cycle.layout = lay_out(std::move(request));
    for (Command& command : cycle.layout.commands) cycle.commands.push_back(std::move(command));
  }
  if (cycle.whole) add_whole_message(cycle);
}

RetentionView StoredPartition::retention_view(Offset start, const Cycle* cycle) const {
  RetentionView view;
  view.now_ms = now_ms();
  view.total_bytes = bytes_;
  view.start = start;
  if (has_bug(SeededBug::kIgnoreImportant)) return view;
  for (const std::string& name : config_.important_consumers) {
    const auto found = consumers_.find(name);
    Offset read = found == consumers_.end() ? start : read_up_to(found->second);
    if (cycle) {
      const auto changed = cycle->consumers.find(name);
      if (changed != cycle->consumers.end()) {
        read = std::min({read, changed->second ? changed->second->offset : start, cycle->first});
      }
    }
    view.unread_from = std::min(view.unread_from.value_or(read), read);
  }
  return view;
}

// A consumer that committed past the end has read only up to the end of that time.
Offset StoredPartition::read_up_to(const ConsumerOffset& consumer) const {
  const auto end = ends_at_commit_.find(consumer.consumer);
  return end == ends_at_commit_.end() ? consumer.offset : std::min(consumer.offset, end->second);
}

void StoredPartition::note_end(const ConsumerOffset& consumer, Offset end) {
  if (consumer.offset > end) {
    ends_at_commit_[consumer.consumer] = end;
  } else {
    ends_at_commit_.erase(consumer.consumer);
  }
}

bool StoredPartition::retention_due() const {
  if (blobs_.empty()) return false;
  const StoredBlob& oldest = blobs_.front();
  return removable({oldest.end(), oldest.bytes, oldest.written_ms}, retention_view(start_, nullptr),
                   config_);
}

bool StoredPartition::sources_due() const {
  return !sources_.stale(start_, now_ms(), config_, 1, facts_.sources_allowed()).empty();
}

void StoredPartition::retention_tick() {
  if (stopped_) return;
  refusals_.sweep(world_.executor.now());
  if (retention_due() || sources_due()) kick();
  retention_timer_ = world_.executor.schedule(world_.executor.now() + kRetentionPeriod,
                                              [this] { retention_tick(); });
}

// Old blobs, except those that this transaction changes.
void StoredPartition::add_removals(Cycle& cycle) {
  RetentionView view = retention_view(cycle.start, &cycle);
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
  cycle.forgotten = sources_.stale(cycle.start, cycle.now_ms, config_, kForgottenSourcesPerCycle,
                                   facts_.sources_allowed());
}

void StoredPartition::add_facts(Cycle& cycle) {
  if (!has_bug(SeededBug::kForgetSources)) {
    for (const auto& [id, source] : cycle.sources) {
      cycle.commands.emplace_back(WriteKey{source_key(index_, id), encode_source(source)});
    }
  }
  std::erase_if(cycle.forgotten,
                [&cycle](const Sources::Stale& stale) { return cycle.sources.contains(stale.id); });
  for (const Sources::Stale& stale : cycle.forgotten) {
    cycle.commands.emplace_back(delete_key(source_key(index_, stale.id)));
  }
  for (const auto& [name, consumer] : cycle.consumers) {
    const std::string key = consumer_key(index_, name);
    if (consumer) {
      cycle.commands.emplace_back(WriteKey{key, encode_consumer(*consumer)});
    } else {
      cycle.commands.emplace_back(delete_key(key));
    }
  }
  const bool moves = cycle.start != start_ && !has_bug(SeededBug::kForgetStart);
  if (moves || (cycle.confirm && cycle.commands.empty())) {
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
  for (const EncodedPiece& piece : std::exchange(cycle.layout.fresh, {})) {
    cache_.insert(cache_key(piece.header.first_offset, piece.header.messages),
                  Piece::trusted(piece));
  }
  for (auto& [id, source] : cycle.sources) {
    refusals_.stored(id, source);
    sources_.set(id, std::move(source));
  }
  for (const Sources::Stale& stale : cycle.forgotten) {
    if (stale.by_count) {
      sources_.forget_by_count(stale.id);
    } else {
      sources_.erase(stale.id);
    }
  }
  if (cycle.drops_parts) stray_parts_ = false;
  if (!cycle.consumers.empty()) apply_consumers(cycle);
  if (!stopped_) count_facts();
  counters_.removed_messages += cycle.start - start_;
  counters_.written_messages += cycle.end - end_;
  counters_.written_bytes += cycle.new_bytes;
  counters_.rewritten_bytes += cycle.layout.rewritten_bytes;
  if (cycle.layout.compacted) ++counters_.compactions;
  start_ = cycle.start;
  const bool moved = std::exchange(end_, cycle.end) != cycle.end;
  disk_full_ = disk_full_ || tablet_->colour() >= blob::Colour::kYellow;
  publish_info();
  answer_writes(cycle);
  answer_actions(cycle);
  if (moved) notify_watches();
}

void StoredPartition::apply_consumers(Cycle& cycle) {
  const std::lock_guard lock(shared_mutex_);
  for (auto& [name, consumer] : cycle.consumers) {
    if (consumer) {
      note_end(*consumer, cycle.first);
      consumers_[name] = std::move(*consumer);
    } else {
      consumers_.erase(name);
      ends_at_commit_.erase(name);
    }
  }
}

void StoredPartition::answer_writes(Cycle& cycle) {
  for (PendingAnswer& write : std::exchange(cycle.answers, {})) {
    write.done->set(std::move(write.answer));
  }
}

void StoredPartition::answer_actions(Cycle& cycle) {
  for (auto& done : std::exchange(cycle.actions, {})) done->set(Result<void>());
}

// Seeded bugs: each breaks one rule of a cycle for the simulator's checkers to find.
Task<void> StoredPartition::apply_seeded_bug(Cycle& cycle) {
  switch (SeededBugs<SeededBug>::on()) {
    case SeededBug::kAckBeforeCommit: answer_writes(cycle); break;
    case SeededBug::kAckConsumerEarly: answer_actions(cycle); break;
    case SeededBug::kShowBeforeCommit: {
      auto answers = std::exchange(cycle.answers, {});
      auto actions = std::exchange(cycle.actions, {});
      apply(cycle);
      cycle.shown = true;
      cycle.answers = std::move(answers);
      cycle.actions = std::move(actions);
      break;
    }
    case SeededBug::kCacheBeforeCommit:
      for (const EncodedPiece& piece : cycle.layout.fresh) {
        cache_.insert(cache_key(piece.header.first_offset, piece.header.messages),
                      Piece::trusted(piece));
      }
      break;
    case SeededBug::kDeleteHeadFirst: {
      std::vector<Command> deletes;
      for (Command& command : cycle.commands) {
        if (std::holds_alternative<DeleteKeys>(command)) deletes.push_back(command);
      }
      if (!deletes.empty()) (void)co_await tablet_->execute(std::move(deletes));
      break;
    }
    default: break;
  }
}

// Everything behind a failed write fails: stored later, it would make the failed one a duplicate.
void StoredPartition::fail_cycle(Cycle& cycle, const Error& error) {
  const bool known = error.code == Errc::kOverloaded || error.code == Errc::kInvalidArgument;
  // A partition that keeps failing logs at growing intervals.
  if (std::has_single_bit(++failures_in_row_)) {
    log_warning("a partition's write failed",
                {{"partition", index_}, {"in_a_row", failures_in_row_}, {"why", error.message()}});
  }
  // It is unknown which parts of open messages are stored.
  open_messages_.clear();
  stray_parts_ = true;
  if (!stopped_) count_facts();  // What was reserved is released.
  // Before the answers are set: a writer may write again at once.
  for (const PendingAnswer& write : cycle.answers) {
    if (write.answer.status == WriteStatus::kOk) note_refused(write.producer);
  }
  for (const Waiting& waiting : waiting_) note_refused(waiting.request.producer);
  const WriteStatus status = known ? WriteStatus::kOverloaded : WriteStatus::kUnknown;
  const bool disk_full = error.code == Errc::kNoSpace;
  for (const PendingAnswer& write : cycle.answers) {
    write.done->set(refused(status, error.message(), disk_full));
  }
  for (auto& done : cycle.actions) done->set(std::unexpected(error));
  fail_waiting(WriteStatus::kFailedBefore, error.message(), disk_full);
}

void StoredPartition::fail_waiting(WriteStatus status, const std::string& detail, bool disk_full) {
  waiting_bytes_ = 0;
  refusing_ = false;
  for (const Waiting& waiting : waiting_) note_refused(waiting.request.producer);
  for (Waiting& waiting : std::exchange(waiting_, {})) {
    waiting.done->set(refused(status, detail, disk_full));
  }
  for (Action& action : std::exchange(actions_, {})) {
    action.done->set(fail(Errc::kUnavailable, detail));
  }
}

}  // namespace moraine::queue
