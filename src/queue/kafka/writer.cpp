#include "queue/kafka/writer.h"

#include "base/invariant.h"

namespace moraine::kafka {
namespace {

std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}

}  // namespace

void Writer::base128(std::uint64_t value) {
  while (value >= 0x80) {
    bytes_.push_back(static_cast<std::byte>(value | 0x80));
    value >>= 7;
  }
  bytes_.push_back(static_cast<std::byte>(value));
}

void Writer::varint(std::int32_t value) {
  base128(zigzag(value));
}

void Writer::varlong(std::int64_t value) {
  base128(zigzag(value));
}

void Writer::shared(const Slice& bytes) {
  if (bytes.size() <= kCopiedBytesMax) return raw(bytes);
  insertions_.push_back({bytes_.size(), bytes});
  shared_bytes_ += bytes.size();
}

void Writer::append(const Writer& other) {
  INVARIANT(other.insertions_.empty(), "{} shared slices would be lost", other.insertions_.size());
  raw(other.bytes_);
}

void Writer::patch(std::size_t at, std::int32_t value) {
  INVARIANT(at + sizeof(value) <= bytes_.size(), "patch at {} of {} bytes", at, bytes_.size());
  INVARIANT(insertions_.empty() || insertions_.front().at >= at + sizeof(value),
            "bytes are shared before {}", at);
  store_big(bytes_.data() + at, value);
}

std::vector<Slice> Writer::finish() && {
  const Slice written = Slice::copy_of(bytes_);
  std::vector<Slice> slices;
  slices.reserve(2 * insertions_.size() + 1);
  std::size_t at = 0;
  for (Insertion& insertion : insertions_) {
    if (insertion.at > at) slices.push_back(written.sub(at, insertion.at - at));
    at = insertion.at;
    slices.push_back(std::move(insertion.bytes));
  }
  if (written.size() > at) slices.push_back(written.sub(at, written.size() - at));
  return slices;
}

std::size_t varlong_bytes(std::int64_t value) {
  std::size_t bytes = 1;
  for (std::uint64_t left = zigzag(value); left >= 0x80; left >>= 7) ++bytes;
  return bytes;
}

}  // namespace moraine::kafka
