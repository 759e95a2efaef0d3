#include "client/partition_messages.h"

#include <gtest/gtest.h>

#include "base/coding.h"
#include "base/sealed.h"

namespace moraine {
namespace {

using queue::ConsumerOffset;
using queue::StoredEntry;
using queue::WriteAnswer;
using queue::WriteRequest;
using queue::WriteStatus;

constexpr ChangeNumber kChange{{5, 6}, 7};

WriteRequest write() {
  WriteRequest request;
  request.payload = Slice::copy_of("payload");
  request.format = queue::EntryFormat::kKafkaBatch;
  request.count = 3;
  request.max_timestamp_ms = -1;
  request.checksum_verified = true;
  request.producer = {"source", queue::Numbering::kSequence, 9, -4};
  request.part = 1;
  request.parts = 2;
  return request;
}

std::vector<PartitionCall> all_calls() {
  return {OpenSessionCall{{1, 2}},
          CloseSessionCall{{3, 4}},
          WriteCall{kChange, {write(), WriteRequest{}}},
          CommitOffsetCall{kChange, {"reader", 8, "meta", 3, 99}},
          ForgetConsumerCall{kChange, "reader"},
          TrimCall{kChange, 12},
          ReadCall{1, 2, 3, 4},
          FindTimeCall{4, -5, 6},
          FindNewestCall{7},
          WaitCall{6, {{TabletId{8}, 9, 10, 11, true}, {TabletId{12}, 13, 0, 0, false}}},
          DescribeCall{Described::kConsumers, "after"}};
}

PartitionReply reply() {
  PartitionReply made;
  made.kind = 1;
  made.incarnation = 2;
  made.session = 3;
  made.last_change = 0;
  made.moment = 17;
  made.needs = 18;
  made.stopped = true;
  made.info.start = 4;
  made.info.end = 5;
  made.info.removed_bytes = 6;
  made.start = 7;
  made.end = 8;
  WriteAnswer answer;
  answer.status = WriteStatus::kDuplicate;
  answer.offset = 0;
  answer.max_number = 9;
  answer.write_time_ms = 10;
  answer.disk_full = true;
  made.answers = {answer, WriteAnswer{}};
  made.answers[1].status = WriteStatus::kStopped;
  made.answers[1].detail = "why";
  StoredEntry entry;
  entry.offset = 11;
  entry.count = 2;
  entry.format = queue::EntryFormat::kKafkaBatch;
  entry.max_timestamp_ms = -12;
  entry.write_time_ms = 13;
  entry.source_id = "source";
  entry.number = 14;
  entry.checksum_verified = true;
  entry.payload = Slice::copy_of("payload");
  made.entries = {entry};
  made.consumers = {ConsumerOffset{"reader", 15, "meta", -1, 16}};
  made.more = true;
  made.moved = {MovedEnd{1, 19, true, made.info}};
  return made;
}

// With a valid checksum.
Slice changed(const Slice& message, std::size_t at, std::uint8_t to) {
  Encoder encoder;
  encoder.raw(message.span().first(message.size() - sizeof(std::uint32_t)));
  encoder.span()[at] = std::byte{to};
  return seal(std::move(encoder));
}

TEST(PartitionMessages, RequestsAreReadAsTheyWereWritten) {
  std::size_t kind = 0;
  for (const PartitionCall& call : all_calls()) {
    EXPECT_EQ(call.index(), kind++);
    const Slice bytes = encode(PartitionRequest{TabletId{77}, 3, 1'000, call});
    const auto read = decode_partition_request(bytes);
    ASSERT_TRUE(read) << kind << ": " << read.error().message();
    EXPECT_EQ(read->tablet, TabletId{77});
    EXPECT_EQ(read->partition, 3u);
    EXPECT_EQ(read->timeout_us, 1'000u);
    EXPECT_EQ(read->call.index(), call.index());
    EXPECT_TRUE(equal(encode(*read), bytes)) << kind;
  }
  EXPECT_EQ(kind, std::variant_size_v<PartitionCall>);
  const auto read = decode_partition_request(
      encode(PartitionRequest{TabletId{1}, 0, 0, WriteCall{kChange, {write()}}}));
  ASSERT_TRUE(read);
  const auto& call = std::get<WriteCall>(read->call);
  EXPECT_EQ(call.change, kChange);
  ASSERT_EQ(call.writes.size(), 1u);
  EXPECT_EQ(call.writes[0].payload.text(), "payload");
  EXPECT_EQ(call.writes[0].producer.source_id, "source");
  EXPECT_EQ(call.writes[0].producer.epoch, -4);
  EXPECT_EQ(call.writes[0].max_timestamp_ms, -1);
  EXPECT_EQ(call.writes[0].parts, 2u);
}

TEST(PartitionMessages, RepliesAreReadAsTheyWereWritten) {
  const Slice bytes = encode(reply());
  const auto read = decode_partition_reply(bytes);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_TRUE(equal(encode(*read), bytes));
  EXPECT_TRUE(read->status);
  EXPECT_EQ(read->info.removed_bytes, 6u);
  EXPECT_EQ(read->answers.at(0).offset, 0u);
  EXPECT_EQ(read->answers.at(1).offset, std::nullopt);
  EXPECT_EQ(read->answers.at(1).detail, "why");
  EXPECT_EQ(read->entries.at(0).payload.text(), "payload");
  EXPECT_EQ(read->consumers.at(0).metadata, "meta");
  EXPECT_EQ(read->last_change, 0u);
  EXPECT_EQ(read->moved.at(0).incarnation, 19u);
  EXPECT_EQ(read->moved.at(0).info.end, 5u);
  PartitionReply failed;
  failed.refusal = Refusal::kNotHere;
  failed.status = fail(Errc::kNotHere, "gone");
  const auto again = decode_partition_reply(encode(failed));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->kind, 0u);
  EXPECT_EQ(again->last_change, std::nullopt);
  EXPECT_EQ(again->refusal, Refusal::kNotHere);
  EXPECT_EQ(again->status.error().code, Errc::kNotHere);
  EXPECT_EQ(again->status.error().context, "gone");
}

TEST(PartitionMessages, CutAndChangedBytesAreRefused) {
  const Slice request = encode(PartitionRequest{TabletId{1}, 0, 0, WriteCall{kChange, {write()}}});
  const Slice answer = encode(reply());
  for (std::size_t size = 0; size < request.size(); ++size) {
    EXPECT_FALSE(decode_partition_request(request.sub(0, size))) << size;
  }
  for (std::size_t size = 0; size < answer.size(); ++size) {
    EXPECT_FALSE(decode_partition_reply(answer.sub(0, size))) << size;
  }
  const auto other = decode_partition_request(changed(request, 1, 2));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Errc::kUnsupported);
  EXPECT_FALSE(decode_partition_request(changed(request, 0, 0x54)));
  EXPECT_FALSE(decode_partition_request(changed(request, 2, 12))) << "no such kind";
  EXPECT_FALSE(decode_partition_request(changed(request, 2, 0)));
  EXPECT_FALSE(decode_partition_reply(changed(answer, 3, 5))) << "no such refusal";
  EXPECT_FALSE(decode_partition_reply(changed(answer, 4, 200))) << "no such status";
}

TEST(PartitionMessages, TooManyItemsAreRefused) {
  WriteCall call{kChange, std::vector<WriteRequest>(kWritesPerCallMax)};
  EXPECT_TRUE(decode_partition_request(encode(PartitionRequest{TabletId{1}, 0, 0, call})));
  call.writes.emplace_back();
  EXPECT_FALSE(decode_partition_request(encode(PartitionRequest{TabletId{1}, 0, 0, call})));
  WaitCall waits{1, std::vector<WatchedEnd>(kWatchedPerCallMax)};
  EXPECT_TRUE(decode_partition_request(encode(PartitionRequest{TabletId{}, 0, 0, waits})));
  waits.watched.emplace_back();
  EXPECT_FALSE(decode_partition_request(encode(PartitionRequest{TabletId{}, 0, 0, waits})));
  PartitionReply many;
  many.entries.resize(kEntriesPerReplyMax);
  many.consumers.resize(kConsumersPerReplyMax);
  many.answers.resize(kWritesPerCallMax);
  EXPECT_TRUE(decode_partition_reply(encode(many)));
  PartitionReply more = many;
  more.entries.emplace_back();
  EXPECT_FALSE(decode_partition_reply(encode(more)));
  more = many;
  more.consumers.emplace_back();
  EXPECT_FALSE(decode_partition_reply(encode(more)));
  more = many;
  more.answers.emplace_back();
  EXPECT_FALSE(decode_partition_reply(encode(more)));
  more = many;
  more.moved.resize(kWatchedPerCallMax + 1);
  EXPECT_FALSE(decode_partition_reply(encode(more)));
}

TEST(PartitionMessages, TheSizeOfAnEntryIsKnownBeforeItIsEncoded) {
  const PartitionReply whole = reply();
  PartitionReply without = whole;
  without.entries.clear();
  EXPECT_EQ(encode(whole).size(), encode(without).size() + encoded_size(whole.entries[0]));
}

}  // namespace
}  // namespace moraine
