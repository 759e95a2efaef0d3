// Records that end in their checksum.
//
//   sealed = bytes  crc32c u32
#pragma once

#include "base/bytes.h"
#include "base/coding.h"
#include "base/result.h"

namespace moraine {

Slice seal(Encoder encoder);
// The bytes before the checksum. kCorrupt: the checksum does not match.
Result<ByteSpan> unseal(ByteSpan bytes);

}  // namespace moraine
