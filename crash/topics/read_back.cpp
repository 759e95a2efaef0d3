#include "crash/topics/read_back.h"

#include <fmt/format.h>

#include <chrono>

#include "crash/topics/kafka_handles.h"

namespace moraine::crash {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kAnswerMs = 20'000;
constexpr int kPollMs = 100;
constexpr std::chrono::seconds kSilenceMax{30};

Result<KafkaHandle<rd_kafka_t>> open_reader(const std::string& address) {
  const KafkaSettings settings{{"group.id", "crash-reader"},   {"enable.auto.commit", "false"},
                               {"auto.offset.reset", "error"}, {"check.crcs", "true"},
                               {"fetch.wait.max.ms", "100"},   {"fetch.error.backoff.ms", "20"}};
  TRY(auto client, open_client(RD_KAFKA_CONSUMER, address, settings));
  rd_kafka_poll_set_consumer(client.get());
  return client;
}

Result<void> assign_all(rd_kafka_t* client, const std::string& topic, std::int32_t partitions) {
  const auto list = partition_list();
  for (std::int32_t i = 0; i < partitions; ++i) {
    rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), i)->offset = 0;
  }
  const rd_kafka_resp_err_t code = rd_kafka_assign(client, list.get());
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return fail(Errc::kUnavailable, rd_kafka_err2str(code));
  return {};
}

std::string missing(const LogCheck& check, const std::vector<std::int64_t>& ends) {
  std::string text;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const std::int64_t next = check.next(static_cast<std::int32_t>(i));
    if (next < ends[i]) text += fmt::format(" partition {}: {} of {}", i, next, ends[i]);
  }
  return text;
}

}  // namespace

Result<std::vector<std::int64_t>> log_ends(const std::string& address, const std::string& topic,
                                           std::int32_t partitions) {
  TRY(const auto client, open_reader(address));
  std::vector<std::int64_t> ends;
  for (std::int32_t i = 0; i < partitions; ++i) {
    std::int64_t low = 0;
    std::int64_t high = 0;
    const rd_kafka_resp_err_t code =
        rd_kafka_query_watermark_offsets(client.get(), topic.c_str(), i, &low, &high, kAnswerMs);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return fail(Errc::kUnavailable, fmt::format("the end of partition {} could not be read: {}",
                                                  i, rd_kafka_err2str(code)));
    }
    if (low != 0) return fail(Errc::kCorrupt, fmt::format("partition {} begins at {}", i, low));
    ends.push_back(high);
  }
  return ends;
}

Result<LogCheckCounts> read_back(const std::string& address, const std::string& topic,
                                 TopicTruth& truth) {
  TRY(const std::vector<std::int64_t> ends, log_ends(address, topic, truth.partitions()));
  TRY(const auto client, open_reader(address));
  TRY_VOID(assign_all(client.get(), topic, truth.partitions()));
  LogCheck check(truth);
  Clock::time_point last_message = Clock::now();
  std::string trouble = "silence";
  while (!missing(check, ends).empty()) {
    const KafkaHandle<rd_kafka_message_t> message(rd_kafka_consumer_poll(client.get(), kPollMs));
    if (message && message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
      check.see(message->partition, message->offset, bytes_of(*message));
      last_message = Clock::now();
    } else if (message) {
      trouble = rd_kafka_message_errstr(message.get());
    }
    if (Clock::now() - last_message > kSilenceMax) {
      check.finish();
      return fail(Errc::kTimeout,
                  fmt::format("cannot read to the end:{}; {}", missing(check, ends), trouble));
    }
  }
  return check.finish();
}

}  // namespace moraine::crash
