// What the clients request next.

#include <algorithm>

#include "sim/workload.h"

namespace moraine::sim {

using namespace moraine::blob;

namespace {

constexpr std::size_t kLeadersKept = 3;  // Old incarnations that continue to write.

std::uint32_t choose_size(Random& random, std::uint32_t most) {
  static constexpr std::uint32_t kEdges[] = {1, 31, 32, 33, 127, 128, 129, 4096};
  switch (random.below(16)) {
    case 0: return kEdges[random.below(std::size(kEdges))];
    case 1: return 1 + static_cast<std::uint32_t>(random.below(most));
    case 2:
    case 3:
    case 4: return 1 + static_cast<std::uint32_t>(random.below(std::min(most, 40'000u)));
    case 5:
    case 6:
    case 7:
    case 8: return 1 + static_cast<std::uint32_t>(random.below(4'000));
    default: return 1 + static_cast<std::uint32_t>(random.below(300));
  }
}

}  // namespace

BlobId Workload::new_id(Session& session, Incarnation& leader) {
  const auto channel = static_cast<Channel>(session.random.below(2));
  const Step step = leader.next_step;
  if (!session.random.one_in(4)) ++leader.next_step;
  const std::uint32_t size = choose_size(session.random, options_.blob_size_max);
  const auto cookie = static_cast<std::uint32_t>(session.random.below(kCookieMax));
  return BlobId(leader.tablet, leader.generation, step, channel, size, cookie);
}

// Mostly a written one; recent ones more often.
BlobId Workload::some_blob(Session& session, TabletId tablet) {
  const auto& blobs = model_.tablet(tablet).blobs;
  if (blobs.empty() || session.random.one_in(40)) {
    return BlobId(tablet, 1, static_cast<Step>(session.random.below(100)), 0, 77, 7);
  }
  const std::uint64_t reach =
      session.random.one_in(3) ? blobs.size() : std::min<std::size_t>(blobs.size(), 40);
  auto at = blobs.rbegin();
  std::advance(at, static_cast<std::ptrdiff_t>(session.random.below(reach)));
  return at->first;
}

Workload::Leader Workload::leader_of(Session& session, TabletId tablet) {
  auto& leaders = leaders_[tablet];
  if (leaders.empty()) return nullptr;
  if (leaders.size() > kLeadersKept) leaders.erase(leaders.begin());
  const bool stale = leaders.size() > 1 && session.random.one_in(12);
  return stale ? leaders[session.random.below(leaders.size() - 1)] : leaders.back();
}

// Above what was sent before, and mostly below what is being written.
GenStep Workload::choose_barrier(Session& session, const Incarnation& leader, Channel channel) {
  const TabletRecord& record = model_.tablet(leader.tablet);
  const auto found = record.barriers.find(channel);
  const GenStep floor = found == record.barriers.end() ? GenStep{} : found->second.soft_sent;
  std::vector<GenStep> above;
  for (auto at = record.blobs.upper_bound(BlobId::highest(leader.tablet, channel, floor));
       at != record.blobs.end() && at->first.channel() == channel; ++at) {
    above.push_back(at->first.gen_step());
  }
  if (above.size() < 4) return floor;
  GenStep chosen = above[session.random.below(above.size() * 3 / 4)];
  for (const BlobId& id : leader.putting) {
    if (id.channel() != channel || id.gen_step() > chosen || session.random.one_in(50)) continue;
    const Step before = id.step() == 0 ? 0 : id.step() - 1;
    chosen = std::max(floor, GenStep{id.generation(), before});
  }
  return chosen;
}

void Workload::choose_flags(Session& session, const TabletRecord& record, CollectRequest& request) {
  const auto barrier = record.barriers.find(request.channel);
  const GenStep sent = barrier == record.barriers.end() ? GenStep{} : barrier->second.soft_sent;
  const GenStep until = request.barrier && !request.hard ? *request.barrier : sent;
  for (auto at = record.blobs.lower_bound(BlobId::lowest(request.tablet, request.channel));
       at != record.blobs.end() && at->first.channel() == request.channel; ++at) {
    const auto& [id, blob] = *at;
    if (!blob.must_exist()) continue;
    if (blob.keep_agreed) {
      if (session.random.one_in(8)) request.do_not_keep.push_back(id);
      continue;
    }
    const bool passed = id.gen_step() <= sent;
    if (passed ? !session.random.one_in(10) : id.gen_step() <= until && session.random.one_in(3)) {
      request.keep.push_back(id);
    }
  }
}

// False: nothing to collect now.
bool Workload::plan_collect(Session& session, Incarnation& leader, CollectRequest& request) {
  const TabletRecord& record = model_.tablet(leader.tablet);
  request.tablet = leader.tablet;
  request.channel = static_cast<Channel>(session.random.below(2));
  request.record_generation = leader.generation;
  request.counter = leader.next_counter;
  const auto found = record.barriers.find(request.channel);
  const BarrierRecord known = found == record.barriers.end() ? BarrierRecord{} : found->second;
  const std::uint64_t dice = session.random.below(10);
  if (dice == 0 && known.soft_sent != GenStep{}) {
    request.hard = true;
    GenStep at = known.soft_sent;
    if (at.step > 0) at.step = static_cast<Step>(session.random.below(at.step));
    if (at < known.hard_sent) return false;
    request.barrier = at;
    return true;
  }
  if (dice != 1) {
    request.barrier = choose_barrier(session, leader, request.channel);
    if (*request.barrier == GenStep{}) return false;
  }
  choose_flags(session, record, request);
  return request.barrier || !request.keep.empty() || !request.do_not_keep.empty();
}

}  // namespace moraine::sim
