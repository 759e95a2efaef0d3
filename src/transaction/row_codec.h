// Parts of messages between nodes: values, pages of scans, versions of a row.
//
// clang-format off
//   text     = size u32  bytes
//   value    = type u8 (ValueType)  payload    null: nothing; int64, uint64, double: u64; boolean:
//                                              u8 0 or 1; string, any: text
//   page     = rows u32  count u32, each: column   next text
//   column   = type u8 (not null)  has_nulls u8 (0 or 1)  [rows × u8, 1: null]
//              rows × u64 (of a boolean 0 or 1), or rows × text
//   versions = exists u8  written times  deleted times  count u32, each: version
//   times    = count u32, each: u64
//   version  = column u16  aggregate u8 (0 or 1)  timestamp u64  value
// clang-format on
//
// Promise    Pure. Each value has one encoding. What was decoded borrows the decoder's bytes.
// Limits     kPageRowsMax rows of a page; counts of what fits into the bytes.
// Errors     The take_ functions return false, or leave the decoder failed().
// Tests      tablet_messages_test.cpp, tablet_messages_fuzz.cpp.
#pragma once

#include "base/coding.h"
#include "transaction/tablet_reads.h"

namespace moraine {

void append_value(Encoder& encoder, const Value& value);
bool take_value(Decoder& decoder, Value& value);
void append_page(Encoder& encoder, const ScanPage& page);
bool take_page(Decoder& decoder, ScanPage& page);
void append_versions(Encoder& encoder, const table::OwnedVersionedRow& row);
bool take_versions(Decoder& decoder, table::OwnedVersionedRow& row);

}  // namespace moraine
