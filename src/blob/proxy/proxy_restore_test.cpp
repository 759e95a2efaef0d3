#include <gtest/gtest.h>

#include <bit>

#include "blob/proxy/test_group.h"

namespace moraine::blob {
namespace {

using Behaviour = ScriptedDisk::Behaviour;

TEST(ProxyRestore, APartialWriteIsDecidedByTheNumberOfItsParts) {
  for (const bool index_only : {false, true}) {
    for (DiskSet parts = 0; parts < disk_bit(6); ++parts) {
      TestGroup group(Species::kBlock42);
      const Slice data = test_bytes(500);
      const BlobId id = test_id(500, 1);
      for (std::uint32_t slot = 0; slot < 6; ++slot) {
        if (contains(parts, slot)) group.place(id, data, slot, slot + 1);
      }
      const GetItem got = group.restore(id, index_only);
      if (std::popcount(parts) <= 3) {
        EXPECT_EQ(got.status, Status::kNoData) << parts;
        continue;
      }
      ASSERT_EQ(got.status, Status::kOk) << parts << " " << group.last_reason;
      if (!index_only) EXPECT_TRUE(equal(got.data, data));
      EXPECT_TRUE(confirmed(group.geometry(), group.layout(id))) << parts;
      for (std::uint32_t a = 0; a < 8; ++a) {
        for (std::uint32_t b = 0; b < a; ++b) {
          group.set_behaviours(disk_bit(a) | disk_bit(b), Behaviour::kError);
          ASSERT_TRUE(equal(group.get(id).data, data));
        }
      }
    }
  }
}

TEST(ProxyRestore, WithDisksDownItRestoresProvesOrSaysError) {
  for (std::uint32_t parts = 0; parts <= 6; ++parts) {
    for (DiskSet down = 0; down < disk_bit(8); ++down) {
      if (std::popcount(down) > 3) continue;
      TestGroup group(Species::kBlock42);
      const Slice data = test_bytes(500);
      const BlobId id = test_id(500, 1);
      std::uint32_t seen = 0;
      for (std::uint32_t slot = 0; slot < parts; ++slot) {
        group.place(id, data, slot, slot + 1);
        if (!contains(down, slot)) ++seen;
      }
      for (std::uint32_t slot = 0; slot < 8; ++slot) {
        group.disk(id, slot).behaviour =
            contains(down, slot) ? Behaviour::kError : Behaviour::kHealthy;
      }
      const auto lost = static_cast<std::uint32_t>(std::popcount(down));
      const GetItem got = group.restore(id);
      Status expected = Status::kError;
      if (seen >= 4 && (lost <= 2 || seen == 6)) {
        expected = Status::kOk;
      } else if (seen < 4 && lost <= 2 && seen + lost < 6) {
        expected = Status::kNoData;
      }
      ASSERT_EQ(got.status, expected) << parts << " parts, down " << down;
      if (expected == Status::kOk) {
        EXPECT_TRUE(equal(got.data, data));
        EXPECT_TRUE(confirmed(group.geometry(), group.layout(id)));
      }
    }
  }
}

TEST(ProxyRestore, OneReplicaOfMirror3dcBecomesAConfirmedBlob) {
  for (std::uint32_t slot = 0; slot < 9; ++slot) {
    TestGroup group(Species::kMirror3dc);
    const Slice data = test_bytes(500);
    const BlobId id = test_id(500, 1);
    group.place(id, data, slot, slot % 3 + 1);
    const GetItem got = group.restore(id);
    ASSERT_EQ(got.status, Status::kOk);
    EXPECT_TRUE(equal(got.data, data));
    EXPECT_TRUE(confirmed(group.geometry(), group.layout(id)));
  }
}

TEST(ProxyRestore, OnceOkABlobStaysReadableUnderEveryToleratedLoss) {
  TestGroup group(Species::kMirror3dc);
  const Slice data = test_bytes(500);
  const BlobId id = test_id(500, 1);
  group.place(id, data, 4, 2);
  ASSERT_EQ(group.restore(id).status, Status::kOk);
  for (DiskSet bad = 0; bad < disk_bit(9); ++bad) {
    if (!tolerated(group.geometry(), bad)) continue;
    group.set_behaviours(bad, Behaviour::kError);
    ASSERT_TRUE(equal(group.get(id).data, data)) << bad;
    ASSERT_EQ(group.restore(id, true).status, Status::kOk) << bad;
  }
}

TEST(ProxyRestore, AFencedGenerationsBlobIsStillCompleted) {
  TestGroup group(Species::kBlock42);
  const Slice data = test_bytes(500);
  const BlobId id = test_id(500, 1, 3);
  for (std::uint32_t slot = 0; slot < 4; ++slot) group.place(id, data, slot, slot + 1);
  ASSERT_EQ(group.block(3).status, Status::kOk);
  group.wait(1s);
  EXPECT_EQ(group.restore(id).status, Status::kOk);
  EXPECT_TRUE(confirmed(group.geometry(), group.layout(id)));
}

TEST(ProxyRestore, APartThatADiskStillHasToReplicateIsWrittenThere) {
  TestGroup group(Species::kBlock42);
  const Slice data = test_bytes(500);
  const BlobId id = test_id(500, 1);
  ASSERT_EQ(group.put(id, data).status, Status::kOk);
  ScriptedDisk& behind = group.disk(id, 2);
  behind.parts.clear();
  behind.not_yet.insert(id);
  EXPECT_EQ(group.restore(id).status, Status::kOk);
  EXPECT_TRUE(behind.has(id, 3));
}

TEST(ProxyRestore, TwoPartsOnOneHandoffAreSpreadToTwoDisks) {
  TestGroup group(Species::kBlock42);
  const Slice data = test_bytes(500);
  const BlobId id = test_id(500, 1);
  for (std::uint32_t slot = 0; slot < 4; ++slot) group.place(id, data, slot, slot + 1);
  group.place(id, data, 6, 5);
  group.place(id, data, 6, 6);
  EXPECT_FALSE(confirmed(group.geometry(), group.layout(id)));
  EXPECT_EQ(group.restore(id).status, Status::kOk);
  EXPECT_TRUE(confirmed(group.geometry(), group.layout(id)));
}

TEST(ProxyRestore, ABrokenPartDoesNotCountAsPresent) {
  TestGroup group(Species::kBlock42);
  const Slice data = test_bytes(500);
  const BlobId id = test_id(500, 1);
  for (std::uint32_t slot = 0; slot < 5; ++slot) group.place(id, data, slot, slot + 1);
  group.disk(id, 1).corrupted.insert(id.with_part(2));
  EXPECT_EQ(group.restore(id).status, Status::kOk);
  EXPECT_FALSE(group.disk(id, 1).corrupted.contains(id.with_part(2)));
  EXPECT_TRUE(confirmed(group.geometry(), group.layout(id)));
}

TEST(ProxyRestore, SilentDisksDoNotKeepAPresentBlobFromBeingRestored) {
  TestGroup group(Species::kBlock42);
  const Slice data = test_bytes(500);
  const BlobId id = test_id(500, 1);
  ASSERT_EQ(group.put(id, data).status, Status::kOk);
  group.disk(id, 0).behaviour = group.disk(id, 3).behaviour = Behaviour::kSilent;
  const Instant before = group.now();
  const GetItem got = group.restore(id);
  EXPECT_EQ(got.status, Status::kOk) << group.last_reason;
  EXPECT_TRUE(equal(got.data, data));
  EXPECT_LT(group.now() - before, 5s);
}

TEST(ProxyRestore, ManyBlobsAreRestoredInOneRequest) {
  TestGroup group(Species::kBlock42);
  GetRequest request;
  request.must_restore = true;
  for (Step step = 1; step <= 60; ++step) {
    const BlobId id = test_id(500, step);
    const Slice data = test_bytes(500, step);
    const std::uint32_t parts = step % 7;
    for (std::uint32_t slot = 0; slot < parts; ++slot) group.place(id, data, slot, slot + 1);
    request.queries.push_back({id, 100, 50});
  }
  const GetResult result = group.run(group.proxy().get(request));
  ASSERT_EQ(result.status, Status::kOk);
  for (Step step = 1; step <= 60; ++step) {
    const GetItem& item = result.items[step - 1];
    ASSERT_EQ(item.status, step % 7 >= 4 ? Status::kOk : Status::kNoData);
    if (item.status == Status::kOk) {
      EXPECT_TRUE(equal(item.data, test_bytes(500, step).sub(100, 50)));
    }
  }
}

}  // namespace
}  // namespace moraine::blob
