#include "table/tablet/state/table_state.h"

#include <algorithm>

#include "table/model/row_layout.h"

namespace moraine::table {

TableState::TableState(TabletId own, std::shared_ptr<const TableSchema> schema)
    : own_(own),
      schema_(std::move(schema)),
      ordered_(schema_ && is_ordered(*schema_)),
      filled_(ordered_ ? std::optional<FilledColumns>(*schema_) : std::nullopt) {
  if (schema_) locks_.name_groups(lock_names(*schema_));
}

MemoryStore& TableState::replayed_store(StoreNumber number) {
  std::shared_ptr<MemoryStore>& store = replayed_[number];
  if (!store) store = std::make_shared<MemoryStore>(schema_);
  last_store_ = std::max(last_store_, number);
  return *store;
}

void TableState::logged(StoreNumber store, GenStep at, std::span<const RowChange> changes) {
  const bool has_rows = std::ranges::any_of(
      changes, [](const RowChange& change) { return change.kind != ChangeKind::kLock; });
  if (!has_rows) return;
  if (at == GenStep{}) {
    repeated_.insert(store);
  } else {
    logged_since_.try_emplace(store, at);
  }
}

void TableState::part_logged(StoreNumber store, const TransactionId& id, GenStep at) {
  pending_parts_.try_emplace(id, at);
  logged_since_.try_emplace(store, at);
}

Result<void> TableState::replay_part(PartRecord record) {
  std::vector<std::string>& parts = parts_[record.transaction];
  if (record.number == 0) parts.clear();  // Of an earlier attempt.
  // The log may be kept from a later part on: of rows that a snapshot repeats.
  if (record.number != parts.size()) {
    parts_.erase(record.transaction);
    return {};
  }
  parts.push_back(std::move(record.bytes));
  if (replaying_at_ != GenStep{}) logged_since_.try_emplace(record.store, replaying_at_);
  return {};
}

bool TableState::has_parts(const TransactionId& id, std::uint32_t parts) const {
  if (parts == 0) return true;
  const auto found = parts_.find(id);
  return found != parts_.end() && found->second.size() == parts;
}

Result<void> TableState::join_parts(const TransactionId& id, std::uint32_t count,
                                    std::vector<RowChange>& changes) {
  if (count == 0) return {};
  const auto found = parts_.find(id);
  if (!has_parts(id, count)) {
    return fail(Errc::kCorrupt, "the log has not all parts of transaction " + to_string(id));
  }
  std::string joined;
  for (const std::string& part : found->second) joined += part;
  parts_.erase(found);
  Decoder decoder(as_bytes(joined));
  TRY(changes, take_changes(decoder, *schema_));
  if (!decoder.finished()) return fail(Errc::kCorrupt, "parts of a transaction: length");
  return {};
}

void TableState::flushed(StoreNumber number) {
  logged_since_.erase(number);
  repeated_.erase(number);
}

GenStep TableState::needed_since() const {
  GenStep oldest;
  for (const auto& [store, at] : logged_since_) {
    if (repeated_.contains(store)) continue;
    if (oldest == GenStep{} || at < oldest) oldest = at;
  }
  for (const auto& [id, at] : pending_parts_) {
    if (oldest == GenStep{} || at < oldest) oldest = at;
  }
  return oldest;
}

std::size_t TableState::repeated_bytes() const {
  std::size_t bytes = 0;
  for (const StoreNumber number : repeated_) {
    const OpenMemoryStore* open = stores_ == nullptr ? nullptr : stores_->memory(number);
    if (open != nullptr) bytes += open->store->bytes();
  }
  return bytes;
}

void TableState::replay_rows(StoreNumber number, Timestamp commit, const TransactionId& id,
                             const std::vector<RowChange>& changes) {
  MemoryStore& store = replayed_store(number);
  for (const RowChange& change : changes) {
    locks_.remember(change, commit, id);
    if (change.kind == ChangeKind::kLock) continue;
    const ByteSpan key = as_bytes(change.key);
    store.add(store.touch(key, key_hash(key)), commit, change.kind, as_bytes(change.image));
    note_row(key);
  }
  note_commit(commit);
}

Result<void> TableState::replay_commit(const CommitRecord& record) {
  const auto found = prepared_.find(record.transaction);
  if (found == prepared_.end()) {
    return fail(Errc::kCorrupt, "the log commits a transaction that is not prepared: " +
                                    to_string(record.transaction));
  }
  const std::shared_ptr<PrepareRecord> prepare = found->second;
  if (filled_) filled_->stamp(prepare->changes, record.commit);
  replay_rows(prepare->store, record.commit, prepare->transaction, prepare->changes);
  finished(record.transaction, record.commit);
  return {};
}

Result<void> TableState::replay(const Slice& body) {
  TRY(LogRecord record, decode_log_record(body, *schema_));
  if (auto* rows = std::get_if<RowsRecord>(&record)) {
    TRY_VOID(join_parts(rows->transaction, rows->parts, rows->changes));
    if (filled_ && rows->parts != 0) filled_->stamp(rows->changes, rows->commit);
    logged(rows->store, replaying_at_, rows->changes);
    replay_rows(rows->store, rows->commit, rows->transaction, rows->changes);
  } else if (auto* prepare = std::get_if<PrepareRecord>(&record)) {
    TRY_VOID(join_parts(prepare->transaction, prepare->parts, prepare->changes));
    logged(prepare->store, replaying_at_, prepare->changes);
    replayed_store(prepare->store);
    prepared(std::make_shared<PrepareRecord>(std::move(*prepare)));
  } else if (const auto* commit = std::get_if<CommitRecord>(&record)) {
    return replay_commit(*commit);
  } else if (const auto* abort = std::get_if<AbortRecord>(&record)) {
    finished(abort->transaction, 0);
  } else if (auto* replaced = std::get_if<ReplaceRecord>(&record)) {
    return replay_replace(std::move(*replaced));
  } else if (const auto* staged = std::get_if<StageRecord>(&record)) {
    stage(*staged);
  } else if (const auto* adopts = std::get_if<AdoptRecord>(&record)) {
    adopt(*adopts);
  } else if (auto* part = std::get_if<PartRecord>(&record)) {
    return replay_part(std::move(*part));
  } else if (const auto* trims = std::get_if<TrimRecord>(&record)) {
    trim(trims->trimmed);
  }
  // Builds end with the incarnation that made them.
  return {};
}

Result<void> TableState::replay_replace(ReplaceRecord record) {
  for (const StoreNumber number : record.flushed) {
    replayed_.erase(number);
    last_store_ = std::max(last_store_, number);
  }
  const auto staged = staged_.find(record.build);
  const std::size_t count = staged == staged_.end() ? 0 : staged->second.size();
  if (record.staged == 0 && count != 0) staged_.erase(staged);  // Of an earlier incarnation.
  if (record.staged != 0 && record.staged != count) {
    return fail(Errc::kCorrupt, "the log adds chunks that are not staged");
  }
  replace(record);
  return {};
}

// All else in the snapshot is newer: only rows of the stores that it names are missing.
Result<void> TableState::replay_kept(const Slice& body) {
  if (!may_have_rows(body)) return {};
  TRY(LogRecord record, decode_log_record(body, *schema_));
  if (auto* part = std::get_if<PartRecord>(&record)) {
    if (!replayed_.contains(part->store)) return {};
    return replay_part(std::move(*part));
  }
  if (auto* rows = std::get_if<RowsRecord>(&record)) {
    if (!replayed_.contains(rows->store)) return {};
    if (repeated_.contains(rows->store) && !has_parts(rows->transaction, rows->parts)) return {};
    TRY_VOID(join_parts(rows->transaction, rows->parts, rows->changes));
    if (filled_ && rows->parts != 0) filled_->stamp(rows->changes, rows->commit);
    logged(rows->store, replaying_at_, rows->changes);
    replay_kept_rows(rows->store, rows->commit, rows->changes);
  } else if (auto* prepare = std::get_if<PrepareRecord>(&record)) {
    if (!replayed_.contains(prepare->store)) return {};
    if (repeated_.contains(prepare->store) && !has_parts(prepare->transaction, prepare->parts)) {
      return {};
    }
    TRY_VOID(join_parts(prepare->transaction, prepare->parts, prepare->changes));
    logged(prepare->store, replaying_at_, prepare->changes);
    kept_prepared_[prepare->transaction] = std::move(*prepare);
  } else if (const auto* commit = std::get_if<CommitRecord>(&record)) {
    const auto found = kept_prepared_.find(commit->transaction);
    if (found == kept_prepared_.end()) return {};
    if (filled_) filled_->stamp(found->second.changes, commit->commit);
    replay_kept_rows(found->second.store, commit->commit, found->second.changes);
    kept_prepared_.erase(found);
  }
  return {};
}

void TableState::replay_kept_rows(StoreNumber number, Timestamp commit,
                                  const std::vector<RowChange>& changes) {
  MemoryStore& store = *replayed_[number];
  for (const RowChange& change : changes) {
    if (change.kind == ChangeKind::kLock) continue;
    const ByteSpan key = as_bytes(change.key);
    store.add(store.touch(key, key_hash(key)), commit, change.kind, as_bytes(change.image));
    note_row(key);
  }
}

void TableState::note_row(ByteSpan key) {
  if (!ordered_) return;
  if (const auto place = decode_place(key)) {
    replayed_end_ = std::max(replayed_end_, place->row + 1);
  }
}

void TableState::trim(const RowEnd& trimmed) {
  if (trimmed.rows > trimmed_.rows) trimmed_ = trimmed;
}

Result<TableState::MemoryStores> TableState::begin(StoreSet& stores) {
  stores_ = &stores;
  kept_prepared_.clear();
  parts_.clear();
  staged_.clear();
  for (const auto& [id, record] : prepared_) {
    // It already got its locks: only locks held now could conflict, and those agree with it.
    TRY_VOID(locks_.acquire(id, kMaxTimestamp, record->changes));
  }
  // A store with only aborted transactions needs nothing from the log. Rows added later are at
  // later positions.
  std::erase_if(logged_since_, [this](const auto& logged) {
    const auto store = replayed_.find(logged.first);
    if (store != replayed_.end() && store->second->rows() > 0) return false;
    return std::ranges::none_of(
        prepared_, [&](const auto& entry) { return entry.second->store == logged.first; });
  });
  return std::exchange(replayed_, {});
}

void TableState::note_commit(Timestamp commit) {
  last_commit_ = std::max(last_commit_, commit);
}

void TableState::prepared(std::shared_ptr<PrepareRecord> record) {
  prepared_[record->transaction] = std::move(record);
}

void TableState::finished(const TransactionId& id, Timestamp commit) {
  const auto found = prepared_.find(id);
  if (found == prepared_.end()) return;
  note_commit(commit);
  finished_.add({id, found->second->start, commit});
  finished_.forget(last_commit_);
  prepared_.erase(found);
}

void TableState::built(std::uint64_t build, const std::vector<BlobId>& blobs) {
  std::vector<BlobId>& all = builds_[build];
  all.insert(all.end(), blobs.begin(), blobs.end());
}

void TableState::stage(const StageRecord& record) {
  std::vector<ChunkRecord>& all = staged_[record.build];
  if (record.first) all.clear();
  all.insert(all.end(), record.chunks.begin(), record.chunks.end());
}

std::vector<BlobId> TableState::drop_build(std::uint64_t build) {
  staged_.erase(build);
  const auto found = builds_.find(build);
  if (found == builds_.end()) return {};
  std::vector<BlobId> blobs = std::move(found->second);
  builds_.erase(found);
  return blobs;
}

void TableState::add_chunk(const ChunkRecord& record, bool eden) {
  next_chunk_ = std::max(next_chunk_, record.id + 1);
  if (!chunks_.emplace(record.id, record).second) return;
  if (eden) eden_.insert(record.id);
  for (const HunkUse& use : record.hunks) ++hunk_users_[use.blob];
}

std::vector<BlobId> TableState::replace(const ReplaceRecord& record) {
  std::set<BlobId> named;
  const std::set<std::uint64_t> to_eden(record.added_to_eden.begin(), record.added_to_eden.end());
  const auto add = [&](const ChunkRecord& chunk) {
    add_chunk(chunk, to_eden.contains(chunk.id));
    named.insert(chunk.meta);
    named.insert(chunk.data.begin(), chunk.data.end());
    for (const HunkUse& use : chunk.hunks) named.insert(use.blob);
  };
  if (record.staged != 0) std::ranges::for_each(staged_[record.build], add);
  std::ranges::for_each(record.added, add);
  for (const std::uint64_t id : record.removed) {
    const auto found = chunks_.find(id);
    if (found == chunks_.end()) continue;
    for (const HunkUse& use : found->second.hunks) {
      if (--hunk_users_[use.blob] == 0) hunk_users_.erase(use.blob);
    }
    chunks_.erase(found);
    eden_.erase(id);
  }
  for (const StoreNumber number : record.flushed) flushed(number);
  if (record.pivots) pivots_ = *record.pivots;
  retained_ = std::max(retained_, record.retained_timestamp);
  std::vector<BlobId> unnamed = drop_build(record.build);
  std::erase_if(unnamed, [&](const BlobId& id) { return named.contains(id); });
  return unnamed;
}

void TableState::inherit(Timestamp now, Timestamp retained) {
  note_commit(now);
  locks_.forget(now);
  retained_ = std::max(retained_, retained);
}

void TableState::adopt(const AdoptRecord& record) {
  adopted_ = true;
  for (const ChunkRecord& chunk : record.chunks) add_chunk(chunk, false);
}

std::vector<BlobId> TableState::unused_blobs(const ChunkRecord& gone) const {
  std::vector<BlobId> blobs;
  const auto take = [&](const BlobId& id) {
    if (id.tablet() == own_) blobs.push_back(id);
  };
  take(gone.meta);
  for (const BlobId& id : gone.data) take(id);
  for (const HunkUse& use : gone.hunks) {
    if (!hunk_users_.contains(use.blob)) take(use.blob);
  }
  return blobs;
}

std::vector<BlobId> TableState::live_blobs() const {
  std::set<BlobId> live;
  for (const auto& [id, chunk] : chunks_) {
    live.insert(chunk.meta);
    live.insert(chunk.data.begin(), chunk.data.end());
    for (const HunkUse& use : chunk.hunks) live.insert(use.blob);
  }
  for (const auto& [build, blobs] : builds_) live.insert(blobs.begin(), blobs.end());
  std::erase_if(live, [&](const BlobId& id) { return id.tablet() != own_; });
  return {live.begin(), live.end()};
}

}  // namespace moraine::table
