// ChunkRecord as bytes, for a tablet's log and snapshots.
//
// clang-format off
//   record     = version u8 = 1  id u64  format u8  meta blob(25)  data u32, blob(25)*
//                hunks u32, hunk*  statistics  from sized  to sized  created u64
//   hunk       = blob(25)  bytes u64
//   statistics = rows, values, deletes, superseded, data bytes, uncompressed bytes, meta bytes,
//                hunk bytes, min timestamp, max timestamp: u64;  first key sized  last key sized
//   sized      = u32 size, bytes
// clang-format on
//
// Promise    take_record(append_record(x)) is x. A part of a larger format, which has the checksum.
// Errors     kCorrupt; kUnsupported: a later version.
// Threading  Pure.
// Tests      chunk_record_test.cpp, chunk_record_fuzz.cpp.
#pragma once

#include "base/coding.h"
#include "base/result.h"
#include "table/chunk/chunk.h"

namespace moraine::table {

void append_record(Encoder& encoder, const ChunkRecord& record);
Result<ChunkRecord> take_record(Decoder& decoder);

}  // namespace moraine::table
