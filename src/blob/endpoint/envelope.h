// Envelope: the VDisk that a frame between nodes is addressed to, or comes from.
//
// Format     version u8 = 1, device u32, slot u32, then an encoded DiskRequest or DiskReply.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "blob/group/config.h"

namespace moraine::blob {

struct Envelope {
  std::uint32_t device = 0;
  std::uint32_t slot = 0;
  Slice content;
};

Slice seal(const DiskAddress& address, const std::vector<Slice>& content);
// The content shares the frame's memory. kCorrupt: a truncated frame or an unknown version.
Result<Envelope> open_envelope(const Slice& frame);

}  // namespace moraine::blob
