// The `moraine group` commands: the options and the function of each.
//
// Promise    As in commands.h. Every command is a client of a running server.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/topic_commands.h"

namespace moraine::app {

struct GroupListOptions {
  TopicTarget target;
};
int run_group_list(const GroupListOptions& options);

struct GroupDescribeOptions {
  TopicTarget target;
  std::string group;
};
int run_group_describe(const GroupDescribeOptions& options);

// The new position of the group: the start or the end, or an offset of one partition.
struct GroupResetOptions {
  TopicTarget target;
  std::string group;
  std::string topic;  // Empty: every topic that the group has committed to.
  std::optional<std::int32_t> partition;
  std::optional<std::int64_t> offset;
  std::string to;
};
int run_group_reset(const GroupResetOptions& options);

struct GroupDeleteOptions {
  TopicTarget target;
  std::string group;
  bool yes = false;
};
int run_group_delete(const GroupDeleteOptions& options);

}  // namespace moraine::app
