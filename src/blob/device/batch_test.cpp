#include "blob/device/batch.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/checksum.h"
#include "base/coding.h"
#include "io/disk.h"
#include "io/random.h"

namespace moraine::blob {
namespace {

Slice random_bytes(SeededRandom& random, std::size_t size) {
  Buffer buffer(size);
  for (std::byte& b : buffer.span()) b = static_cast<std::byte>(random.next());
  return std::move(buffer).freeze();
}

std::vector<std::byte> flatten(const BatchBuilder::Output& output) {
  std::vector<std::byte> all;
  for (const Slice& piece : output.pieces) {
    EXPECT_TRUE(piece.aligned(kSectorSize));
    EXPECT_EQ(piece.size() % kSectorSize, 0u);
    all.insert(all.end(), piece.data(), piece.data() + piece.size());
  }
  EXPECT_EQ(all.size(), output.sectors * kSectorSize);
  return all;
}

TEST(Batch, GivesBackRecordsOfEverySizeInEveryMix) {
  SeededRandom random(3);
  const std::vector<std::size_t> sizes{0,    1,     17,    4095,   4096,  4097,
                                       8192, 65536, 65537, 100000, 262144};
  for (int round = 0; round < 200; ++round) {
    BatchBuilder builder;
    std::vector<std::pair<std::string, Slice>> written;
    const std::size_t count = 1 + random.below(12);
    for (std::size_t i = 0; i < count; ++i) {
      written.emplace_back(std::string(random.below(60), 'x'),
                           random_bytes(random, sizes[random.below(sizes.size())]));
    }
    for (const auto& [name, data] : written) {
      const std::uint64_t before = builder.bytes();
      ASSERT_TRUE(builder.add({1, 7, as_bytes(name), data}, 64u << 20));
      EXPECT_GE(builder.bytes(), before);
    }
    const std::uint64_t promised = builder.bytes();
    BatchHeader header;
    header.segment = 3;
    header.sector = 5;
    header.sequence = 77;
    const auto output = builder.finish(header);
    EXPECT_LE(output.sectors * kSectorSize, promised);
    const auto bytes = flatten(output);
    const auto meta = decode_meta(bytes);
    ASSERT_TRUE(meta) << meta.error().message();
    EXPECT_EQ(meta->header.sequence, 77u);
    ASSERT_EQ(meta->records.size(), count);
    for (std::size_t i = 0; i < count; ++i) {
      const RecordView& record = meta->records[i];
      EXPECT_EQ(as_text(record.inline_bytes), written[i].first);
      const ByteSpan data = ByteSpan(bytes).subspan(record.data_offset, record.data_size);
      EXPECT_TRUE(equal(data, written[i].second));
      EXPECT_EQ(checksum_data(data).crc, record.data_crc);
      EXPECT_EQ(output.locations[i].offset, 5 * kSectorSize + record.data_offset);
      const std::uint32_t table = table_bytes(record.data_size);
      if (table == 0) continue;
      EXPECT_EQ(record.data_offset % kSectorSize, 0u);
      const ByteSpan stored = ByteSpan(bytes).subspan(record.data_offset - table, table);
      EXPECT_EQ(crc32c(stored), record.data_crc) << "the table lies right before its data";
    }
  }
}

TEST(Batch, NeverNeedsMoreThanALoneBatchIsSaidToNeed) {
  SeededRandom random(4);
  for (std::size_t size = 0; size < 300'000; size = size * 5 / 4 + 1) {
    BatchBuilder builder;
    const Slice data = random_bytes(random, size);
    ASSERT_TRUE(builder.add({1, 1, as_bytes("name"), data}, lone_batch_bytes(4, size))) << size;
    const auto output = builder.finish({});
    EXPECT_EQ(output.sectors * kSectorSize, lone_batch_bytes(4, size)) << size;
  }
}

TEST(Batch, RefusesARecordThatDoesNotFitAndStaysAsItWas) {
  SeededRandom random(5);
  BatchBuilder builder;
  ASSERT_TRUE(builder.add({1, 1, {}, random_bytes(random, 5000)}, 16384));
  const std::uint64_t before = builder.bytes();
  EXPECT_FALSE(builder.add({1, 1, {}, random_bytes(random, 20000)}, 16384));
  EXPECT_EQ(builder.bytes(), before);
  EXPECT_EQ(builder.records(), 1u);
}

TEST(Batch, SharesAlignedMemoryInsteadOfCopyingIt) {
  SeededRandom random(6);
  const Slice data = random_bytes(random, 1u << 20);
  BatchBuilder builder;
  ASSERT_TRUE(builder.add({1, 1, {}, data}, 4u << 20));
  const auto output = builder.finish({});
  EXPECT_EQ(output.pieces.back().data(), data.data());
}

TEST(Batch, GathersDataOfSeveralSlices) {
  SeededRandom random(8);
  for (const std::size_t size : {2u, 300u, 8'192u, 65'536u, 65'537u, 200'000u}) {
    const Slice data = random_bytes(random, size);
    ByteChain chain(data.sub(0, size / 3));
    chain.append(data.sub(size / 3, 1));
    chain.append(data.sub(size / 3 + 1, size - size / 3 - 1));
    BatchBuilder builder;
    ASSERT_TRUE(builder.add({1, 1, {}, chain}, 4u << 20));
    const auto output = builder.finish({});
    const auto bytes = flatten(output);
    const ByteSpan stored = ByteSpan(bytes).subspan(output.locations[0].offset, size);
    EXPECT_TRUE(equal(stored, data)) << size;
    EXPECT_EQ(output.locations[0].crc, checksum_data(data).crc) << size;
  }
}

TEST(Batch, DataThatKnowsItsChecksumIsNotReadForIt) {
  const auto checksum_of = [](std::size_t size) {
    ByteChain data(Buffer::zeroed(size).freeze());
    data.set_checksum(7);
    BatchBuilder builder;
    EXPECT_TRUE(builder.add({1, 1, {}, data}, 4u << 20));
    return builder.finish({}).locations[0].crc;
  };
  EXPECT_EQ(checksum_of(1'000), 7u);
  EXPECT_EQ(checksum_of(kChecksumBlock), 7u);
  EXPECT_NE(checksum_of(kChecksumBlock + 1), 7u) << "its checksum is that of a table";
}

TEST(Batch, EveryFlippedBitOfTheMetaIsSeen) {
  SeededRandom random(7);
  BatchBuilder builder;
  ASSERT_TRUE(builder.add({1, 1, as_bytes("hello"), random_bytes(random, 100)}, 1u << 20));
  ASSERT_TRUE(builder.add({2, 1, as_bytes("world"), Slice()}, 1u << 20));
  auto bytes = flatten(builder.finish({}));
  const std::uint32_t meta_size = decode_meta(bytes)->header.meta_size;
  for (std::size_t bit = 0; bit < meta_size * 8; ++bit) {
    bytes[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    EXPECT_FALSE(decode_meta(bytes)) << "bit " << bit;
    bytes[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
  }
  EXPECT_TRUE(decode_meta(bytes));
}

}  // namespace
}  // namespace moraine::blob
