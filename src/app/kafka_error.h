// Refusals of a Kafka server as errors of the program: by name, and with what they mean.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "gateway/kafka/protocol/error_code.h"

namespace moraine::app {

// One sentence for people; empty for codes that say it all by their name.
std::string_view meaning_of(kafka::ErrorCode code);

// The answer may be another one a moment later: nothing was done, and nothing is wrong.
bool is_passing(kafka::ErrorCode code);

// "orders: TOPIC_ALREADY_EXISTS: there is a topic of this name already". The server's own words
// stand in place of the meaning when it sent some. Passing ones are kOverloaded.
Error kafka_error(kafka::ErrorCode code, std::string_view what,
                  const std::optional<std::string>& words = std::nullopt);

// Nothing, or the error.
Result<void> check_answer(kafka::ErrorCode code, std::string_view what,
                          const std::optional<std::string>& words = std::nullopt);

}  // namespace moraine::app
