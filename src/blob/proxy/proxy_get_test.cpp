#include <gtest/gtest.h>

#include <algorithm>

#include "blob/proxy/get.h"
#include "blob/proxy/test_group.h"

namespace moraine::blob {
namespace {

using Behaviour = ScriptedDisk::Behaviour;

// Ids of `size` bytes, one for each of the eight rotations of a block-4-2 group.
std::vector<BlobId> rotations(const Geometry& geometry, std::size_t size) {
  std::vector<BlobId> ids;
  DiskSet seen = 0;
  for (Step step = 1; ids.size() < 8; ++step) {
    const BlobId id = test_id(size, step);
    const std::uint32_t first = geometry.subgroup(id).order[0];
    if (contains(seen, first)) continue;
    seen |= disk_bit(first);
    ids.push_back(id);
  }
  return ids;
}

std::vector<GetQuery> some_ranges(const BlobId& id) {
  const std::uint32_t size = id.size();
  std::vector<GetQuery> queries{{id, 0, 0}, {id, size - 1, 0}, {id, size / 2, 0}, {id, 0, 1}};
  queries.push_back({id, size / 3, size / 2 + 1});
  queries.push_back({id, size / 4, 40});
  queries.push_back({id, size / 2, size});  // Cut at the end.
  return queries;
}

void check_all_pairs(TestGroup& group, const BlobId& id, const Slice& data) {
  for (std::uint32_t a = 0; a < 8; ++a) {
    for (std::uint32_t b = 0; b < a; ++b) {
      group.set_behaviours(disk_bit(a) | disk_bit(b),
                           (a + b) % 2 == 0 ? Behaviour::kError : Behaviour::kSilent);
      GetRequest request;
      request.queries = some_ranges(id);
      const GetResult result = group.run(group.proxy().get(request));
      ASSERT_EQ(result.status, Status::kOk) << result.reason;
      for (std::size_t i = 0; i < request.queries.size(); ++i) {
        const GetQuery& query = request.queries[i];
        ASSERT_EQ(result.items[i].status, Status::kOk) << a << " " << b << " " << result.reason;
        ASSERT_TRUE(equal(result.items[i].data, data.sub(query.shift, asked_bytes(query))));
      }
    }
  }
  group.set_behaviours(0, Behaviour::kHealthy);
}

TEST(ProxyGet, EveryPairOfLostDisksLeavesEveryBlobOfBlock42Readable) {
  for (const std::size_t size : {1u, 31u, 32u, 33u, 127u, 128u, 129u, 1000u, 65536u}) {
    TestGroup group(Species::kBlock42);
    const Slice data = test_bytes(size);
    for (const BlobId& id : rotations(group.geometry(), size)) {
      ASSERT_EQ(group.put(id, data).status, Status::kOk);
      check_all_pairs(group, id, data);
      group.forget_health();
    }
  }
}

TEST(ProxyGet, EveryPairOfLostDisksLeavesTheLargestBlobReadable) {
  TestGroup group(Species::kBlock42);
  const Slice data = test_bytes(kBlobSizeMax);
  const BlobId id = test_id(kBlobSizeMax, 1);
  ASSERT_EQ(group.put(id, data).status, Status::kOk);
  check_all_pairs(group, id, data);
}

TEST(ProxyGet, NoDataIsAProof) {
  TestGroup group(Species::kBlock42);
  const BlobId never = test_id(100, 99);
  for (std::uint32_t down = 0; down <= 4; ++down) {
    for (const Behaviour behaviour : {Behaviour::kError, Behaviour::kNotReady}) {
      group.set_behaviours(disk_bit(down) - 1, behaviour);
      EXPECT_EQ(group.get(never).status, down <= 2 ? Status::kNoData : Status::kError) << down;
      EXPECT_EQ(group.restore(never).status, down <= 2 ? Status::kNoData : Status::kError);
      EXPECT_EQ(group.get(never, 0, 0, false, true).status,
                down <= 2 ? Status::kNoData : Status::kError);
    }
  }
}

TEST(ProxyGet, AConfirmedBlobIsNeverNoDataWhateverIsDown) {
  for (const Species species : {Species::kBlock42, Species::kMirror3dc}) {
    TestGroup group(species);
    const Slice data = test_bytes(100);
    const BlobId id = test_id(100, 1);
    ASSERT_EQ(group.put(id, data).status, Status::kOk);
    for (DiskSet bad = 0; bad <= group.geometry().all_disks(); ++bad) {
      group.set_behaviours(bad, Behaviour::kError);
      const GetItem got = group.get(id);
      ASSERT_NE(got.status, Status::kNoData) << bad;
      if (tolerated(group.geometry(), bad)) ASSERT_EQ(got.status, Status::kOk) << bad;
      if (got.status == Status::kOk) ASSERT_TRUE(equal(got.data, data));
    }
  }
}

TEST(ProxyGet, AShiftPastTheEndIsAnErrorWithAReason) {
  for (const Species species : {Species::kNone, Species::kBlock42}) {
    TestGroup group(species);
    EXPECT_EQ(group.get(test_id(100, 1), 100).status, Status::kError);
    EXPECT_NE(group.last_reason.find("past the end"), std::string::npos);
    EXPECT_EQ(group.get(test_id(100, 1).with_part(1)).status, Status::kError);
    EXPECT_EQ(group.get(test_id(0, 1)).status, Status::kError);
  }
}

TEST(ProxyGet, ManyBlobsShareOneMessagePerDiskAndMayDiffer) {
  TestGroup group(Species::kBlock42);
  GetRequest request;
  for (Step step = 1; step <= 100; ++step) {
    const BlobId id = test_id(200, step);
    if (step % 10 != 0) group.put(id, test_bytes(200, step));
    request.queries.push_back({id, 0, 0});
  }
  std::uint32_t before = 0;
  for (std::uint32_t order = 0; order < 8; ++order) before += group.disk(order).gets;
  const GetResult result = group.run(group.proxy().get(request));
  EXPECT_EQ(result.status, Status::kOk);
  for (Step step = 1; step <= 100; ++step) {
    const GetItem& item = result.items[step - 1];
    EXPECT_EQ(item.status, step % 10 != 0 ? Status::kOk : Status::kNoData);
    if (step % 10 != 0) EXPECT_TRUE(equal(item.data, test_bytes(200, step)));
  }
  std::uint32_t after = 0;
  for (std::uint32_t order = 0; order < 8; ++order) after += group.disk(order).gets;
  EXPECT_LE(after - before, 40u);
}

TEST(ProxyGet, TruncatedRepliesAreAskedForTheRest) {
  for (const Species species : {Species::kNone, Species::kBlock42, Species::kMirror3dc}) {
    TestGroup group(species);
    GetRequest request;
    for (Step step = 1; step <= 30; ++step) {
      const BlobId id = test_id(1000, step);
      group.put(id, test_bytes(1000, step));
      request.queries.push_back({id});
    }
    for (std::uint32_t order = 0; order < group.geometry().disks(); ++order) {
      group.disk(order).get_reply_bytes_max = 2500;
    }
    const GetResult result = group.run(group.proxy().get(request));
    for (Step step = 1; step <= 30; ++step) {
      ASSERT_EQ(result.items[step - 1].status, Status::kOk);
      ASSERT_TRUE(equal(result.items[step - 1].data, test_bytes(1000, step)));
    }
  }
}

TEST(ProxyGet, ABrokenPartIsWorkedAroundAndRepaired) {
  for (const Species species : {Species::kBlock42, Species::kMirror3dc}) {
    TestGroup group(species);
    const Slice data = test_bytes(1000);
    const BlobId id = test_id(1000, 1);
    ASSERT_EQ(group.put(id, data).status, Status::kOk);
    for (std::uint32_t slot = 0; slot < 2; ++slot) {
      ScriptedDisk& disk = group.disk(id, slot);
      disk.parts[id.with_part(slot + 1)] = test_bytes(disk.parts[id.with_part(slot + 1)].size(), 9);
      disk.corrupted.insert(id.with_part(slot + 1));
    }
    EXPECT_TRUE(equal(group.get(id, 10, 500).data, data.sub(10, 500)));
    group.wait(1s);
    const GetItem again = group.get(id);
    EXPECT_TRUE(equal(again.data, data));
    group.wait(1s);
    EXPECT_TRUE(equal(group.disk(id, 0).parts[id.with_part(1)], split(species, data)[0]));
    EXPECT_FALSE(group.disk(id, 0).corrupted.contains(id.with_part(1)));
  }
}

TEST(ProxyGet, ThreeBrokenPartsAreAnErrorAndNotNoData) {
  TestGroup group(Species::kBlock42);
  const BlobId id = test_id(1000, 1);
  ASSERT_EQ(group.put(id, test_bytes(1000)).status, Status::kOk);
  for (std::uint32_t slot = 0; slot < 3; ++slot) {
    group.disk(id, slot).corrupted.insert(id.with_part(slot + 1));
  }
  EXPECT_EQ(group.get(id).status, Status::kError);
  EXPECT_TRUE(group.get(id).damaged);
  EXPECT_EQ(group.restore(id).status, Status::kError);
}

TEST(ProxyGet, ADiskThatFailsBesidesBrokenPartsMayHelpLater) {
  TestGroup group(Species::kBlock42);
  const BlobId id = test_id(1000, 1);
  ASSERT_EQ(group.put(id, test_bytes(1000)).status, Status::kOk);
  for (std::uint32_t slot = 0; slot < 2; ++slot) {
    group.disk(id, slot).corrupted.insert(id.with_part(slot + 1));
  }
  group.disk(id, 2).behaviour = Behaviour::kError;
  const GetItem item = group.get(id);
  EXPECT_EQ(item.status, Status::kError);
  EXPECT_FALSE(item.damaged);
}

TEST(ProxyGet, ABrokenPartOfTheOnlyDiskIsDamage) {
  TestGroup group(Species::kNone);
  const BlobId id = test_id(1000, 1);
  ASSERT_EQ(group.put(id, test_bytes(1000)).status, Status::kOk);
  group.disk(id, 0).corrupted.insert(id.with_part(1));
  const GetItem item = group.get(id);
  EXPECT_EQ(item.status, Status::kError);
  EXPECT_TRUE(item.damaged);
}

TEST(ProxyGet, ASilentDiskDelaysAReadOnlyUntilTheHedge) {
  for (const Species species : {Species::kBlock42, Species::kMirror3dc}) {
    TestGroup group(species);
    const BlobId id = test_id(1000, 1);
    ASSERT_EQ(group.put(id, test_bytes(1000)).status, Status::kOk);
    for (int i = 0; i < 5; ++i) group.get(id);
    group.disk(id, 0).behaviour = Behaviour::kSilent;
    const Instant before = group.now();
    EXPECT_EQ(group.get(id).status, Status::kOk);
    EXPECT_LT(group.now() - before, 1s);
  }
}

TEST(ProxyGet, EndsAtItsDeadlineWithTheItemsThatWereDone) {
  TestGroup group(Species::kBlock42);
  const BlobId id = test_id(1000, 1);
  ASSERT_EQ(group.put(id, test_bytes(1000)).status, Status::kOk);
  for (const std::uint32_t slot : {0u, 1u, 2u}) group.disk(id, slot).behaviour = Behaviour::kSilent;
  GetRequest request;
  request.queries = {{id, 0, 0}, {id, 800, 10}};
  request.deadline = group.now() + 2s;
  const GetResult result = group.run(group.proxy().get(request));
  EXPECT_EQ(result.status, Status::kDeadline);
  EXPECT_EQ(result.items[0].status, Status::kDeadline);
  EXPECT_EQ(result.items[1].status, Status::kOk);
}

TEST(ProxyGet, AFencedReaderGetsBlockedAndForceBlockIsRecorded) {
  for (const Species species : {Species::kNone, Species::kBlock42}) {
    TestGroup group(species);
    const BlobId id = test_id(100, 1);
    ASSERT_EQ(group.put(id, test_bytes(100)).status, Status::kOk);
    ASSERT_EQ(group.block(4).status, Status::kOk);
    GetRequest request;
    request.queries.push_back({id});
    request.reader = TabletGeneration{TabletId{kTestTablet}, 4};
    GetResult result = group.run(group.proxy().get(request));
    EXPECT_EQ(result.status, Status::kBlocked);
    EXPECT_EQ(result.items[0].status, Status::kBlocked);
    request.reader->generation = 5;
    request.force_block = TabletGeneration{TabletId{kTestTablet}, 9};
    result = group.run(group.proxy().get(request));
    EXPECT_EQ(result.items[0].status, Status::kOk);
    EXPECT_EQ(group.put(test_id(100, 2, 9), test_bytes(100)).status, Status::kBlocked);
  }
}

TEST(ProxyGet, KeepFlagsAreReported) {
  for (const Species species : {Species::kNone, Species::kBlock42}) {
    TestGroup group(species);
    const BlobId id = test_id(100, 1);
    ASSERT_EQ(group.put(id, test_bytes(100)).status, Status::kOk);
    CollectRequest collect;
    collect.tablet = TabletId{kTestTablet};
    collect.record_generation = 1;
    collect.keep.push_back(id);
    ASSERT_EQ(group.run(group.proxy().collect(collect)).status, Status::kOk);
    const GetItem got = group.get(id);
    EXPECT_TRUE(got.keep);
    EXPECT_FALSE(got.do_not_keep);
    EXPECT_TRUE(group.get(id, 0, 0, false, true).keep);
  }
}

TEST(ProxyGet, MoreQueriesThanAMessageTakesAreSplit) {
  TestGroup group(Species::kNone);
  const BlobId id = test_id(10, 1);
  const Slice data = test_bytes(10);
  ASSERT_EQ(group.put(id, data).status, Status::kOk);
  GetRequest request;
  request.queries.assign(2 * kPartQueriesMax + 1, GetQuery{id, 3, 2});
  const GetResult result = group.run(group.proxy().get(request));
  EXPECT_EQ(group.disk(0).gets, 3u);
  EXPECT_TRUE(std::ranges::all_of(
      result.items, [&](const GetItem& item) { return equal(item.data, data.sub(3, 2)); }));
}

}  // namespace
}  // namespace moraine::blob
