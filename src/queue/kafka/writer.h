// Writer: encodes the protocol's primitive types into slices that can be sent to a socket.
//
// Promise    Large bytes are shared, not copied: finish() returns the written bytes as slices, with
//            the shared ones in their places.
// Limits     Shared bytes of at most kCopiedBytesMax are copied: a slice of its own costs more.
#pragma once

#include <cstdint>
#include <vector>

#include "queue/kafka/reader.h"

namespace moraine::kafka {

inline constexpr std::size_t kCopiedBytesMax = 512;

class Writer {
 public:
  Writer() { bytes_.reserve(kFirstBytes); }

  template <FixedInteger T>
  void fixed(T value) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof(T));
    store_big(bytes_.data() + at, value);
  }
  void uvarint(std::uint32_t value) { base128(value); }
  void varint(std::int32_t value);
  void varlong(std::int64_t value);
  void raw(ByteSpan bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  void shared(const Slice& bytes);
  // Appends the bytes of another writer, which has no shared bytes.
  void append(const Writer& other);

  // Bytes so far, with the shared ones.
  std::size_t size() const { return bytes_.size() + shared_bytes_; }
  // Replaces four bytes that were written with fixed(). Requires: nothing was shared before them.
  void patch(std::size_t at, std::int32_t value);
  std::vector<Slice> finish() &&;

 private:
  // Bytes that belong before bytes_[at].
  struct Insertion {
    std::size_t at;
    Slice bytes;
  };

  static constexpr std::size_t kFirstBytes = 256;

  void base128(std::uint64_t value);

  std::vector<std::byte> bytes_;
  std::vector<Insertion> insertions_;
  std::size_t shared_bytes_ = 0;
};

// Bytes of `value` as a signed varint (of either width).
std::size_t varlong_bytes(std::int64_t value);

}  // namespace moraine::kafka
