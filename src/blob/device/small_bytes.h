// SmallBytes: a short byte string held in place; longer ones go to the heap.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <vector>

#include "base/bytes.h"

namespace moraine::blob {

class SmallBytes {
 public:
  static constexpr std::size_t kInPlace = 64;

  SmallBytes() = default;
  explicit SmallBytes(ByteSpan bytes) : size_(bytes.size()) {
    if (size_ > kInPlace) {
      heap_.assign(bytes.begin(), bytes.end());
    } else if (size_ > 0) {
      std::memcpy(in_place_.data(), bytes.data(), size_);
    }
  }
  ByteSpan span() const {
    return size_ > kInPlace ? ByteSpan(heap_) : ByteSpan(in_place_.data(), size_);
  }
  std::size_t size() const { return size_; }

 private:
  std::size_t size_ = 0;
  std::array<std::byte, kInPlace> in_place_;
  std::vector<std::byte> heap_;
};

}  // namespace moraine::blob
