// VCDIFF patches (RFC 3284, as written by xdelta3): a target described by a source and itself.
//
// clang-format off
//   patch       = "\xd6\xc3\xc4" version u8 (0)  flags u8  [compressor u8]  [int bytes]  window*
//     flags       1 = compressor is there, 4 = an application's header is there; 2 = an own code
//                 table, refused
//   window      = flags u8  [size int  position int]  int (bytes that follow)
//                 target size int  compressed u8 (0)  data size int  codes size int
//                 addresses size int  [adler32 of the target, 4 bytes, big-endian]
//                 data  codes  addresses
//     flags       1 = a segment of the source is copied from, 2 = one of the target so far is,
//                 4 = the checksum is there
//   codes       = (index u8 of the code table  an int for each size that the table leaves open)*
//     ADD takes size bytes of data, RUN one; COPY takes an address, by its mode: 0 an int, 1 an int
//     back from here, 2-5 an int on from one of the 4 last addresses, 6-8 a byte that chooses among
//     addresses by their remainder of 768. Addresses count from the segment's begin; the window's
//     own target follows the segment.
//   int         = base 128, most significant first, the high bit set in all bytes but the last
// clang-format on
//
// Promise    Pure. Bytes of patches are not trusted: each is checked, and neither time nor memory
//            exceeds what the limits of sizes and pieces allow. encode_vcdiff() writes one window
//            that xdelta3 can read.
// Limits     Patches, sources and targets of kValueBytesMax bytes; kVcdiffWindowsMax windows and
//            kVcdiffPiecesMax pieces.
// Errors     kCorrupt: violates the grammar, or sizes and checksums do not match. kUnsupported:
//            secondary compression, own code tables. kNoSpace: beyond a limit.
// Threading  Pure.
// Tests      vcdiff_test.cpp, vcdiff_fuzz.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "table/model/vcdiff_pieces.h"

namespace moraine::table {

inline constexpr std::size_t kVcdiffWindowsMax = 65'536;

struct Vcdiff {
  VcdiffPieces pieces;
  std::string literals;
  std::optional<std::uint32_t> checksum;  // Adler-32 of the target, if every window had one.
};

Result<Vcdiff> decode_vcdiff(std::string_view patch);
Result<std::string> encode_vcdiff(const Vcdiff& patch);
// Returns the target.
Result<std::string> apply_vcdiff(const Vcdiff& patch, std::string_view source);
// One patch equivalent to applying `earlier` and then `later`.
Result<Vcdiff> compose_vcdiff(const Vcdiff& earlier, const Vcdiff& later);

}  // namespace moraine::table
