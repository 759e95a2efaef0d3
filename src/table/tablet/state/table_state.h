// TableState: the durable state of a table tablet: chunks, rows that are not in chunks, prepared
// and recently finished transactions.
//
// clang-format off
//   snapshot item = kind u8  fields                  items of snapshot_pages.h, in this order
//   1 head     = next_chunk u64  last_store u64  last_commit u64  conflicts known since u64
//                finished horizon u64  retained u64  adopted u8  pivots
//   2 chunk    = in_eden u8  chunk                   log_record.h
//   3 prepared = prepare                             log_record.h
//   4 finished = count u32, each: transaction (16), start u64, commit u64
//   5 rows     = store u64  count u32, each: key (size u32, bytes)  count u32, each: version
//                of a store whose rows stay in the log: its number, without rows
//   6 end      = nothing
//   7 staged   = build u64  chunk                    log_record.h; after the chunks
//   8 trimmed  = rows u64  weight u64                of an ordered table, if any; before the chunks
//   version    = timestamp u64  kind u8 (1 write, 2 delete)  [image: size u32, bytes]
// clang-format on
//
// Rows of memory stores are written once, in the log: a snapshot names the stores, and the log is
// needed from the first record of the oldest of them. Rows that came from a snapshot have no
// position in the log: each snapshot repeats them until they are flushed.
//
// Promise    restore() and replay() decide nothing: they repeat what was confirmed. Blobs of builds
//            that no chunk record names are not part of the state of a later incarnation. Blobs of
//            other tablets are never in live_blobs() or unused_blobs().
// Threading  The tablet's executor.
// Errors     kCorrupt, kUnsupported.
// Tests      table_state_test.cpp, table_state_fuzz.cpp.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "table/tablet/state/finished_transactions.h"
#include "table/tablet/state/log_record.h"
#include "table/tablet/store_set.h"
#include "table/tablet/write/lock_table.h"
#include "tablet/leader.h"

namespace moraine::table {

class TableState final : public TabletState {
 public:
  TableState(TabletId own, std::shared_ptr<const TableSchema> schema);

  Result<void> restore(const std::vector<Slice>& pages) override;
  Result<void> replay(const Slice& body) override;
  std::vector<Slice> snapshot() const override;
  std::vector<BlobId> live_blobs() const override;
  GenStep needed_since() const override;
  Result<void> replay_kept(const Slice& body) override;
  void replaying(GenStep at) override { replaying_at_ = at; }

  // Ends the boot: returns the unflushed rows; afterwards rows are in `stores`, which must outlive
  // this. Takes the locks of prepared transactions.
  using MemoryStores = std::map<StoreNumber, std::shared_ptr<MemoryStore>>;
  Result<MemoryStores> begin(StoreSet& stores);
  // The number of the first store when begin() returns none.
  StoreNumber next_store() const { return last_store_ + 1; }

  // Changes of the store are in the log at `at`, confirmed now: that record is needed until the
  // flush.
  void logged(StoreNumber store, GenStep at, std::span<const RowChange> changes);
  // Parts of the changes of a transaction are in the log since `at`, until parts_ended().
  void part_logged(StoreNumber store, const TransactionId& id, GenStep at);
  void parts_ended(const TransactionId& id) { pending_parts_.erase(id); }
  // Bytes of rows that a snapshot repeats.
  std::size_t repeated_bytes() const;

  // Effects of a confirmed record, except rows in memory stores.
  void note_commit(Timestamp commit);
  void prepared(std::shared_ptr<PrepareRecord> record);
  void finished(const TransactionId& id, Timestamp commit);  // 0: aborted.
  void built(std::uint64_t build, const std::vector<BlobId>& blobs);
  // Returns own blobs of the build.
  std::vector<BlobId> drop_build(std::uint64_t build);
  // Chunks of a build of this incarnation that replace() will add.
  void stage(const StageRecord& record);
  // Returns the blobs of the build that no added chunk names. Requires: as many staged chunks as
  // the record says.
  std::vector<BlobId> replace(const ReplaceRecord& record);
  void adopt(const AdoptRecord& record);
  // Other tablets had these keys until now: conflicts are unknown below `now`, versions below
  // `retained`. Only a snapshot makes it durable.
  void inherit(Timestamp now, Timestamp retained);
  // Of an ordered table: rows below are gone.
  void trim(const RowEnd& trimmed);

  std::uint64_t next_chunk_id() { return next_chunk_++; }
  const std::map<std::uint64_t, ChunkRecord>& chunks() const { return chunks_; }
  bool in_eden(std::uint64_t id) const { return eden_.contains(id); }
  const std::vector<std::string>& pivots() const { return pivots_; }
  // Does a chunk refer to the blob?
  bool uses_hunks(const BlobId& id) const { return hunk_users_.contains(id); }
  // Own blobs of a removed chunk, except hunks that others use.
  std::vector<BlobId> unused_blobs(const ChunkRecord& gone) const;
  const std::map<TransactionId, std::shared_ptr<PrepareRecord>>& prepared() const {
    return prepared_;
  }
  FinishedTransactions& finished() { return finished_; }
  const FinishedTransactions& finished() const { return finished_; }
  LockTable& locks() { return locks_; }
  Timestamp last_commit() const { return last_commit_; }
  Timestamp retained() const { return retained_; }
  bool adopted() const { return adopted_; }
  const RowEnd& trimmed() const { return trimmed_; }
  // The number of rows up to the last one that was replayed. At the end of the boot: of those that
  // are not in chunks.
  std::uint64_t replayed_end() const { return replayed_end_; }
  // A seeded bug: snapshots omit prepared transactions.
  void forget_prepared_in_snapshots() { forgets_prepared_ = true; }

 private:
  MemoryStore& replayed_store(StoreNumber number);
  void replay_rows(StoreNumber store, Timestamp commit, const TransactionId& id,
                   const std::vector<RowChange>& changes);
  Result<void> replay_commit(const CommitRecord& record);
  void replay_kept_rows(StoreNumber store, Timestamp commit, const std::vector<RowChange>& changes);
  Result<void> replay_part(PartRecord record);
  bool has_parts(const TransactionId& id, std::uint32_t parts) const;
  // Changes of a record, from the parts that were replayed.
  Result<void> join_parts(const TransactionId& id, std::uint32_t parts,
                          std::vector<RowChange>& changes);
  void flushed(StoreNumber number);
  void note_row(ByteSpan key);
  void add_chunk(const ChunkRecord& record, bool eden);
  Result<void> replay_replace(ReplaceRecord record);

  // table_snapshot.cpp
  Result<void> restore_item(Decoder& decoder, bool& ended);
  Result<void> restore_head(Decoder& decoder);
  Result<void> restore_chunk(Decoder& decoder);
  Result<void> restore_staged(Decoder& decoder);
  Result<void> restore_prepared(Decoder& decoder);
  Result<void> restore_finished(Decoder& decoder);
  Result<void> restore_rows(Decoder& decoder);
  Result<void> restore_trimmed(Decoder& decoder);
  Slice head_item() const;

  const TabletId own_;
  const std::shared_ptr<const TableSchema> schema_;
  const bool ordered_;
  const std::optional<FilledColumns> filled_;  // Of an ordered table.
  StoreSet* stores_ = nullptr;
  MemoryStores replayed_;                                    // Until begin().
  GenStep replaying_at_;                                     // (0, 0): unknown.
  std::map<TransactionId, PrepareRecord> kept_prepared_;     // Until begin(): from replay_kept().
  std::map<TransactionId, std::vector<std::string>> parts_;  // Until begin().
  // The first parts of transactions of this incarnation that have no further record yet.
  std::map<TransactionId, GenStep> pending_parts_;
  std::map<StoreNumber, GenStep> logged_since_;  // The first record of each store.
  std::set<StoreNumber> repeated_;               // Stores with rows that are not in the log.

  std::map<std::uint64_t, ChunkRecord> chunks_;
  std::set<std::uint64_t> eden_;
  std::map<BlobId, std::uint32_t> hunk_users_;  // Chunks that refer to the blob.
  std::vector<std::string> pivots_{std::string()};
  std::map<std::uint64_t, std::vector<BlobId>> builds_;  // Of this incarnation.
  std::map<std::uint64_t, std::vector<ChunkRecord>>
      staged_;  // By build; until begin(): of the last.
  std::map<TransactionId, std::shared_ptr<PrepareRecord>> prepared_;
  FinishedTransactions finished_;
  LockTable locks_;
  std::uint64_t next_chunk_ = 1;
  StoreNumber last_store_ = 0;
  Timestamp last_commit_ = 0;
  Timestamp retained_ = kMinTimestamp;
  RowEnd trimmed_;
  std::uint64_t replayed_end_ = 0;
  bool adopted_ = false;
  bool forgets_prepared_ = false;
};

}  // namespace moraine::table
