// VcdiffPieces: where each byte of a patch's target comes from, in runs.
//
// Promise    Pieces cover the target from byte 0 without gaps, none is empty, and a piece that
//            continues the one before is merged with it. 8 bytes per piece.
// Limits     kVcdiffPiecesMax pieces; append() returns false beyond that.
// Threading  One thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/invariant.h"

namespace moraine::table {

// A target of at most this many bytes never has too many pieces.
inline constexpr std::size_t kVcdiffPiecesMax = std::size_t{8} << 20;

enum class VcdiffKind : std::uint8_t {
  kLiteral,  // at: in the patch's literals.
  kRun,      // at: the byte that is repeated.
  kSource,   // at: in the source.
  kTarget,   // at: in the target, before the piece; may overlap it.
};

class VcdiffPieces {
 public:
  struct Piece {
    VcdiffKind kind = VcdiffKind::kLiteral;
    std::uint32_t at = 0;
    std::uint32_t begin = 0;  // In the target.
    std::uint32_t size = 0;
  };

  std::size_t count() const { return packed_.size(); }
  // Bytes of the target.
  std::uint32_t size() const { return size_; }
  Piece operator[](std::size_t i) const {
    const Packed& packed = packed_[i];
    const std::uint32_t end = i + 1 < packed_.size() ? packed_[i + 1].begin : size_;
    return {static_cast<VcdiffKind>(packed.kind), packed.at, packed.begin, end - packed.begin};
  }
  // The piece that holds a byte of the target. Requires: position < size().
  std::size_t find(std::uint32_t position) const {
    INVARIANT(position < size_, "byte {} of {}", position, size_);
    const auto after = std::ranges::upper_bound(packed_, position, {}, &Packed::begin);
    return static_cast<std::size_t>(after - packed_.begin()) - 1;
  }
  // False: too many pieces. Requires: at < 2^30, and the target stays below 2^32 bytes.
  [[nodiscard]] bool append(VcdiffKind kind, std::uint32_t at, std::uint32_t size) {
    if (size == 0) return true;
    if (!continues_last(kind, at)) {
      if (packed_.size() == kVcdiffPiecesMax) return false;
      packed_.push_back({size_, static_cast<std::uint32_t>(kind), at});
    }
    size_ += size;
    return true;
  }

 private:
  struct Packed {
    std::uint32_t begin;
    std::uint32_t kind : 2;
    std::uint32_t at : 30;
  };
  static_assert(sizeof(Packed) == 8);

  bool continues_last(VcdiffKind kind, std::uint32_t at) const {
    if (packed_.empty()) return false;
    const Packed& last = packed_.back();
    if (static_cast<VcdiffKind>(last.kind) != kind) return false;
    if (kind == VcdiffKind::kRun) return last.at == at;
    return last.at + (size_ - last.begin) == at;
  }

  std::vector<Packed> packed_;
  std::uint32_t size_ = 0;
};

}  // namespace moraine::table
