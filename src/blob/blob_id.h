// BlobId: the 192-bit name of a blob.
//
//   raw[0] = TabletId(64)
//   raw[1] = Channel(8) << 56 | Generation(32) << 24 | Step >> 8 (24)
//   raw[2] = (Step & 255)(8) << 56 | Cookie(24) << 32 | CrcMode(2) << 30 | Size(26) << 4 | Part(4)
//
// Comparing the three words as unsigned gives the order (tablet, channel, generation, step, cookie,
// crc mode, size, part). The binary form is the three words big-endian (24 bytes), so memcmp order
// is id order. There are two string forms:
//   [tablet:generation:step:channel:cookie:size:part]      decimal, in another field order; leaves
//                                                          the crc mode out (parsing gives 0)
//   48 hex digits                                          the binary form, loses nothing
//
// Errors     kInvalidArgument, naming the field that is wrong and why.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/result.h"

namespace moraine::blob {

struct TabletId {
  std::uint64_t value = 0;  // 0 is no tablet.
  auto operator<=>(const TabletId&) const = default;

  template <typename H>
  friend H AbslHashValue(H state, const TabletId& id) {
    return H::combine(std::move(state), id.value);
  }
};

using Generation = std::uint32_t;
using Step = std::uint32_t;
using Channel = std::uint8_t;
inline constexpr Generation kGenerationMax = ~Generation{0};
inline constexpr Step kStepMax = ~Step{0};
inline constexpr std::uint32_t kCookieMax = (1u << 24) - 1;
inline constexpr std::uint32_t kBlobSizeMax = 10u << 20;            // What may be put.
inline constexpr std::uint32_t kBlobSizeFieldMax = (1u << 26) - 1;  // What an id can say.
inline constexpr std::uint32_t kPartFieldMax = 15;
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
  Step step() const { return static_cast<Step>((raw_[1] & 0xffffff) << 8 | raw_[2] >> 56); }
  GenStep gen_step() const { return {generation(), step()}; }
  std::uint32_t cookie() const { return static_cast<std::uint32_t>(raw_[2] >> 32 & kCookieMax); }
  // 0 in every id that this system makes.
  std::uint32_t crc_mode() const { return static_cast<std::uint32_t>(raw_[2] >> 30 & 3); }
  std::uint32_t size() const {
    return static_cast<std::uint32_t>(raw_[2] >> 4 & kBlobSizeFieldMax);
  }
  std::uint32_t part() const { return static_cast<std::uint32_t>(raw_[2] & kPartFieldMax); }
  // Requires: part < 16.
  BlobId with_part(std::uint32_t part) const;
  BlobId whole() const { return with_part(0); }

  // The 32-bit placement hash: independent of crc mode, size and part.
  std::uint32_t hash() const;

  const std::array<std::uint64_t, 3>& raw() const { return raw_; }
  static BlobId from_raw(std::array<std::uint64_t, 3> raw);

  void encode(std::byte* to) const;  // Writes kBlobIdBytes.
  static BlobId decode(const std::byte* from);

  std::string to_string() const;
  std::string to_hex() const;
  // Accepts exactly the two string forms: no spaces, signs or leading zeros; hex digits in either
  // case.
  static Result<BlobId> parse(std::string_view text);

  // The least and greatest id of (tablet, channel) within [from, to] by generation and step.
  static BlobId lowest(TabletId tablet, Channel channel, GenStep at = {});
  static BlobId highest(TabletId tablet, Channel channel, GenStep at = GenStep::max());

  auto operator<=>(const BlobId&) const = default;

  template <typename H>
  friend H AbslHashValue(H state, const BlobId& id) {
    return H::combine(std::move(state), id.raw_[0], id.raw_[1], id.raw_[2]);
  }

 private:
  std::array<std::uint64_t, 3> raw_{};
};

// What a client may put: tablet set, part and crc mode 0, size 1..kBlobSizeMax and equal to
// `bytes`.
Result<void> check_puttable(const BlobId& id, std::size_t bytes);

}  // namespace moraine::blob

template <>
struct std::hash<moraine::blob::TabletId> {
  std::size_t operator()(const moraine::blob::TabletId& id) const noexcept {
    const std::uint64_t mixed = id.value * 0x9e3779b97f4a7c15;
    return mixed ^ mixed >> 32;
  }
};

template <>
struct std::hash<moraine::blob::BlobId> {
  std::size_t operator()(const moraine::blob::BlobId& id) const noexcept {
    std::uint64_t mixed = id.raw()[0];
    mixed = (mixed ^ mixed >> 32 ^ id.raw()[1]) * 0x9e3779b97f4a7c15;
    mixed = (mixed ^ mixed >> 29 ^ id.raw()[2]) * 0xbf58476d1ce4e5b9;
    return mixed ^ mixed >> 32;
  }
};
