#include <gtest/gtest.h>

#include "blob/proxy/range_page.h"
#include "blob/proxy/test_group.h"

namespace moraine::blob {
namespace {

using Behaviour = ScriptedDisk::Behaviour;

RangeRequest all_of(Channel channel = 0) {
  RangeRequest request;
  request.from = BlobId::lowest(TabletId{kTestTablet}, channel);
  request.to = BlobId::highest(TabletId{kTestTablet}, channel);
  return request;
}

std::vector<Step> steps(const RangeResult& result) {
  std::vector<Step> found;
  for (const RangeFound& item : result.items) found.push_back(item.id.step());
  return found;
}

DiscoverResult discover(TestGroup& group, Generation min_generation = 0, Generation force = 0) {
  DiscoverRequest request;
  request.tablet = TabletId{kTestTablet};
  request.min_generation = min_generation;
  request.read_body = true;
  request.discover_blocked = true;
  request.force_blocked_generation = force;
  return group.run(group.proxy().discover(request));
}

void place_parts(TestGroup& group, const BlobId& id, std::uint32_t parts) {
  const Slice data = test_bytes(id.size(), id.step());
  for (std::uint32_t slot = 0; slot < parts; ++slot) group.place(id, data, slot, slot + 1);
}

TEST(ProxyRange, GivesIdsInTheAskedOrderWithTheirBytes) {
  for (const Species species : {Species::kNone, Species::kBlock42, Species::kMirror3dc}) {
    TestGroup group(species);
    for (Step step = 1; step <= 5; ++step) {
      ASSERT_EQ(group.put(test_id(50, step), test_bytes(50, step)).status, Status::kOk);
    }
    group.put(test_id(50, 1, 1, 1), test_bytes(50));  // Another channel.
    RangeRequest request = all_of();
    RangeResult up = group.run(group.proxy().range(request));
    EXPECT_EQ(up.status, Status::kOk);
    EXPECT_EQ(steps(up), (std::vector<Step>{1, 2, 3, 4, 5}));
    for (const RangeFound& item : up.items) {
      EXPECT_TRUE(equal(item.data, test_bytes(50, item.id.step())));
    }
    std::swap(request.from, request.to);
    request.index_only = true;
    RangeResult down = group.run(group.proxy().range(request));
    EXPECT_EQ(steps(down), (std::vector<Step>{5, 4, 3, 2, 1}));
    EXPECT_TRUE(down.items[0].data.empty());
    request.limit = 2;
    down = group.run(group.proxy().range(request));
    EXPECT_EQ(steps(down), (std::vector<Step>{5, 4}));
    EXPECT_TRUE(down.more);
    request.limit = 5;
    down = group.run(group.proxy().range(request));
    EXPECT_EQ(steps(down).size(), 5u);
    EXPECT_FALSE(down.more);
  }
}

TEST(ProxyRange, PagesThroughMoreIdsThanOneReplyHolds) {
  TestGroup group(Species::kBlock42);
  constexpr Step kCount = static_cast<Step>(kRangeItemsMax) + 500;
  for (Step step = 1; step <= kCount; ++step) {
    const BlobId id = test_id(1, step);
    for (std::uint32_t slot = 0; slot < 6; ++slot)
      group.disk(id, slot).ingress[id].bits = 4u << slot;
  }
  RangeRequest request = all_of();
  request.index_only = true;
  RangeResult result = group.run(group.proxy().range(request));
  ASSERT_EQ(result.items.size(), kCount);
  for (Step step = 1; step <= kCount; ++step) ASSERT_EQ(result.items[step - 1].id.step(), step);
  std::swap(request.from, request.to);
  result = group.run(group.proxy().range(request));
  ASSERT_EQ(result.items.size(), kCount);
  for (Step step = 1; step <= kCount; ++step) {
    ASSERT_EQ(result.items[step - 1].id.step(), kCount + 1 - step);
  }
}

TEST(ProxyRange, RestoringDropsWhatWasNeverConfirmedAndCompletesTheRest) {
  for (const bool index_only : {true, false}) {
    TestGroup group(Species::kBlock42);
    for (Step step = 1; step <= 6; ++step) place_parts(group, test_id(300, step), step);
    RangeRequest request = all_of();
    request.index_only = index_only;
    RangeResult plain = group.run(group.proxy().range(request));
    EXPECT_EQ(steps(plain).size(), index_only ? 6u : 3u);
    request.must_restore = true;
    const RangeResult restored = group.run(group.proxy().range(request));
    EXPECT_EQ(restored.status, Status::kOk) << restored.reason;
    EXPECT_EQ(steps(restored), (std::vector<Step>{4, 5, 6}));
    for (Step step = 4; step <= 6; ++step) {
      const BlobId id = test_id(300, step);
      EXPECT_TRUE(confirmed(group.geometry(), group.layout(id)));
      if (!index_only) {
        EXPECT_TRUE(equal(restored.items[step - 4].data, test_bytes(300, step)));
      }
    }
  }
}

TEST(ProxyRange, AnIdThatMayExistAndCannotBeRestoredMakesItAnError) {
  TestGroup group(Species::kBlock42);
  const BlobId id = test_id(300, 1);
  place_parts(group, id, 6);
  for (std::uint32_t slot = 0; slot < 3; ++slot) group.disk(id, slot).parts.clear();
  for (std::uint32_t slot = 0; slot < 3; ++slot) group.disk(id, slot).not_yet.insert(id);
  RangeRequest request = all_of();
  request.must_restore = true;
  EXPECT_EQ(group.run(group.proxy().range(request)).status, Status::kError);
}

TEST(ProxyRange, NeedsAGroupQuorumOfAnswers) {
  TestGroup group(Species::kBlock42);
  group.put(test_id(50, 1), test_bytes(50));
  group.set_behaviours(0b11, Behaviour::kSilent);
  EXPECT_EQ(group.run(group.proxy().range(all_of())).items.size(), 1u);
  group.set_behaviours(0b111, Behaviour::kError);
  EXPECT_EQ(group.run(group.proxy().range(all_of())).status, Status::kError);
  group.set_behaviours(0b111, Behaviour::kSilent);
  RangeRequest request = all_of();
  request.deadline = group.now() + 1s;
  EXPECT_EQ(group.run(group.proxy().range(request)).status, Status::kDeadline);
}

TEST(ProxyRange, RefusesTwoTabletsOrChannels) {
  TestGroup group(Species::kNone);
  RangeRequest request = all_of();
  request.to = BlobId::highest(TabletId{kTestTablet + 1}, 0);
  EXPECT_EQ(group.run(group.proxy().range(request)).reason, "the range spans two tablets");
  request.to = BlobId::highest(TabletId{kTestTablet}, 1);
  EXPECT_EQ(group.run(group.proxy().range(request)).reason, "the range spans two channels");
}

TEST(ProxyDiscover, FindsTheNewestBlobOfChannelZero) {
  for (const Species species : {Species::kNone, Species::kBlock42, Species::kMirror3dc}) {
    TestGroup group(species);
    EXPECT_EQ(discover(group).status, Status::kNoData);
    for (Step step = 1; step <= 30; ++step) {
      group.put(test_id(50, step, 1 + step / 10), test_bytes(50, step));
    }
    group.put(test_id(50, 1, 9, 1), test_bytes(50));
    group.block(2);
    const DiscoverResult found = discover(group);
    ASSERT_EQ(found.status, Status::kOk) << found.reason;
    EXPECT_EQ(found.id, test_id(50, 30, 4));
    EXPECT_TRUE(equal(found.body, test_bytes(50, 30)));
    EXPECT_EQ(found.blocked, 2u);
    EXPECT_EQ(discover(group, 5).status, Status::kNoData);
    EXPECT_EQ(discover(group, 4).status, Status::kOk);
  }
}

TEST(ProxyDiscover, ListsEveryConfirmedBlobOfChannelZeroNewestFirst) {
  for (const Species species : {Species::kNone, Species::kBlock42, Species::kMirror3dc}) {
    TestGroup group(species);
    DiscoverRequest request;
    request.tablet = TabletId{kTestTablet};
    request.list = true;
    request.discover_blocked = true;
    EXPECT_EQ(group.run(group.proxy().discover(request)).status, Status::kNoData);
    for (Step step = 1; step <= 30; ++step) {
      group.put(test_id(50, step, 1 + step / 10), test_bytes(50, step));
    }
    group.put(test_id(50, 1, 9, 1), test_bytes(50));
    group.block(2);
    for (const bool with_bodies : {false, true}) {
      request.read_body = with_bodies;
      request.min_generation = 2;
      const DiscoverResult found = group.run(group.proxy().discover(request));
      ASSERT_EQ(found.status, Status::kOk) << found.reason;
      EXPECT_EQ(found.blocked, 2u);
      EXPECT_EQ(found.id, test_id(50, 30, 4));
      ASSERT_EQ(found.blobs.size(), 21u);
      for (Step step = 30; step >= 10; --step) {
        const RangeFound& blob = found.blobs[30 - step];
        EXPECT_EQ(blob.id, test_id(50, step, 1 + step / 10));
        const Slice expected = with_bodies ? test_bytes(50, step) : Slice();
        EXPECT_TRUE(equal(blob.data, expected));
      }
    }
  }
}

TEST(ProxyDiscover, PassesOverTailBlobsThatWereProvablyNeverConfirmed) {
  TestGroup group(Species::kBlock42);
  group.put(test_id(300, 1), test_bytes(300, 1));
  for (Step step = 2; step <= 40; ++step) place_parts(group, test_id(300, step), 1 + step % 3);
  const DiscoverResult found = discover(group);
  ASSERT_EQ(found.status, Status::kOk) << found.reason;
  EXPECT_EQ(found.id.step(), 1u);
}

TEST(ProxyDiscover, RestoresTheFirstCandidateAndAnswersWithIt) {
  TestGroup group(Species::kBlock42);
  group.put(test_id(300, 1), test_bytes(300, 1));
  place_parts(group, test_id(300, 2), 4);
  place_parts(group, test_id(300, 3), 3);
  const DiscoverResult found = discover(group);
  ASSERT_EQ(found.status, Status::kOk);
  EXPECT_EQ(found.id.step(), 2u);
  EXPECT_TRUE(equal(found.body, test_bytes(300, 2)));
  EXPECT_TRUE(confirmed(group.geometry(), group.layout(test_id(300, 2))));
}

TEST(ProxyDiscover, ABlobOnceSeenCompleteIsNeverPassedOver) {
  TestGroup group(Species::kBlock42);
  const BlobId id = test_id(300, 2);
  group.put(test_id(300, 1), test_bytes(300, 1));
  place_parts(group, id, 6);
  // Disks have synced, then four of them lost all data: beyond the fail model.
  for (std::uint32_t slot = 0; slot < 6; ++slot) group.disk(id, slot).ingress[id].bits = 0b11111100;
  for (std::uint32_t slot = 0; slot < 4; ++slot) group.disk(id, slot).wipe();
  EXPECT_EQ(discover(group).status, Status::kError);
}

TEST(ProxyDiscover, ABlobThatASilentDiskKnewAsCompleteIsNotPassedOver) {
  for (const Behaviour then : {Behaviour::kSilent, Behaviour::kError}) {
    TestGroup group(Species::kBlock42);
    const BlobId id = test_id(300, 2);
    group.put(test_id(300, 1), test_bytes(300, 1));
    place_parts(group, id, 6);
    for (std::uint32_t slot = 4; slot < 6; ++slot) {
      group.disk(id, slot).ingress[id].bits = 0b11111100;
    }
    for (std::uint32_t slot = 0; slot < 4; ++slot) group.disk(id, slot).wipe();
    // The two that know it answer the first index request and no later one.
    for (std::uint32_t slot = 4; slot < 6; ++slot) {
      ScriptedDisk& disk = group.disk(id, slot);
      disk.script = [&disk, then](const DiskRequest& request) -> std::optional<DiskReply> {
        if (std::holds_alternative<GetParts>(request.body)) disk.behaviour = then;
        return std::nullopt;
      };
    }
    const DiscoverResult found = discover(group);
    EXPECT_NE(found.status, Status::kOk) << found.id.to_string();
    EXPECT_NE(found.status, Status::kNoData);
  }
}

TEST(ProxyDiscover, ABlobThatIsCollectedWhileItIsReadIsPassedOver) {
  TestGroup group(Species::kBlock42);
  const BlobId id = test_id(300, 2);
  group.put(test_id(300, 1), test_bytes(300, 1));
  group.put(id, test_bytes(300, 2));
  for (std::uint32_t slot = 0; slot < 6; ++slot) group.disk(id, slot).ingress[id].bits = 0b11111100;
  const auto collect = [&group, id](const DiskRequest& request) -> std::optional<DiskReply> {
    if (!std::holds_alternative<GetParts>(request.body)) return std::nullopt;
    for (std::uint32_t order = 0; order < 8; ++order) {
      ScriptedDisk& disk = group.disk(order);
      disk.ingress.erase(id);
      for (std::uint32_t part = 1; part <= 6; ++part) disk.parts.erase(id.with_part(part));
    }
    return std::nullopt;
  };
  for (std::uint32_t order = 0; order < 8; ++order) group.disk(order).script = collect;
  const DiscoverResult found = discover(group);
  ASSERT_EQ(found.status, Status::kOk) << found.reason;
  EXPECT_EQ(found.id.step(), 1u);
}

TEST(ProxyDiscover, IsLateWhenADiskThatKnewACollectedBlobDoesNotAnswer) {
  for (const Behaviour then : {Behaviour::kSilent, Behaviour::kNotReady}) {
    TestGroup group(Species::kBlock42);
    const BlobId id = test_id(300, 2);
    group.put(test_id(300, 1), test_bytes(300, 1));
    group.put(id, test_bytes(300, 2));
    for (std::uint32_t slot = 0; slot < 6; ++slot) {
      group.disk(id, slot).ingress[id].bits = 0b11111100;
    }
    const auto collect = [&group, id,
                          then](const DiskRequest& request) -> std::optional<DiskReply> {
      if (!std::holds_alternative<GetParts>(request.body)) return std::nullopt;
      for (std::uint32_t order = 0; order < 8; ++order) {
        ScriptedDisk& disk = group.disk(order);
        disk.ingress.erase(id);
        for (std::uint32_t part = 1; part <= 6; ++part) disk.parts.erase(id.with_part(part));
      }
      group.disk(id, 5).behaviour = then;
      return std::nullopt;
    };
    for (std::uint32_t order = 0; order < 8; ++order) group.disk(order).script = collect;
    const DiscoverResult found = discover(group);
    EXPECT_EQ(found.status, Status::kDeadline) << found.reason;
  }
}

TEST(ProxyDiscover, IsAnErrorWhenTheGroupCannotBeRead) {
  TestGroup group(Species::kBlock42);
  group.put(test_id(300, 1), test_bytes(300, 1));
  group.set_behaviours(0b11, Behaviour::kError);
  EXPECT_EQ(discover(group).status, Status::kOk);
  group.set_behaviours(0b111, Behaviour::kError);
  EXPECT_EQ(discover(group).status, Status::kError);
}

TEST(ProxyDiscover, TheForcedBlockKeepsALatePutFromBecomingConfirmed) {
  TestGroup group(Species::kBlock42);
  const BlobId late = test_id(300, 7, 2);
  // The old leader's put has reached a, b, c, d; the block a..f; x and y (slots 4 and 5) nothing.
  place_parts(group, late, 4);
  for (const std::uint32_t slot : {0u, 1u, 2u, 3u, 6u, 7u}) {
    group.disk(late, slot).blocks[TabletId{kTestTablet}] = {2, 1};
  }
  group.disk(late, 0).behaviour = group.disk(late, 1).behaviour = Behaviour::kError;
  EXPECT_NE(discover(group, 0, 2).status, Status::kOk);
  group.set_behaviours(0, Behaviour::kHealthy);
  EXPECT_EQ(group.put(late, test_bytes(300, 7)).status, Status::kBlocked);
  EXPECT_FALSE(group.disk(late, 4).has(late, 5)) << "the read has fenced it";
}

TEST(RangeMerge, ReportsNothingPastTheFirstDiskThatHasMore) {
  const Geometry geometry = Geometry::standard(Species::kBlock42);
  RangeMerge merge(geometry, BlobId::lowest(TabletId{kTestTablet}, 0),
                   BlobId::highest(TabletId{kTestTablet}, 0));
  const auto reply = [](std::vector<Step> found, bool more) {
    RangeIndexReply reply;
    for (const Step step : found) {
      RangeItem item;
      item.id = test_id(10, step);
      item.local_parts = 0xff;
      reply.items.push_back(item);
    }
    reply.more = more;
    return reply;
  };
  EXPECT_TRUE(merge.add(0, reply({1, 3, 5}, true)));
  EXPECT_TRUE(merge.add(1, reply({2, 9}, false)));
  EXPECT_TRUE(merge.add(2, reply({1, 2, 3}, true)));
  const RangeMerge::Page page = merge.finish();
  ASSERT_EQ(page.blobs.size(), 3u);
  EXPECT_EQ(page.blobs.back().id.step(), 3u);
  ASSERT_TRUE(page.next);
  EXPECT_LT(test_id(10, 3), *page.next);
  EXPECT_LT(*page.next, test_id(10, 4));
}

TEST(RangeMerge, RefusesRepliesThatAreOutOfOrderOrRange) {
  const Geometry geometry = Geometry::standard(Species::kBlock42);
  RangeMerge merge(geometry, test_id(10, 5), test_id(10, 3));
  RangeIndexReply reply;
  reply.items.resize(2);
  reply.items[0].id = test_id(10, 4);
  reply.items[1].id = test_id(10, 5);
  EXPECT_FALSE(merge.add(0, reply)) << "descending";
  reply.items[1].id = test_id(10, 2);
  EXPECT_FALSE(merge.add(0, reply)) << "past the end";
  reply.items[1].id = test_id(10, 3);
  EXPECT_TRUE(merge.add(0, reply));
  reply.items.clear();
  reply.more = true;
  EXPECT_FALSE(merge.add(1, reply)) << "more of nothing";
}

}  // namespace
}  // namespace moraine::blob
