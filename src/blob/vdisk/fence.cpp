// Blocks. A generation is fenced as soon as its block is accepted; requests are answered BLOCKED
// only once the block is durable, since a crash could still lose it.

#include "blob/vdisk/vdisk.h"

namespace moraine::blob {

// Is `generation` of the tablet fenced? Waits while a block that would fence it is pending.
Task<Result<bool>> VDisk::fenced(TabletId tablet, Generation generation) {
  for (;;) {
    if (generation <= state_.blocked(tablet)) co_return true;
    const auto pending = pending_blocks_.find(tablet);
    const bool coming =
        pending != pending_blocks_.end() && generation <= pending->second.rbegin()->first;
    if (!coming) co_return false;
    co_await blocks_changed_.wait();
    if (device_.failure()) co_return std::unexpected(*device_.failure());
  }
}

Task<Result<Status>> VDisk::record_block(TabletId tablet, Generation generation,
                                         std::uint64_t issuer) {
  const auto pending = pending_blocks_.find(tablet);
  const bool under_way = pending != pending_blocks_.end();
  const Generation current = under_way ? pending->second.rbegin()->first : state_.blocked(tablet);
  if (generation == 0 && current == 0) co_return Status::kOk;  // Fences nothing.
  if (generation <= current) {
    // A block that is known only from neighbours has no issuer here.
    const auto taken = issuers_.find(tablet);
    std::uint64_t by = 0;
    if (under_way) {
      by = pending->second.rbegin()->second;
    } else if (taken != issuers_.end() && taken->second.generation == current) {
      by = taken->second.issuer;
    }
    const bool same = generation == current && issuer != 0 && by == issuer;
    // Both replies require a durable block.
    CO_TRY(const bool durable, co_await fenced(tablet, current));
    if (!durable) co_return fail(Errc::kUnavailable, "the pending block failed");
    co_return same ? Status::kOk : Status::kAlready;
  }
  pending_blocks_[tablet][generation] = issuer;
  Result<void> logged;
  if (!has_bug(SeededBug::kForgetBlock)) {
    std::vector<Fact> facts{BlockFact{tablet, generation}};
    logged = co_await log_facts(std::move(facts));
  }
  // Other blocks may be pending, lower or higher: each fences until it succeeds or fails.
  auto& open = pending_blocks_[tablet];
  open.erase(generation);
  if (open.empty()) pending_blocks_.erase(tablet);
  if (logged && state_.blocked(tablet) == generation) issuers_[tablet] = {generation, issuer};
  blocks_changed_.notify_all();
  if (!logged) co_return std::unexpected(std::move(logged).error());
  co_return Status::kOk;
}

Task<DiskReply> VDisk::on(BlockTablet request) {
  if (request.tablet.value == 0) co_return reply(Status::kError, "the tablet is not set");
  // When space is low only tablets that have a block record may renew it.
  const Colour colour = device_.colour();
  if (colour >= Colour::kRed ||
      (colour >= Colour::kPreOrange && state_.blocked(request.tablet) == 0)) {
    co_return reply(Status::kOutOfSpace, std::string(to_string(colour)));
  }
  const auto recorded = co_await record_block(request.tablet, request.generation, request.issuer);
  if (!recorded) {
    const bool full = recorded.error().code == Errc::kNoSpace;
    co_return reply(full ? Status::kOutOfSpace : Status::kError, recorded.error().message());
  }
  DiskReply answer = reply(*recorded);
  answer.body = BlockTabletReply{state_.blocked(request.tablet)};
  co_return answer;
}

Task<std::optional<DiskReply>> VDisk::check_fences(const std::vector<TabletGeneration>& fences) {
  for (const TabletGeneration& fence : fences) {
    // The common case needs no coroutine.
    if (!pending_blocks_.contains(fence.tablet) &&
        fence.generation > state_.blocked(fence.tablet)) {
      continue;
    }
    const auto blocked = co_await fenced(fence.tablet, fence.generation);
    if (!blocked) co_return reply(Status::kError, blocked.error().message());
    if (*blocked) {
      co_return reply(Status::kBlocked,
                      fmt::format("tablet {} is blocked up to generation {}", fence.tablet.value,
                                  state_.blocked(fence.tablet)));
    }
  }
  co_return std::nullopt;
}

Task<std::optional<DiskReply>> VDisk::force_block(const std::optional<TabletGeneration>& fence) {
  if (!fence || has_bug(SeededBug::kSkipForcedBlock)) co_return std::nullopt;
  if (fence->generation <= state_.blocked(fence->tablet)) co_return std::nullopt;
  const auto recorded = co_await record_block(fence->tablet, fence->generation, 0);
  if (!recorded) co_return reply(Status::kError, recorded.error().message());
  co_return std::nullopt;
}

}  // namespace moraine::blob
