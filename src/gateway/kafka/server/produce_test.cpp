#include <gtest/gtest.h>

#include <limits>

#include "base/checksum.h"
#include "gateway/kafka/server/server_test_util.h"
#include "gateway/kafka/server/topic_batches.h"

namespace moraine::kafka {
namespace {

class ProduceTest : public KafkaServerTest {
 protected:
  ProduceResponse::Partition produce(Slice batch, std::int16_t version = 9,
                                     const std::string& topic = "t") {
    return ask(produce_of(topic, std::move(batch)), version).topics.at(0).partitions.at(0);
  }
  ErrorCode error_of(Slice batch, std::int16_t version = 9) {
    return produce(std::move(batch), version).error_code;
  }
  // A batch with some bytes changed and its checksum made right again.
  static Slice changed(const Slice& batch, std::size_t at, std::byte value) {
    Buffer copy(batch.size());
    std::memcpy(copy.data(), batch.data(), copy.size());
    copy.data()[at] = value;
    BatchHeader header = BatchHeader::decode(copy.data());
    header.crc = crc32c(copy.span().subspan(21));
    header.encode(copy.data());
    return std::move(copy).freeze();
  }
};

TEST_F(ProduceTest, StoresBatchesUnchangedAndReturnsTheirOffsets) {
  FakePartition& partition = make_topic("t");
  for (std::int16_t version = 3; version <= 9; ++version) {
    const Slice batch = batch_with({"a", "b"});
    const auto answer = produce(batch, version);
    EXPECT_EQ(answer.error_code, ErrorCode::kNone);
    EXPECT_EQ(answer.base_offset, 2 * (version - 3));
    EXPECT_EQ(answer.log_append_time_ms, -1);
    EXPECT_TRUE(equal(partition.requests.back().payload, batch));
    EXPECT_EQ(partition.requests.back().count, 2u);
    EXPECT_EQ(partition.requests.back().max_timestamp_ms, 1001);
    EXPECT_EQ(partition.requests.back().producer.numbering, queue::Numbering::kNone);
  }
}

TEST_F(ProduceTest, OldVersionsAreAnsweredWithUnsupportedVersion) {
  FakePartition& partition = make_topic("t");
  for (std::int16_t version = 0; version < 3; ++version) {
    EXPECT_EQ(error_of(batch_with({"a"}), version), ErrorCode::kUnsupportedVersion);
  }
  EXPECT_TRUE(partition.requests.empty());
}

TEST_F(ProduceTest, EveryCodecIsStoredUntouched) {
  FakePartition& partition = make_topic("t");
  for (int codec = 0; codec <= kCompressionLast; ++codec) {
    const Slice batch = batch_with({"aaaaaaaaaaaa", "b"}, {.codec = Compression(codec)});
    EXPECT_EQ(error_of(batch), ErrorCode::kNone);
    EXPECT_TRUE(equal(partition.requests.back().payload, batch));
  }
  EXPECT_EQ(error_of(batch_with({"a"}, {.codec = Compression::kZstd}), 6),
            ErrorCode::kUnsupportedCompressionType);
}

TEST_F(ProduceTest, RefusesBatchesThatAreNotWhatTheyShouldBe) {
  make_topic("t", 1, {{"max.message.bytes", "1000"}});
  const Slice good = batch_with({"a", "b"});
  EXPECT_EQ(error_of(Slice()), ErrorCode::kInvalidRecord);
  EXPECT_EQ(error_of(joined({good, good})), ErrorCode::kInvalidRecord);
  EXPECT_EQ(error_of(good.sub(0, good.size() - 1)), ErrorCode::kCorruptMessage);
  EXPECT_EQ(error_of(batch_with({std::string(2000, 'x')})), ErrorCode::kMessageTooLarge);
  // The number of records, with the last offset delta as it should be.
  EXPECT_EQ(error_of(changed(changed(good, 60, std::byte{3}), 26, std::byte{2})),
            ErrorCode::kInvalidRecord);
  // The second record's offset delta: length, attributes, time delta, offset delta.
  EXPECT_EQ(error_of(changed(good, kBatchHeaderBytes + 8 + 3, std::byte{8})),
            ErrorCode::kInvalidRecord);
  Buffer rotten(good.size());
  std::memcpy(rotten.data(), good.data(), good.size());
  rotten.data()[good.size() - 1] ^= std::byte{1};
  EXPECT_EQ(error_of(std::move(rotten).freeze()), ErrorCode::kCorruptMessage);
  EXPECT_EQ(error_of(changed(good, 16, std::byte{1})), ErrorCode::kUnsupportedForMessageFormat);
  EXPECT_EQ(error_of(good), ErrorCode::kNone);
}

TEST_F(ProduceTest, TransactionsAreRefused) {
  FakePartition& partition = make_topic("t");
  BatchOptions options{.transactional = true, .producer_id = 5, .producer_epoch = 0};
  options.base_sequence = 0;
  EXPECT_EQ(error_of(batch_with({"a"}, options)), ErrorCode::kTransactionalIdAuthorizationFailed);
  ProduceRequest request = produce_of("t", batch_with({"a"}));
  request.transactional_id = "x";
  const auto refused = ask(request, 9).topics[0].partitions[0];
  EXPECT_EQ(refused.error_code, ErrorCode::kTransactionalIdAuthorizationFailed);
  EXPECT_EQ(refused.error_message, kNoTransactions);
  EXPECT_TRUE(partition.requests.empty());
}

TEST_F(ProduceTest, GarbageIsCorrupt) {
  FakePartition& partition = make_topic("t");
  for (const char byte : {'\0', '\1', 'x', '\xff'}) {
    for (const std::size_t size : {1, 17, 61, 500}) {
      EXPECT_EQ(error_of(Slice::copy_of(std::string(size, byte))), ErrorCode::kCorruptMessage)
          << size << " times " << static_cast<int>(byte);
    }
  }
  EXPECT_TRUE(partition.requests.empty());
}

TEST_F(ProduceTest, MissingTopicsAndPartitionsAreNotCreated) {
  EXPECT_EQ(error_of(batch_with({"a"})), ErrorCode::kUnknownTopicOrPartition);
  EXPECT_EQ(topics_.find("t"), nullptr);
  make_topic("t");
  ProduceRequest request = produce_of("t", batch_with({"a"}));
  request.topics[0].partitions[0].index = 1;
  EXPECT_EQ(ask(request, 7).topics[0].partitions[0].error_code,
            ErrorCode::kUnknownTopicOrPartition);
  topics_.starting = true;
  EXPECT_EQ(error_of(batch_with({"a"})), ErrorCode::kNotLeaderOrFollower);
  topics_.failed_start = Error{Errc::kUnavailable, "no quorum"};
  EXPECT_EQ(error_of(batch_with({"a"})), ErrorCode::kNotLeaderOrFollower) << "may start soon";
  topics_.failed_start = Error{Errc::kNoSpace, "full"};
  EXPECT_EQ(error_of(batch_with({"a"})), ErrorCode::kStorageError);
  topics_.failed_start = Error{Errc::kNotFound, "tablet 5 was deleted"};
  const auto lost = produce(batch_with({"a"}));
  EXPECT_EQ(lost.error_code, ErrorCode::kUnknownServerError) << "clients do not ask for ever";
  EXPECT_TRUE(lost.error_message.value_or("").contains("tablet 5 was deleted"));
  request = produce_of("t", batch_with({"a"}), 2);
  EXPECT_EQ(ask(request, 7).topics[0].partitions[0].error_code, ErrorCode::kInvalidRequiredAcks);
}

TEST_F(ProduceTest, IdempotentProducersAreNamedToThePartition) {
  FakePartition& partition = make_topic("t");
  BatchOptions options{.producer_id = 4711, .producer_epoch = 3, .base_sequence = 2'147'483'647};
  EXPECT_EQ(error_of(batch_with({"a", "b"}, options)), ErrorCode::kNone);
  const queue::Producer& producer = partition.requests.back().producer;
  EXPECT_EQ(producer.source_id, "kafka:4711");
  EXPECT_EQ(producer.numbering, queue::Numbering::kSequence);
  EXPECT_EQ(producer.number, 2'147'483'647u);
  EXPECT_EQ(producer.epoch, 3);
  // Some clients fill in epoch and sequence without having an id.
  EXPECT_EQ(error_of(batch_with({"a"}, {.producer_epoch = 0, .base_sequence = 0})),
            ErrorCode::kNone);
  EXPECT_EQ(partition.requests.back().producer.numbering, queue::Numbering::kNone);
}

TEST_F(ProduceTest, OutcomesOfWritesBecomeErrorCodes) {
  using queue::WriteStatus;
  FakePartition& partition = make_topic("t");
  const std::vector<std::pair<WriteStatus, ErrorCode>> expected{
      {WriteStatus::kDuplicate, ErrorCode::kDuplicateSequenceNumber},
      {WriteStatus::kOutOfOrder, ErrorCode::kOutOfOrderSequenceNumber},
      {WriteStatus::kStaleEpoch, ErrorCode::kInvalidProducerEpoch},
      {WriteStatus::kInvalid, ErrorCode::kInvalidRecord},
      {WriteStatus::kOverloaded, ErrorCode::kRequestTimedOut},
      {WriteStatus::kFullByCount, ErrorCode::kPolicyViolation},
      {WriteStatus::kFullByBytes, ErrorCode::kPolicyViolation},
      {WriteStatus::kDiskFull, ErrorCode::kStorageError},
      {WriteStatus::kFailedBefore, ErrorCode::kRequestTimedOut},
      {WriteStatus::kSourceForgotten, ErrorCode::kUnknownProducerId},
      {WriteStatus::kUnknown, ErrorCode::kRequestTimedOut},
      {WriteStatus::kStopped, ErrorCode::kNotLeaderOrFollower},
  };
  for (const auto& [status, code] : expected) {
    queue::WriteAnswer scripted;
    scripted.status = status;
    partition.scripted.push_back(scripted);
    const auto answer = produce(batch_with({"a"}));
    EXPECT_EQ(answer.error_code, code) << to_string(code);
    EXPECT_EQ(answer.base_offset, -1);
    EXPECT_TRUE(answer.error_message.has_value());
  }
  queue::WriteAnswer out_of_space;
  out_of_space.status = WriteStatus::kUnknown;
  out_of_space.disk_full = true;
  partition.scripted.push_back(out_of_space);
  EXPECT_EQ(produce(batch_with({"a"})).error_code, ErrorCode::kStorageError);
  queue::WriteAnswer duplicate;
  duplicate.status = WriteStatus::kDuplicate;
  duplicate.offset = 42;
  partition.scripted.push_back(duplicate);
  const auto answer = produce(batch_with({"a"}));
  EXPECT_EQ(answer.error_code, ErrorCode::kNone);
  EXPECT_EQ(answer.base_offset, 42);
}

TEST_F(ProduceTest, AWriteThatIsNotDurableInTimeIsAnsweredWithATimeout) {
  FakePartition& partition = make_topic("t", 2);
  partition.write_delay = 5s;
  ProduceRequest request = produce_of("t", batch_with({"a"}));
  request.timeout_ms = 2000;
  request.topics[0].partitions.push_back(request.topics[0].partitions[0]);
  request.topics[0].partitions[0].index = 1;
  const auto response = ask(request, 7);
  EXPECT_EQ(response.topics[0].partitions[0].error_code, ErrorCode::kNone);
  EXPECT_EQ(response.topics[0].partitions[1].error_code, ErrorCode::kRequestTimedOut);
  EXPECT_GE(now(), 2s);
  EXPECT_LT(now(), 3s);
}

TEST_F(ProduceTest, TheMemoryOfARequestIsHeldUntilItsWritesAreAnswered) {
  FakePartition& partition = make_topic("t");
  partition.stop_answering = true;
  ProduceRequest request = produce_of("t", batch_with({"a"}));
  request.timeout_ms = 2000;
  EXPECT_EQ(ask(request, 7).topics[0].partitions[0].error_code, ErrorCode::kRequestTimedOut);
  EXPECT_GT(service_.requests().used(), 0u);
  partition.stop_answering = false;
  partition.answer_next();
  world_.run_for(1ms);
  EXPECT_EQ(service_.requests().used(), 0u);
}

TEST_F(ProduceTest, AClientThatLeavesIsNotWaitedFor) {
  FakePartition& partition = make_topic("t");
  partition.stop_answering = true;
  send(produce_of("t", batch_with({"a"})), 7);
  world_.run_for(1s);
  client_->close();
  world_.run_for(1s);
  EXPECT_EQ(service_.metrics().connections.value(), 0);
  EXPECT_GT(service_.requests().used(), 0u);
  partition.stop_answering = false;
  partition.answer_next();
  EXPECT_EQ(partition.info().end, 1u);
}

TEST_F(ProduceTest, NoClientMakesTheServerWaitForLongerThanTenMinutes) {
  FakePartition& partition = make_topic("t");
  partition.write_delay = 1h;
  ProduceRequest request = produce_of("t", batch_with({"a"}));
  request.timeout_ms = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(ask(request, 7).topics[0].partitions[0].error_code, ErrorCode::kRequestTimedOut);
  EXPECT_GE(now(), 10min);
  EXPECT_LT(now(), 11min);
}

TEST_F(ProduceTest, LogAppendTimeReplacesTheClientsTimes) {
  FakePartition& partition = make_topic("t", 1, {{"message.timestamp.type", "LogAppendTime"}});
  const auto answer = produce(batch_with({"a", "b"}));
  EXPECT_GE(answer.log_append_time_ms, SimClock::kEpoch.count());
  EXPECT_EQ(partition.requests.back().max_timestamp_ms, answer.log_append_time_ms);
  const auto batch = parse_batch(partition.requests.back().payload);
  ASSERT_TRUE(batch.has_value());
  EXPECT_TRUE(crc_holds(*batch));
  EXPECT_EQ(batch->header.timestamp_type(), TimestampType::kLogAppendTime);
  EXPECT_EQ(batch->header.max_timestamp, answer.log_append_time_ms);
}

TEST_F(ProduceTest, ATopicsCodecReplacesAnother) {
  const std::pair<const char*, Compression> codecs[] = {{"uncompressed", Compression::kNone},
                                                        {"gzip", Compression::kGzip},
                                                        {"snappy", Compression::kSnappy},
                                                        {"lz4", Compression::kLz4},
                                                        {"zstd", Compression::kZstd}};
  for (const auto& [name, codec] : codecs) {
    FakePartition& partition = make_topic(name, 1, {{"compression.type", name}});
    for (int from = 0; from <= kCompressionLast; ++from) {
      SCOPED_TRACE(fmt::format("{} to {}", from, name));
      BatchOptions options{.codec = Compression(from), .producer_id = 7, .producer_epoch = 1};
      options.base_sequence = 2 * from;
      const Slice sent = batch_with({std::string(500, 'a'), "b"}, options);
      const auto answer = produce(sent, 9, name);
      ASSERT_EQ(answer.error_code, ErrorCode::kNone) << answer.error_message.value_or("");
      const queue::WriteRequest& stored = partition.requests.back();
      if (Compression(from) == codec) EXPECT_TRUE(equal(stored.payload, sent));
      const auto batch = parse_batch(stored.payload);
      ASSERT_TRUE(batch.has_value());
      EXPECT_TRUE(crc_holds(*batch));
      EXPECT_EQ(batch->header.codec(), codec);
      EXPECT_EQ(batch->header.producer_id, 7);
      EXPECT_EQ(batch->header.base_sequence, 2 * from);
      EXPECT_EQ(stored.producer.number, static_cast<std::uint64_t>(2 * from));
      EXPECT_EQ(stored.max_timestamp_ms, 1001);
      auto reader = RecordReader::open(*batch);
      ASSERT_TRUE(reader.has_value());
      Record record;
      ASSERT_TRUE(reader->next(record).value_or(false));
      EXPECT_EQ(record.value->size(), 500u);
      ASSERT_TRUE(reader->next(record).value_or(false));
      EXPECT_EQ(record.timestamp, 1001);
    }
  }
  EXPECT_EQ(service_.requests().used(), 0u);
}

TEST_F(ProduceTest, ABatchThatGrowsPastTheLimitInTheTopicsCodecIsRefused) {
  FakePartition& partition =
      make_topic("t", 1, {{"compression.type", "uncompressed"}, {"max.message.bytes", "1000"}});
  const Slice packed = batch_with({std::string(5'000, 'a')}, {.codec = Compression::kZstd});
  ASSERT_LT(packed.size(), 1'000u);
  EXPECT_EQ(error_of(packed), ErrorCode::kMessageTooLarge);
  EXPECT_TRUE(partition.requests.empty());
}

TEST_F(ProduceTest, RecompressedBatchesTakeMemoryFromTheBudget) {
  FakePartition& partition =
      make_topic("t", 1, {{"compression.type", "uncompressed"}, {"max.message.bytes", "20000000"}});
  const Slice packed = batch_with({std::string(15'000'000, 'a')}, {.codec = Compression::kZstd});
  ProduceRequest request = produce_of("t", packed);
  const std::size_t room = service_.requests().limit() / 15'000'000;
  for (std::size_t i = 0; i < room + 2; ++i) {
    request.topics[0].partitions.push_back(request.topics[0].partitions[0]);
  }
  partition.stop_answering = true;
  request.timeout_ms = 1000;
  const auto answers = ask(request, 7).topics[0].partitions;
  EXPECT_GT(partition.requests.size(), 0u);
  EXPECT_LE(partition.requests.size(), room);
  EXPECT_LE(service_.requests().used(), service_.requests().limit());
  EXPECT_EQ(answers.back().error_code, ErrorCode::kRequestTimedOut);
  partition.stop_answering = false;
  for (std::size_t i = 0; i < partition.requests.size(); ++i) partition.answer_next();
  world_.run_for(1ms);
  EXPECT_EQ(service_.requests().used(), 0u);
}

TEST_F(ProduceTest, CopiesWithTheTimeOfAppendingCountAsMemoryOfTheRequest) {
  FakePartition& partition = make_topic("t", 1, {{"message.timestamp.type", "LogAppendTime"}});
  partition.stop_answering = true;
  const Slice batch = batch_with({std::string(500'000, 'a')});
  send(produce_of("t", batch), 9);
  world_.run_for(10ms);
  ASSERT_EQ(partition.requests.size(), 1u);
  EXPECT_GE(service_.requests().used(), 2 * batch.size());
  partition.stop_answering = false;
  partition.answer_next();
  world_.run_for(10ms);
  EXPECT_EQ(service_.requests().used(), 0u);
}

TEST_F(ProduceTest, TimesOutsideTheTopicsBoundsAreRefused) {
  FakePartition& partition = make_topic(
      "t", 1,
      {{"message.timestamp.before.max.ms", "60000"}, {"message.timestamp.after.max.ms", "1000"}});
  const std::int64_t now_ms = SimClock::kEpoch.count() + now().count() / 1'000'000;
  EXPECT_EQ(error_of(batch_with({"a"}, {}, now_ms)), ErrorCode::kNone);
  EXPECT_EQ(error_of(batch_with({"a"}, {}, now_ms - 50'000)), ErrorCode::kNone);
  EXPECT_EQ(error_of(batch_with({"a"}, {}, -1)), ErrorCode::kNone) << "no time at all";
  EXPECT_EQ(partition.requests.size(), 3u);
  for (const std::int64_t time :
       {now_ms - 70'000, now_ms + 5'000, std::int64_t{0}, std::numeric_limits<std::int64_t>::min(),
        std::numeric_limits<std::int64_t>::max() - 5}) {
    const auto answer = produce(batch_with({"a"}, {.codec = Compression::kLz4}, time), 9);
    EXPECT_EQ(answer.error_code, ErrorCode::kInvalidTimestamp) << time;
    ASSERT_EQ(answer.record_errors.size(), 1u);
    EXPECT_EQ(answer.record_errors[0].batch_index, 0);
    EXPECT_NE(answer.error_message->find("message.timestamp"), std::string::npos);
  }
  EXPECT_EQ(partition.requests.size(), 3u);
  // Of two records the one that is out of bounds is named.
  BatchBuilder builder({});
  for (const std::int64_t time : {now_ms, now_ms + 100'000}) {
    Record record;
    record.timestamp = time;
    ASSERT_TRUE(builder.append(record));
  }
  const auto answer = produce(std::move(builder).build(), 9);
  ASSERT_EQ(answer.record_errors.size(), 1u);
  EXPECT_EQ(answer.record_errors[0].batch_index, 1);
  make_topic(
      "l", 1,
      {{"message.timestamp.type", "LogAppendTime"}, {"message.timestamp.difference.max.ms", "1"}});
  EXPECT_EQ(produce(batch_with({"a"}, {}, 0), 9, "l").error_code, ErrorCode::kNone)
      << "the client's time is not kept";
}

TEST_F(ProduceTest, OfManyRecordsOutsideTheBoundsSomeAreNamed) {
  make_topic("t", 1, {{"message.timestamp.difference.max.ms", "1000"}});
  const std::vector<std::string> many(3 * kRecordErrorsMax, "x");
  EXPECT_EQ(produce(batch_with(many)).record_errors.size(), kRecordErrorsMax);
}

// Unpacks to more than a lane unpacks at once.
Slice long_batch() {
  return batch_with({std::string(1 << 20, 'a')}, {.codec = Compression::kGzip});
}

TEST_F(ProduceTest, ALongBatchIsUnpackedInTheBackgroundAndLaterOnesWaitForIt) {
  FakePartition& partition = make_topic("t");
  background_executor_.hold();
  const RequestHeader first = send(produce_of("t", long_batch()), 9);
  const RequestHeader second = send(produce_of("t", batch_with({"b"})), 9);
  world_.executor().run_for(1s);
  EXPECT_EQ(background_executor_.posted(), 1u);
  EXPECT_TRUE(partition.requests.empty());
  background_executor_.release();
  EXPECT_EQ(receive<ProduceResponse>(first).topics.at(0).partitions.at(0).base_offset, 0);
  EXPECT_EQ(receive<ProduceResponse>(second).topics.at(0).partitions.at(0).base_offset, 1);
  EXPECT_TRUE(equal(partition.requests.at(0).payload, long_batch()));
}

TEST_F(ProduceTest, ALongBatchThatIsRefusedDoesNotStopLaterOnes) {
  FakePartition& partition = make_topic("t");
  Slice wrong = long_batch();
  wrong = changed(wrong, 60, std::byte{2});  // The number of records.
  wrong = changed(wrong, 26, std::byte{1});  // The number of the last one.
  background_executor_.hold();
  const RequestHeader first = send(produce_of("t", wrong), 9);
  const RequestHeader second = send(produce_of("t", batch_with({"b"})), 9);
  world_.executor().run_for(1s);
  background_executor_.release();
  EXPECT_EQ(receive<ProduceResponse>(first).topics.at(0).partitions.at(0).error_code,
            ErrorCode::kInvalidRecord);
  EXPECT_EQ(receive<ProduceResponse>(second).topics.at(0).partitions.at(0).base_offset, 0);
  EXPECT_EQ(partition.requests.size(), 1u);
}

TEST_F(ProduceTest, AClientThatLeavesWhileItsBatchIsUnpackedIsForgotten) {
  FakePartition& partition = make_topic("t");
  background_executor_.hold();
  send(produce_of("t", long_batch()), 9);
  world_.executor().run_for(1s);
  client_->close();
  world_.executor().run_for(1s);
  background_executor_.release();
  world_.executor().run_for(1s);
  EXPECT_EQ(partition.requests.size(), 1u);
  connect();
  EXPECT_EQ(produce(batch_with({"b"})).base_offset, 1);
}

TEST_F(ProduceTest, WhenManyWaitInTheBackgroundTheLaneUnpacks) {
  FakePartition& partition = make_topic("t");
  background_executor_.hold();
  for (int i = 0; i < 3; ++i) {
    send(produce_of("t", long_batch()), 9);
    world_.executor().run_for(100ms);
    connect();
  }
  EXPECT_EQ(background_executor_.posted(), 2u);
  EXPECT_EQ(partition.requests.size(), 1u);
  background_executor_.release();
  world_.executor().run_for(100ms);
  EXPECT_EQ(partition.requests.size(), 3u);
}

}  // namespace
}  // namespace moraine::kafka
