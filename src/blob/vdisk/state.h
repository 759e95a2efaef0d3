// VDiskState: the state of a VDisk, and how each durable record changes it. No I/O.
//
// Promise    The same records in the same order produce the same state, live or replayed; applying
//            a record twice changes nothing.
// Threading  The device's executor.
#pragma once

#include <absl/container/btree_set.h>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "base/coding.h"
#include "blob/vdisk/barriers.h"
#include "blob/vdisk/blob_index.h"
#include "blob/vdisk/records.h"
#include "blob/vdisk/sync_log.h"

namespace moraine::blob {

// Blobs after `from`, up to and including `to`, that a barrier has just passed.
struct CollectRange {
  BlobId from;
  BlobId to;
};

class VDiskState {
 public:
  explicit VDiskState(SegmentTable& segments) : index_(segments) {}

  // --- Applying records ---
  void apply_put(const PutRecord& record, const Location& location, bool counted);
  void apply_facts(const FactsRecord& record);
  void apply_drop(const PutRecord& record);
  void apply_lost(const BlobId& id_with_part);
  void apply_not_mine(const BlobId& id);
  void apply_meta(MetaState meta);
  // Drops everything, and the live bytes of its parts.
  void apply_reset(MetaState meta);

  // --- Questions ---
  const MetaState& meta() const { return meta_; }
  std::uint32_t config_digest() const { return config_digest_; }  // 0 without a config.
  bool configured() const { return meta_.config.has_value(); }
  const Geometry& geometry() const { return meta_.config->geometry; }
  std::uint32_t order() const { return meta_.order; }
  const BlobIndex& index() const { return index_; }
  const Barriers& barriers() const { return barriers_; }
  Generation blocked(TabletId tablet) const;
  const std::map<TabletId, Generation>& blocks() const { return blocks_; }
  const std::map<std::uint32_t, SyncPosition>& positions() const { return positions_; }
  std::uint64_t last_lsn() const { return last_lsn_; }
  const SyncLog& sync_log() const { return sync_log_; }

  // This disk's slot in the blob's subgroup, or -1.
  int own_slot(const BlobId& id) const;
  bool kept(const BlobId& id, const BlobEntry& entry) const {
    return barriers_.keeps(id, entry.ingress);
  }
  // Parts that this disk lacks and should have, as bits. `claimed`: those that it once acknowledged
  // (or might have, before it lost its data).
  struct Missing {
    std::uint8_t parts = 0;
    std::uint8_t claimed = 0;
  };
  // Local parts whose checksum is not known to fail.
  std::uint8_t sound_parts(const BlobId& id, const BlobEntry& entry) const;
  Missing missing_parts(const BlobId& id, const BlobEntry& entry) const;
  const absl::btree_set<BlobId>& missing() const { return missing_; }
  const absl::btree_set<BlobId>& handoffs() const { return handoffs_; }

  // The facts that would change this state, merged with what is known.
  std::vector<Fact> news(const std::vector<IndexFact>& facts) const;
  // Does the disk `order` need this fact?
  bool concerns(const IndexFact& fact, std::uint32_t order) const;

  // --- Housekeeping that needs no record: it follows from the facts ---
  void mark_corrupted(const BlobId& id_with_part);
  // Skips a blob that cannot be replicated now; it is tried again when its facts change.
  void defer(const BlobId& id) { missing_.erase(id); }
  bool has_garbage() const { return !collect_ids_.empty() || !collect_ranges_.empty(); }
  // Removes up to `most` collected blobs from the index. True when there is more to do.
  bool collect_some(std::size_t most);
  // Checks every entry against the keep rule, after recovery.
  void collect_all();
  // Drops the DoNotKeep marks up to `position` (see ForgetRule).
  void forget_tombstones(std::uint64_t position);
  // After its data was lost, a disk claims every part that it may have acknowledged. Claims stay
  // local: ingress facts have only what was certainly acknowledged.
  std::vector<Fact> claims_after_loss() const;

  // --- Checkpoint ---
  // One page of the state after `cursor`; nullopt at the end.
  struct Cursor {
    int stage = 0;
    std::optional<BlobId> after;
    std::vector<Fact> facts;  // Still to be written; taken when the blobs are done.
  };
  std::optional<Slice> checkpoint_page(Cursor& cursor) const;
  Result<void> restore_page(ByteSpan page);

 private:
  void note_lsn(std::uint64_t lsn) { last_lsn_ = std::max(last_lsn_, lsn); }
  void pass_lsn(std::uint64_t lsn);
  void publish(std::uint64_t lsn, IndexFact fact);
  std::optional<BlobFact> news_of(const BlobFact& fact) const;
  void review(const BlobId& id);
  void apply_blob_fact(const BlobFact& fact, std::uint64_t lsn);
  void collect_one(const BlobId& id);
  Slice blob_page(Cursor& cursor) const;
  void put_parts(Encoder& body, const BlobId& id, const BlobEntry& entry) const;
  Slice fact_page(Cursor& cursor) const;
  std::vector<Fact> standing_facts() const;
  Result<void> restore_blobs(ByteSpan bytes);

  MetaState meta_;
  std::uint32_t config_digest_ = 0;
  BlobIndex index_;
  Barriers barriers_;
  std::map<TabletId, Generation> blocks_;
  std::map<std::uint32_t, SyncPosition> positions_;
  std::uint64_t last_lsn_ = 0;
  SyncLog sync_log_;
  absl::btree_set<BlobId> missing_;
  absl::btree_set<BlobId> handoffs_;  // Blobs with a local part on a handoff slot.
  std::deque<CollectRange> collect_ranges_;
  std::deque<BlobId> collect_ids_;
  std::multimap<std::uint64_t, BlobId> tombstones_;  // By the lsn of their DoNotKeep.
};

}  // namespace moraine::blob
