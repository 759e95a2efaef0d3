// A slow quorum: members acknowledge, are wiped, and come back before others answer. What they
// acknowledged is lost, so it must not count.

#include "sim/story.h"

namespace moraine::sim {
namespace {

using namespace moraine::blob;

constexpr TabletId kTablet{3};
constexpr DiskSet kWiped = 0b00000011;   // Acknowledge first, then lose it.
constexpr DiskSet kSlow = 0b00111100;    // Their requests are delayed until then.
constexpr DiskSet kCutOff = 0b11000000;  // Never get one.

class SlowQuorum {
 public:
  SlowQuorum() : story_(Species::kBlock42), client_(story_.cluster().client_host(0)) {
    SimNetwork& network = story_.world().network();
    const NodeId self = story_.cluster().node_id(client_);
    for (const NodeId node : story_.nodes_of(kSlow)) network.clog(self, node);
    for (const NodeId node : story_.nodes_of(kCutOff)) network.block(self, node);
    // The first ones cannot forward what they receive.
    for (const NodeId one : story_.nodes_of(kWiped)) {
      for (const NodeId other : story_.nodes_of(kWiped | kSlow | kCutOff)) {
        if (one != other) network.partition({one}, {other});
      }
    }
  }

  Story& story() { return story_; }

  // Runs `command` with the wipe in its middle, and stops as soon as it is answered.
  Status run(Task<Status> command) {
    std::optional<Status> answered;
    TaskScope scope;
    scope.spawn(keep(std::move(command), answered));
    story_.world().run_for(1s);
    EXPECT_FALSE(answered) << "two members are no quorum";
    story_.replace(kWiped);
    const NodeId self = story_.cluster().node_id(client_);
    SimNetwork& network = story_.world().network();
    for (const NodeId one : story_.nodes_of(kWiped)) {
      for (const NodeId other : story_.nodes_of(kWiped | kSlow | kCutOff)) {
        network.unblock(one, other);
        network.unblock(other, one);
      }
    }
    for (int i = 0; i < 300 && !story_.cluster().all_ready(); ++i) story_.world().run_for(100ms);
    EXPECT_TRUE(story_.cluster().all_ready());
    for (const NodeId node : story_.nodes_of(kSlow)) network.unclog(self, node);
    while (!answered) story_.world().run_for(1ms);
    const Status status = *answered;
    while (scope.live() > 0) story_.world().run_for(1ms);
    return status;
  }

  template <class Knows>
  DiskSet members_that(Knows knows) {
    DiskSet set = 0;
    for (std::uint32_t order = 0; order < story_.disks(); ++order) {
      if (knows(story_.cluster().vdisk(order)->state())) set |= disk_bit(order);
    }
    return set;
  }

 private:
  static Task<void> keep(Task<Status> command, std::optional<Status>& answered) {
    answered = co_await std::move(command);
  }

  Story story_;
  std::size_t client_;
};

Task<Status> block(Proxy& proxy, Instant deadline) {
  BlockRequest request;
  request.tablet = kTablet;
  request.generation = 6;
  request.deadline = deadline;
  const BlockResult result = co_await proxy.block(request);
  co_return result.status;
}

Task<Status> collect(Proxy& proxy, Instant deadline) {
  CollectRequest request;
  request.tablet = kTablet;
  request.record_generation = 2;
  request.counter = 1;
  request.barrier = GenStep{1, 40};
  request.deadline = deadline;
  const CollectResult result = co_await proxy.collect(request);
  co_return result.status;
}

TEST(SlowQuorum, ABlockCountsNoAcknowledgementOfAMemberThatWasWipedSince) {
  SlowQuorum slow;
  const Instant deadline = slow.story().world().executor().now() + 60s;
  const Status status = slow.run(block(slow.story().cluster().proxy(0), deadline));
  const DiskSet fenced =
      slow.members_that([](const VDiskState& state) { return state.blocked(kTablet) == 5; });
  if (status == Status::kOk) {
    EXPECT_TRUE(group_quorum(slow.story().cluster().geometry(), fenced))
        << "it was acknowledged, and the members " << fenced << " have it";
  }
  // Members that got the block back from their neighbours do not know its issuer, so the outcome
  // may stay unknown; but it must not be a failure.
  EXPECT_NE(status, Status::kError);
}

TEST(SlowQuorum, ACollectCountsNoAcknowledgementOfAMemberThatWasWipedSince) {
  SlowQuorum slow;
  const Instant deadline = slow.story().world().executor().now() + 60s;
  const Status status = slow.run(collect(slow.story().cluster().proxy(0), deadline));
  const DiskSet knowing = slow.members_that([](const VDiskState& state) {
    const auto found = state.barriers().all().find(BarrierSequence{kTablet, 0, false});
    return found != state.barriers().all().end() && !found->second.records.empty();
  });
  if (status == Status::kOk) {
    EXPECT_TRUE(group_quorum(slow.story().cluster().geometry(), knowing))
        << "it was acknowledged, and the members " << knowing << " have it";
  }
  EXPECT_EQ(status, Status::kOk);
}

}  // namespace
}  // namespace moraine::sim
