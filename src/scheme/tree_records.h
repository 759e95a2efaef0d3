// What transactions of the tree are made of, and their bytes: transactions, their changes of nodes,
// locks, snapshots of nodes, results of mutations.
//
// clang-format off
//   transaction = version u8 = 1  id (16)  parent (16)        all zero: none
//                 created u64  timeout u64  deadline u64      ms; deadline 0: none
//                 sized user  attributes  crc32c u32
//   entry       = version u8 = 1  kind u8  revision u64  modified u64
//                 has record u8  sized record
//                 changes  changes                            of the user's and of the system's
//                 sized node                                  of kMade: path_node.h; else empty
//                 crc32c u32
//   changes     = count u32  (sized name  kept u8  sized value)*   ascending; kept 0: removed
//   lock        = version u8 = 1  id (16)  transaction (16)  node (16)  mode u8  flags u8
//                 created u64  sequence u64  sized child_key  sized attribute_key  crc32c u32
//   flags       = 1 has child_key | 2 has attribute_key | 4 implicit | 8 acquired
//   snapshot    = version u8 = 2  sized node  count u32  (sized name  id (16))*
//                 rows_before u64  crc32c u32                 not in version 1: 0
//   mutation    = version u8 = 1  id (16)  created u64  sized result  crc32c u32
//   attributes  = count u32  (sized name  sized value)*       ascending by name
// clang-format on
//
// Promise    Pure. Equal records have equal bytes.
// Errors     kCorrupt; kUnsupported: another version.
// Tests      tree_records_test.cpp, tree_records_fuzz.cpp.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "scheme/path_node.h"

namespace moraine {

struct TreeTransaction {
  PathId id{};
  std::optional<PathId> parent;
  std::uint64_t created_ms = 0;
  std::uint64_t timeout_ms = 0;
  std::uint64_t deadline_ms = 0;  // 0: none.
  std::string user;
  UserAttributes attributes;
};

// nullopt: removed.
using AttributeChanges = std::map<std::string, std::optional<Slice>, std::less<>>;

// What a transaction has done to the node at a path.
struct TreeEntry {
  enum class Kind : std::uint8_t {
    kMade = 1,     // There is a new node; what was there before is gone, with all below it.
    kRemoved = 2,  // Gone, with all below it.
    kChanged = 3,  // The same node, changed.
  };
  Kind kind = Kind::kChanged;
  NodePtr made;  // Of kMade. The record of a table is with the hidden node "#id" (path.h).
  // Of kChanged:
  std::optional<Slice> record;
  AttributeChanges attributes;
  AttributeChanges system;
  std::uint64_t modified_ms = 0;
  std::uint64_t revision = 0;
};

enum class LockMode : std::uint8_t { kSnapshot = 1, kShared = 2, kExclusive = 3 };
std::string_view to_string(LockMode mode);

struct LockRecord {
  PathId id{};
  PathId transaction{};
  PathId node{};
  LockMode mode = LockMode::kExclusive;
  std::optional<std::string> child_key;
  std::optional<std::string> attribute_key;
  bool implicit = false;
  bool acquired = true;  // False: it waits.
  std::uint64_t created_ms = 0;
  std::uint64_t sequence = 0;  // Waiting locks are granted in this order.
};

// A node as a snapshot lock keeps it.
struct TreeSnapshot {
  NodePtr node;
  std::vector<std::pair<std::string, PathId>> children;  // Of a directory.
  // Of a table: readers see the rows of before this timestamp. 0: all.
  std::uint64_t rows_before = 0;
};

struct MutationRecord {
  PathId id{};
  std::uint64_t created_ms = 0;
  Slice result;  // Binary YSON.
};

Slice encode(const TreeTransaction& transaction);
Slice encode(const TreeEntry& entry);
Slice encode(const LockRecord& lock);
Slice encode(const TreeSnapshot& snapshot);
Slice encode(const MutationRecord& mutation);
Result<TreeTransaction> decode_transaction(ByteSpan bytes);
Result<TreeEntry> decode_entry(ByteSpan bytes);
Result<LockRecord> decode_lock(ByteSpan bytes);
Result<TreeSnapshot> decode_snapshot(ByteSpan bytes);
Result<MutationRecord> decode_mutation(ByteSpan bytes);

}  // namespace moraine
