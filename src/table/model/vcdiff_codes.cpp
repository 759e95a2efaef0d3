#include "table/model/vcdiff_codes.h"

#include "base/invariant.h"

namespace moraine::table {
namespace {

constexpr std::uint8_t kPairedAddMax = 4;
constexpr std::uint8_t kPairedCopyMax = 6;  // With a self, here or near address.

VcdiffCodeTable make_table() {
  VcdiffCodeTable table;
  std::size_t next = 0;
  const auto put = [&](VcdiffCode::Half first, VcdiffCode::Half second = {}) {
    table[next++].halves = {first, second};
  };
  const auto add = [](std::uint32_t size) {
    return VcdiffCode::Half{VcdiffOp::kAdd, static_cast<std::uint8_t>(size), 0};
  };
  const auto copy = [](std::uint32_t size, std::size_t mode) {
    return VcdiffCode::Half{VcdiffOp::kCopy, static_cast<std::uint8_t>(size),
                            static_cast<std::uint8_t>(mode)};
  };
  put({VcdiffOp::kRun, 0, 0});
  for (std::uint32_t size = 0; size <= kVcdiffAddSizeMax; ++size) put(add(size));
  for (std::size_t mode = 0; mode < kVcdiffModes; ++mode) {
    put(copy(0, mode));
    for (std::uint32_t size = kVcdiffCopySizeMin; size <= kVcdiffCopySizeMax; ++size) {
      put(copy(size, mode));
    }
  }
  for (std::size_t mode = 0; mode < kVcdiffModes; ++mode) {
    const std::uint32_t copy_max = mode < kVcdiffSameMode ? kPairedCopyMax : kVcdiffCopySizeMin;
    for (std::uint32_t added = 1; added <= kPairedAddMax; ++added) {
      for (std::uint32_t size = kVcdiffCopySizeMin; size <= copy_max; ++size) {
        put(add(added), copy(size, mode));
      }
    }
  }
  for (std::size_t mode = 0; mode < kVcdiffModes; ++mode) {
    put(copy(kVcdiffCopySizeMin, mode), add(1));
  }
  INVARIANT(next == table.size(), "{} codes", next);
  return table;
}

}  // namespace

const VcdiffCodeTable& vcdiff_code_table() {
  static const VcdiffCodeTable table = make_table();
  return table;
}

}  // namespace moraine::table
