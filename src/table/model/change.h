// RowChange: what one transaction does to one row of a tablet, checked against the schema.
//
// clang-format off
//   image = count u16  cell*                       what a write sets, by ascending column
//   cell  = column u16  flags u8  type u8  payload  flags: 1 = a delta of an aggregate
//   payload: int64, uint64, double 8 bytes; boolean u8; string, any u32 size and bytes; null none
// clang-format on
//
// Promise    Pure. The image is the form in which a write lies in the log, in memory stores and in
//            messages between nodes; read_image() gives cells that borrow it. Columns that a write
//            leaves alone are not in its image; those that it sets to null are.
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
  kSharedStrong = 2,  // The same, and makes writers that overlap with it fail.
  kSharedWrite = 3,   // Writers that do not conflict with each other.
  kExclusive = 4,
};

// Locks of a row: 0 is the primary one, then one for each lock group of the schema.
inline constexpr std::size_t kLockGroupsMax = 32;
inline constexpr std::size_t kLocksMax = kLockGroupsMax + 1;

struct LockSet {
  std::array<LockMode, kLocksMax> modes{};
  // As strong as what is there and `mode` together: who reads and writes what others may write at
  // the same time must be alone.
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
  std::string image;  // Of a write.
};

// Appends the cells of an image with this timestamp. Cells of columns that `columns` (null: all)
// does not have are left out. Requires: check_image.
void read_image(ByteSpan image, Timestamp timestamp, const ColumnSet* columns,
                std::vector<VersionedValue>& out);
void append_cell(std::string& image, ColumnIndex column, bool delta, const Value& value);
// An image is begun with room for its count, which finish_image() fills in.
void begin_image(std::string& image);
void finish_image(std::string& image, std::uint16_t cells);
// Grammar, order of columns, their number and their types.
Result<void> check_image(ByteSpan image, const TableSchema& schema);

// One change inside a larger format: key, kind, locks, image.
void append_change(Encoder& encoder, const RowChange& change);
// How many bytes that appends.
std::size_t change_bytes(const RowChange& change);
Result<RowChange> take_change(Decoder& decoder, const TableSchema& schema);

}  // namespace moraine::table
