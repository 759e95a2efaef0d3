#include <gtest/gtest.h>

#include <bit>

#include "blob/proxy/context.h"
#include "blob/proxy/test_group.h"

namespace moraine::blob {
namespace {

using Behaviour = ScriptedDisk::Behaviour;

TEST(ProxyPut, AnOkPutPlacesEveryPartOnItsMain) {
  for (const Species species : {Species::kNone, Species::kBlock42, Species::kMirror3dc}) {
    TestGroup group(species);
    const Slice data = test_bytes(1000);
    const BlobId id = test_id(1000, 1);
    EXPECT_EQ(group.put(id, data).status, Status::kOk);
    for (std::uint32_t slot = 0; slot < group.geometry().parts(); ++slot) {
      EXPECT_TRUE(group.disk(id, slot).has(id, slot + 1));
    }
    const GetItem got = group.get(id);
    EXPECT_EQ(got.status, Status::kOk);
    EXPECT_TRUE(equal(got.data, data));
  }
}

TEST(ProxyPut, WrongRequestsSayWhatIsWrong) {
  TestGroup group(Species::kBlock42);
  EXPECT_EQ(group.put(test_id(10, 1), test_bytes(9)).status, Status::kError);
  EXPECT_EQ(group.put(test_id(10, 1).with_part(2), test_bytes(10)).status, Status::kError);
  const BlobId no_tablet(TabletId{0}, 1, 1, 0, 10, 0);
  const PutResult result = group.put(no_tablet, test_bytes(10));
  EXPECT_EQ(result.status, Status::kError);
  EXPECT_FALSE(result.reason.empty());
  for (std::uint32_t order = 0; order < 8; ++order) EXPECT_EQ(group.disk(order).calls, 0u);
}

TEST(ProxyPut, OneDiskThatHasTheBlobInAnotherSizeEndsThePut) {
  for (const Species species : {Species::kNone, Species::kBlock42, Species::kMirror3dc}) {
    TestGroup group(species);
    const BlobId id = test_id(1000, 1);
    group.disk(id, 0).script = [](const DiskRequest& request) -> std::optional<DiskReply> {
      if (!std::holds_alternative<PutPart>(request.body)) return std::nullopt;
      DiskReply refused = ScriptedDisk::refusal(Status::kError);
      refused.reason = "another size";
      refused.body = PutPartReply{.other_size = true};
      return refused;
    };
    const PutResult result = group.put(id, test_bytes(1000));
    EXPECT_EQ(result.status, Status::kError);
    EXPECT_NE(result.reason.find("another size"), std::string::npos) << result.reason;
  }
}

TEST(ProxyPut, EveryPairOfBadDisksIsWorkedAroundOnBlock42) {
  for (const Behaviour behaviour :
       {Behaviour::kError, Behaviour::kSilent, Behaviour::kNotReady, Behaviour::kOutOfSpace}) {
    TestGroup group(Species::kBlock42);
    Step step = 0;
    for (std::uint32_t a = 0; a < 8; ++a) {
      for (std::uint32_t b = 0; b < a; ++b) {
        group.forget_health();
        const BlobId id = test_id(300, ++step);
        group.set_behaviours(disk_bit(a) | disk_bit(b), behaviour);
        ASSERT_EQ(group.put(id, test_bytes(300)).status, Status::kOk);
        PartLayout layout = group.layout(id);
        EXPECT_TRUE(confirmed(group.geometry(), layout));
        // Any two disks may fail right after the OK.
        for (std::uint32_t c = 0; c < 8; ++c) {
          for (std::uint32_t d = 0; d < c; ++d) {
            PartLayout left = layout;
            left.parts_at[c] = left.parts_at[d] = 0;
            EXPECT_TRUE(restorable(group.geometry(), left));
          }
        }
      }
    }
  }
}

TEST(ProxyPut, ThreeBadDisksAreAnErrorAndSpaceIsNamedWhenItIsTheReason) {
  TestGroup group(Species::kBlock42);
  const BlobId id = test_id(300, 1);
  const Geometry::Subgroup subgroup = group.geometry().subgroup(id);
  const DiskSet three =
      disk_bit(subgroup.order[0]) | disk_bit(subgroup.order[1]) | disk_bit(subgroup.order[2]);
  group.set_behaviours(three, Behaviour::kError);
  const PutResult error = group.put(id, test_bytes(300));
  EXPECT_EQ(error.status, Status::kError);
  EXPECT_NE(error.reason.find("no write quorum"), std::string::npos);
  group.forget_health();
  group.set_behaviours(three, Behaviour::kOutOfSpace);
  EXPECT_EQ(group.put(test_id(300, 1), test_bytes(300)).status, Status::kOutOfSpace);
  group.set_behaviours(0, Behaviour::kHealthy);
  EXPECT_EQ(group.put(id, test_bytes(300)).status, Status::kOk) << "the next request tries again";
}

TEST(ProxyPut, EndsAtItsDeadlineWhenTooManyDisksAreSilent) {
  TestGroup group(Species::kBlock42);
  group.set_behaviours(0b111, Behaviour::kSilent);
  const Instant before = group.now();
  EXPECT_EQ(group.put(test_id(300, 1), test_bytes(300), 5s).status, Status::kDeadline);
  EXPECT_EQ(group.now() - before, 5s);
  PutRequest late;
  late.id = test_id(10, 2);
  late.data = test_bytes(10);
  late.deadline = group.now();
  EXPECT_EQ(group.run(group.proxy().put(std::move(late))).status, Status::kDeadline);
}

TEST(ProxyPut, BlockedOfOneDiskEndsThePutAtOnce) {
  for (const Species species : {Species::kNone, Species::kBlock42, Species::kMirror3dc}) {
    TestGroup group(species);
    const BlobId id = test_id(100, 1, 3);
    group.disk(id, 0).blocks[TabletId{kTestTablet}] = {3, 1};
    EXPECT_EQ(group.put(id, test_bytes(100)).status, Status::kBlocked);
    EXPECT_EQ(group.put(test_id(100, 1, 4), test_bytes(100)).status, Status::kOk);
  }
}

TEST(ProxyPut, ExtraBlocksAreCheckedByTheDisks) {
  TestGroup group(Species::kBlock42);
  group.block(5);
  PutRequest request;
  request.id = BlobId(TabletId{77}, 1, 1, 0, 100, 0);
  request.data = test_bytes(100);
  request.extra_blocks.push_back({TabletId{kTestTablet}, 5});
  EXPECT_EQ(group.run(group.proxy().put(request)).status, Status::kBlocked);
  request.extra_blocks[0].generation = 6;
  EXPECT_EQ(group.run(group.proxy().put(request)).status, Status::kOk);
}

TEST(ProxyPut, ADeadlineOfOneDiskEndsThePut) {
  TestGroup group(Species::kBlock42);
  const BlobId id = test_id(100, 1);
  group.disk(id, 3).script = [](const DiskRequest&) {
    return ScriptedDisk::refusal(Status::kDeadline);
  };
  EXPECT_EQ(group.put(id, test_bytes(100)).status, Status::kDeadline);
}

TEST(ProxyPut, AlreadyOfADiskCountsAsPresent) {
  TestGroup group(Species::kBlock42);
  const BlobId id = test_id(100, 1);
  for (std::uint32_t order = 0; order < 8; ++order) {
    group.disk(order).script = [](const DiskRequest&) {
      return ScriptedDisk::refusal(Status::kAlready);
    };
  }
  EXPECT_EQ(group.put(id, test_bytes(100)).status, Status::kOk);
}

TEST(ProxyPut, ASlowMainIsAcceleratedAndAvoidedNextTime) {
  TestGroup group(Species::kBlock42);
  for (Step step = 1; step <= 20; ++step) group.put(test_id(100, step), test_bytes(100));
  const BlobId id = test_id(100, 30);
  ScriptedDisk& slow = group.disk(id, 2);
  slow.delay = 10s;
  const Instant before = group.now();
  EXPECT_EQ(group.put(id, test_bytes(100)).status, Status::kOk);
  EXPECT_LT(group.now() - before, 1s);
  EXPECT_EQ(group.layout(id).parts_at[6] | group.layout(id).parts_at[7], 0b100);
  for (Step step = 40; step < 70; ++step) {
    group.wait(500ms);
    EXPECT_EQ(group.put(test_id(100, step), test_bytes(100)).status, Status::kOk);
  }
  const std::uint32_t before_second = slow.puts;
  const Instant second = group.now();
  EXPECT_EQ(group.put(id, test_bytes(100)).status, Status::kOk);
  EXPECT_EQ(slow.puts, before_second) << "known to be slow";
  EXPECT_LT(group.now() - second, 5ms) << "no waiting for it either";
}

TEST(ProxyPut, AWipedDiskMakesItsPartBeSentAgain) {
  TestGroup group(Species::kBlock42);
  const BlobId id = test_id(100, 1);
  // Main 5 needs 13 s once, so all acknowledgements expire; main 0 is wiped meanwhile. The handoffs
  // are full, so no other disk can take part 6.
  group.disk(id, 5).delay = 13s;
  group.world().executor.schedule(group.now() + 12s, [&] { group.disk(id, 5).delay = 1ms; });
  group.disk(id, 6).behaviour = group.disk(id, 7).behaviour = Behaviour::kOutOfSpace;
  group.world().executor.schedule(group.now() + 5s, [&] { group.disk(id, 0).wipe(); });
  EXPECT_EQ(group.put(id, test_bytes(100)).status, Status::kOk);
  EXPECT_TRUE(group.disk(id, 0).has(id, 1));
  EXPECT_EQ(group.disk(id, 0).puts, 2u);
}

TEST(ProxyPut, ReportsTheWorstColourAndWritesBeyondTheBarrier) {
  TestGroup group(Species::kBlock42);
  const BlobId id = test_id(100, 1);
  group.disk(id, 3).colour = Colour::kYellow;
  group.disk(id, 1).script = [](const DiskRequest&) {
    DiskReply reply;
    reply.status = Status::kOk;
    reply.body = PutPartReply{true};
    return std::optional(reply);
  };
  for (std::uint32_t slot : {0u, 2u, 4u, 5u}) group.disk(id, slot).delay = 2ms;
  const PutResult result = group.put(id, test_bytes(100));
  EXPECT_EQ(result.status, Status::kOk);
  EXPECT_EQ(result.colour, Colour::kYellow);
  EXPECT_TRUE(result.beyond_barrier);
}

TEST(ProxyPut, PartWritesLeftBehindRunToTheirEnd) {
  TestGroup group(Species::kMirror3dc);
  const BlobId id = test_id(100, 1);
  group.disk(id, 1).delay = 3s;
  EXPECT_EQ(group.put(id, test_bytes(100)).status, Status::kOk);
  EXPECT_FALSE(group.disk(id, 1).has(id, 2));
  group.wait(4s);
  EXPECT_TRUE(group.disk(id, 1).has(id, 2));
}

TEST(ProxyPut, EveryToleratedFailureSetOfMirror3dcStillTakesPutsAndBlocks) {
  for (const Behaviour behaviour : {Behaviour::kError, Behaviour::kSilent}) {
    TestGroup group(Species::kMirror3dc);
    const Slice data = test_bytes(200);
    const BlobId before = test_id(200, 1);
    ASSERT_EQ(group.put(before, data).status, Status::kOk);
    std::uint32_t sets = 0;
    for (DiskSet bad = 0; bad < disk_bit(9); ++bad) {
      if (!tolerated(group.geometry(), bad)) continue;
      ++sets;
      group.set_behaviours(bad, behaviour);
      group.forget_health();
      const GetItem got = group.get(before);
      ASSERT_EQ(got.status, Status::kOk) << bad << " " << group.last_reason;
      ASSERT_TRUE(equal(got.data, data));
      const PutResult put = group.put(test_id(200, 10 + bad, 1000), data);
      ASSERT_EQ(put.status, Status::kOk) << bad << " " << put.reason;
      ASSERT_EQ(group.block(sets).status, Status::kOk) << bad;
    }
    EXPECT_EQ(sets, 121u);
  }
}

TEST(ProxyPut, OneBadDiskInEachRealmNeverGivesAWrongAnswer) {
  TestGroup group(Species::kMirror3dc);
  const Slice data = test_bytes(200);
  const BlobId id = test_id(200, 1);
  ASSERT_EQ(group.put(id, data).status, Status::kOk);
  for (std::uint32_t a = 0; a < 3; ++a) {
    for (std::uint32_t b = 3; b < 6; ++b) {
      for (std::uint32_t c = 6; c < 9; ++c) {
        group.set_behaviours(disk_bit(a) | disk_bit(b) | disk_bit(c), Behaviour::kSilent);
        GetRequest request;
        request.queries.push_back({id});
        request.deadline = group.now() + 3s;
        const GetResult got = group.run(group.proxy().get(std::move(request)));
        EXPECT_NE(got.items[0].status, Status::kNoData);
        if (got.items[0].status == Status::kOk) EXPECT_TRUE(equal(got.items[0].data, data));
        EXPECT_NE(group.block(7, 0, 3s).status, Status::kOk);
      }
    }
  }
}

TEST(ProxyPut, ManyPutsRunAtOnce) {
  TestGroup group(Species::kBlock42);
  TaskScope scope;
  std::uint32_t ok = 0;
  struct Client {
    static Task<void> put(Proxy& proxy, Step step, std::uint32_t& ok) {
      PutRequest request;
      request.id = test_id(100, step);
      request.data = test_bytes(100);
      const PutResult result = co_await proxy.put(std::move(request));
      if (result.status == Status::kOk) ++ok;
    }
  };
  for (Step step = 1; step <= 500; ++step) scope.spawn(Client::put(group.proxy(), step, ok));
  group.wait(1s);
  EXPECT_EQ(ok, 500u);
}

TEST(ProxyPut, AStoppedProxyRefusesAndWaitsForWhatIsInFlight) {
  TestGroup group(Species::kBlock42);
  TaskScope scope;
  Status status = Status::kRace;
  struct Client {
    static Task<void> put(Proxy& proxy, Status& status) {
      PutRequest request;
      request.id = test_id(100, 1);
      request.data = test_bytes(100);
      const PutResult result = co_await proxy.put(std::move(request));
      status = result.status;
    }
  };
  GroupConfig config = group.proxy().config();
  Proxy second(group.world(), config, group);
  scope.spawn(Client::put(second, status));
  group.run(second.stop());
  EXPECT_EQ(status, Status::kOk);
  scope.spawn(Client::put(second, status));
  EXPECT_EQ(status, Status::kError);
}

}  // namespace
}  // namespace moraine::blob
