// Reads all of a topic with its own consumer and compares it with the truth.
//
// Threading  Plain blocking calls.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "crash/topics/log_check.h"

namespace moraine::crash {

// Where each partition ends now. An error unless each begins at 0.
Result<std::vector<std::int64_t>> log_ends(const std::string& address, const std::string& topic,
                                           std::int32_t partitions);

// Requires: the producers are paused. An error: it could not be read to its end.
Result<LogCheckCounts> read_back(const std::string& address, const std::string& topic,
                                 TopicTruth& truth);

}  // namespace moraine::crash
