// Messages between nodes about tables: requests to tablets, coordinators and the timestamp oracle,
// and the replies.
//
// clang-format off
//   request  = protocol u8 = 0x54  version u8 = 2  kind u8  tablet u64  fields  crc32c u32
//   1 commit           = write
//   2 prepare          = coordinator u64  write
//   3 commit prepared  = transaction (16)  commit u64
//   4 abort prepared   = transaction (16)
//   5 decide           = count u32, each: tablet u64, write        `tablet` is the coordinator
//   6 outcome          = transaction (16)
//   7 next timestamp   = nothing
//   8 lookup           = timestamp u64  columns  count u32, each: key (size u32, bytes)
//   9 scan             = timestamp u64  columns  from to (size u32, bytes)  rows_max u32
//   write    = transaction (16)  start u64  requested u64 (0: not drawn)
//              count u32, each: change of table/model/change.h
//   columns  = count u32, each: u16
//   reply    = protocol u8 = 0x54  version u8 = 2  kind u8 (of the request)
//              status u8 (0: OK, else 1 + number of the Errc)  context (size u32, bytes)
//              timestamp u64  outcome u8 (0 committed, 1 aborted, 2 undecided)  more u8
//              count u32, each: exists u8, key (size u32, bytes), image (size u32, bytes; empty
//              unless the row exists)
//              crc32c u32
// clang-format on
//
// Promise    Pure. Each message has one encoding. Keys and images of changes are not checked
//            against a schema here: the tablet that gets them does.
// Limits     kKeysPerCallMax keys, kScanRowsMax rows of a page, kParticipantsMax tablets.
// Errors     kCorrupt; kUnsupported: another version.
// Tests      tablet_messages_test.cpp, tablet_messages_fuzz.cpp.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "transaction/coordinator.h"

namespace moraine {

inline constexpr std::uint8_t kTablesProtocol = 0x54;  // The first byte of every frame.
inline constexpr std::size_t kKeysPerCallMax = 10'000;
inline constexpr std::size_t kScanRowsMax = 10'000;

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
struct LookupCall {
  Timestamp timestamp = kSyncLastCommitted;
  std::vector<table::ColumnIndex> columns;
  std::vector<std::string> keys;  // Encoded.
};
// One page: at most `rows_max` rows of the range.
struct ScanCall {
  Timestamp timestamp = kSyncLastCommitted;
  std::vector<table::ColumnIndex> columns;
  table::KeyBounds bounds;
  std::uint32_t rows_max = kScanRowsMax;
};

// In the order of their kinds.
using TabletCall = std::variant<CommitCall, PrepareCall, CommitPreparedCall, AbortPreparedCall,
                                DecideCall, OutcomeCall, NextTimestampCall, LookupCall, ScanCall>;

struct TabletRequest {
  TabletId tablet;
  TabletCall call;
};

struct FoundRow {
  bool exists = false;
  std::string key;  // Encoded; of a lookup: empty.
  // Cells (table/model/change.h) by position of their column in the request; nulls left out.
  std::string image;
  bool operator==(const FoundRow&) const = default;
};

struct TabletReply {
  std::size_t kind = 0;  // The index of the request's kind.
  Result<void> status;
  Timestamp timestamp = 0;
  TransactionOutcome::Kind outcome = TransactionOutcome::Kind::kUndecided;
  bool more = false;  // The scan's range has more rows, above the last one.
  std::vector<FoundRow> rows;
};

Slice encode(const TabletRequest& request);
Result<TabletRequest> decode_tablet_request(ByteSpan bytes);
Slice encode(const TabletReply& reply);
Result<TabletReply> decode_tablet_reply(ByteSpan bytes);

}  // namespace moraine
