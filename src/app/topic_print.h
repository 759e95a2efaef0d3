// The output formats of messages.
//
// Promise    One line for each message in every format; the bytes of value and key-value are those
//            of the message, line ends in them included.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "queue/kafka/records.h"

namespace moraine::app {

enum class MessageFormat : std::uint8_t { kValue, kKeyValue, kJson };

// "value", "key-value", "json".
Result<MessageFormat> parse_format(std::string_view word);

struct PrintRules {
  MessageFormat format = MessageFormat::kValue;
  std::string key_separator = "\t";
};

void append_message(std::string& to, std::int32_t partition, const kafka::Record& record,
                    const PrintRules& rules);

}  // namespace moraine::app
