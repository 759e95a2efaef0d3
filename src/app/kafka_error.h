// Error codes of a Kafka server as errors of the program: by name, and with their meaning.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "queue/kafka/error_code.h"

namespace moraine::app {

// One sentence; empty for codes whose name says everything.
std::string_view meaning_of(kafka::ErrorCode code);

// A temporary error: nothing was done, and a retry may succeed.
bool is_passing(kafka::ErrorCode code);

// "orders: TOPIC_ALREADY_EXISTS: there is a topic of this name already". The server's text, if it
// sent one, replaces the meaning. Temporary errors are kOverloaded.
Error kafka_error(kafka::ErrorCode code, std::string_view what,
                  const std::optional<std::string>& words = std::nullopt);

// OK, or the error.
Result<void> check_answer(kafka::ErrorCode code, std::string_view what,
                          const std::optional<std::string>& words = std::nullopt);

}  // namespace moraine::app
