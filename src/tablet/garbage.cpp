// Collecting the garbage of snapshots and deletions.

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/log.h"
#include "tablet/leader.h"

namespace moraine {
namespace {

constexpr std::uint64_t kFailuresPerLine = 30;  // A minute, by the default period.

}  // namespace

// First the garbage of earlier incarnations, then, periodically, that of this one.
Task<void> Leader::collect_loop() {
  std::vector<bool> clean(info_.channels.size(), false);
  while (!scope_.closed()) {
    // A tablet without garbage does not wake.
    while (!scope_.closed() && !collector_wakes_.is_set() && nothing_to_collect(clean)) {
      co_await garbage_found_.wait(scope_);
    }
    co_await collector_wakes_.wait_until(world_.executor.now() + options_.collect_period, scope_);
    discarded_bytes_ = 0;
    ++collections_begun_;
    for (std::size_t i = 0; i < info_.channels.size() && !scope_.closed(); ++i) {
      const auto channel = static_cast<Channel>(i);
      if (!clean[i]) {
        clean[i] = co_await collect_leftovers(channel);
      } else if (garbage_[i].wanted()) {
        co_await collect_channel(channel);
      }
    }
    ++collections_done_;
    progress_.notify_all();
  }
}

bool Leader::nothing_to_collect(const std::vector<bool>& clean) const {
  return std::ranges::all_of(clean, std::identity()) &&
         std::ranges::none_of(garbage_, &ChannelGarbage::wanted);
}

Task<void> Leader::collect_now() {
  while ((snapshot_wanted_ || writing_snapshot_) && !ended_ && !scope_.closed()) {
    co_await progress_.wait(scope_);
  }
  const std::uint64_t mine = collections_begun_ + 1;
  collector_wakes_.set();
  garbage_found_.notify_all();
  while (collections_done_ < mine && !scope_.closed()) co_await progress_.wait(scope_);
}

// Right before the first entry that the next boot needs, which is never a zero entry (step 0).
GenStep Leader::log_barrier() const {
  return {log_begin_.generation, log_begin_.step == 0 ? 0 : log_begin_.step - 1};
}

// Blobs of earlier generations that nothing refers to. Found in the index itself, so that nothing
// leaks whatever an earlier incarnation recorded.
Task<bool> Leader::collect_leftovers(Channel channel) {
  const GenStep barrier =
      channel == kLogChannel ? log_barrier() : GenStep{generation_ - 1, blob::kStepMax};
  std::set<BlobId> live;
  if (channel == kSnapshotChannel) live.insert(snapshot_pages_.begin(), snapshot_pages_.end());
  if (channel >= kFirstDataChannel) {
    for (const BlobId& id : state_.live_blobs()) live.insert(id);
  }
  for (const GroupId id : info_.groups(channel)) {
    const bool flags = channel != kLogChannel && !has_bug(blob::SeededBug::kCollectUnflagged);
    if (flags && !co_await flag_leftovers(id, channel, barrier, live)) {
      co_return false;
    }
    if (!co_await send_collect(id, channel, barrier, {}, {})) co_return false;
  }
  co_return true;
}

// Sets the flag that every blob up to `barrier` needs before a barrier passes it, page by page.
Task<bool> Leader::flag_leftovers(GroupId group, Channel channel, GenStep barrier,
                                  const std::set<BlobId>& live) {
  BlobId from = BlobId::lowest(info_.id, channel);
  for (bool more = true; more;) {
    blob::Proxy* proxy = groups_.group(group);
    if (!proxy || scope_.closed()) co_return false;
    blob::RangeRequest request;
    request.from = from;
    request.to = BlobId::highest(info_.id, channel, barrier);
    request.index_only = true;
    request.limit = options_.leftover_ids;
    request.force_block = blob::TabletGeneration{info_.id, generation_ - 1};
    request.deadline = deadline();
    const auto answer = co_await proxy->range(std::move(request));
    if (answer.status != blob::Status::kOk) co_return false;
    if (answer.items.empty()) co_return true;
    std::vector<BlobId> keep;
    std::vector<BlobId> do_not_keep;
    for (const blob::RangeFound& found : answer.items) {
      (live.contains(found.id) ? keep : do_not_keep).push_back(found.id);
    }
    // Above this id and below the next blob's.
    from = answer.items.back().id.with_part(blob::kPartFieldMax);
    more = answer.more;
    if (!co_await send_collect(group, channel, {}, std::move(keep), std::move(do_not_keep))) {
      co_return false;
    }
  }
  co_return true;
}

Task<void> Leader::collect_channel(Channel channel) {
  if (channel == kLogChannel) {
    if (snapshot_.generation != generation_) co_return;
    ChannelGarbage::Command command;
    command.barrier = log_barrier();
    if (co_await send_command(channel, command)) garbage_[channel].done(command);
    co_return;
  }
  // Not past settled_: the next boot accepts a later entry only while all blobs that it refers to
  // exist.
  if (settled_ == 0) co_return;
  const GenStep barrier{generation_, settled_};
  while (!scope_.closed()) {
    const ChannelGarbage::Command command = garbage_[channel].next(barrier, options_.collect_flags);
    const bool moves = command.barrier && *command.barrier > barriers_[channel];
    if (!moves && command.flags() == 0) co_return;
    if (!co_await send_command(channel, command)) co_return;
    if (moves) barriers_[channel] = barrier;
    garbage_[channel].done(command);
    if (command.flags() < options_.collect_flags) co_return;
  }
}

// Flags go to the group that holds the blob; the barrier to all.
Task<bool> Leader::send_command(Channel channel, const ChannelGarbage::Command& command) {
  for (const GroupId id : info_.groups(channel)) {
    const auto elsewhere = [&](const BlobId& blob) {
      return info_.group(channel, blob.generation()) != id;
    };
    std::vector<BlobId> keep = command.keep;
    std::vector<BlobId> do_not_keep = command.do_not_keep;
    std::erase_if(keep, elsewhere);
    std::erase_if(do_not_keep, elsewhere);
    if (!command.barrier && keep.empty() && do_not_keep.empty()) continue;
    if (!co_await send_collect(id, channel, command.barrier, std::move(keep),
                               std::move(do_not_keep))) {
      co_return false;
    }
  }
  co_return true;
}

Task<bool> Leader::send_collect(GroupId id, Channel channel, std::optional<GenStep> barrier,
                                std::vector<BlobId> keep, std::vector<BlobId> do_not_keep) {
  blob::Proxy* group = groups_.group(id);
  if (!group) co_return false;
  blob::CollectRequest request;
  request.tablet = info_.id;
  request.channel = channel;
  request.record_generation = generation_;
  request.counter = ++collect_counter_;
  request.barrier = barrier;
  request.keep = std::move(keep);
  request.do_not_keep = std::move(do_not_keep);
  request.deadline = deadline();
  const auto answer = co_await group->collect(std::move(request));
  collect_counter_ += answer.counters_used;
  if (answer.status == blob::Status::kBlocked) {
    end(Error{Errc::kConflict, "a newer leader has fenced this one"});
    co_return false;
  }
  const bool done = answer.status == blob::Status::kOk || answer.status == blob::Status::kAlready;
  note_collect(id, channel, done, answer);
  co_return done;
}

// One line when collects begin to fail, one per kFailuresPerLine failures, one when they succeed
// again: until then the space of deleted blobs is not freed.
void Leader::note_collect(GroupId id, Channel channel, bool done,
                          const blob::CollectResult& answer) {
  if (done) {
    if (collects_failed_ > 0) {
      log_info("collect succeeds again",
               {{"tablet", info_.id.value}, {"failed", collects_failed_}});
    }
    collects_failed_ = 0;
    return;
  }
  if (scope_.closed() || collects_failed_++ % kFailuresPerLine != 0) return;
  const std::string group = fmt::format("{:x}", id.value);
  log_warning("collect failed: space of deleted blobs is not freed until a later one succeeds",
              {{"tablet", info_.id.value},
               {"group", group},
               {"channel", channel},
               {"status", blob::to_string(answer.status)},
               {"reason", answer.reason},
               {"failed", collects_failed_}});
}

}  // namespace moraine
