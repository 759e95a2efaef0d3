// A TableSchema as bytes.
//
// clang-format off
//   schema = version u8 (1 or 2)  flags u8  count u32  column* flags: 1 = unique_keys, 2 = strict
//                                    version 2 is that of schemas where a column has a type_v3
//   column = name  type u8  flags u8  aggregate u8  expression  lock  group  [hunk u64]  [type_v3]
//                                    flags: 1 = required, 2 = key, 4 = hunk size is there,
//                                    8 = type_v3 is there (version 2)
//   name, expression, lock, group, type_v3: u32 size and bytes
// clang-format on
//
// Promise    Pure. take_schema(append_schema(x)) is x. A part of a larger format, which has the
//            checksum.
// Errors     kCorrupt, kUnsupported (a later version). Decoding checks that key columns come first
//            and check_type() of each column; other rules are check_schema's.
// Tests      schema_codec_test.cpp, schema_codec_fuzz.cpp.
#pragma once

#include "base/coding.h"
#include "base/result.h"
#include "moraine/schema.h"

namespace moraine::table {

void append_schema(Encoder& encoder, const TableSchema& schema);
Result<TableSchema> take_schema(Decoder& decoder);

// A hash of those bytes, for messages between nodes: other schemas have another one. Never 0.
std::uint64_t schema_fingerprint(const TableSchema& schema);

}  // namespace moraine::table
