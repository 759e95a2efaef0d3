// Shared by the VCDIFF decoder and encoder: the default code table and the address cache.
//
// Promise    RFC 3284, sections 5.1, 5.3 and 5.6. Near addresses: 4, same ones: 3 * 256.
// Threading  One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace moraine::table {

enum class VcdiffOp : std::uint8_t { kNone, kAdd, kRun, kCopy };

struct VcdiffCode {
  struct Half {
    VcdiffOp op = VcdiffOp::kNone;
    std::uint8_t size = 0;  // 0: an integer follows.
    std::uint8_t mode = 0;  // For a copy.
  };
  std::array<Half, 2> halves;
};

inline constexpr std::uint8_t kVcdiffSelfMode = 0;
inline constexpr std::uint8_t kVcdiffHereMode = 1;
inline constexpr std::uint8_t kVcdiffNearMode = 2;  // The first near mode.
inline constexpr std::uint8_t kVcdiffSameMode = 6;
inline constexpr std::size_t kVcdiffNearCount = kVcdiffSameMode - kVcdiffNearMode;
inline constexpr std::size_t kVcdiffSameCount = 3;
inline constexpr std::size_t kVcdiffModes = kVcdiffSameMode + kVcdiffSameCount;
inline constexpr std::size_t kVcdiffSameSlots = kVcdiffSameCount * 256;

// Positions of single instructions in the table.
inline constexpr std::uint8_t kVcdiffRunCode = 0;
inline constexpr std::uint8_t kVcdiffAddCode = 1;  // Its size follows; then sizes 1..17.
inline constexpr std::uint32_t kVcdiffAddSizeMax = 17;
inline constexpr std::uint8_t kVcdiffCopyCode = 19;  // For each mode: size follows, then 4..18.
inline constexpr std::uint32_t kVcdiffCopyCodes = 16;
inline constexpr std::uint32_t kVcdiffCopySizeMin = 4;
inline constexpr std::uint32_t kVcdiffCopySizeMax = 18;

using VcdiffCodeTable = std::array<VcdiffCode, 256>;
const VcdiffCodeTable& vcdiff_code_table();

// The addresses most recently copied from, within one window.
class VcdiffAddresses {
 public:
  void add(std::uint32_t address) {
    near_[next_near_] = address;
    next_near_ = (next_near_ + 1) % kVcdiffNearCount;
    same_[address % kVcdiffSameSlots] = address;
  }
  std::uint32_t near(std::size_t i) const { return near_[i]; }
  std::uint32_t same(std::size_t slot) const { return same_[slot]; }

 private:
  std::array<std::uint32_t, kVcdiffNearCount> near_{};
  std::array<std::uint32_t, kVcdiffSameSlots> same_{};
  std::size_t next_near_ = 0;
};

}  // namespace moraine::table
