#include "queue/kafka/reader.h"

namespace moraine::kafka {

std::uint64_t Reader::base128(int bits) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < bits; shift += 7) {
    if (remaining() == 0) {
      wrong("the input is short");
      return 0;
    }
    const auto byte = std::to_integer<std::uint64_t>(input_[at_++]);
    const std::uint64_t group = byte & 0x7f;
    if (bits - shift < 7 && (group >> (bits - shift)) != 0) break;
    value |= group << shift;
    if (byte < 0x80) return value;
  }
  wrong("a variable-length integer is too long");
  return 0;
}

std::uint32_t Reader::uvarint() {
  return static_cast<std::uint32_t>(base128(32));
}

std::int32_t Reader::varint() {
  const std::uint32_t zigzag = uvarint();
  return static_cast<std::int32_t>((zigzag >> 1) ^ (~(zigzag & 1) + 1));
}

std::int64_t Reader::varlong() {
  const std::uint64_t zigzag = base128(64);
  return static_cast<std::int64_t>((zigzag >> 1) ^ (~(zigzag & 1) + 1));
}

std::size_t Reader::narrow(std::size_t size) {
  const std::size_t end = end_;
  if (size > remaining()) {
    wrong("the input is short");
  } else {
    end_ = at_ + size;
  }
  return end;
}

}  // namespace moraine::kafka
