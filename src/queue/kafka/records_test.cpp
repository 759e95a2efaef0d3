#include "queue/kafka/records.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/checksum.h"
#include "queue/kafka/test_bytes.h"

namespace moraine::kafka {
namespace {

constexpr std::int64_t kStart = 1'700'000'000'000;
const Compression kCodecs[] = {Compression::kNone, Compression::kGzip, Compression::kSnappy,
                               Compression::kLz4, Compression::kZstd};

Record record_of(std::int64_t timestamp, NullableBytes key, NullableBytes value,
                 std::vector<RecordField> headers = {}) {
  return {0, timestamp, key, value, std::move(headers)};
}

RecordBatch batch_of(const BatchOptions& options, const std::vector<Record>& records) {
  BatchBuilder builder(options);
  for (const Record& record : records) EXPECT_TRUE(builder.append(record).has_value());
  auto batch = parse_batch(std::move(builder).build());
  EXPECT_TRUE(batch.has_value());
  return std::move(*batch);
}

const std::vector<Record>& golden_records() {
  static const std::vector<Record> kRecords{
      record_of(kStart, as_bytes("k1"), as_bytes("v1"), {{"h", as_bytes("x")}}),
      record_of(kStart + 5, std::nullopt, std::nullopt)};
  return kRecords;
}

// A batch whose records are these bytes, with a checksum that holds.
RecordBatch batch_with(ByteSpan payload, std::int32_t count) {
  BatchHeader header;
  header.record_count = count;
  header.last_offset_delta = count - 1;
  header.batch_length = static_cast<std::int32_t>(kBatchHeaderBytes - 12 + payload.size());
  Buffer bytes(kBatchHeaderBytes + payload.size());
  header.encode(bytes.data());
  std::ranges::copy(payload, bytes.data() + kBatchHeaderBytes);
  header.crc = crc32c(bytes.span().subspan(21));
  header.encode(bytes.data());
  return *parse_batch(std::move(bytes).freeze());
}

std::string describe(const NullableBytes& bytes) {
  return bytes ? "'" + std::string(as_text(*bytes)) + "'" : "null";
}
std::string describe(const Record& record) {
  std::string text = fmt::format("{}@{} {}={}", record.offset, record.timestamp,
                                 describe(record.key), describe(record.value));
  for (const RecordField& field : record.headers) {
    text += fmt::format(" {}={}", field.key, describe(field.value));
  }
  return text;
}
std::vector<std::string> describe(const RecordBatch& batch) {
  std::vector<std::string> found;
  auto reader = RecordReader::open(batch);
  EXPECT_TRUE(reader.has_value());
  Record record;
  while (true) {
    const auto more = reader->next(record);
    EXPECT_TRUE(more.has_value()) << more.error().message;
    if (!more || !*more) return found;
    found.push_back(describe(record));
  }
}

TEST(BatchBuilder, WritesTheBytesThatKcatAccepts) {
  const RecordBatch batch = batch_of({.partition_leader_epoch = 0}, golden_records());
  EXPECT_EQ(hex(batch.bytes),
            hex(unhex("0000000000000000 00000047 00000000 02 0217af83 0000 00000001"
                      "0000018bcfe56800 0000018bcfe56805 ffffffffffffffff ffff ffffffff 00000002"
                      "1c000000046b310476310202680278 0c000a02010100")));
}

TEST(RecordReader, GivesEveryRecordWithEveryCodec) {
  const std::vector<std::string> expected{
      fmt::format("100@{} 'k1'='v1' h='x'", kStart), fmt::format("101@{} null=null", kStart + 5),
      fmt::format("102@{} ''='' a='' b=null a='2'", kStart - 3)};
  std::vector<Record> records = golden_records();
  records.push_back(record_of(kStart - 3, ByteSpan{}, ByteSpan{},
                              {{"a", ByteSpan{}}, {"b", std::nullopt}, {"a", as_bytes("2")}}));
  for (const Compression codec : kCodecs) {
    const RecordBatch batch = batch_of({.codec = codec, .base_offset = 100}, records);
    EXPECT_EQ(batch.header.codec(), codec);
    EXPECT_EQ(batch.header.max_timestamp, kStart + 5);
    EXPECT_EQ(describe(batch), expected) << to_string(codec);
    EXPECT_TRUE(check_produced(batch, {}).has_value());
    EXPECT_TRUE(check_records(batch).has_value());
  }
}

TEST(RecordReader, AllRecordsHaveTheAppendTimeWhenTheBatchHasOne) {
  const auto [header, rest] = place(batch_of({}, golden_records()), {.log_append_time = 42});
  const auto batch = parse_batch(joined(std::vector{header, rest}));
  EXPECT_EQ(describe(*batch), (std::vector<std::string>{"0@42 'k1'='v1' h='x'", "1@42 null=null"}));
}

TEST(RecordReader, APayloadCutAnywhereIsInvalid) {
  const Slice payload = batch_of({}, golden_records()).payload();
  for (std::size_t size = 0; size < payload.size(); ++size) {
    const auto checked = check_records(batch_with(payload.span().first(size), 2));
    ASSERT_FALSE(checked.has_value()) << size;
    EXPECT_EQ(checked.error().code, ErrorCode::kInvalidRecord);
  }
}

TEST(RecordReader, RefusesRecordsThatAreNotWhatTheyClaim) {
  const auto problem = [](std::string_view payload, std::int32_t count) {
    const auto checked = check_records(batch_with(unhex(payload), count));
    if (checked) return std::string();
    EXPECT_EQ(checked.error().code, ErrorCode::kInvalidRecord);
    return checked.error().message;
  };
  EXPECT_EQ(problem("0c0000 00010100", 1), "");
  EXPECT_EQ(problem("0c0000 00010100 0c0000 02010100", 2), "");
  EXPECT_EQ(problem("0c0000 00010100 0c0000 02010100", 1),
            "record 1 of 1: there are bytes after the last record");
  EXPECT_EQ(problem("0c0000 00010100", 2), "record 1 of 2: the input is short");
  EXPECT_EQ(problem("0c0000 02010100", 1), "record 0 has number 1");
  EXPECT_EQ(problem("0e0000 0001010000", 1), "record 0 of 1: a record is too long");
  EXPECT_EQ(problem("010000 00010100", 1), "record 0 of 1: a record's length is negative");
  EXPECT_EQ(problem("0c0000 00030100", 1), "record 0 of 1: a length is negative");
  EXPECT_EQ(problem("0c0000 00010101", 1), "record 0 of 1: the number of headers is out of range");
  EXPECT_EQ(problem("100000 000101020101", 1), "record 0 of 1: a header has no key");
}

TEST(RecordReader, BoundsHeadersAndPlainBytes) {
  Writer many;
  many.varint(9);
  many.raw(unhex("000000 0101"));
  many.varint(kRecordHeadersMax + 1);
  EXPECT_FALSE(check_records(batch_with(joined(std::move(many)), 1)).has_value());

  const std::string large(1'000'000, 'z');
  for (const Compression codec : kCodecs) {
    const RecordBatch batch =
        batch_of({.codec = codec}, {record_of(0, std::nullopt, as_bytes(large))});
    const auto opened = RecordReader::open(batch, 100'000);
    ASSERT_FALSE(opened.has_value()) << to_string(codec);
    EXPECT_EQ(opened.error().code, ErrorCode::kMessageTooLarge);
  }
}

TEST(Lookup, FindsTheFirstRecordAtOrAfterATime) {
  std::vector<Record> records;
  for (const int delta : {10, 30, 20, 30}) {
    records.push_back(record_of(kStart + delta, std::nullopt, as_bytes("v")));
  }
  for (const Compression codec : kCodecs) {
    const RecordBatch batch = batch_of({.codec = codec, .base_offset = 7}, records);
    EXPECT_EQ(**first_since(batch, 0), (TimedOffset{kStart + 10, 7}));
    EXPECT_EQ(**first_since(batch, kStart + 11), (TimedOffset{kStart + 30, 8}));
    EXPECT_EQ(**first_since(batch, kStart + 30), (TimedOffset{kStart + 30, 8}));
    EXPECT_FALSE(first_since(batch, kStart + 31)->has_value());
    EXPECT_EQ(**first_latest(batch), (TimedOffset{kStart + 30, 8}));
  }
}

TEST(BatchBuilder, KeepsTheOffsetsThatItIsGiven) {
  BatchBuilder builder({.base_offset = 50});
  Record record = record_of(kStart, std::nullopt, as_bytes("v"));
  for (const std::int64_t offset : {50, 53, 60}) {
    record.offset = offset;
    EXPECT_TRUE(builder.add(record).has_value());
  }
  for (const std::int64_t offset :
       {std::int64_t{60}, std::int64_t{49}, std::int64_t{50} + (std::int64_t{1} << 31),
        std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    record.offset = offset;
    EXPECT_FALSE(builder.add(record).has_value()) << offset;
  }
  EXPECT_EQ(builder.record_count(), 3);
  const auto batch = parse_batch(std::move(builder).build());
  EXPECT_EQ(batch->header.last_offset(), 60);
  EXPECT_EQ(batch->header.record_count, 3);
  EXPECT_EQ(describe(*batch).at(1), fmt::format("53@{} null='v'", kStart));
  // Such a batch is for consumers; a producer may not leave gaps.
  EXPECT_FALSE(check_produced(*batch, {}).has_value());
}

TEST(BatchBuilder, CarriesTheGivenFields) {
  const RecordBatch batch = batch_of({.partition_leader_epoch = 3,
                                      .timestamp_type = TimestampType::kLogAppendTime,
                                      .transactional = true,
                                      .producer_id = 1'000,
                                      .producer_epoch = 2,
                                      .base_sequence = 30},
                                     golden_records());
  EXPECT_EQ(batch.header.partition_leader_epoch, 3);
  EXPECT_TRUE(batch.header.transactional());
  EXPECT_EQ(batch.header.producer_id, 1'000);
  EXPECT_EQ(batch.header.producer_epoch, 2);
  EXPECT_EQ(batch.header.last_sequence(), 31);
  EXPECT_EQ(batch.header.timestamp_type(), TimestampType::kLogAppendTime);
  EXPECT_TRUE(check_produced(batch, {}).has_value());
}

TEST(Marker, IsTheControlRecordOfTheProtocol) {
  const Slice bytes = build_marker({true, 9, 1, 0, kStart}, 17, 0);
  const auto batch = parse_batch(bytes);
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(hex(batch->payload()), hex(unhex("20 00 00 00 08 00000001 0c 000000000000 00")));
  EXPECT_TRUE(batch->header.control());
  EXPECT_EQ(batch->header.base_offset, 17);
  EXPECT_EQ(batch->header.base_sequence, -1);
  EXPECT_EQ(check_produced(*batch, {}).error().code, ErrorCode::kInvalidRecord);
  const auto marker = parse_marker(*batch);
  ASSERT_TRUE(marker.has_value());
  EXPECT_TRUE(marker->commit);
  EXPECT_EQ(marker->producer_id, 9);
  EXPECT_FALSE(parse_marker(*parse_batch(build_marker({}, 0, 0)))->commit);
  EXPECT_FALSE(parse_marker(batch_of({}, golden_records())).has_value());
}

}  // namespace
}  // namespace moraine::kafka
