// Boot of a leader: choose a generation, fence the older ones, rebuild, decide the last entry.

#include <algorithm>

#include "base/invariant.h"
#include "tablet/leader.h"

namespace moraine {
namespace {

// A deleted tablet is blocked up to here: no generation that it could start with is left.
constexpr Generation kDeletedBlock = blob::kGenerationMax - 1;

std::unexpected<Error> refused(std::string_view what, blob::Status status,
                               const std::string& reason) {
  const bool taken = status == blob::Status::kAlready || status == blob::Status::kBlocked;
  const bool full = status == blob::Status::kOutOfSpace;
  return fail(taken  ? Errc::kConflict
              : full ? Errc::kNoSpace
                     : Errc::kUnavailable,
              fmt::format("{}: {} {}", what, to_string(status), reason));
}

}  // namespace

Leader::Leader(World world, BlobGroups& groups, TabletInfo info, TabletState& state,
               LeaderOptions options)
    : world_(world),
      groups_(groups),
      info_(std::move(info)),
      state_(state),
      options_(options),
      garbage_(info_.channels.size()),
      barriers_(info_.channels.size()) {
  INVARIANT(options_.entries_in_flight >= 1 && options_.entries_in_flight <= kEntriesInFlightMax,
            "{} entries in flight", options_.entries_in_flight);
}

Leader::~Leader() {
  INVARIANT(queue_.empty(), "leader destroyed with {} commits", queue_.size());
}

Task<Result<std::unique_ptr<Leader>>> Leader::boot(World world, BlobGroups& groups, TabletInfo info,
                                                   TabletState& state, LeaderOptions options) {
  CO_TRY_VOID(check(info));
  std::unique_ptr<Leader> leader(new Leader(world, groups, std::move(info), state, options));
  CO_TRY_VOID(co_await leader->become_leader());
  leader->scope_.spawn(leader->collect_loop());
  co_return std::move(leader);
}

Task<Result<void>> Leader::become_leader() {
  CO_TRY(generation_, co_await next_generation());
  CO_TRY_VOID(co_await block_all());
  CO_TRY_VOID(co_await replay_log());
  co_return Result<void>();
}

// One above every generation that wrote or was fenced.
Task<Result<Generation>> Leader::next_generation() {
  Generation highest = 0;
  Generation blocked = 0;
  const auto& history = info_.channels[kLogChannel];
  for (auto entry = history.rbegin(); entry != history.rend(); ++entry) {
    blob::Proxy* group = groups_.group(entry->group);
    if (!group) {
      co_return fail(Errc::kNotFound,
                     fmt::format("group {:x} is not in the config", entry->group.value));
    }
    blob::DiscoverRequest request;
    request.tablet = info_.id;
    request.min_generation = entry->from;
    request.discover_blocked = true;
    request.deadline = deadline();
    const auto answer = co_await group->discover(std::move(request));
    if (answer.status != blob::Status::kOk && answer.status != blob::Status::kNoData) {
      co_return refused("discover", answer.status, answer.reason);
    }
    blocked = std::max(blocked, answer.blocked);
    if (answer.status == blob::Status::kOk) {
      highest = std::max(highest, answer.id.generation());
      break;
    }
  }
  highest = std::max(highest, history.back().from == 0 ? 0 : history.back().from - 1);
  if (blocked >= kDeletedBlock || highest >= kDeletedBlock - 1) {
    co_return fail(Errc::kNotFound,
                   fmt::format("tablet {} was deleted, or blocked by hand up to generation {}: it "
                               "cannot be started any more",
                               info_.id.value, blocked));
  }
  // The block of this generation must be a new one, also when an incarnation crashed right after
  // its block.
  co_return std::max(highest + 1, blocked + 2);
}

// With one random issuer: two incarnations that chose the same generation cannot both succeed.
Task<Result<void>> Leader::block_all() {
  // The log's group first: the next boot chooses its generation by the blocks in it.
  std::vector<GroupId> groups;
  for (std::size_t channel = 0; channel < info_.channels.size(); ++channel) {
    const GroupId id = info_.latest_group(static_cast<Channel>(channel));
    if (std::ranges::find(groups, id) == groups.end()) groups.push_back(id);
  }
  if (has_bug(blob::SeededBug::kSkipTabletBlock)) co_return Result<void>();
  const std::uint64_t issuer = world_.random.next() | 1;
  for (const GroupId id : groups) {
    blob::Proxy* group = groups_.group(id);
    if (!group) {
      co_return fail(Errc::kNotFound, fmt::format("group {:x} is not in the config", id.value));
    }
    blob::BlockRequest request;
    request.tablet = info_.id;
    request.generation = generation_;
    request.issuer = issuer;
    request.deadline = deadline();
    const auto answer = co_await group->block(std::move(request));
    if (answer.status != blob::Status::kOk) {
      co_return refused("block", answer.status, answer.reason);
    }
  }
  co_return Result<void>();
}

Task<Result<void>> Leader::replay_log() {
  CO_TRY(RebuiltLog log,
         co_await rebuild_log(world_, groups_, info_, generation_ - 1, options_.timeout));
  if (log.last.generation >= generation_) {
    co_return fail(Errc::kConflict, "a newer leader has written to the log");
  }
  snapshot_ = log.snapshot;
  log_begin_ = log.begin;
  snapshot_pages_ = log.page_ids;
  log_bytes_ = log.log_bytes;
  CO_TRY_VOID(replay_entries(log));
  for (const BlobId& id : state_.live_blobs()) {
    CO_TRY_VOID(info_.check_reference(id, generation_ - 1));
  }
  CO_TRY_VOID(co_await write_zero_entry(log.last));
  for (const BlobId& id : snapshot_pages_) garbage_[kSnapshotChannel].adopted(id);
  for (const BlobId& id : state_.live_blobs()) garbage_[id.channel()].adopted(id);
  co_return Result<void>();
}

Result<void> Leader::replay_entries(const RebuiltLog& log) {
  if (!log.pages.empty()) {
    TRY_VOID(state_.restore(log.pages));
  }
  for (const RebuiltEntry& entry : log.entries) {
    state_.replaying(entry.at);
    const bool kept = entry.at < log.snapshot;
    for (const ByteChain& body : entry.bodies) {
      const Slice bytes = body.joined();
      TRY_VOID(kept ? state_.replay_kept(bytes) : state_.replay(bytes));
    }
  }
  return {};
}

Task<Result<void>> Leader::write_zero_entry(GenStep previous) {
  LogEntry zero;
  zero.kind = EntryKind::kZero;
  zero.snapshot = snapshot_;
  zero.previous = previous;
  if (has_bug(blob::SeededBug::kSkipZeroEntry)) co_return Result<void>();
  const ByteChain bytes = encode(zero);
  blob::PutResult result;
  co_await put_blob(log_id(0, bytes.size()), bytes, result);
  if (result.status != blob::Status::kOk) {
    co_return refused("zero entry", result.status, result.reason);
  }
  if (result.beyond_barrier) {
    co_return fail(Errc::kCorrupt,
                   fmt::format("the log of tablet {} was collected past its last generation, by "
                               "hand or by a deletion: the tablet cannot be started any more",
                               info_.id.value));
  }
  colour_ = result.colour;
  co_return Result<void>();
}

Task<Result<void>> delete_tablet(World world, BlobGroups& groups, TabletInfo info) {
  const Instant deadline = world.executor.now() + LeaderOptions().timeout;
  for (std::size_t i = 0; i < info.channels.size(); ++i) {
    const auto channel = static_cast<Channel>(i);
    for (const GroupId id : info.groups(channel)) {
      blob::Proxy* group = groups.group(id);
      if (!group) {
        co_return fail(Errc::kNotFound, fmt::format("group {:x} is not in the config", id.value));
      }
      blob::BlockRequest block;
      block.tablet = info.id;
      block.generation = blob::kGenerationMax;
      block.deadline = deadline;
      const auto blocked = co_await group->block(std::move(block));
      // kAlready: blocked by an earlier deletion.
      if (blocked.status != blob::Status::kOk && blocked.status != blob::Status::kAlready) {
        co_return refused("block", blocked.status, blocked.reason);
      }
      blob::CollectRequest collect;
      collect.tablet = info.id;
      collect.channel = channel;
      collect.record_generation = blob::kGenerationMax;
      collect.counter = ~0u;
      collect.barrier = GenStep::max();
      collect.hard = true;
      collect.deadline = deadline;
      const auto collected = co_await group->collect(std::move(collect));
      if (collected.status != blob::Status::kOk && collected.status != blob::Status::kAlready) {
        co_return refused("collect", collected.status, collected.reason);
      }
    }
  }
  co_return Result<void>();
}

}  // namespace moraine
