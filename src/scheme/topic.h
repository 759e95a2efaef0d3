// Topics (moraine/topic_options.h), inside the node.
//
// Limits     kPartitionsPerTopicMax, kTopicsMax; the names of topics as in check_topic_name().
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "moraine/topic_options.h"

namespace moraine {

inline constexpr std::uint32_t kPartitionsPerTopicMax = 20'000;
inline constexpr std::size_t kTopicsMax = 100'000;
inline constexpr std::size_t kTopicNameBytesMax = 249;

using TopicPtr = std::shared_ptr<const TopicInfo>;

// Letters, digits, '.', '_', '-', and '/' between the names of folders; no part may be "." or "..".
Result<void> check_topic_name(const std::string& name);

}  // namespace moraine
