// The memory for handling a request besides its frame, computed before it is decoded.
//
// Promise    Pure. Covers the decoded request, and the memory of handlers and answers for each of
//            its elements and texts: an answer that only repeats the request needs no more.
// Tests      longest_requests_test.cpp
#pragma once

#include <cstddef>

#include "gateway/kafka/protocol/types.h"

namespace moraine::kafka {

// The memory of a handler for one element: its answer, its index entry, a write or a watch.
inline constexpr std::size_t kElementCostBytes = 384;
// Copies of a text: in the request, in an index, in the answer, in an error message.
inline constexpr std::size_t kTextCopies = 4;
// An array that grows has up to twice the memory that it needs.
inline constexpr std::size_t kArraySlack = 2;

constexpr std::size_t request_cost(const DecodedSize& size) {
  return size.elements * kElementCostBytes + size.element_bytes * kArraySlack +
         size.text_bytes * kTextCopies + size.opaque_bytes;
}

}  // namespace moraine::kafka
