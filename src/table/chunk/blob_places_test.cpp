#include "table/chunk/blob_places.h"

#include <gtest/gtest.h>

namespace moraine::table {
namespace {

// Blobs that each have a location in a segment of their own, while `there`.
class PlacedBlobs final : public BlobReader {
 public:
  Task<Result<Slice>> read(blob::BlobId, std::uint32_t, std::uint32_t) override {
    co_return fail(Errc::kNotFound, "only places");
  }
  void locate(const blob::BlobId& id, blob::OnPlace found) override {
    ++asked;
    if (!there) return;
    const std::uint32_t segment = id.step();
    const blob::DirectPlace place{.reads = reads, .segment = segment, .life = lives->of(segment)};
    if (later) {
      answers.push_back([place, found] { found(place); });
    } else {
      found(place);
    }
  }

  std::shared_ptr<blob::SegmentLives> lives = std::make_shared<blob::SegmentLives>(8);
  std::shared_ptr<const blob::DirectReads> reads =
      std::make_shared<blob::DirectReads>(nullptr, lives);
  bool there = true;
  bool later = false;  // Answers are kept in `answers`.
  std::vector<std::function<void()>> answers;
  int asked = 0;
};

struct BlobPlacesTest : testing::Test {
  PlacedBlobs blobs;
  std::vector<blob::BlobId> ids{
      {{1}, 1, 0, 0, 10, 0}, {{1}, 1, 1, 0, 10, 0}, {{1}, 1, 2, 0, 10, 0}};
  BlobPlaces places{ids, blobs};
};

TEST_F(BlobPlacesTest, AreRequestedOnceAndAgainWhenTheyAreOutOfDate) {
  EXPECT_FALSE(places.get(0));
  places.find_all();
  EXPECT_EQ(blobs.asked, 3);
  places.find_all();
  EXPECT_EQ(blobs.asked, 3);
  ASSERT_TRUE(places.get(1));
  EXPECT_EQ(places.get(1)->segment, 1u);
  blobs.lives->end(1);
  EXPECT_FALSE(places.get(1)->current());
  places.refresh(1);
  EXPECT_TRUE(places.get(1)->current());
  EXPECT_EQ(blobs.asked, 4);
}

TEST_F(BlobPlacesTest, ANewPlaceOfOneBlobRequestsTheOthersToo) {
  places.find_all();
  blobs.lives->end_all();
  places.refresh(2);
  EXPECT_EQ(blobs.asked, 6);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(places.get(i)->current());
}

TEST_F(BlobPlacesTest, APlaceWithOtherBytesIsRequestedAgain) {
  places.find_all();
  places.forget(1);
  EXPECT_FALSE(places.get(1));
  places.refresh(1);
  EXPECT_TRUE(places.get(1)->current());
  EXPECT_EQ(blobs.asked, 4);
}

TEST_F(BlobPlacesTest, BlobsWithoutPlacesCostOneRequestEach) {
  blobs.there = false;
  places.refresh(0);
  places.refresh(0);
  EXPECT_EQ(blobs.asked, 2);
  EXPECT_FALSE(places.get(0));
}

TEST_F(BlobPlacesTest, MayArriveLaterEvenAfterTheChunkIsClosed) {
  blobs.later = true;
  std::optional<BlobPlaces> closed(std::in_place, ids, blobs);
  closed->find_all();
  EXPECT_FALSE(closed->get(0));
  blobs.answers.front()();
  EXPECT_TRUE(closed->get(0));
  closed.reset();
  for (const auto& answer : blobs.answers) answer();
}

}  // namespace
}  // namespace moraine::table
