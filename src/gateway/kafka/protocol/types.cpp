#include "gateway/kafka/protocol/types.h"

#include <fmt/format.h>

#include <cstring>
#include <iterator>

namespace moraine::kafka {

std::string Uuid::to_string() const {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    fmt::format_to(std::back_inserter(text), "{:02x}", std::to_integer<unsigned>(bytes[i]));
  }
  return text;
}

std::size_t Records::size() const {
  std::size_t total = 0;
  for (const Slice& slice : slices) total += slice.size();
  return total;
}

Slice Records::joined() const {
  if (slices.size() == 1) return slices.front();
  Buffer whole(size());
  std::size_t at = 0;
  for (const Slice& slice : slices) {
    if (!slice.empty()) std::memcpy(whole.data() + at, slice.data(), slice.size());
    at += slice.size();
  }
  return std::move(whole).freeze();
}

}  // namespace moraine::kafka
