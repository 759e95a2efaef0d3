// TopicClient: requests about topics, over one connection.
//
// Promise    Temporary errors (a partition is being started) are retried until the timeout.
//            Requests do not create topics, except where noted.
// Threading  Blocks; one thread.
// Errors     Those of KafkaClient, and refusals by name (kafka_error.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "app/kafka_client.h"
#include "app/topic_commands.h"

namespace moraine::app {

using PartitionOffsets = std::map<std::int32_t, std::int64_t>;

class TopicClient {
 public:
  // `target` is used to find the server after a restart.
  TopicClient(KafkaClient kafka, TopicTarget target)
      : kafka_(std::move(kafka)), target_(std::move(target)) {}

  KafkaClient& kafka() { return kafka_; }
  // A new connection to the server, which may have another address by now.
  Result<void> reconnect();
  std::int32_t timeout_ms() const;

  // By name.
  Result<std::map<std::string, std::int32_t>> partition_counts();
  // kNotFound: no such topic.
  Result<std::int32_t> partition_count(const std::string& topic);
  // The same, and the server may create it with its defaults, if it is configured so.
  Result<std::int32_t> partition_count_or_create(const std::string& topic);
  // Why there can be no topic of this name: it is a folder, or would be below a topic.
  std::optional<Error> name_clash(const std::string& topic);
  // All partitions, or the wanted one. kNotFound: it does not exist.
  Result<std::vector<std::int32_t>> partitions(const std::string& topic,
                                               std::optional<std::int32_t> wanted);

  // `timestamp`: kEarliestOffset, kLatestOffset or a time; returns -1 for a time past the last
  // message.
  Result<PartitionOffsets> offsets(const std::string& topic,
                                   const std::vector<std::int32_t>& partitions,
                                   std::int64_t timestamp);
  // The same for all partitions of many topics. Partitions that are not available after a short
  // wait are left out.
  Result<std::map<std::string, PartitionOffsets>> offsets(
      const std::map<std::string, std::int32_t>& counts, std::int64_t timestamp);

  Result<std::vector<std::string>> groups();
  // Only where the group has committed.
  Result<PartitionOffsets> committed(const std::string& group, const std::string& topic,
                                     const std::vector<std::int32_t>& partitions);
  Result<void> commit(const std::string& group, const std::string& topic,
                      const PartitionOffsets& offsets);

  // Those that differ from the defaults.
  Result<std::map<std::string, std::string>> configs(const std::string& topic);
  Result<std::string> config(const std::string& topic, const std::string& name);

 private:
  // Retries while the error is temporary.
  template <class T>
  Result<T> patiently(const std::function<Result<T>()>& attempt);
  Result<std::int32_t> count_partitions(const std::string& topic, bool may_create);
  Result<kafka::DescribeConfigsResponse> describe_configs(const std::string& topic);

  KafkaClient kafka_;
  const TopicTarget target_;
};

using TopicCommand = std::function<Result<int>(TopicClient&)>;

// Connects, runs the command, and reports its error.
int run_on_server(const TopicTarget& target, const TopicCommand& command);

// The exit code of an error of a topic command: "not found" on the server is a negative answer.
int report_topic_error(const Error& error);

}  // namespace moraine::app
