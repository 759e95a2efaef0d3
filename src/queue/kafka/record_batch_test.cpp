#include "queue/kafka/record_batch.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "base/checksum.h"
#include "queue/kafka/reader.h"
#include "queue/kafka/test_bytes.h"

namespace moraine::kafka {
namespace {

// Two records: k1 -> v1 with header h=x, and null -> null five milliseconds later.
constexpr std::string_view kGolden =
    "0000000000000000 00000047 00000000 02 0217af83 0000 00000001 0000018bcfe56800"
    "0000018bcfe56805 ffffffffffffffff ffff ffffffff 00000002"
    "1c000000046b310476310202680278 0c000a02010100";

RecordBatch golden() {
  auto batch = parse_batch(unhex(kGolden));
  EXPECT_TRUE(batch.has_value());
  return std::move(*batch);
}

// The golden batch with another header, sealed with the checksum that belongs to it.
template <class Change>
RecordBatch changed(Change change) {
  RecordBatch batch = golden();
  change(batch.header);
  Buffer bytes(batch.bytes.size());
  std::memcpy(bytes.data(), batch.bytes.data(), batch.bytes.size());
  batch.header.encode(bytes.data());
  batch.header.crc = crc32c(bytes.span().subspan(21));
  batch.header.encode(bytes.data());
  batch.bytes = std::move(bytes).freeze();
  return batch;
}

template <class Change>
ErrorCode verdict(Change change, ProduceRules rules = {}) {
  const auto checked = check_produced(changed(change), rules);
  return checked ? ErrorCode::kNone : checked.error().code;
}

TEST(RecordBatch, ReadsEveryFieldOfTheHeader) {
  const RecordBatch batch = golden();
  const BatchHeader& header = batch.header;
  EXPECT_EQ(header.base_offset, 0);
  EXPECT_EQ(header.batch_length, 71);
  EXPECT_EQ(header.bytes(), 83u);
  EXPECT_EQ(header.crc, 0x0217af83u);
  EXPECT_EQ(header.codec(), Compression::kNone);
  EXPECT_EQ(header.timestamp_type(), TimestampType::kCreateTime);
  EXPECT_FALSE(header.transactional());
  EXPECT_FALSE(header.control());
  EXPECT_EQ(header.last_offset_delta, 1);
  EXPECT_EQ(header.base_timestamp, 1'700'000'000'000);
  EXPECT_EQ(header.max_timestamp, 1'700'000'000'005);
  EXPECT_FALSE(header.has_producer());
  EXPECT_EQ(header.producer_epoch, -1);
  EXPECT_EQ(header.base_sequence, -1);
  EXPECT_EQ(header.record_count, 2);
  EXPECT_TRUE(crc_holds(batch));
  EXPECT_TRUE(check_produced(batch, {}).has_value());
}

TEST(RecordBatch, WritesTheHeaderAsItWasRead) {
  const RecordBatch batch = changed([](BatchHeader& h) {
    h.base_offset = 0x0102030405060708;
    h.partition_leader_epoch = 9;
    h.attributes = 0x1c;
    h.producer_id = 77;
    h.producer_epoch = 3;
    h.base_sequence = 12;
  });
  const auto read = parse_batch(batch.bytes);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->header, batch.header);
  EXPECT_EQ(read->header.codec(), Compression::kZstd);
  EXPECT_EQ(read->header.timestamp_type(), TimestampType::kLogAppendTime);
  EXPECT_TRUE(read->header.transactional());
}

TEST(RecordBatch, ABatchCutAnywhereIsCorrupt) {
  const Slice whole = golden().bytes;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto batch = parse_batch(whole.sub(0, size));
    ASSERT_FALSE(batch.has_value()) << size;
    EXPECT_EQ(batch.error().code, ErrorCode::kCorruptMessage);
  }
}

TEST(RecordBatch, OldFormatsAreDistinguishedFromUnknownOnes) {
  const auto code_of = [](std::int8_t magic) {
    const RecordBatch batch = changed([&](BatchHeader& h) { h.magic = magic; });
    return parse_batch(batch.bytes).error().code;
  };
  EXPECT_EQ(code_of(0), ErrorCode::kUnsupportedForMessageFormat);
  EXPECT_EQ(code_of(1), ErrorCode::kUnsupportedForMessageFormat);
  EXPECT_EQ(code_of(3), ErrorCode::kCorruptMessage);
  EXPECT_EQ(code_of(-1), ErrorCode::kCorruptMessage);
}

TEST(RecordBatch, LengthsThatCannotBeAreCorrupt) {
  for (const std::int32_t length : {-1, 0, 48, 72, std::numeric_limits<std::int32_t>::max()}) {
    const RecordBatch batch = changed([&](BatchHeader& h) { h.batch_length = length; });
    const auto parsed = parse_batch(batch.bytes);
    ASSERT_FALSE(parsed.has_value()) << length;
    EXPECT_EQ(parsed.error().code, ErrorCode::kCorruptMessage);
  }
}

TEST(RecordBatch, SplitsAFieldIntoItsBatches) {
  const Slice one = golden().bytes;
  const Slice three = joined(std::vector{one, one, one});
  const auto batches = split_batches(three, CutBatch::kRefused);
  ASSERT_TRUE(batches.has_value());
  ASSERT_EQ(batches->size(), 3u);
  EXPECT_EQ(batches->at(2).bytes.data(), three.data() + 2 * one.size());
  EXPECT_TRUE(split_batches({}, CutBatch::kRefused)->empty());

  const Slice cut = three.sub(0, 2 * one.size() + 70);
  EXPECT_EQ(split_batches(cut, CutBatch::kRefused).error().code, ErrorCode::kCorruptMessage);
  EXPECT_EQ(split_batches(cut, CutBatch::kDropped)->size(), 2u);
}

TEST(RecordBatch, AProduceRequestHasExactlyOne) {
  const Slice one = golden().bytes;
  EXPECT_TRUE(single_batch(one).has_value());
  EXPECT_EQ(single_batch({}).error().code, ErrorCode::kInvalidRecord);
  EXPECT_EQ(single_batch(joined(std::vector{one, one})).error().code, ErrorCode::kInvalidRecord);
  EXPECT_EQ(single_batch(one.sub(0, 60)).error().code, ErrorCode::kCorruptMessage);
}

TEST(RecordBatch, AnyChangedByteUnderTheChecksumIsFound) {
  const Slice whole = golden().bytes;
  for (std::size_t at = 17; at < whole.size(); ++at) {
    Buffer bytes(whole.size());
    std::memcpy(bytes.data(), whole.data(), whole.size());
    bytes.data()[at] ^= std::byte{0x10};
    const auto batch = parse_batch(std::move(bytes).freeze());
    ASSERT_TRUE(batch.has_value());
    EXPECT_FALSE(crc_holds(*batch)) << at;
    EXPECT_EQ(check_produced(*batch, {}).error().code, ErrorCode::kCorruptMessage);
  }
}

TEST(RecordBatch, ProducedBatchesKeepTheRules) {
  EXPECT_EQ(verdict([](BatchHeader&) {}), ErrorCode::kNone);
  EXPECT_EQ(verdict([](BatchHeader& h) { h.record_count = 0; }), ErrorCode::kInvalidRecord);
  EXPECT_EQ(verdict([](BatchHeader& h) { h.record_count = -5; }), ErrorCode::kInvalidRecord);
  EXPECT_EQ(verdict([](BatchHeader& h) { h.last_offset_delta = 2; }), ErrorCode::kInvalidRecord);
  EXPECT_EQ(verdict([](BatchHeader& h) { h.attributes = 0x20; }), ErrorCode::kInvalidRecord);
  EXPECT_EQ(verdict([](BatchHeader& h) { h.attributes = 0x10; }), ErrorCode::kInvalidRecord);
  EXPECT_EQ(verdict([](BatchHeader& h) { h.attributes = 5; }),
            ErrorCode::kUnsupportedCompressionType);
  EXPECT_EQ(verdict([](BatchHeader& h) { h.attributes = 4; }, {.zstd_allowed = false}),
            ErrorCode::kUnsupportedCompressionType);
  EXPECT_EQ(verdict([](BatchHeader& h) { h.producer_id = 5; }), ErrorCode::kInvalidRecord);
  EXPECT_EQ(verdict([](BatchHeader&) {}, {.bytes_max = 82}), ErrorCode::kMessageTooLarge);
  EXPECT_EQ(verdict([](BatchHeader&) {}, {.bytes_max = 83}), ErrorCode::kNone);
}

TEST(RecordBatch, EpochAndSequenceWithoutAProducerAreNotLookedAt) {
  const auto as_kafkajs = [](BatchHeader& h) {
    h.producer_epoch = 0;
    h.base_sequence = 0;
  };
  EXPECT_EQ(verdict(as_kafkajs), ErrorCode::kNone);
  EXPECT_FALSE(changed(as_kafkajs).header.has_producer());
}

TEST(RecordBatch, PlacingSharesTheRecordsAndKeepsTheChecksum) {
  const RecordBatch batch = golden();
  const auto [header, rest] = place(batch, {.base_offset = 1'000, .leader_epoch = 7});
  EXPECT_EQ(header.size(), kBatchHeaderBytes);
  EXPECT_EQ(rest.data(), batch.bytes.data() + kBatchHeaderBytes);
  const auto placed = parse_batch(joined(std::vector{header, rest}));
  ASSERT_TRUE(placed.has_value());
  EXPECT_TRUE(crc_holds(*placed));
  EXPECT_EQ(placed->header.base_offset, 1'000);
  EXPECT_EQ(placed->header.last_offset(), 1'001);
  EXPECT_EQ(placed->header.partition_leader_epoch, 7);
  EXPECT_EQ(placed->header.crc, batch.header.crc);
  EXPECT_EQ(golden().header.base_offset, 0);

  Buffer in_place(batch.bytes.size());
  std::memcpy(in_place.data(), batch.bytes.data(), batch.bytes.size());
  place_header(in_place.span(), 1'000, 7);
  EXPECT_TRUE(equal(in_place.span(), placed->bytes));
}

TEST(RecordBatch, LogAppendTimeIsStampedUnderANewChecksum) {
  const auto [header, rest] = place(golden(), {.base_offset = 4, .log_append_time = 123});
  const auto placed = parse_batch(joined(std::vector{header, rest}));
  ASSERT_TRUE(placed.has_value());
  EXPECT_TRUE(crc_holds(*placed));
  EXPECT_EQ(placed->header.timestamp_type(), TimestampType::kLogAppendTime);
  EXPECT_EQ(placed->header.max_timestamp, 123);
}

TEST(RecordBatch, SequencesWrapAroundToZero) {
  EXPECT_EQ(sequence_after(5, 3), 8);
  EXPECT_EQ(sequence_after(2147483647, 1), 0);
  BatchHeader header;
  header.base_sequence = 2147483646;
  header.record_count = 4;
  EXPECT_EQ(header.last_sequence(), 1);
}

}  // namespace
}  // namespace moraine::kafka
