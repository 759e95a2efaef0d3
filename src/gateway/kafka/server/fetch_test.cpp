#include "gateway/kafka/server/fetch.h"

#include <gtest/gtest.h>

#include "gateway/kafka/server/server_test_util.h"

namespace moraine::kafka {
namespace {

class FetchTest : public KafkaServerTest {
 protected:
  FetchResponse::Partition fetch(const FetchRequest& request, std::int16_t version = 11) {
    return ask(request, version).topics.at(0).partitions.at(0);
  }
  // The values of all records, in order.
  static std::vector<std::string> values(const Records& records) {
    std::vector<std::string> found;
    const auto batches = split_batches(records.joined(), CutBatch::kRefused);
    EXPECT_TRUE(batches.has_value());
    for (const RecordBatch& batch : *batches) {
      EXPECT_TRUE(crc_holds(batch));
      auto reader = RecordReader::open(batch);
      Record record;
      while (*reader->next(record)) {
        found.push_back(fmt::format("{}={}", record.offset, as_text(*record.value)));
      }
    }
    return found;
  }
  using Values = std::vector<std::string>;
};

TEST_F(FetchTest, GivesWholeBatchesFromTheOneThatHasTheOffset) {
  FakePartition& partition = make_topic("t");
  partition.store_batch(batch_with({"a", "b"}), 2);
  partition.store_batch(batch_with({"c"}));
  for (std::int16_t version = 4; version <= 12; ++version) {
    const auto answer = fetch(fetch_of("t", 1), version);
    EXPECT_EQ(answer.error_code, ErrorCode::kNone);
    EXPECT_EQ(answer.high_watermark, 3);
    EXPECT_EQ(answer.last_stable_offset, 3);
    EXPECT_EQ(values(answer.records), (Values{"0=a", "1=b", "2=c"})) << version;
    EXPECT_TRUE(answer.aborted_transactions.has_value());
  }
  EXPECT_EQ(partition.watches, 0);
}

TEST_F(FetchTest, OldVersionsAreAnsweredWithUnsupportedVersion) {
  make_topic("t").store_batch(batch_with({"a"}));
  for (std::int16_t version = 0; version < 4; ++version) {
    EXPECT_EQ(fetch(fetch_of("t", 0), version).error_code, ErrorCode::kUnsupportedVersion);
  }
}

TEST_F(FetchTest, AtTheEndItWaitsForItsTimeAndGivesNothing) {
  make_topic("t");
  const Duration before = now();
  const auto answer = fetch(fetch_of("t", 0, 1000));
  EXPECT_EQ(answer.error_code, ErrorCode::kNone);
  EXPECT_EQ(answer.records.size(), 0u);
  EXPECT_GE(now() - before, 1000ms);
  EXPECT_LE(now() - before, 1300ms);
}

TEST_F(FetchTest, AWriteWakesItAtOnce) {
  FakePartition& partition = make_topic("t");
  const auto header = send(fetch_of("t", 0, 1000), 11);
  const Duration before = now();
  world_.run_for(300ms);
  partition.store_batch(batch_with({"a"}));
  const auto response = receive<FetchResponse>(header);
  EXPECT_EQ(values(response.topics[0].partitions[0].records), Values{"0=a"});
  EXPECT_LE(now() - before, 350ms);
  EXPECT_EQ(partition.watches, 0);
}

TEST_F(FetchTest, WaitsUntilThereAreMinBytesAndReadsSeldomUntilThen) {
  FakePartition& partition = make_topic("t");
  FetchRequest request = fetch_of("t", 0, 60'000);
  request.min_bytes = 10'000;
  const auto header = send(request, 11);
  for (int i = 0; i < 120; ++i) {
    partition.store_batch(batch_with({std::string(30, 'x')}));
    world_.run_for(10ms);
  }
  const auto response = receive<FetchResponse>(header);
  EXPECT_GE(response.topics[0].partitions[0].records.size(), 10'000u);
  EXPECT_LE(partition.reads, 3);
}

TEST_F(FetchTest, WhenTheTimeIsOverItGivesWhatThereIs) {
  FakePartition& partition = make_topic("t");
  FetchRequest request = fetch_of("t", 0, 500);
  request.min_bytes = 10'000;
  partition.store_batch(batch_with({"a"}));
  EXPECT_EQ(values(fetch(request).records), Values{"0=a"});
  EXPECT_GE(now(), 500ms);
}

TEST_F(FetchTest, OffsetsOutOfRangeAreAnErrorAtOnce) {
  FakePartition& partition = make_topic("t");
  partition.store_batch(batch_with({"a"}));
  partition.store_batch(batch_with({"b"}));
  world_.run(partition.trim(1));
  const Duration before = now();
  for (const std::int64_t offset : {3, 0, -5}) {
    const auto answer = fetch(fetch_of("t", offset, 10'000));
    EXPECT_EQ(answer.error_code, ErrorCode::kOffsetOutOfRange) << offset;
    EXPECT_EQ(answer.high_watermark, -1);
  }
  EXPECT_LT(now() - before, 1s);
}

// Retention or DeleteRecords leaves start == end.
TEST_F(FetchTest, AnEmptiedPartitionIsOutOfRangeAndTheOthersAreRead) {
  FakePartition& emptied = make_topic("t", 2);
  emptied.store_batch(batch_with({"a"}));
  world_.run(emptied.trim(1));
  topics_.fake(topics_.find("t")->id, 1)->store_batch(batch_with({"b"}));
  FetchRequest request = fetch_of("t", 0);
  request.topics[0].partitions.push_back(request.topics[0].partitions[0]);
  request.topics[0].partitions[1].partition = 1;
  const auto response = ask(request, 11);
  ASSERT_EQ(response.topics.at(0).partitions.size(), 2u);
  EXPECT_EQ(response.topics[0].partitions[0].error_code, ErrorCode::kOffsetOutOfRange);
  EXPECT_EQ(response.topics[0].partitions[1].error_code, ErrorCode::kNone);
  EXPECT_EQ(values(response.topics[0].partitions[1].records), Values{"0=b"});
}

TEST_F(FetchTest, ALongMessageIsGivenWholeWhateverTheLimits) {
  FakePartition& partition = make_topic("t");
  partition.store_batch(batch_with({std::string(600'000, 'x')}));
  partition.store_batch(batch_with({"b"}));
  FetchRequest request = fetch_of("t", 0);
  request.topics[0].partitions[0].partition_max_bytes = 1000;
  request.max_bytes = 500;
  const auto answer = fetch(request);
  EXPECT_GT(answer.records.size(), 600'000u);
  EXPECT_LT(answer.records.size(), 600'200u);
}

TEST_F(FetchTest, OnlyTheFirstPartitionWithDataMayPassTheLimit) {
  make_topic("t", 3);
  const TopicId id = topics_.find("t")->id;
  for (std::uint32_t i = 1; i < 3; ++i) {
    topics_.fake(id, i)->store_batch(batch_with({std::string(5'000, 'x')}));
  }
  FetchRequest request = fetch_of("t", 0);
  request.topics[0].partitions[0].partition_max_bytes = 1000;
  // One topic entry for each partition, as some clients do.
  for (int i = 1; i < 3; ++i) {
    request.topics.push_back(request.topics[0]);
    request.topics.back().partitions[0].partition = i;
  }
  const auto response = ask(request, 11);
  ASSERT_EQ(response.topics.size(), 3u);
  EXPECT_EQ(response.topics[0].partitions[0].records.size(), 0u);
  EXPECT_GT(response.topics[1].partitions[0].records.size(), 5'000u);
  EXPECT_EQ(response.topics[2].partitions[0].records.size(), 0u);
  EXPECT_EQ(response.topics[2].partitions[0].high_watermark, 1);
}

TEST_F(FetchTest, PartitionsInMemoryAreReadAtOnceAndTheOthersAreLoadedMeanwhile) {
  make_topic("t", 6);
  const TopicId id = topics_.find("t")->id;
  FetchRequest request = fetch_of("t", 0);
  request.topics[0].partitions[0].partition_max_bytes = 20'000;
  for (std::uint32_t i = 0; i < 6; ++i) {
    FakePartition& partition = *topics_.fake(id, i);
    partition.in_memory = i != 2 && i != 4;
    for (int batch = 0; batch < 3; ++batch) {
      partition.store_batch(batch_with({std::to_string(i) + std::string(5'000, 'x')}));
    }
    if (i > 0) request.topics[0].partitions.push_back(request.topics[0].partitions[0]);
    request.topics[0].partitions[i].partition = static_cast<std::int32_t>(i);
  }
  request.max_bytes = 60'000;  // Eleven batches and a part of the next.
  const auto response = ask(request, 11);
  const auto& answers = response.topics.at(0).partitions;
  ASSERT_EQ(answers.size(), 6u);
  for (std::uint32_t i = 0; i < 6; ++i) {
    const FakePartition& partition = *topics_.fake(id, i);
    EXPECT_EQ(answers[i].partition_index, static_cast<std::int32_t>(i));
    const Values found = i < 4 ? values(answers[i].records) : Values{};
    EXPECT_EQ(found.size(), i < 3 ? 3u : i == 3 ? 2u : 0u) << i;
    if (!found.empty()) EXPECT_EQ(found[0].substr(0, 3), "0=" + std::to_string(i));
    EXPECT_EQ(partition.reads, partition.in_memory ? 0 : 1) << i;
    EXPECT_EQ(partition.reads_ahead, i == 2 || i == 3 ? 1 : 0) << i;
  }
}

TEST_F(FetchTest, TopicsAreFoundByIdAndByIdAsText) {
  FakePartition& partition = make_topic("t");
  partition.store_batch(batch_with({"a"}));
  FetchRequest request = fetch_of("", 0);
  request.topics[0].topic_id = to_uuid(topics_.find("t")->id);
  EXPECT_EQ(values(fetch(request, 13).records), Values{"0=a"});
  request.topics[0].name = request.topics[0].topic_id.to_string();
  EXPECT_EQ(values(fetch(request, 12).records), Values{"0=a"});
  request.topics[0].topic_id.bytes[5] = std::byte{9};
  EXPECT_EQ(fetch(request, 13).error_code, ErrorCode::kUnknownTopicId);
  EXPECT_EQ(fetch(fetch_of("nope", 0, 5000), 12).error_code, ErrorCode::kUnknownTopicOrPartition);
  EXPECT_EQ(topics_.find("nope"), nullptr);
}

TEST_F(FetchTest, SingleMessagesAreGivenAsBatchesOfOne) {
  FakePartition& partition = make_topic("t");
  for (const char* text : {"one", "two"}) {
    queue::StoredEntry entry;
    entry.payload = Slice::copy_of(std::string_view(text));
    entry.max_timestamp_ms = 5;
    partition.store(entry);
  }
  EXPECT_EQ(values(fetch(fetch_of("t", 1)).records), Values{"1=two"});
}

// As Kafka does: many clients read zstd and send an old version.
TEST_F(FetchTest, EveryVersionReturnsZstdUnchanged) {
  FakePartition& partition = make_topic("t");
  partition.store_batch(batch_with({"a"}));
  const Slice packed = batch_with({"b"}, {.codec = Compression::kZstd});
  partition.store_batch(packed);
  for (std::int16_t version = 4; version <= 12; ++version) {
    SCOPED_TRACE(version);
    EXPECT_EQ(values(fetch(fetch_of("t", 0), version).records), (Values{"0=a", "1=b"}));
    const auto alone = fetch(fetch_of("t", 1), version);
    EXPECT_EQ(alone.error_code, ErrorCode::kNone);
    ASSERT_EQ(alone.records.size(), packed.size());
    EXPECT_EQ(BatchHeader::decode(alone.records.joined().data()).codec(), Compression::kZstd);
  }
}

TEST_F(FetchTest, APartitionThatStopsEndsTheWait) {
  FakePartition& partition = make_topic("t");
  const auto header = send(fetch_of("t", 0, 10'000), 11);
  world_.run_for(100ms);
  partition.is_stopped = true;
  partition.notify_watchers();
  const auto response = receive<FetchResponse>(header);
  EXPECT_EQ(response.topics[0].partitions[0].error_code, ErrorCode::kNotLeaderOrFollower);
  EXPECT_LT(now(), 1s);
  EXPECT_EQ(response.session_id, 0);
}

TEST_F(FetchTest, DamageIsAnErrorThatClientsReportAndTheLogNamesThePlace) {
  FakePartition& partition = make_topic("t");
  partition.store_batch(batch_with({"a"}));
  partition.store_batch(batch_with({"b"}));
  partition.read_error = Error{Errc::kCorrupt, "offset 1 cannot be read"};
  ScopedLogCapture log;
  for (std::size_t i = 0; i < 2 * LimitedLog::kLinesMax; ++i) {
    EXPECT_EQ(fetch(fetch_of("t", 1, 10'000)).error_code, ErrorCode::kCorruptMessage);
  }
  EXPECT_LT(now(), 5s) << "not at the end of the wait";
  EXPECT_TRUE(logged(log,
                     "messages cannot be read topic=t partition=0 offset=1 "
                     "reason=\"offset 1 cannot be read\""));
  EXPECT_EQ(log.lines().size(), LimitedLog::kLinesMax);
  world_.run_for(LimitedLog::kPeriod);
  fetch(fetch_of("t", 1, 10'000));
  EXPECT_TRUE(logged(log, "more reads of damaged messages count=10"));
}

TEST_F(FetchTest, LeaderEpochsThatAreNotOursAreRefused) {
  make_topic("t").store_batch(batch_with({"a"}));
  const auto fetched = [&](std::int32_t epoch) {
    FetchRequest request = fetch_of("t", 0);
    request.topics[0].partitions[0].current_leader_epoch = epoch;
    return ask(request, 11).topics.at(0).partitions.at(0).error_code;
  };
  const auto listed = [&](std::int32_t epoch) {
    ListOffsetsRequest request;
    request.topics.push_back({"t", {{0, epoch, kLatestOffset, 1}}});
    return ask(request, 7).topics.at(0).partitions.at(0).error_code;
  };
  const auto ended = [&](std::int32_t epoch) {
    OffsetForLeaderEpochRequest request;
    request.topics.push_back({"t", {{0, epoch, 0}}});
    return ask(request, 4).topics.at(0).partitions.at(0).error_code;
  };
  for (const auto& [epoch, error] :
       {std::pair(-1, ErrorCode::kNone), std::pair(kLeaderEpoch, ErrorCode::kNone),
        std::pair(kLeaderEpoch + 1, ErrorCode::kUnknownLeaderEpoch),
        std::pair(-2, ErrorCode::kFencedLeaderEpoch)}) {
    EXPECT_EQ(fetched(epoch), error) << epoch;
    EXPECT_EQ(listed(epoch), error) << epoch;
    EXPECT_EQ(ended(epoch), error) << epoch;
  }
}

TEST_F(FetchTest, SessionsThatWereNeverMadeAreNotFound) {
  make_topic("t").store_batch(batch_with({"a"}));
  FetchRequest request = fetch_of("t", 0, 10'000);
  for (const std::int32_t id : {0, 77}) {
    request.session_id = id;
    request.session_epoch = 1;
    const auto refused = ask(request, 11);
    EXPECT_EQ(refused.error_code, ErrorCode::kFetchSessionIdNotFound);
    EXPECT_EQ(refused.session_id, 0);
    EXPECT_TRUE(refused.topics.empty());
    for (const std::int32_t epoch : {0, -1}) {
      request.session_epoch = epoch;
      const auto answered = ask(request, 11);
      EXPECT_EQ(answered.error_code, ErrorCode::kNone);
      EXPECT_EQ(answered.session_id, 0);
      EXPECT_EQ(answered.topics.at(0).partitions.at(0).high_watermark, 1);
    }
  }
}

TEST_F(FetchTest, APartitionThatIsNamedTwiceIsAnsweredOnce) {
  make_topic("t").store_batch(batch_with({"a"}));
  FetchRequest request = fetch_of("t", 0);
  request.topics[0].partitions.push_back(request.topics[0].partitions[0]);
  request.topics.push_back(request.topics[0]);
  const auto answered = ask(request, 11);
  ASSERT_EQ(answered.topics.size(), 1u);
  ASSERT_EQ(answered.topics[0].partitions.size(), 1u);
  EXPECT_GT(answered.topics[0].partitions[0].records.size(), 0u);
}

}  // namespace
}  // namespace moraine::kafka
