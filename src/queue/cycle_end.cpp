// The end of a write cycle: removals, the state of producers and consumers, and the answers.

#include <algorithm>
#include <bit>

#include "base/log.h"
#include "queue/facts.h"
#include "queue/stored_partition.h"

namespace moraine::queue {

RetentionView StoredPartition::retention_view(Offset start, const Cycle* cycle) const {
  RetentionView view;
  view.now_ms = now_ms();
  view.total_bytes = bytes_;
  view.start = start;
  if (bug_ == SeededBug::kIgnoreImportant) return view;
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
  return !sources_.stale(start_, now_ms(), config_, 1).empty();
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
  cycle.forgotten = sources_.stale(cycle.start, cycle.now_ms, config_, kForgottenSourcesPerCycle);
}

void StoredPartition::add_facts(Cycle& cycle) {
  for (const auto& [id, source] : cycle.sources) {
    if (bug_ == SeededBug::kForgetSources) break;
    cycle.commands.emplace_back(WriteKey{source_key(index_, id), encode_source(source)});
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
  const bool moves = cycle.start != start_ && bug_ != SeededBug::kForgetStart;
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
  for (Piece& piece : cycle.layout.fresh) {
    const PieceHeader& header = piece.header();
    cache_.insert(cache_key(header.first_offset, header.messages), std::move(piece));
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
  for (auto& [name, consumer] : cycle.consumers) {
    if (consumer) {
      note_end(*consumer, cycle.first);
      consumers_[name] = std::move(*consumer);
    } else {
      consumers_.erase(name);
      ends_at_commit_.erase(name);
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
  answer_writes(cycle);
  answer_actions(cycle);
  if (moved) notify_watches();
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
  switch (bug_) {
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
      for (const Piece& piece : cycle.layout.fresh) {
        cache_.insert(cache_key(piece.header().first_offset, piece.header().messages), piece);
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
