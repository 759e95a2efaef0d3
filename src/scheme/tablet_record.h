// Where a tablet's blobs are, as bytes.
//
// clang-format off
//   tablet  = id u64  channels u8  channel*
//   channel = count u16  (from u32  group u32)*      its history, as in tablet_info.h
//   record  = version u8 = 1  tablet  crc32c u32     a record of its own
// clang-format on
//
// Promise    Pure. Equal tablets have equal bytes; what decodes passes check(TabletInfo).
// Errors     kCorrupt; kUnsupported: another version.
// Tests      tablet_record_test.cpp, tablet_record_fuzz.cpp.
#pragma once

#include "base/bytes.h"
#include "base/coding.h"
#include "base/result.h"
#include "tablet/tablet_info.h"

namespace moraine {

inline constexpr std::size_t kTabletBytesMin = sizeof(std::uint64_t) + sizeof(std::uint8_t);

// Inside another format. Requires: check(info).
void append_tablet(Encoder& encoder, const TabletInfo& info);
Result<TabletInfo> take_tablet(Decoder& decoder);

Slice encode_tablet(const TabletInfo& info);
Result<TabletInfo> decode_tablet(ByteSpan bytes);

}  // namespace moraine
