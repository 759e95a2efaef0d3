// Options that commands of topics and of groups share.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <limits>

#include "app/topic_commands.h"

namespace moraine::app {

inline constexpr std::int64_t kPartitionMax = std::numeric_limits<std::int32_t>::max();
inline constexpr std::int64_t kNumberMax = std::numeric_limits<std::int64_t>::max();

// A whole number within bounds, with errors in plain words.
CLI::Validator whole_number(std::int64_t min, std::int64_t max = kNumberMax);
CLI::Validator topic_name();
// --data, --kafka, --timeout.
void add_topic_target(CLI::App& command, TopicTarget& target);

}  // namespace moraine::app
