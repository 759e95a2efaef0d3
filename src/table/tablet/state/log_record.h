// LogRecord: one change of a table tablet's durable state, as the body of a commit in its log.
//
// clang-format off
//   record      = version u8 = 1  kind u8  fields
//   1 rows      = store u64  commit u64  transaction (16)  changes
//   2 prepare   = store u64  transaction (16)  start u64  coordinator u64  changes
//   3 commit    = transaction (16)  commit u64
//   4 abort     = transaction (16)
//   5 build     = build u64  count u32, each: blob (25)
//   6 drop      = build u64
//   7 replace   = build u64  flushed  removed  chunks  eden
//                 flags u8 (1: pivots follow)  [pivots]  retained u64
//   8 adopt     = chunks                            read, no longer written
//   9 stage     = build u64  flags u8 (1: the first of its build)  chunks
//  10 replace   = staged u32, above 0  as 7           chunks staged before come too
//  11 trim      = rows u64  weight u64                of an ordered table: rows below are gone
//  12 part      = store u64  transaction (16)  number u32  size u32, bytes
//  13 rows      = store u64  commit u64  transaction (16)  parts u32
//  14 prepare   = store u64  transaction (16)  start u64  coordinator u64  parts u32
//                                                  the changes are those of the parts, joined
//   changes     = count u32, each: model/change.h
//   flushed, removed, eden = count u32, each: u64
//   chunks      = count u32, each: chunk
//   pivots      = count u32, each: size u32, bytes
//   chunk       = id u64  format u8  meta (25)  count u32, each: blob (25)
//                 count u32, each: hunk blob (25), bytes u64
//                 rows values deletes superseded data_bytes uncompressed_bytes
//                 meta_bytes hunk_bytes min_timestamp max_timestamp     u64 each
//                 first_key last_key from to                            size u32 and bytes each
//                 created_ms u64
// clang-format on
//
// Promise    Pure. decode(encode(x)) is x. The log entry around it has the checksum.
// Errors     kCorrupt; kUnsupported: another version.
// Tests      log_record_test.cpp, log_record_fuzz.cpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/coding.h"
#include "table/chunk/chunk.h"
#include "table/model/ordered.h"
#include "table/tablet/store_set.h"
#include "table/tablet/transaction_id.h"

namespace moraine::table {

inline constexpr std::size_t kPivotsMax = 100'000;

// A one-phase commit: its rows are in the memory store of that number.
struct RowsRecord {
  StoreNumber store = 0;
  Timestamp commit = 0;
  TransactionId transaction;
  std::vector<RowChange> changes;
  std::uint32_t parts = 0;  // 0: `changes` are in the record itself.
};

struct PrepareRecord {
  StoreNumber store = 0;  // Where its rows go when it is committed.
  TransactionId transaction;
  Timestamp start = 0;
  TabletId coordinator;
  std::vector<RowChange> changes;
  std::uint32_t parts = 0;  // As of RowsRecord.
};

// A part of the encoded changes of a transaction, for writes that are too long for one record. What
// has no later record of its transaction is ignored.
struct PartRecord {
  StoreNumber store = 0;
  TransactionId transaction;
  std::uint32_t number = 0;  // From 0.
  std::string bytes;
};

struct CommitRecord {
  TransactionId transaction;
  Timestamp commit = 0;
};

struct AbortRecord {
  TransactionId transaction;
};

struct BuildRecord {
  std::uint64_t build = 0;
  std::vector<BlobId> blobs;
};

struct DropBuildRecord {
  std::uint64_t build = 0;  // 0: none; a record without effect.
};

// Chunks that a later replace of the same build adds; for lists too long for one record.
struct StageRecord {
  std::uint64_t build = 0;
  bool first = false;  // Drops what an earlier incarnation has staged under this number.
  std::vector<ChunkRecord> chunks;
};

struct ReplaceRecord {
  std::uint64_t build = 0;
  std::uint32_t staged = 0;  // Chunks of the build that were staged.
  std::vector<StoreNumber> flushed;
  std::vector<std::uint64_t> removed;
  std::vector<ChunkRecord> added;
  std::vector<std::uint64_t> added_to_eden;
  std::optional<std::vector<std::string>> pivots;
  Timestamp retained_timestamp = 0;
};

struct AdoptRecord {
  std::vector<ChunkRecord> chunks;
};

struct TrimRecord {
  RowEnd trimmed;
};

using LogRecord =
    std::variant<RowsRecord, PrepareRecord, CommitRecord, AbortRecord, BuildRecord, DropBuildRecord,
                 ReplaceRecord, AdoptRecord, StageRecord, TrimRecord, PartRecord>;

Slice encode_rows(StoreNumber store, Timestamp commit, const TransactionId& transaction,
                  std::span<const RowChange> changes);
Slice encode_prepare(const PrepareRecord& record);
// The same with changes that are in parts.
Slice encode_rows_of_parts(StoreNumber store, Timestamp commit, const TransactionId& transaction,
                           std::uint32_t parts);
Slice encode_prepare_of_parts(const PrepareRecord& record, std::uint32_t parts);
Slice encode(const CommitRecord& record);
Slice encode(const AbortRecord& record);
Slice encode(const BuildRecord& record);
Slice encode(const DropBuildRecord& record);
Slice encode(const ReplaceRecord& record);
Slice encode(const AdoptRecord& record);
Slice encode(const StageRecord& record);
Slice encode(const TrimRecord& record);
Slice encode(const PartRecord& record);
Slice encode(const LogRecord& record);
Result<LogRecord> decode_log_record(ByteSpan body, const TableSchema& schema);
// Does its kind add rows or decide on some? Reads only its head.
bool may_have_rows(ByteSpan body);

// Parts that snapshots also use.
void append_transaction(Encoder& encoder, const TransactionId& id);
TransactionId take_transaction(Decoder& decoder);
void append_changes(Encoder& encoder, std::span<const RowChange> changes);
Result<std::vector<RowChange>> take_changes(Decoder& decoder, const TableSchema& schema);
void append_prepare(Encoder& encoder, const PrepareRecord& record);
Result<PrepareRecord> take_prepare(Decoder& decoder, const TableSchema& schema);
void append_chunk(Encoder& encoder, const ChunkRecord& record);
std::size_t encoded_bytes(const ChunkRecord& record);
Result<ChunkRecord> take_chunk(Decoder& decoder);
void append_pivots(Encoder& encoder, const std::vector<std::string>& pivots);
// The first is empty and they ascend.
Result<std::vector<std::string>> take_pivots(Decoder& decoder);

}  // namespace moraine::table
