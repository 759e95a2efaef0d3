// BlobId: the 192-bit name of a blob.
//
//   raw[0] = TabletId(64)
//   raw[1] = Channel(8) << 56 | Generation(32) << 24 | Step >> 8 (24)
//   raw[2] = (Step & 255)(8) << 56 | Cookie(24) << 32 | CrcMode(2) << 30 | Size(26) << 4 | Part(4)
//
// Comparing the three words as unsigned gives the order (tablet, channel, generation, step, cookie,
// crc mode, size, part). The binary form is the three words big-endian (24 bytes), so memcmp order is
// id order. The string form has another field order:
//   [tablet:generation:step:channel:cookie:size:part]      all decimal
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace moraine::blob {

struct TabletId {
  std::uint64_t value = 0;  // 0 is no tablet.
  auto operator<=>(const TabletId&) const = default;
};

using Generation = std::uint32_t;
using Step = std::uint32_t;
using Channel = std::uint8_t;
inline constexpr Generation kGenerationMax = ~Generation{0};
inline constexpr Step kStepMax = ~Step{0};
inline constexpr std::uint32_t kCookieMax = (1u << 24) - 1;
inline constexpr std::uint32_t kBlobSizeMax = 10u << 20;
inline constexpr std::size_t kBlobIdBytes = 24;

// (generation, step): what barriers compare.
struct GenStep {
  Generation generation = 0;
  Step step = 0;
  auto operator<=>(const GenStep&) const = default;
  static constexpr GenStep max() { return {kGenerationMax, kStepMax}; }
};

class BlobId {
 public:
  BlobId() = default;
  // Requires: cookie <= kCookieMax, size < 2^26, part < 16.
  BlobId(TabletId tablet, Generation generation, Step step, Channel channel, std::uint32_t size,
         std::uint32_t cookie, std::uint32_t part = 0);

  TabletId tablet() const { return {raw_[0]}; }
  Channel channel() const { return static_cast<Channel>(raw_[1] >> 56); }
  Generation generation() const { return static_cast<Generation>(raw_[1] >> 24); }
  Step step() const {
    return static_cast<Step>((raw_[1] & 0xffffff) << 8 | raw_[2] >> 56);
  }
  GenStep gen_step() const { return {generation(), step()}; }
  std::uint32_t cookie() const { return static_cast<std::uint32_t>(raw_[2] >> 32 & kCookieMax); }
  std::uint32_t size() const { return static_cast<std::uint32_t>(raw_[2] >> 4 & 0x3ffffff); }
  std::uint32_t part() const { return static_cast<std::uint32_t>(raw_[2] & 15); }
  BlobId with_part(std::uint32_t part) const;
  BlobId whole() const { return with_part(0); }

  // The 32-bit placement hash: independent of crc mode, size and part.
  std::uint32_t hash() const;

  const std::array<std::uint64_t, 3>& raw() const { return raw_; }
  static BlobId from_raw(std::array<std::uint64_t, 3> raw);

  void encode(std::byte* to) const;  // Writes kBlobIdBytes.
  static BlobId decode(const std::byte* from);

  std::string to_string() const;
  // Accepts exactly the string form (surrounding spaces are an error); says which field is wrong.
  static Result<BlobId> parse(std::string_view text);

  // The least and greatest id of (tablet, channel) within [from, to] by generation and step.
  static BlobId lowest(TabletId tablet, Channel channel, GenStep at = {});
  static BlobId highest(TabletId tablet, Channel channel, GenStep at = GenStep::max());

  auto operator<=>(const BlobId&) const = default;

 private:
  std::array<std::uint64_t, 3> raw_{};
};

// What a client may put: tablet set, part 0, size 1..kBlobSizeMax and equal to `bytes`.
Result<void> check_puttable(const BlobId& id, std::size_t bytes);

}  // namespace moraine::blob
