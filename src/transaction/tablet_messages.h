// Messages between nodes about tables: requests to tablets, coordinators and the timestamp oracle,
// and the replies.
//
// clang-format off
//   request  = protocol u8 = 0x54  version u8 = 4  kind u8  tablet u64  timeout_us u32  fields
//              crc32c u32
//   1 commit           = write
//   2 prepare          = coordinator u64  write
//   3 commit prepared  = transaction (16)  commit u64
//   4 abort prepared   = transaction (16)
//   5 decide           = count u32, each: tablet u64, write        `tablet` is the coordinator
//   6 outcome          = transaction (16)
//   7 next timestamp   = nothing
//   8 lookup           = schema u64  read  columns  use_cache u8 (0 no, 1 yes, 2 as the table says)
//                        count u32, each: key text
//   9 scan             = schema u64  read  columns  from text  to text  row_limit u64
//                        count u32, each: filter
//                        count u32, each: condition
//  10 versions         = schema u64  timestamp u64  key text
//   write    = transaction (16)  start u64  requested u64 (0: not drawn)  schema u64
//              count u32, each: change of table/model/change.h
//   schema   = fingerprint of table/model/schema_codec.h; 0: not compared
//   read     = timestamp u64  retention timestamp u64  in_transaction u8 (0 or 1)
//   columns  = count u32, each: u16
//   filter   = column u16  op u8 (Filter::Op)  value
//   condition = column u16  count u32, each: from cut, to cut      as in table/model/value_set.h
//   cut      = flags u8 (1 after, 2 end: then the value is null)  value
//   reply    = protocol u8 = 0x54  version u8 = 4  kind u8 (of the request)
//              status u8 (0: OK, else 1 + number of the Errc)  context text
//              timestamp u64  outcome u8 (0 committed, 1 aborted, 2 undecided)
//              count u32, each: exists u8, image text (empty unless the row exists)
//              page  versions                     empty unless the request asks for them
//              crc32c u32
//   text, value, page, versions: row_codec.h
// clang-format on
//
// Promise    Pure. Each message has one encoding. Keys, images, columns and filters are not checked
//            against a schema here: the tablet that gets them does. timeout_us is what is left
//            until the caller's deadline; the clocks of two nodes are not compared.
// Limits     kKeysPerCallMax keys, kCellsPerCallMax cells, kColumnsPerCallMax columns,
//            kFiltersPerCallMax filters and conditions, kIntervalsPerCallMax intervals of
//            conditions, kPageRowsMax rows of a page, kParticipantsMax tablets.
// Errors     kCorrupt; kUnsupported: another version.
// Tests      tablet_messages_test.cpp, tablet_messages_fuzz.cpp.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "transaction/coordinator.h"
#include "transaction/tablet_reads.h"

namespace moraine {

inline constexpr std::uint8_t kTablesProtocol = 0x54;  // The first byte of every frame.
inline constexpr std::size_t kKeysPerCallMax = 10'000;
inline constexpr std::size_t kColumnsPerCallMax = 32'768;
inline constexpr std::size_t kCellsPerCallMax = 1'000'000;  // Keys of a lookup times its columns.
inline constexpr std::size_t kFiltersPerCallMax = 1'000;
inline constexpr std::size_t kIntervalsPerCallMax = 100'000;

struct CommitCall {
  TabletWrite write;
};
struct PrepareCall {
  TabletId coordinator;
  TabletWrite write;
};
struct CommitPreparedCall {
  TransactionId id;
  Timestamp commit = 0;
};
struct AbortPreparedCall {
  TransactionId id;
};
struct DecideCall {
  std::vector<Participant> participants;
};
struct OutcomeCall {
  TransactionId id;
};
struct NextTimestampCall {};
// Of lookups and scans.
struct ReadTimes {
  Timestamp timestamp = kSyncLastCommitted;
  Timestamp retention_timestamp = kNullTimestamp;
  bool in_transaction = false;
};
struct LookupCall {
  std::uint64_t schema = 0;
  ReadTimes times;
  std::vector<table::ColumnIndex> columns;
  std::optional<bool> use_lookup_cache;
  std::vector<std::string> keys;  // Encoded.
};
// One page.
struct ScanCall {
  std::uint64_t schema = 0;
  ReadTimes times;
  std::vector<table::ColumnIndex> columns;
  table::KeyBounds bounds;
  std::uint64_t row_limit = ~std::uint64_t{0};
  std::vector<table::ColumnFilter> filters;
  std::vector<table::ColumnCondition> conditions;
  Slice memory;  // Texts of filters and conditions that were decoded.
};
struct VersionsCall {
  std::uint64_t schema = 0;
  Timestamp timestamp = kMaxTimestamp;
  std::string key;
};

// The keys that a lookup of so many columns may have.
inline std::size_t keys_for(std::size_t columns) {
  return kCellsPerCallMax / (columns == 0 ? 1 : columns);
}

// In the order of their kinds.
using TabletCall =
    std::variant<CommitCall, PrepareCall, CommitPreparedCall, AbortPreparedCall, DecideCall,
                 OutcomeCall, NextTimestampCall, LookupCall, ScanCall, VersionsCall>;

struct TabletRequest {
  TabletId tablet;
  std::uint32_t timeout_us = 0;
  TabletCall call;
};

struct FoundRow {
  bool exists = false;
  // Cells (table/model/change.h) by position of their column in the request; nulls left out.
  std::string image;
  bool operator==(const FoundRow&) const = default;
};

struct TabletReply {
  std::size_t kind = 0;  // The index of the request's kind.
  Result<void> status;
  Timestamp timestamp = 0;
  TransactionOutcome::Kind outcome = TransactionOutcome::Kind::kUndecided;
  std::vector<FoundRow> rows;  // Of the first keys of a lookup, at least one.
  ScanPage page;
  table::OwnedVersionedRow versions;
  Slice memory;  // Texts of a page or of versions that were decoded.
};

Slice encode(const TabletRequest& request);
Result<TabletRequest> decode_tablet_request(const Slice& bytes);
Slice encode(const TabletReply& reply);
Result<TabletReply> decode_tablet_reply(const Slice& bytes);

}  // namespace moraine
