// StoredValue: the value of a key: a chain of pieces, each inline or a range of a blob.
//
//   value  = created u64 (milliseconds since the epoch)  count u32  piece*
//   piece  = 1 id (25) offset u32 size u32  |  2 sized bytes
//   change = 1 sized key, value  |  2 sized key               set | erase
//          | 3 lock generation u64
//   changes = version u8 = 1  count u32  change*              a log body, or a page of a snapshot
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/byte_chain.h"
#include "base/bytes.h"
#include "base/result.h"
#include "blob/blob_id.h"

namespace moraine {

using blob::BlobId;

struct ValuePiece {
  BlobId id;  // Not set when inline.
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
  ByteChain inline_data;  // In one slice once it is part of the state.
  bool is_inline() const { return id == BlobId(); }
};

struct StoredValue {
  std::uint64_t created_ms = 0;
  std::vector<ValuePiece> pieces;
  std::uint64_t size() const;
};

struct SetKey {
  std::string key;
  StoredValue value;
};
struct EraseKey {
  std::string key;
};
struct SetLock {
  std::uint64_t generation = 0;
};
using Change = std::variant<SetKey, EraseKey, SetLock>;

// Refers to the memory of long inline values, or copies them.
ByteChain encode_changes(const std::vector<Change>& changes,
                         ChainWriter::Slices slices = ChainWriter::Slices::kReferenced);
Result<std::vector<Change>> decode_changes(const Slice& bytes);

}  // namespace moraine
