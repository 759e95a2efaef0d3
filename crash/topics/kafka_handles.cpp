#include "crash/topics/kafka_handles.h"

#include <array>

namespace moraine::crash {
namespace {

constexpr int kAnswerMs = 60'000;
using ErrorText = std::array<char, 512>;

Result<void> error_of(const rd_kafka_topic_result_t* const* results, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const rd_kafka_resp_err_t code = rd_kafka_topic_result_error(results[i]);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return fail(Errc::kUnavailable, rd_kafka_err2str(code));
  }
  return {};
}

Result<KafkaHandle<rd_kafka_event_t>> answer_of(rd_kafka_queue_t* queue) {
  KafkaHandle<rd_kafka_event_t> event(rd_kafka_queue_poll(queue, kAnswerMs));
  if (!event) return fail(Errc::kTimeout, "no answer to a change of a topic");
  if (rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return fail(Errc::kUnavailable, rd_kafka_event_error_string(event.get()));
  }
  return event;
}

}  // namespace

Result<KafkaHandle<rd_kafka_t>> open_client(rd_kafka_type_t type, const std::string& address,
                                            const KafkaSettings& settings,
                                            const std::function<void(rd_kafka_conf_t*)>& prepare) {
  ErrorText why{};
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  KafkaSettings all{{"bootstrap.servers", address},
                    {"log_level", "0"},
                    {"socket.timeout.ms", "10000"},
                    {"reconnect.backoff.ms", "10"},
                    {"reconnect.backoff.max.ms", "50"},
                    {"retry.backoff.ms", "20"},
                    {"topic.metadata.refresh.interval.ms", "1000"},
                    {"topic.metadata.refresh.fast.interval.ms", "50"}};
  all.insert(all.end(), settings.begin(), settings.end());
  for (const auto& [name, value] : all) {
    if (rd_kafka_conf_set(conf, name.c_str(), value.c_str(), why.data(), why.size()) !=
        RD_KAFKA_CONF_OK) {
      rd_kafka_conf_destroy(conf);
      return fail(Errc::kInvalidArgument, why.data());
    }
  }
  if (prepare) prepare(conf);
  KafkaHandle<rd_kafka_t> client(rd_kafka_new(type, conf, why.data(), why.size()));
  if (!client) {
    rd_kafka_conf_destroy(conf);
    return fail(Errc::kInvalidArgument, why.data());
  }
  return client;
}

Result<void> create_topic(const std::string& address, const std::string& topic,
                          std::int32_t partitions) {
  TRY(const auto client, open_client(RD_KAFKA_PRODUCER, address, {}));
  const KafkaHandle<rd_kafka_queue_t> queue(rd_kafka_queue_new(client.get()));
  ErrorText why{};
  rd_kafka_NewTopic_t* wanted =
      rd_kafka_NewTopic_new(topic.c_str(), partitions, 1, why.data(), why.size());
  if (!wanted) return fail(Errc::kInvalidArgument, why.data());
  rd_kafka_CreateTopics(client.get(), &wanted, 1, nullptr, queue.get());
  rd_kafka_NewTopic_destroy(wanted);
  TRY(const auto event, answer_of(queue.get()));
  std::size_t count = 0;
  const auto* results =
      rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event.get()), &count);
  return error_of(results, count);
}

Result<void> grow_topic(const std::string& address, const std::string& topic,
                        std::int32_t partitions) {
  TRY(const auto client, open_client(RD_KAFKA_PRODUCER, address, {}));
  const KafkaHandle<rd_kafka_queue_t> queue(rd_kafka_queue_new(client.get()));
  ErrorText why{};
  rd_kafka_NewPartitions_t* wanted = rd_kafka_NewPartitions_new(
      topic.c_str(), static_cast<std::size_t>(partitions), why.data(), why.size());
  if (!wanted) return fail(Errc::kInvalidArgument, why.data());
  rd_kafka_CreatePartitions(client.get(), &wanted, 1, nullptr, queue.get());
  rd_kafka_NewPartitions_destroy(wanted);
  TRY(const auto event, answer_of(queue.get()));
  std::size_t count = 0;
  const auto* results = rd_kafka_CreatePartitions_result_topics(
      rd_kafka_event_CreatePartitions_result(event.get()), &count);
  return error_of(results, count);
}

KafkaHandle<rd_kafka_topic_partition_list_t> partition_list() {
  return KafkaHandle<rd_kafka_topic_partition_list_t>(rd_kafka_topic_partition_list_new(8));
}

std::string_view bytes_of(const rd_kafka_message_t& message) {
  return {static_cast<const char*>(message.payload), message.payload ? message.len : 0};
}

}  // namespace moraine::crash
