// The id that the next new tablet gets, as bytes.
//
// clang-format off
//   record  = version u8 = 1  id u64  crc32c u32
// clang-format on
//
// Promise    Pure. Equal ids have equal bytes; what decodes is not 0.
// Errors     kCorrupt; kUnsupported: another version.
// Tests      next_tablet_test.cpp, next_tablet_fuzz.cpp.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "tablet/tablet_info.h"

namespace moraine {

Slice encode_next_tablet(TabletId id);
Result<TabletId> decode_next_tablet(ByteSpan bytes);

}  // namespace moraine
