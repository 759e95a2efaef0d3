// Bytes as hexadecimal digits, for tests.
#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "queue/kafka/writer.h"

namespace moraine::kafka {

inline std::string hex(ByteSpan bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    fmt::format_to(std::back_inserter(text), "{:02x}", std::to_integer<unsigned>(byte));
  }
  return text;
}

// Blanks between the digits are skipped.
inline Slice unhex(std::string_view text) {
  std::string bytes;
  std::string digits;
  for (const char c : text) {
    if (c == ' ') continue;
    digits += c;
    if (digits.size() < 2) continue;
    bytes += static_cast<char>(std::stoi(digits, nullptr, 16));
    digits.clear();
  }
  return Slice::copy_of(bytes);
}

inline Slice joined(const std::vector<Slice>& slices) {
  std::string bytes;
  for (const Slice& slice : slices) bytes += as_text(slice.span());
  return Slice::copy_of(bytes);
}
inline Slice joined(Writer writer) {
  return joined(std::move(writer).finish());
}

inline std::string hex(Writer writer) {
  return hex(joined(std::move(writer)).span());
}

}  // namespace moraine::kafka
