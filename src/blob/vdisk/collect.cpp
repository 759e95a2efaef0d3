// Flags and barriers.

#include <algorithm>
#include <set>

#include "blob/vdisk/vdisk.h"

namespace moraine::blob {
namespace {

BarrierFact barrier_fact(const Collect& request, std::uint32_t order) {
  BarrierFact fact;
  fact.tablet = request.tablet;
  fact.channel = request.channel;
  fact.hard = request.hard;
  fact.record_generation = request.record_generation;
  fact.counter = request.counter;
  fact.barrier = *request.barrier;
  fact.seen = disk_bit(order);
  return fact;
}

// Why the flags are invalid; empty when they are valid.
std::string wrong_flags(const Collect& request) {
  if (request.keep.size() + request.do_not_keep.size() > kFlagsMax) return "too many flags";
  std::set<BlobId> seen;
  for (const auto* list : {&request.keep, &request.do_not_keep}) {
    for (const BlobId& id : *list) {
      if (id.part() != 0) return fmt::format("{} names a part", id.to_string());
      if (id.tablet() != request.tablet || id.channel() != request.channel) {
        return fmt::format("{} belongs to another tablet or channel", id.to_string());
      }
      if (!seen.insert(id).second) return fmt::format("{} is flagged twice", id.to_string());
    }
  }
  return {};
}

}  // namespace

std::optional<DiskReply> VDisk::refuse_collect(const Collect& request) const {
  if (std::string wrong = wrong_flags(request); !wrong.empty()) {
    return reply(Status::kError, std::move(wrong));
  }
  if (!request.barrier && request.keep.empty() && request.do_not_keep.empty()) {
    return reply(Status::kError, "neither a barrier nor flags");
  }
  if (device_.colour() >= Colour::kRed) {
    return reply(Status::kOutOfSpace, std::string(to_string(device_.colour())));
  }
  return std::nullopt;
}

Task<DiskReply> VDisk::on(Collect request) {
  if (auto refused = refuse_collect(request)) co_return std::move(*refused);
  // A deleted tablet is blocked forever; its deletion may be repeated.
  const bool deletion = request.hard && request.barrier == GenStep::max() &&
                        state_.blocked(request.tablet) == kGenerationMax;
  if (!deletion) {
    const std::vector<TabletGeneration> fence{{request.tablet, request.record_generation}};
    if (auto refused = co_await check_fences(fence)) co_return std::move(*refused);
  }
  Status status = Status::kOk;
  std::vector<IndexFact> facts;
  for (const BlobId& id : request.keep) facts.push_back(BlobFact{id, {kKeepBit}});
  for (const BlobId& id : request.do_not_keep) facts.push_back(BlobFact{id, {kDoNotKeepBit}});
  if (has_bug(SeededBug::kBarrierBeforeFlags)) facts.clear();
  if (request.barrier) {
    BarrierFact fact = barrier_fact(request, state_.order());
    if (has_bug(SeededBug::kLonelyBarrier)) fact.seen = state_.geometry().all_disks();
    const auto checked = state_.barriers().check(fact, state_.order());
    if (checked.status == Status::kError) co_return reply(checked.status, checked.reason);
    status = checked.status;
    facts.push_back(fact);
  }
  // Flags come first in the log, so they take effect before the barrier.
  const auto logged = co_await log_facts(state_.news(facts));
  if (!logged) {
    const bool full = logged.error().code == Errc::kNoSpace;
    co_return reply(full ? Status::kOutOfSpace : Status::kError, logged.error().message());
  }
  DiskReply answer = reply(status);
  answer.body = CollectReply{};
  co_return answer;
}

}  // namespace moraine::blob
