// How maintenance changes the durable state.

#include <algorithm>

#include "table/tablet/table_impl.h"

namespace moraine::table {

// One blob per commit, so that writes of rows can go in between.
Task<Result<std::vector<BlobId>>> TableTablet::Impl::put_blobs(std::uint64_t build,
                                                               std::vector<Slice> blobs) {
  std::vector<BlobId> all;
  for (Slice& blob : blobs) {
    // A commit that the disks refuse would end this incarnation, and with it the reads.
    if (space_is_short()) {
      const auto colour = co_await leader_->ask_colour();
      if (colour && *colour >= kColourToKeepChunks) {
        co_return fail(Errc::kNoSpace,
                       settings_.table_path + ": the disks are full; chunks stay as they are");
      }
    }
    CommitRequest request;
    request.blobs.push_back({kFirstDataChannel, std::move(blob)});
    request.body = [build](const std::vector<BlobId>& ids) {
      return encode(BuildRecord{build, ids});
    };
    const auto written = co_await leader_->commit(
        std::move(request), [this, build, &all](const std::vector<BlobId>& ids) {
          state_.built(build, ids);
          all.insert(all.end(), ids.begin(), ids.end());
        });
    if (!written) co_return std::unexpected(written.error());
  }
  co_return all;
}

Task<Result<void>> TableTablet::Impl::drop_build(std::uint64_t build) {
  co_return co_await log(encode(DropBuildRecord{build}), [this, build](const std::vector<BlobId>&) {
    leader_->discard(state_.drop_build(build));
  });
}

// For a long list of chunks all but the last part is staged, one record after another; the replace
// that follows adds them all at once. After a crash in between none of them exist.
Task<Result<std::uint32_t>> TableTablet::Impl::stage(std::uint64_t build,
                                                     std::vector<ChunkRecord>& added) {
  std::vector<std::size_t> ends;  // Of the records.
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < added.size(); ++i) {
    const std::size_t more = encoded_bytes(added[i]);
    if (bytes > 0 && bytes + more > settings_.limits.logged_chunk_bytes_max) {
      ends.push_back(i);
      bytes = 0;
    }
    bytes += more;
  }
  std::size_t done = 0;
  for (const std::size_t end : ends) {
    StageRecord record;
    record.build = build;
    record.first = done == 0;
    const auto from = added.begin() + static_cast<std::ptrdiff_t>(done);
    record.chunks.assign(from, added.begin() + static_cast<std::ptrdiff_t>(end));
    Leader::Confirmed staged = [&record, this](const std::vector<BlobId>&) {
      state_.stage(record);
    };
    CO_TRY_VOID(co_await log(encode(record), std::move(staged)));
    done = end;
  }
  added.erase(added.begin(), added.begin() + static_cast<std::ptrdiff_t>(done));
  co_return static_cast<std::uint32_t>(done);
}

Task<Result<void>> TableTablet::Impl::replace(Replace change, std::function<void()> confirmed) {
  ReplaceRecord record;
  record.build = change.build;
  record.flushed = std::move(change.flushed);
  record.removed = std::move(change.removed);
  record.added = std::move(change.added);
  record.added_to_eden = std::move(change.added_to_eden);
  record.pivots = std::move(change.pivots);
  record.retained_timestamp = change.retained_timestamp;
  CO_TRY(record.staged, co_await stage(record.build, record.added));
  co_return co_await log(encode(record), [&, this](const std::vector<BlobId>&) {
    for (const std::uint64_t id : record.removed) {
      const auto found = state_.chunks().find(id);
      if (found == state_.chunks().end()) continue;
      retired_.push_back({stores_->chunk(id), found->second, change.loses_rows});
    }
    leader_->discard(state_.replace(record));
    confirmed();
    if (record.flushed.empty()) return;
    memory_->flushed();
    if (has_bug(SeededBug::kConflictForgottenAtFlush)) state_.locks().drop_history();
    snapshot_if_due(0);
  });
}

Timestamp TableTablet::Impl::needed_since() const {
  Timestamp lowest = kMaxTimestamp;
  for (const auto& [id, transaction] : prepared_) {
    lowest = std::min(lowest, transaction->record->start);
  }
  return lowest;
}

// Snapshots that repeat rows are only taken when the log is a multiple of them.
void TableTablet::Impl::snapshot_if_due(std::uint64_t log_bytes_min) {
  const std::uint64_t log_bytes = leader_->log_bytes();
  const std::uint64_t rows = state_.repeated_bytes();
  if (log_bytes == 0 || log_bytes < log_bytes_min) return;
  if (rows <= kSmallSnapshotBytes || rows * kLogPerSnapshot <= log_bytes) leader_->want_snapshot();
}

void TableTablet::Impl::discard(const ChunkRecord&) {
  poll_retired();
}

// Discards blobs when the last reader of their chunk has gone; hunks, when no chunk that is still
// read refers to them, and some time later: a reader that found a row in the row cache may be
// reading them.
void TableTablet::Impl::poll_retired() {
  const Instant now = executor().now();
  while (!hunks_to_discard_.empty() && hunks_to_discard_.front().first <= now) {
    leader_->discard({hunks_to_discard_.front().second});
    hunks_to_discard_.pop_front();
  }
  std::erase_if(borrowed_until_, [now](const auto& entry) { return entry.second <= now; });
  if (retired_.empty()) return;
  run_retired();
  const auto unread = std::ranges::partition(
      retired_, [](const Retired& chunk) { return !chunk.reader.expired(); });
  const std::vector<Retired> gone(std::make_move_iterator(unread.begin()),
                                  std::make_move_iterator(unread.end()));
  retired_.erase(unread.begin(), unread.end());
  for (const Retired& chunk : gone) discard_unread(chunk, now);
}

void TableTablet::Impl::discard_unread(const Retired& chunk, Instant now) {
  const ChunkRecord& record = chunk.record;
  const auto read = [this](const BlobId& hunks) {
    return std::ranges::any_of(retired_, [&](const Retired& other) {
      return std::ranges::find(other.record.hunks, hunks, &HunkUse::blob) !=
             other.record.hunks.end();
    });
  };
  std::vector<BlobId> blobs = state_.unused_blobs(record);
  bool hunks = false;
  for (const HunkUse& use : record.hunks) {
    std::erase(blobs, use.blob);
    if (state_.uses_hunks(use.blob) || read(use.blob)) continue;
    hunks = true;
    if (use.blob.tablet() == info_.id) {
      hunks_to_discard_.emplace_back(now + kHunkGrace, use.blob);
    } else {
      borrowed_until_[use.blob.tablet()] = now + kHunkGrace;
    }
  }
  leader_->discard(blobs);
  if (hunks || chunk.lost_rows) empty_row_cache();
}

// Cached rows may refer to hunks that will be discarded, or no longer exist in chunks. Such rows
// cannot be cached again: their chunks are no longer read.
void TableTablet::Impl::empty_row_cache() {
  const std::size_t rows_max = cache_.rows_max();
  if (rows_max == 0) return;
  cache_.set_rows_max(0);
  cache_.set_rows_max(rows_max);
}

}  // namespace moraine::table
