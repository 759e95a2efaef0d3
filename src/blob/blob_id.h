// BlobId: the 200-bit name of a blob.
//
//   raw[0] = TabletId(64)
//   raw[1] = Channel(8) << 56 | Generation(32) << 24 | Step >> 8 (24)
//   raw[2] = (Step & 255)(8) << 56 | Cookie(32) << 24 | Size >> 4 (24)
//   raw[3] = (Size & 15)(4) << 4 | Part(4)
//
// Comparing the four words as unsigned gives the order (tablet, channel, generation, step, cookie,
// size, part). The binary form is the first three words big-endian and one byte of the fourth (25
// bytes), so memcmp order is id order. There are two string forms:
//   [tablet:generation:step:channel:cookie:size:part]      decimal, in another field order
//   50 hex digits                                          the binary form
//
// Errors     kInvalidArgument, naming the field that is wrong and why.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/coding.h"
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
inline constexpr std::uint32_t kCookieMax = ~std::uint32_t{0};
inline constexpr std::uint32_t kBlobSizeMax = 10u << 20;            // Largest blob of a put.
inline constexpr std::uint32_t kBlobSizeFieldMax = (1u << 28) - 1;  // Largest size in an id.
inline constexpr std::uint32_t kPartFieldMax = 15;
inline constexpr std::size_t kBlobIdBytes = 25;

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
  // Requires: size < 2^28, part < 16.
  BlobId(TabletId tablet, Generation generation, Step step, Channel channel, std::uint32_t size,
         std::uint32_t cookie, std::uint32_t part = 0);

  TabletId tablet() const { return {word(0)}; }
  Channel channel() const { return static_cast<Channel>(word(1) >> 56); }
  Generation generation() const { return static_cast<Generation>(word(1) >> 24); }
  Step step() const { return static_cast<Step>((word(1) & 0xffffff) << 8 | word(2) >> 56); }
  GenStep gen_step() const { return {generation(), step()}; }
  std::uint32_t cookie() const { return static_cast<std::uint32_t>(word(2) >> 24); }
  std::uint32_t size() const {
    return static_cast<std::uint32_t>(word(2) & 0xffffff) << 4 | tail() >> 4;
  }
  std::uint32_t part() const { return tail() & kPartFieldMax; }
  // Requires: part < 16.
  BlobId with_part(std::uint32_t part) const;
  BlobId whole() const { return with_part(0); }

  // Equal in all fields but the size: no two such blobs may exist.
  bool differs_only_in_size(const BlobId& other) const;
  // The greatest id below this one; nullopt when there is none.
  std::optional<BlobId> predecessor() const;

  // The 32-bit placement hash: independent of size and part.
  std::uint32_t hash() const;

  std::array<std::uint64_t, 4> raw() const { return {word(0), word(1), word(2), tail()}; }
  // Requires: raw[3] < 256.
  static BlobId from_raw(const std::array<std::uint64_t, 4>& raw);

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

  std::strong_ordering operator<=>(const BlobId& other) const {
    for (std::size_t i = 0; i < kWords; ++i) {
      if (word(i) != other.word(i)) return word(i) <=> other.word(i);
    }
    return tail() <=> other.tail();
  }
  bool operator==(const BlobId&) const = default;

  template <typename H>
  friend H AbslHashValue(H state, const BlobId& id) {
    return H::combine(std::move(state), id.word(0), id.word(1), id.word(2), id.tail());
  }

 private:
  static constexpr std::size_t kWords = 3;

  std::uint64_t word(std::size_t i) const {
    return load<std::uint64_t>(bytes_.data() + i * sizeof(std::uint64_t));
  }
  std::uint32_t tail() const {
    return load<std::uint32_t>(bytes_.data() + kWords * sizeof(std::uint64_t));
  }
  void set(const std::array<std::uint64_t, 4>& raw);

  // raw[0..2], then raw[3] as 32 bits, at an alignment of 4: an index holds millions of ids.
  alignas(4) std::array<std::byte, 28> bytes_{};
};

// Whether a client may put it: tablet set, part 0, size 1..kBlobSizeMax and equal to `bytes`.
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
    const auto raw = id.raw();
    std::uint64_t mixed = raw[0];
    mixed = (mixed ^ mixed >> 32 ^ raw[1]) * 0x9e3779b97f4a7c15;
    mixed = (mixed ^ mixed >> 29 ^ raw[2] ^ raw[3] << 56) * 0xbf58476d1ce4e5b9;
    return mixed ^ mixed >> 32;
  }
};
