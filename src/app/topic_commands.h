// The `moraine topic` commands: the options and the function of each.
//
// Promise    As in commands.h. Every command is a client of a running server.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace moraine::app {

inline constexpr const char* kDefaultKafka = "127.0.0.1:9092";

// The server of a command. At most one of kafka and data is set.
struct TopicTarget {
  std::string kafka;  // Its address; in the end kDefaultKafka.
  std::string data;   // The data folder that it serves.
  double timeout_seconds = 30;
  bool json = false;
};

struct TopicCreateOptions {
  TopicTarget target;
  std::string name;
  std::uint32_t partitions = 1;
  std::vector<std::string> configs;    // "name=value"
  std::vector<std::string> consumers;  // "name" or "name:important"
};
int run_topic_create(const TopicCreateOptions& options);

struct TopicListOptions {
  TopicTarget target;
};
int run_topic_list(const TopicListOptions& options);

struct TopicDescribeOptions {
  TopicTarget target;
  std::string name;
};
int run_topic_describe(const TopicDescribeOptions& options);

struct TopicAlterOptions {
  TopicTarget target;
  std::string name;
  std::uint32_t partitions = 0;      // The new total; 0: as it is.
  std::vector<std::string> configs;  // "name=value"
  std::vector<std::string> unset;
};
int run_topic_alter(const TopicAlterOptions& options);

struct TopicRemoveOptions {
  TopicTarget target;
  std::string name;
  bool yes = false;
};
int run_topic_remove(const TopicRemoveOptions& options);

struct TopicWriteOptions {
  TopicTarget target;
  std::string name;
  std::optional<std::int32_t> partition;
  std::optional<std::string> key;
  std::string file = "-";
  bool whole = false;
  std::string key_separator;  // Empty: lines are values.
  bool null_key = false;
  std::string codec = "none";
  bool idempotent = false;
};
int run_topic_write(const TopicWriteOptions& options);

struct TopicReadOptions {
  TopicTarget target;
  std::string name;
  std::optional<std::int32_t> partition;
  std::string from = "start";
  std::uint64_t count = 0;  // 0: all.
  bool follow = false;
  std::string group;
  std::string format = "value";
  std::string key_separator = "\\t";
};
int run_topic_read(const TopicReadOptions& options);

struct TopicCommitOptions {
  TopicTarget target;
  std::string name;
  std::string group;
  std::optional<std::int32_t> partition;
  std::optional<std::int64_t> offset;
  std::string to;  // "start" or "end", in place of an offset.
};
int run_topic_commit(const TopicCommitOptions& options);

}  // namespace moraine::app
