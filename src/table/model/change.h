// RowChange: the changes of one transaction to one row of a tablet, checked against the schema.
//
// clang-format off
//   image = count u16  cell*                       what a write sets, by ascending column
//   cell  = column u16  flags u8  type u8  payload  flags: 1 = a delta of an aggregate
//   payload: int64, uint64, double 8 bytes; boolean u8; string, any u32 size and bytes; null none
// clang-format on
//
// Promise    Pure. The image is the encoding of a write in the log, in memory stores and in
//            messages between nodes; read_image() returns cells that borrow it. Columns that a
//            write does not change are not in its image; columns that it sets to null are.
// Errors     check_image: kCorrupt.
// Tests      change_test.cpp, change_fuzz.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/coding.h"
#include "base/result.h"
#include "moraine/schema.h"
#include "table/model/versioned_row.h"

namespace moraine::table {

enum class ChangeKind : std::uint8_t {
  kWrite = 1,
  kDelete = 2,
  kLock = 3,  // Takes locks and changes nothing.
};

enum class LockMode : std::uint8_t {
  kNone = 0,
  kSharedWeak = 1,    // Fails when the row was changed since the transaction's start.
  kSharedStrong = 2,  // The same, and overlapping writers fail.
  kSharedWrite = 3,   // Writers that do not conflict with each other.
  kExclusive = 4,
};

// Locks of a row: 0 is the primary one, then one for each lock group of the schema.
inline constexpr std::size_t kLockGroupsMax = 32;
inline constexpr std::size_t kLocksMax = kLockGroupsMax + 1;

struct LockSet {
  std::array<LockMode, kLocksMax> modes{};
  // Combines `mode` with the present one: a shared lock and a shared write together make an
  // exclusive lock.
  void add(std::size_t lock, LockMode mode) {
    LockMode& held = modes[lock];
    const bool shares = held == LockMode::kSharedWrite || mode == LockMode::kSharedWrite;
    const LockMode weaker = held < mode ? held : mode;
    const bool reads = weaker == LockMode::kSharedWeak || weaker == LockMode::kSharedStrong;
    if (held < mode) held = mode;
    if (shares && reads) held = LockMode::kExclusive;
  }
  bool operator==(const LockSet&) const = default;
};

struct RowChange {
  std::string key;  // Encoded.
  ChangeKind kind = ChangeKind::kWrite;
  LockSet locks;
  std::string image;  // For a write.
};

// Appends the cells of an image with this timestamp. Columns outside `columns` (null: all) are
// skipped. Requires: check_image.
void read_image(ByteSpan image, Timestamp timestamp, const ColumnSet* columns,
                std::vector<VersionedValue>& out);
void append_cell(std::string& image, ColumnIndex column, bool delta, const Value& value);
// Reserves space for the count, which finish_image() fills in.
void begin_image(std::string& image);
void finish_image(std::string& image, std::uint16_t cells);
// Checks grammar, order of columns, their number and their types.
Result<void> check_image(ByteSpan image, const TableSchema& schema);

// One change inside a larger format: key, kind, locks, image.
void append_change(Encoder& encoder, const RowChange& change);
// The number of bytes that append_change() appends.
std::size_t change_bytes(const RowChange& change);
Result<RowChange> take_change(Decoder& decoder, const TableSchema& schema);

}  // namespace moraine::table
