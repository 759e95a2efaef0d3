// Commands that need a group quorum, and changes of the group.
#include <gtest/gtest.h>

#include <bit>

#include "blob/proxy/context.h"
#include "blob/proxy/group_call.h"
#include "blob/proxy/test_group.h"

namespace moraine::blob {
namespace {

using Behaviour = ScriptedDisk::Behaviour;

Generation blocked(TestGroup& group) {
  GetBlockRequest request;
  request.tablet = TabletId{kTestTablet};
  const GetBlockResult result = group.run(group.proxy().blocked_generation(request));
  EXPECT_EQ(result.status, Status::kOk) << result.reason;
  return result.blocked;
}

TEST(ProxyBlock, FencesPutsOfTheGenerationAndLowerOnes) {
  for (const Species species : {Species::kNone, Species::kBlock42, Species::kMirror3dc}) {
    TestGroup group(species);
    EXPECT_EQ(blocked(group), 0u);
    EXPECT_EQ(group.block(5).status, Status::kOk);
    EXPECT_EQ(blocked(group), 5u);
    group.wait(1s);
    EXPECT_EQ(group.put(test_id(10, 1, 5), test_bytes(10)).status, Status::kBlocked);
    EXPECT_EQ(group.put(test_id(10, 1, 6), test_bytes(10)).status, Status::kOk);
  }
}

TEST(ProxyBlock, TakesTheGenerationOfTheTabletThatStarts) {
  TestGroup group(Species::kBlock42);
  BlockRequest request;
  request.tablet = TabletId{kTestTablet};
  EXPECT_EQ(group.run(group.proxy().block(request)).status, Status::kError) << "generation 0";
  request.generation = 5;
  EXPECT_EQ(group.run(group.proxy().block(request)).status, Status::kOk);
  EXPECT_EQ(blocked(group), 4u);
  EXPECT_EQ(group.put(test_id(10, 1, 4), test_bytes(10)).status, Status::kBlocked);
  EXPECT_EQ(group.put(test_id(10, 1, 5), test_bytes(10)).status, Status::kOk);
}

TEST(ProxyBlock, ReturnsAlreadyToAnotherIssuerAndToALowerGeneration) {
  TestGroup group(Species::kBlock42);
  EXPECT_EQ(group.block(5, 11).status, Status::kOk);
  group.wait(1s);
  EXPECT_EQ(group.block(5, 11).status, Status::kOk) << "a retry";
  EXPECT_EQ(group.block(5, 12).status, Status::kAlready);
  EXPECT_EQ(group.block(4, 11).status, Status::kAlready);
  EXPECT_EQ(group.block(6, 12).status, Status::kOk);
}

TEST(ProxyBlock, AlreadyCountsAsAFailure) {
  TestGroup group(Species::kBlock42);
  for (std::uint32_t order = 0; order < 2; ++order) {
    group.disk(order).blocks[TabletId{kTestTablet}] = {9, 1};
  }
  EXPECT_EQ(group.block(5).status, Status::kOk) << "six others agree";
  group.disk(2).blocks[TabletId{kTestTablet}] = {9, 1};
  group.wait(1s);
  EXPECT_EQ(group.block(6).status, Status::kAlready);
}

TEST(ProxyStatus, WithAQuorumASilentDiskIsNotWaitedForWhereTheCallerSaysSo) {
  for (const bool quorum_is_enough : {false, true}) {
    TestGroup group(Species::kBlock42);
    group.set_behaviours(0b1, Behaviour::kSilent);
    StatusRequest request;
    request.quorum_is_enough = quorum_is_enough;
    request.deadline = group.now() + 30s;
    const Instant begun = group.now();
    EXPECT_EQ(group.run(group.proxy().status(request)).status, Status::kOk);
    EXPECT_EQ(group.now() - begun < 2s, quorum_is_enough);
  }
}

TEST(ProxyBlock, TheQuorumHasTheShapeOfTheGroup) {
  // By realm: which of its disks answer.
  const auto set_of = [](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    return a | b << 3 | c << 6;
  };
  TestGroup mirror(Species::kMirror3dc);
  mirror.set_behaviours(~set_of(0b111, 0b011, 0) & 0x1ff, Behaviour::kError);
  EXPECT_EQ(mirror.block(5).status, Status::kOk);
  mirror.set_behaviours(~set_of(0b011, 0b011, 0b011) & 0x1ff, Behaviour::kError);
  EXPECT_EQ(mirror.block(6).status, Status::kError);

  TestGroup block(Species::kBlock42);
  block.set_behaviours(0b11, Behaviour::kSilent);
  EXPECT_EQ(block.block(5).status, Status::kOk);
  block.set_behaviours(0b111, Behaviour::kSilent);
  EXPECT_EQ(block.block(6, 0, 2s).status, Status::kDeadline);
  block.set_behaviours(0b111, Behaviour::kError);
  EXPECT_EQ(block.block(6).status, Status::kError);
}

TEST(ProxyCollect, SendsFlagsAndBarrierToEveryDisk) {
  TestGroup group(Species::kBlock42);
  CollectRequest request;
  request.tablet = TabletId{kTestTablet};
  request.channel = 3;
  request.record_generation = 2;
  request.counter = 7;
  request.barrier = GenStep{1, 100};
  request.keep.push_back(test_id(10, 1, 1, 3));
  request.do_not_keep.push_back(test_id(10, 2, 1, 3));
  const CollectResult result = group.run(group.proxy().collect(request));
  EXPECT_EQ(result.status, Status::kOk);
  EXPECT_EQ(result.counters_used, 1u);
  group.wait(1s);
  for (std::uint32_t order = 0; order < 8; ++order) {
    ASSERT_EQ(group.disk(order).collects.size(), 1u);
    const Collect& got = group.disk(order).collects[0];
    EXPECT_EQ(got.counter, 7u);
    EXPECT_EQ(got.barrier, (GenStep{1, 100}));
    EXPECT_EQ(got.keep.size() + got.do_not_keep.size(), 2u);
  }
}

TEST(ProxyCollect, SplitsManyFlagsAndSendsTheBarrierLast) {
  CollectRequest request;
  request.tablet = TabletId{kTestTablet};
  request.record_generation = 2;
  request.counter = 100;
  request.barrier = GenStep{1, 100};
  request.hard = true;
  for (Step step = 1; step <= 15'000; ++step) request.keep.push_back(test_id(10, step));
  for (Step step = 20'000; step < 30'000; ++step) request.do_not_keep.push_back(test_id(10, step));
  const std::vector<Collect> messages = split_collect(request);
  ASSERT_EQ(messages.size(), 3u);
  std::size_t flags = 0;
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(messages[i].counter, 100 + i);
    EXPECT_EQ(messages[i].barrier.has_value(), i == 2);
    EXPECT_EQ(messages[i].hard, i == 2);
    EXPECT_LE(messages[i].keep.size() + messages[i].do_not_keep.size(), kFlagsMax);
    flags += messages[i].keep.size() + messages[i].do_not_keep.size();
  }
  EXPECT_EQ(flags, 25'000u);

  TestGroup group(Species::kBlock42);
  const CollectResult result = group.run(group.proxy().collect(request));
  EXPECT_EQ(result.status, Status::kOk);
  EXPECT_EQ(result.counters_used, 3u);
}

TEST(ProxyCollect, StopsAtTheFirstMessageThatFails) {
  TestGroup group(Species::kBlock42);
  ASSERT_EQ(group.block(2).status, Status::kOk);
  CollectRequest request;
  request.tablet = TabletId{kTestTablet};
  request.record_generation = 2;
  request.barrier = GenStep{1, 100};
  for (Step step = 1; step <= 15'000; ++step) request.keep.push_back(test_id(10, step));
  const CollectResult result = group.run(group.proxy().collect(request));
  EXPECT_EQ(result.status, Status::kBlocked);
  EXPECT_EQ(result.counters_used, 1u);
  for (std::uint32_t order = 0; order < 8; ++order) EXPECT_TRUE(group.disk(order).collects.empty());
}

TEST(ProxyCollect, WrongRequestsSayWhatIsWrong) {
  TestGroup group(Species::kBlock42);
  CollectRequest request;
  request.tablet = TabletId{kTestTablet};
  EXPECT_EQ(group.run(group.proxy().collect(request)).reason, "neither a barrier nor flags");
  request.keep = {test_id(10, 1)};
  request.do_not_keep = {test_id(10, 1)};
  CollectResult result = group.run(group.proxy().collect(request));
  EXPECT_NE(result.reason.find("twice"), std::string::npos);
  request.do_not_keep = {test_id(10, 1, 1, 5)};
  result = group.run(group.proxy().collect(request));
  EXPECT_EQ(result.status, Status::kError);
  request.do_not_keep.clear();
  request.keep.clear();
  for (Step step = 1; step <= 15'000; ++step) request.keep.push_back(test_id(10, step));
  request.counter = ~std::uint32_t{0};
  result = group.run(group.proxy().collect(request));
  EXPECT_NE(result.reason.find("exceed the counters"), std::string::npos);
}

TEST(ProxyStatus, MergesColourAndFreeSpaceAndTellsEachDisk) {
  TestGroup group(Species::kBlock42);
  group.disk(2).colour = Colour::kYellow;
  group.disk(2).live_bytes = 90;
  group.disk(3).behaviour = Behaviour::kError;
  const StatusResult result = group.run(group.proxy().status({}));
  EXPECT_EQ(result.status, Status::kOk);
  EXPECT_EQ(result.colour, Colour::kYellow);
  EXPECT_DOUBLE_EQ(result.free_share.value(), 0.1);
  EXPECT_EQ(result.disks[3].status, Status::kError);
  EXPECT_TRUE(result.disks[0].state.ready);
  group.set_behaviours(0b111, Behaviour::kError);
  EXPECT_EQ(group.run(group.proxy().status({})).status, Status::kError);
}

// Moves disk `order` to a new address; all disks of the new config know it.
GroupConfig move_disk(TestGroup& group, std::uint32_t order) {
  GroupConfig config = group.proxy().config();
  ++config.generation;
  const DiskAddress before = config.disks[order];
  config.disks[order].slot += 1;
  ScriptedDisk& moved = group.add_disk(config, order);
  moved.parts = group.at(before)->parts;
  moved.ingress = group.at(before)->ingress;
  moved.incarnation = 77;
  for (std::uint32_t i = 0; i < config.disks.size(); ++i)
    group.at(config.disks[i])->config = config;
  return config;
}

TEST(ProxyRace, ANewerConfigIsTakenAndTheRequestStartsAgain) {
  for (const Species species : {Species::kNone, Species::kBlock42, Species::kMirror3dc}) {
    TestGroup group(species);
    const Slice data = test_bytes(100);
    const BlobId before = test_id(100, 1);
    ASSERT_EQ(group.put(before, data).status, Status::kOk);
    const std::uint32_t mover = group.geometry().subgroup(before).order[0];
    ScriptedDisk* old_home = group.at(group.proxy().config().disks[mover]);
    const GroupConfig config = move_disk(group, mover);
    if (species == Species::kNone) old_home->config = config;  // It learns the config only here.
    const std::size_t old_parts = old_home->parts.size();

    const BlobId id = test_id(100, 2);
    EXPECT_EQ(group.put(id, data).status, Status::kOk);
    EXPECT_EQ(group.proxy().config().generation, config.generation);
    EXPECT_TRUE(equal(group.get(before).data, data));
    EXPECT_TRUE(equal(group.get(id).data, data));
    EXPECT_TRUE(confirmed(group.geometry(), group.layout(id)));
    if (species == Species::kNone) EXPECT_EQ(old_home->parts.size(), old_parts);
  }
}

TEST(ProxyRace, EveryCommandFollowsTheGroup) {
  TestGroup group(Species::kBlock42);
  const BlobId id = test_id(100, 1);
  ASSERT_EQ(group.put(id, test_bytes(100)).status, Status::kOk);
  move_disk(group, 0);
  EXPECT_EQ(group.get(id).status, Status::kOk);
  move_disk(group, 1);
  EXPECT_EQ(group.restore(id).status, Status::kOk);
  move_disk(group, 2);
  EXPECT_EQ(group.block(1).status, Status::kOk);
  move_disk(group, 3);
  EXPECT_EQ(blocked(group), 1u);
  move_disk(group, 4);
  RangeRequest range;
  range.from = BlobId::lowest(TabletId{kTestTablet}, 0);
  range.to = BlobId::highest(TabletId{kTestTablet}, 0);
  EXPECT_EQ(group.run(group.proxy().range(range)).items.size(), 1u);
  move_disk(group, 5);
  DiscoverRequest discover;
  discover.tablet = TabletId{kTestTablet};
  EXPECT_EQ(group.run(group.proxy().discover(discover)).id, id);
  move_disk(group, 6);
  EXPECT_EQ(group.run(group.proxy().status({})).status, Status::kOk);
  EXPECT_EQ(group.proxy().config().generation, 8u);
}

Task<void> put_once_more(Proxy& proxy, BlobId id, std::uint32_t& ok) {
  PutRequest request;
  request.id = id;
  request.data = test_bytes(id.size());
  const PutResult result = co_await proxy.put(std::move(request));
  if (result.status == Status::kOk) ++ok;
}

Task<void> joined(TaskScope& scope) {
  co_await scope.join();
}

// Every member but the one that moved still has the config before the move.
struct GroupBehind {
  explicit GroupBehind(Duration delay = 1ms) {
    const GroupConfig old_config = group.proxy().config();
    config = move_disk(group, 0);
    group.proxy().reconfigure(config);
    for (std::uint32_t order = 1; order < group.geometry().disks(); ++order) {
      ScriptedDisk& disk = group.disk(order);
      disk.config = old_config;
      disk.delay = delay;
      disk.script = [this](const DiskRequest& request) -> std::optional<DiskReply> {
        const bool configure = std::holds_alternative<Configure>(request.body);
        if (configure) ++configs_received;
        if (configure && refuse_configs) return ScriptedDisk::refusal(Status::kError);
        return std::nullopt;
      };
    }
  }
  TestGroup group{Species::kBlock42};
  GroupConfig config;
  std::uint32_t configs_received = 0;
  bool refuse_configs = false;
};

TEST(ProxyRace, DisksWithAnOlderConfigAreGivenTheNewerOneAndAskedAgain) {
  GroupBehind behind(50ms);
  const BlobId id = test_id(100, 1);
  TaskScope both;
  std::uint32_t ok = 0;
  for (int i = 0; i < 2; ++i) both.spawn(put_once_more(behind.group.proxy(), id, ok));
  behind.group.run(joined(both));
  EXPECT_EQ(ok, 2u) << "no put failed";
  EXPECT_LE(behind.configs_received, behind.group.geometry().disks() - 1) << "once for both";
  for (std::uint32_t slot = 0; slot < 6; ++slot) {
    EXPECT_TRUE(behind.group.disk(id, slot).has(id, slot + 1)) << slot;
  }
}

TEST(ProxyRace, EveryCommandGetsItsAnswerFromDisksWithAnOlderConfig) {
  EXPECT_EQ(GroupBehind().group.block(3).status, Status::kOk);
  EXPECT_EQ(GroupBehind().group.get(test_id(100, 1)).status, Status::kNoData);
  EXPECT_EQ(GroupBehind().group.restore(test_id(100, 1)).status, Status::kNoData);
  GroupBehind asked;
  EXPECT_EQ(asked.group.run(asked.group.proxy().status({})).status, Status::kOk);
  GroupBehind discovered;
  DiscoverRequest discover;
  discover.tablet = TabletId{kTestTablet};
  EXPECT_EQ(discovered.group.run(discovered.group.proxy().discover(discover)).status,
            Status::kNoData);
  GroupBehind collected;
  CollectRequest collect;
  collect.tablet = TabletId{kTestTablet};
  collect.barrier = GenStep{1, 1};
  collect.record_generation = 1;
  EXPECT_EQ(collected.group.run(collected.group.proxy().collect(collect)).status, Status::kOk);
}

TEST(ProxyRace, ADiskThatDoesNotTakeTheNewerConfigCountsAsFailed) {
  GroupBehind behind;
  behind.refuse_configs = true;
  const BlockResult result = behind.group.block(3);
  EXPECT_EQ(result.status, Status::kError);
  EXPECT_TRUE(result.reason.contains("RACE")) << result.reason;
}

TEST(ProxyRace, ADiskThatIsSilentToTheNewerConfigLeavesItOpenWhetherTheGroupIsReady) {
  GroupBehind behind;
  for (const std::uint32_t order : {1u, 2u, 3u}) {
    ScriptedDisk& disk = behind.group.disk(order);
    disk.script = [&disk](const DiskRequest&) -> std::optional<DiskReply> {
      disk.behaviour = ScriptedDisk::Behaviour::kSilent;
      return std::nullopt;
    };
  }
  StatusRequest request;
  request.deadline = behind.group.now() + 2s;
  const StatusResult result = behind.group.run(behind.group.proxy().status(request));
  EXPECT_EQ(result.status, Status::kDeadline) << result.reason;
}

TEST(ProxyStatus, SilentDisksLeaveItOpenWhetherTheGroupIsReady) {
  TestGroup group(Species::kBlock42);
  StatusRequest request;
  for (const std::uint32_t order : {0u, 1u, 2u}) {
    group.disk(order).behaviour = ScriptedDisk::Behaviour::kSilent;
  }
  request.deadline = group.now() + 2s;
  EXPECT_EQ(group.run(group.proxy().status(request)).status, Status::kDeadline);
  for (const std::uint32_t order : {0u, 1u, 2u}) {
    group.disk(order).behaviour = ScriptedDisk::Behaviour::kError;
  }
  request.deadline = group.now() + 2s;
  EXPECT_EQ(group.run(group.proxy().status(request)).status, Status::kError);
}

// Disks 0 to 3 answer at once, 4 and 5 after `late`, 6 and 7 never.
void answer_in_two_waves(TestGroup& group, Duration late) {
  for (const std::uint32_t order : {4u, 5u}) group.disk(order).delay = late;
  for (const std::uint32_t order : {6u, 7u}) {
    group.disk(order).behaviour = ScriptedDisk::Behaviour::kSilent;
  }
}

TEST(ProxyGroupCall, AcknowledgementsOlderThanTheirLifetimeAreAskedForAgain) {
  TestGroup group(Species::kBlock42);
  answer_in_two_waves(group, 14s);
  std::uint32_t asked = 0;
  group.disk(0).script = [&](const DiskRequest& request) -> std::optional<DiskReply> {
    if (std::holds_alternative<BlockTablet>(request.body)) ++asked;
    return std::nullopt;
  };
  EXPECT_EQ(group.block(3, 77).status, Status::kDeadline) << "two disks are always too late";
  EXPECT_GE(asked, 2u);
  TestGroup quick(Species::kBlock42);
  answer_in_two_waves(quick, 10s);
  EXPECT_EQ(quick.block(3, 77).status, Status::kOk);
}

TEST(ProxyRace, AConfigOfAnotherGroupIsNotTaken) {
  TestGroup group(Species::kBlock42);
  const BlobId id = test_id(100, 1);
  GroupConfig foreign = group.proxy().config();
  foreign.id = GroupId{99};
  foreign.generation = 50;
  group.disk(id, 0).script = [&](const DiskRequest&) {
    DiskReply reply = ScriptedDisk::refusal(Status::kRace);
    reply.config = foreign;
    return std::optional(reply);
  };
  EXPECT_EQ(group.put(id, test_bytes(100)).status, Status::kOk);
  EXPECT_EQ(group.proxy().config().id.value, 7u);
}

TEST(ProxyRace, RestartsAreBounded) {
  TestGroup group(Species::kNone);
  const BlobId id = test_id(100, 1);
  GroupConfig next = group.proxy().config();
  group.disk(0).script = [&](const DiskRequest&) {
    ++next.generation;
    DiskReply reply = ScriptedDisk::refusal(Status::kRace);
    reply.config = next;
    return std::optional(reply);
  };
  EXPECT_EQ(group.put(id, test_bytes(100)).status, Status::kError);
  EXPECT_EQ(group.disk(0).puts, kRestartsMax);
}

}  // namespace
}  // namespace moraine::blob
