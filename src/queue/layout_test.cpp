#include "queue/layout.h"

#include <gtest/gtest.h>

#include <map>

#include "io/random.h"

namespace moraine::queue {
namespace {

// The blobs of a partition, changed by layouts alone.
class Shelf {
 public:
  explicit Shelf(std::uint64_t low_watermark = 6u << 20) : low_watermark_(low_watermark) {}

  void write(const std::vector<std::size_t>& sizes) {
    LayoutRequest request;
    std::size_t head_from = blobs_.size();
    while (head_from > 0 && blobs_[head_from - 1].name.head) --head_from;
    request.head.assign(blobs_.begin() + static_cast<std::ptrdiff_t>(head_from), blobs_.end());
    std::vector<StoredEntry> fresh;
    std::uint64_t bytes = kPieceHeaderBytes;
    for (const std::size_t size : sizes) {
      StoredEntry entry;
      entry.offset = end_++;
      entry.payload = Buffer::zeroed(size).freeze();
      bytes += piece_cost(entry);
      fresh.push_back(entry);
      entries_[entry.offset] = entry;
    }
    std::vector<HeadBlob> head;
    for (const StoredBlob& blob : request.head) head.push_back({blob.bytes, blob.level});
    request.plan = plan_head(head, bytes, low_watermark_);
    for (std::size_t i = request.plan.rewritten_from; i < request.head.size(); ++i) {
      const DataKeyName& name = request.head[i].name;
      for (Offset at = name.offset; at < name.offset + name.count; ++at) {
        request.entries.push_back(entries_[at]);
      }
    }
    request.entries.insert(request.entries.end(), fresh.begin(), fresh.end());
    request.low_watermark = std::min<std::uint64_t>(low_watermark_, kPieceBytesMax);
    take(lay_out(std::move(request)));
  }
  void check() const {
    Offset next = 0;
    bool head = false;
    std::uint64_t head_bytes = 0;
    for (const StoredBlob& blob : blobs_) {
      ASSERT_EQ(blob.name.offset, next);
      ASSERT_TRUE(blob.name.head || !head) << "body behind the head";
      head = blob.name.head;
      if (head) head_bytes += blob.bytes;
      if (head) ASSERT_EQ(blob.pieces.size(), 1u) << "a head blob is one piece";
      next = blob.end();
      std::uint64_t at = 0;
      Offset offset = blob.name.offset;
      for (const PieceRef& piece : blob.pieces) {
        ASSERT_EQ(piece.at, at);
        ASSERT_EQ(piece.offset, offset);
        ASSERT_TRUE(piece.bytes <= kValueBlobBytesMax || blob.pieces.size() == 1);
        at += piece.bytes;
        offset += piece.messages;
      }
      ASSERT_EQ(at, blob.bytes);
      ASSERT_EQ(offset, next);
      ASSERT_EQ(keys_.at(blob.key()), blob.bytes);
    }
    ASSERT_EQ(next, end_);
    ASSERT_EQ(keys_.size(), blobs_.size());
    ASSERT_LT(head_bytes, std::max<std::uint64_t>(low_watermark_, 1));
  }

 private:
  // Runs the commands on a map from key to size.
  void take(Layout layout) {
    for (const Command& command : layout.commands) {
      if (const auto* write = std::get_if<WriteKey>(&command)) {
        keys_[write->key] = write->value.size();
      } else if (const auto* gone = std::get_if<DeleteKeys>(&command)) {
        ASSERT_EQ(keys_.erase(*gone->range.from), 1u);
      } else {
        const auto& concat = std::get<ConcatKeys>(command);
        std::uint64_t bytes = 0;
        for (const std::string& input : concat.inputs) {
          ASSERT_TRUE(keys_.contains(input)) << input;
          bytes += keys_[input];
          keys_.erase(input);
        }
        keys_[concat.output] = bytes;
      }
    }
    blobs_.resize(blobs_.size() - layout.replaced);
    for (StoredBlob& blob : layout.added) blobs_.push_back(std::move(blob));
  }

  const std::uint64_t low_watermark_;
  std::vector<StoredBlob> blobs_;
  std::map<Offset, StoredEntry> entries_;
  std::map<std::string, std::uint64_t> keys_;
  Offset end_ = 0;
};

TEST(Layout, BlobsTileTheOffsetsAndKeysFollowThem) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SeededRandom random(seed);
    Shelf shelf(std::uint64_t{1} << (10 + random.below(14)));
    for (int i = 0; i < 150; ++i) {
      std::vector<std::size_t> sizes(1 + random.below(20));
      for (std::size_t& size : sizes) {
        size = random.below(random.one_in(20) ? 700'000 : std::uint64_t{1} << random.below(16));
      }
      ASSERT_NO_FATAL_FAILURE(shelf.write(sizes));
      ASSERT_NO_FATAL_FAILURE(shelf.check()) << "seed " << seed;
    }
  }
}

TEST(Layout, AHeadBlobIsOnePieceAlsoUnderTheHighestWatermark) {
  Shelf shelf(8u << 20);
  shelf.write({8'300'000, 4'100'000, 3'950'000});
  ASSERT_NO_FATAL_FAILURE(shelf.check());
  shelf.write({9'000'000, 100, 24u << 20, 5'000});
  ASSERT_NO_FATAL_FAILURE(shelf.check());
}

TEST(Layout, ALongPayloadStandsAlone) {
  Shelf shelf;
  shelf.write({1'000});
  shelf.write({20'000'000});
  shelf.write({2'000});
  ASSERT_NO_FATAL_FAILURE(shelf.check());
}

}  // namespace
}  // namespace moraine::queue
