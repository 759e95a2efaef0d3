// The types of message fields, besides integers and strings.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace moraine::kafka {

// The identity of a topic for its whole life; all zeros: none.
struct Uuid {
  std::array<std::byte, 16> bytes{};

  auto operator<=>(const Uuid&) const = default;
  bool is_zero() const { return *this == Uuid{}; }
  // 8-4-4-4-12 hexadecimal digits.
  std::string to_string() const;
};

// Consecutive record batches. Written without copying; read as one slice that shares the memory of
// its frame.
struct Records {
  std::vector<Slice> slices;
  bool is_null = false;  // Then there are no slices.

  std::size_t size() const;
  // All slices as one; copies only when there are several.
  Slice joined() const;
};

// The memory that decoding a message would need.
struct DecodedSize {
  std::size_t elements = 0;       // Of all arrays.
  std::size_t element_bytes = 0;  // Their structures, without memory that these point to.
  std::size_t text_bytes = 0;
  std::size_t opaque_bytes = 0;  // Copied bytes; records are shared and do not count.
};

}  // namespace moraine::kafka
