// INVARIANT(condition, "why it must hold, {}", value): always on, aborts with the message.
// Never reachable from user input or from bytes read off a disk or a socket: those are Errors.
#pragma once

#include <fmt/format.h>

#include <source_location>
#include <string>

namespace moraine {

[[noreturn]] void invariant_failed(const char* condition, const std::string& why,
                                   std::source_location at = std::source_location::current());

}  // namespace moraine

#define INVARIANT(condition, ...)                                        \
  do {                                                                   \
    if (!(condition)) [[unlikely]]                                       \
      ::moraine::invariant_failed(#condition, fmt::format(__VA_ARGS__)); \
  } while (false)
