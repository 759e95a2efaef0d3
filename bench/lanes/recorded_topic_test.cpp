#include "bench/lanes/recorded_topic.h"

#include <gtest/gtest.h>

#include "gateway/kafka/protocol/messages.h"
#include "queue/kafka/records.h"

namespace moraine::bench {
namespace {

constexpr std::uint32_t kBytesMax = 1u << 20;
constexpr std::uint64_t kStored = 20;

Slice joined(const std::vector<Slice>& slices) {
  return kafka::Records{slices}.joined();
}

class RecordedTopicTest : public testing::TestWithParam<kafka::Compression> {
 protected:
  RecordedTopicTest() {
    auto made = RecordedTopic::make("events", 2, GetParam());
    EXPECT_TRUE(made);
    topic_ = std::move(*made);
  }

  // A request as the server gets it, and the header that its answers need.
  static kafka::IncomingRequest open(const std::vector<Slice>& frame) {
    const Slice whole = joined(frame);
    const Slice rest = whole.sub(kafka::kSizePrefixBytes, whole.size() - kafka::kSizePrefixBytes);
    auto opened = kafka::open_request(rest, {});
    EXPECT_TRUE(opened);
    return std::move(*opened);
  }
  template <class Response>
  static Slice answer(const kafka::RequestHeader& header, const Response& response) {
    const Slice whole = joined(kafka::encode_response(header, response));
    return whole.sub(kafka::kSizePrefixBytes, whole.size() - kafka::kSizePrefixBytes);
  }
  Slice produce_answer(kafka::ErrorCode code) const {
    kafka::ProduceResponse response;
    kafka::ProduceResponse::Topic& topic = response.topics.emplace_back();
    topic.name = "events";
    kafka::ProduceResponse::Partition& one = topic.partitions.emplace_back();
    one.index = 1;
    one.error_code = code;
    if (code != kafka::ErrorCode::kNone) one.error_message = "no";
    return answer(open(topic_.produce(1, 3)).header, response);
  }
  // Batches `first` ... of partition 1 as an answer to a Fetch from batch 3 on.
  Slice fetch_answer(std::uint64_t first, std::uint64_t count) const {
    kafka::FetchResponse response;
    kafka::FetchResponse::Topic& topic = response.topics.emplace_back();
    topic.name = "events";
    kafka::FetchResponse::Partition& one = topic.partitions.emplace_back();
    one.partition_index = 1;
    for (std::uint64_t i = first; i < first + count; ++i) {
      const auto batch = kafka::parse_batch(topic_.batch(1, i));
      EXPECT_TRUE(batch);
      const auto offset = static_cast<std::int64_t>((i + 3 - first) * kMessagesPerBatch);
      for (const Slice& part : kafka::place(*batch, {.base_offset = offset})) {
        one.records.slices.push_back(part);
      }
    }
    return answer(open(topic_.fetch(1, 3, kBytesMax)).header, response);
  }

  RecordedTopic topic_;
};

TEST_P(RecordedTopicTest, ProducesBatchesThatAServerAccepts) {
  const kafka::IncomingRequest request = open(topic_.produce(1, 9));
  const auto body = kafka::decode_body<kafka::ProduceRequest>(request.body, request.header.version);
  ASSERT_TRUE(body);
  const kafka::ProduceRequest::Partition& one = body->topics[0].partitions[0];
  EXPECT_EQ(body->acks, -1);
  EXPECT_EQ(one.index, 1);
  const auto batch = kafka::single_batch(one.records.joined());
  ASSERT_TRUE(batch);
  EXPECT_TRUE(kafka::check_produced(*batch, {}));
  EXPECT_TRUE(kafka::check_records(*batch));
  EXPECT_EQ(batch->header.codec(), GetParam());
  EXPECT_EQ(batch->header.record_count, static_cast<std::int32_t>(kMessagesPerBatch));
  EXPECT_TRUE(equal(batch->bytes, topic_.batch(1, 1)));
  EXPECT_GT(topic_.compression(), 2);
}

TEST_P(RecordedTopicTest, KnowsTheSizeOfAnAcknowledgement) {
  const Slice right = produce_answer(kafka::ErrorCode::kNone);
  const auto size = topic_.check_produced(right, 1, 3);
  ASSERT_TRUE(size) << size.error().message();
  EXPECT_EQ(size->bytes, right.size());
  EXPECT_EQ(size->messages, kMessagesPerBatch);
  const Slice refused = produce_answer(kafka::ErrorCode::kStorageError);
  EXPECT_FALSE(topic_.check_produced(refused, 1, 3));
  EXPECT_NE(refused.size(), right.size());
  EXPECT_FALSE(topic_.check_produced(right, 0, 3));
}

TEST_P(RecordedTopicTest, KnowsTheSizeOfEveryNumberOfFetchedBatches) {
  const auto sizes = topic_.check_fetched(fetch_answer(3, 2), 1, 3, kBytesMax, kStored);
  ASSERT_TRUE(sizes) << sizes.error().message();
  ASSERT_EQ(sizes->size(), kStored - 3);
  for (std::uint64_t count = 1; count <= sizes->size(); ++count) {
    const AnswerSize& size = (*sizes)[count - 1];
    EXPECT_EQ(size.bytes, fetch_answer(3, count).size());
    EXPECT_EQ(size.messages, count * kMessagesPerBatch);
  }
}

TEST_P(RecordedTopicTest, RefusesAFetchOfOtherRecordsOrOfNone) {
  EXPECT_FALSE(topic_.check_fetched(fetch_answer(4, 2), 1, 3, kBytesMax, kStored));
  EXPECT_FALSE(topic_.check_fetched(fetch_answer(3, 0), 1, 3, kBytesMax, kStored));
}

INSTANTIATE_TEST_SUITE_P(Codecs, RecordedTopicTest,
                         testing::Values(kafka::Compression::kGzip, kafka::Compression::kZstd));

}  // namespace
}  // namespace moraine::bench
