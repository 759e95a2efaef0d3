// librdkafka: clients and the rest of its C objects with owners, errors as Result.
//
// Threading  As librdkafka: clients may be used from any thread.
#pragma once

#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace moraine::crash {

struct KafkaCloser {
  void operator()(rd_kafka_t* client) const { rd_kafka_destroy(client); }
  void operator()(rd_kafka_topic_t* topic) const { rd_kafka_topic_destroy(topic); }
  void operator()(rd_kafka_queue_t* queue) const { rd_kafka_queue_destroy(queue); }
  void operator()(rd_kafka_message_t* message) const { rd_kafka_message_destroy(message); }
  void operator()(rd_kafka_event_t* event) const { rd_kafka_event_destroy(event); }
  void operator()(rd_kafka_topic_partition_list_t* list) const {
    rd_kafka_topic_partition_list_destroy(list);
  }
};
template <class T>
using KafkaHandle = std::unique_ptr<T, KafkaCloser>;

using KafkaSettings = std::vector<std::pair<std::string, std::string>>;

// `prepare` sets what is not text: callbacks and their opaque. Broken connections are reestablished
// within milliseconds.
Result<KafkaHandle<rd_kafka_t>> open_client(
    rd_kafka_type_t type, const std::string& address, const KafkaSettings& settings,
    const std::function<void(rd_kafka_conf_t*)>& prepare = {});

Result<void> create_topic(const std::string& address, const std::string& topic,
                          std::int32_t partitions);
// Grows the topic to that many partitions.
Result<void> grow_topic(const std::string& address, const std::string& topic,
                        std::int32_t partitions);

KafkaHandle<rd_kafka_topic_partition_list_t> partition_list();
std::string_view bytes_of(const rd_kafka_message_t& message);

}  // namespace moraine::crash
