#include "queue/piece.h"

#include <gtest/gtest.h>

#include <bit>

#include "base/checksum.h"
#include "base/coding.h"
#include "io/random.h"

namespace moraine::queue {
namespace {

StoredEntry entry_of(Offset offset, std::string_view text, std::string source = {},
                     std::uint64_t number = 0) {
  StoredEntry entry;
  entry.offset = offset;
  entry.payload = Slice::copy_of(text);
  entry.source_id = std::move(source);
  entry.number = number;
  return entry;
}

void expect_same(const StoredEntry& a, const StoredEntry& b) {
  EXPECT_EQ(a.offset, b.offset);
  EXPECT_EQ(a.count, b.count);
  EXPECT_EQ(a.format, b.format);
  EXPECT_EQ(a.max_timestamp_ms, b.max_timestamp_ms);
  EXPECT_EQ(a.write_time_ms, b.write_time_ms);
  EXPECT_EQ(a.source_id, b.source_id);
  EXPECT_EQ(a.number, b.number);
  EXPECT_TRUE(equal(a.payload, b.payload));
}

std::vector<StoredEntry> some_entries(std::uint64_t seed) {
  SeededRandom random(seed);
  std::vector<StoredEntry> entries;
  Offset at = random.next() >> 2;
  std::uint64_t written = 1'000'000;
  for (std::uint64_t i = 0; i < 1 + random.below(40); ++i) {
    StoredEntry entry = entry_of(at, std::string(random.below(300), 'a'));
    if (!random.one_in(3)) entry.source_id = std::string(1 + random.below(3), 'x');
    entry.number = random.next();
    entry.count = 1 + static_cast<std::uint32_t>(random.below(5));
    entry.max_timestamp_ms = static_cast<std::int64_t>(random.next());
    entry.write_time_ms = written += random.below(1'000);
    at += entry.count;
    entries.push_back(std::move(entry));
  }
  return entries;
}

Slice encoded(const std::vector<StoredEntry>& entries) {
  return encode_piece(entries).bytes.joined();
}

TEST(Piece, GivesBackItsEntries) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const std::vector<StoredEntry> entries = some_entries(seed);
    const auto piece = Piece::open(encoded(entries));
    ASSERT_TRUE(piece) << piece.error().message();
    ASSERT_EQ(piece->entries(), entries.size());
    EXPECT_EQ(piece->header().end_offset(), entries.back().offset + entries.back().count);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      expect_same(piece->entry(i), entries[i]);
      EXPECT_EQ(piece->max_timestamp_ms(i), entries[i].max_timestamp_ms);
      for (std::uint32_t k = 0; k < entries[i].count; ++k) {
        EXPECT_EQ(piece->index_of(entries[i].offset + k), i);
      }
    }
  }
}

// A record batch as far as pieces know it: a checksum at 17 of what follows.
StoredEntry batch_of(Offset offset, std::size_t size) {
  SeededRandom random(size);
  Buffer batch(size);
  for (std::byte& byte : batch.span()) byte = static_cast<std::byte>(random.next());
  store(batch.data() + 17, std::byteswap(crc32c(batch.span().subspan(21))));
  StoredEntry entry;
  entry.offset = offset;
  entry.format = EntryFormat::kKafkaBatch;
  entry.payload = std::move(batch).freeze();
  return entry;
}

TEST(Piece, IsTheSameWithVerifiedChecksumsOfBatches) {
  std::vector<StoredEntry> entries{batch_of(5, 70'000), batch_of(6, 61), batch_of(7, 4'096),
                                   batch_of(8, 64), batch_of(9, 999)};
  const Slice read = encoded(entries);
  for (StoredEntry& entry : entries) entry.checksum_verified = true;
  EXPECT_TRUE(equal(encoded(entries), read));
}

TEST(Piece, OfLessThanTheLimitRefersToItsPayloads) {
  const StoredEntry first = batch_of(5, 1'000);
  const StoredEntry second = batch_of(6, 30'000);
  const ByteSpan payload = second.payload;
  std::size_t referred = 0;
  const EncodedPiece piece = encode_piece({first, second});
  piece.bytes.each([&](const Slice& slice) {
    const bool inside = slice.data() >= payload.data() &&
                        slice.data() + slice.size() <= payload.data() + payload.size();
    if (inside) referred += slice.size();
  });
  EXPECT_GT(referred, 29'900u);
  EXPECT_TRUE(Piece::open(piece.bytes.joined()));
  EXPECT_NE(encode_piece({batch_of(5, kReferringPieceBytesMax)}).bytes.single(), nullptr);
}

TEST(Piece, HasTheHeaderThatIsInItsBytes) {
  for (const std::size_t bytes : {100u, 70'000u}) {
    const EncodedPiece piece = encode_piece({batch_of(5, bytes)});
    const auto read = Piece::open(piece.bytes.joined());
    ASSERT_TRUE(read);
    EXPECT_EQ(read->header().index_crc, piece.header.index_crc);
    EXPECT_EQ(read->header().payload_crc, piece.header.payload_crc);
    EXPECT_EQ(read->header().bytes(), piece.bytes.size());
  }
}

TEST(Piece, NoticesABatchThatChangedAfterItWasVerified) {
  StoredEntry entry = batch_of(5, 70'000);
  Buffer changed(entry.payload.size());
  std::memcpy(changed.data(), entry.payload.data(), entry.payload.size());
  changed.data()[60'000] ^= std::byte{1};
  entry.payload = std::move(changed).freeze();
  EXPECT_TRUE(Piece::open(encoded({entry})));
  entry.checksum_verified = true;
  EXPECT_FALSE(Piece::open(encoded({entry})));
}

TEST(Piece, IsNoLongerThanItsCostSays) {
  const std::vector<StoredEntry> entries = some_entries(7);
  std::size_t cost = kPieceHeaderBytes;
  for (const StoredEntry& entry : entries) cost += piece_cost(entry);
  EXPECT_LE(encode_piece(entries).bytes.size(), cost);
}

TEST(Piece, NoticesEveryFlippedBit) {
  const Slice good = encoded(
      {entry_of(5, "hello", "me", 1), entry_of(6, "", "you", 2), entry_of(7, "world", "me", 3)});
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      Buffer bad(good.size());
      std::memcpy(bad.data(), good.data(), good.size());
      bad.data()[at] ^= static_cast<std::byte>(1 << bit);
      EXPECT_FALSE(Piece::open(std::move(bad).freeze())) << at;
    }
  }
}

TEST(Piece, NoticesEveryMissingAndEveryAddedByte) {
  const Slice good = encoded({entry_of(5, "hello", "me", 1)});
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(Piece::open(good.sub(0, size))) << size;
  }
  Buffer longer = Buffer::zeroed(good.size() + 1);
  std::memcpy(longer.data(), good.data(), good.size());
  EXPECT_FALSE(Piece::open(std::move(longer).freeze()));
}

TEST(Piece, ANewerVersionIsCalledUnsupported) {
  const Slice good = encoded({entry_of(5, "hello")});
  Buffer bad(good.size());
  std::memcpy(bad.data(), good.data(), good.size());
  bad.data()[4] = std::byte{9};
  EXPECT_EQ(Piece::open(std::move(bad).freeze()).error().code, Errc::kUnsupported);
}

TEST(Piece, PayloadsLieSideBySide) {
  const auto piece = Piece::open(encoded({entry_of(0, "ab"), entry_of(1, "cde")}));
  ASSERT_TRUE(piece);
  const Slice first = piece->entry(0).payload;
  EXPECT_EQ(first.data() + first.size(), piece->entry(1).payload.data());
}

TEST(Piece, ARecordBatchGetsItsOffsetAndNoLeaderEpoch) {
  StoredEntry entry = entry_of(0x0102030405060708, std::string(61, '\xff'));
  entry.format = EntryFormat::kKafkaBatch;
  entry.count = 3;
  const auto piece = Piece::open(encoded({entry}));
  ASSERT_TRUE(piece);
  const Slice stored = piece->entry(0).payload;
  EXPECT_EQ(std::byteswap(load<std::uint64_t>(stored.data())), entry.offset);
  EXPECT_EQ(load<std::uint32_t>(stored.data() + 12), 0u);
  EXPECT_EQ(stored.data()[8], std::byte{0xff});
  EXPECT_EQ(stored.data()[16], std::byte{0xff});
}

TEST(Piece, AFrontAndAPayloadStoredApartAreAPiece) {
  StoredEntry entry = entry_of(9, "", "me", 4);
  entry.write_time_ms = 77;
  const Slice payload = Slice::copy_of(std::string(5'000, 'p'));
  const Slice front = encode_piece_front(entry, 5'000, crc32c(payload));
  Buffer joined(front.size() + payload.size());
  std::memcpy(joined.data(), front.data(), front.size());
  std::memcpy(joined.data() + front.size(), payload.data(), payload.size());
  const auto piece = Piece::open(std::move(joined).freeze());
  ASSERT_TRUE(piece) << piece.error().message();
  entry.payload = payload;
  expect_same(piece->entry(0), entry);
}

TEST(Piece, ManySourcesAreToldApart) {
  std::vector<StoredEntry> entries;
  for (Offset i = 0; i < 2'000; ++i) entries.push_back(entry_of(i, "", fmt::format("s{}", i), i));
  const auto piece = Piece::open(encoded(entries));
  ASSERT_TRUE(piece);
  for (Offset i = 0; i < 2'000; i += 371) {
    EXPECT_EQ(piece->entry(i).source_id, fmt::format("s{}", i));
  }
}

}  // namespace
}  // namespace moraine::queue
