// Reading: from an offset to its blob, from the blob to the piece, from the piece to entries.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/held_bytes.h"
#include "queue/stored_partition.h"

namespace moraine::queue {
namespace {

constexpr std::size_t kReadStep = 16u << 20;
// A blob may be joined to another one between two lookups.
constexpr int kLookupsMax = 64;

// Called before waiting for the next piece: copies entries out of a large piece of which they are a
// small share, so that it can be freed.
void release_piece(std::span<StoredEntry> entries) {
  std::vector<Slice*> payloads;
  payloads.reserve(entries.size());
  for (StoredEntry& entry : entries) payloads.push_back(&entry.payload);
  release_large_blocks(payloads);
}

// A read that takes entries out of one piece after the other.
struct Reading {
  const ReadRequest& request;
  ReadAnswer& answer;
  Offset at = 0;
  std::size_t bytes = 0;
  std::uint64_t messages = 0;
  bool full = false;

  bool done() const {
    return full || at >= answer.end || answer.entries.size() >= request.entries_max;
  }
  void take(const Piece& piece);
};

void Reading::take(const Piece& piece) {
  for (std::size_t i = piece.index_of(at); i < piece.entries() && !done(); ++i) {
    const std::size_t size = piece.payload_bytes(i);
    full = !answer.entries.empty() && bytes + size > request.bytes_max;
    if (full) return;
    StoredEntry& entry = answer.entries.emplace_back(piece.entry(i));
    bytes += size;
    at = entry.offset + entry.count;
    messages += entry.count;
  }
}

}  // namespace

BlobCache::Key StoredPartition::cache_key(Offset offset, std::uint32_t messages) const {
  return {tablet_id_, index_, offset, messages};
}

StoredBlob* StoredPartition::find_blob(Offset offset) {
  const auto after = std::upper_bound(
      blobs_.begin(), blobs_.end(), offset,
      [](Offset wanted, const StoredBlob& blob) { return wanted < blob.name.offset; });
  if (after == blobs_.begin()) return nullptr;
  StoredBlob& blob = *std::prev(after);
  return offset < blob.end() ? &blob : nullptr;
}

Task<Result<Slice>> StoredPartition::read_bytes(std::string key, std::uint64_t at,
                                                std::uint64_t bytes) {
  if (stopped_) co_return fail(Errc::kUnavailable, "the partition is stopped");
  if (bytes <= kReadStep) co_return co_await tablet_->read(key, at, bytes);
  Buffer joined(bytes);
  for (std::uint64_t done = 0; done < bytes; done += kReadStep) {
    if (stopped_) co_return fail(Errc::kUnavailable, "the partition is stopped");
    CO_TRY(const Slice part, co_await tablet_->read(
                                 key, at + done, std::min<std::uint64_t>(kReadStep, bytes - done)));
    std::memcpy(joined.data() + done, part.data(), part.size());
  }
  co_return std::move(joined).freeze();
}

// Fills in the offsets of piece `index` of the blob at `blob_offset`, and first the list of pieces.
Task<Result<void>> StoredPartition::read_piece_info(Offset blob_offset, std::size_t index) {
  StoredBlob* blob = find_blob(blob_offset);
  if (!blob) co_return Result<void>();
  const std::string key = blob->key();
  std::vector<PieceRef> pieces = blob->pieces;
  if (pieces.empty()) {
    std::uint64_t at = 0;
    for (const std::uint64_t size : tablet_->piece_sizes(key)) {
      pieces.push_back({0, 0, at, size});
      at += size;
    }
    if (pieces.empty()) co_return fail(Errc::kNotFound, fmt::format("no key {:?}", key));
  }
  CO_TRY(const Slice bytes, co_await read_bytes(key, pieces[index].at, kPieceHeaderBytes));
  CO_TRY(const PieceHeader header, decode_piece_header(bytes));
  blob = find_blob(blob_offset);
  if (!blob || blob->key() != key) co_return Result<void>();
  if (blob->pieces.empty()) blob->pieces = std::move(pieces);
  // A piece longer than a blob of the tablet is the only one, stored in several blobs.
  if (index == 0 && header.bytes() == blob->bytes) {
    blob->pieces = {{header.first_offset, header.messages, 0, blob->bytes}};
    co_return Result<void>();
  }
  PieceRef& piece = blob->pieces[index];
  if (header.bytes() != piece.bytes || header.first_offset < blob->name.offset ||
      header.end_offset() > blob->end()) {
    co_return fail(Errc::kCorrupt, fmt::format("piece {} of {:?}", index, key));
  }
  piece.offset = header.first_offset;
  piece.messages = header.messages;
  co_return Result<void>();
}

namespace {

// The piece of `pieces` that contains the offset, or the next one whose header is to be read.
struct PieceSearch {
  std::optional<std::size_t> found;
  std::size_t read_next = 0;
};

PieceSearch search(const std::vector<PieceRef>& pieces, Offset offset) {
  std::size_t low = 0;
  std::size_t high = pieces.size();
  while (low < high) {
    // A known neighbour of the middle saves a header read.
    const std::size_t middle = (low + high) / 2;
    const PieceRef& piece = pieces[middle];
    if (piece.messages == 0) return {std::nullopt, middle};
    if (offset < piece.offset) {
      high = middle;
    } else if (offset >= piece.offset + piece.messages) {
      low = middle + 1;
    } else {
      return {middle, 0};
    }
  }
  return {std::nullopt, pieces.size()};
}

}  // namespace

Task<Result<Piece>> StoredPartition::load_piece(const StoredBlob& blob, PieceRef ref) {
  const BlobCache::Key name = cache_key(ref.offset, ref.messages);
  if (auto kept = cache_.find(name)) co_return std::move(*kept);
  const std::string key = blob.key();
  if (const auto found = loading_.find(ref.offset); found != loading_.end()) {
    const auto other = found->second;
    co_await other->ended.wait();
    // The piece that was loaded at this offset may be a shorter one.
    if (!other->piece || other->piece->header().messages == ref.messages) co_return other->piece;
  }
  const auto loading = std::make_shared<Loading>(world_.executor);
  loading_[ref.offset] = loading;
  loading->piece = co_await read_piece(key, ref);
  if (loading->piece) cache_.insert(name, *loading->piece);
  // Another load may have replaced this one.
  if (const auto own = loading_.find(ref.offset); own != loading_.end() && own->second == loading) {
    loading_.erase(own);
  }
  loading->ended.notify_all();
  co_return loading->piece;
}

Task<Result<Piece>> StoredPartition::read_piece(std::string key, PieceRef ref) {
  co_await device_reads_.acquire();
  const auto budget = loading_budget_;
  co_await budget->acquire(ref.bytes);
  auto bytes = co_await read_bytes(key, ref.at, ref.bytes);
  budget->release(ref.bytes);
  device_reads_.release();
  if (!bytes) co_return std::unexpected(std::move(bytes).error());
  CO_TRY(Piece piece, Piece::open(std::move(*bytes)));
  if (piece.header().first_offset != ref.offset || piece.header().messages != ref.messages) {
    co_return fail(Errc::kCorrupt, fmt::format("{:?} contains other messages than expected", key));
  }
  co_return std::move(piece);
}

void StoredPartition::read_ahead(Offset offset, std::size_t bytes) {
  if (loading_budget_->busy()) return;
  std::size_t begun = 0;
  std::size_t covered = 0;
  while (!stopped_ && covered < bytes && begun < kReadAheadPieces) {
    StoredBlob* blob = find_blob(std::max(offset, start_));
    if (!blob) return;
    const PieceSearch at = search(blob->pieces, std::max(offset, start_));
    if (!at.found) {
      scope_.spawn(load_into_cache(offset));
      return;
    }
    const PieceRef& ref = blob->pieces[*at.found];
    if (!cache_.holds(cache_key(ref.offset, ref.messages)) && !loading_.contains(ref.offset)) {
      scope_.spawn(load_into_cache(ref.offset));
      ++begun;
    }
    // How much of a partly read piece is left is not known.
    if (ref.offset >= offset) covered += ref.bytes;
    offset = ref.offset + ref.messages;
  }
}

Task<void> StoredPartition::load_into_cache(Offset offset) {
  const auto self = shared_from_this();
  (void)co_await piece_at(offset);
}

// nullopt: nothing is stored there.
Task<Result<std::optional<Piece>>> StoredPartition::piece_at(Offset offset) {
  for (int look = 0; look < kLookupsMax; ++look) {
    StoredBlob* blob = find_blob(offset);
    if (!blob) co_return std::optional<Piece>();
    const PieceSearch at = search(blob->pieces, offset);
    if (at.found) {
      auto piece = co_await load_piece(*blob, blob->pieces[*at.found]);
      if (piece) co_return std::optional<Piece>(std::move(*piece));
      if (piece.error().code != Errc::kNotFound) co_return std::unexpected(piece.error());
      continue;
    }
    if (at.read_next >= blob->pieces.size() && !blob->pieces.empty()) {
      co_return fail(Errc::kCorrupt, fmt::format("{:?} has no offset {}", blob->key(), offset));
    }
    const auto known = co_await read_piece_info(blob->name.offset, at.read_next);
    if (!known && known.error().code != Errc::kNotFound) co_return std::unexpected(known.error());
  }
  co_return fail(Errc::kUnavailable,
                 fmt::format("offset {} was moved too often during the read; retry", offset));
}

// With the place of the damage, and where reading can continue: after the piece, or after the blob
// when it is not known which of its pieces contains the offset.
Error StoredPartition::unreadable(Offset offset, Error error) {
  if (error.code != Errc::kCorrupt) return error;
  const StoredBlob* blob = find_blob(offset);
  if (!blob) return error;
  const PieceSearch at = search(blob->pieces, offset);
  Offset next = blob->end();
  if (at.found) next = blob->pieces[*at.found].offset + blob->pieces[*at.found].messages;
  return std::move(error).within(fmt::format(
      "offset {} cannot be read: its blob is damaged; reading can continue at {}", offset, next));
}

Task<Result<ReadAnswer>> StoredPartition::read(ReadRequest request) {
  const auto self = shared_from_this();
  const InUse in_use(*this);
  if (stopped_) co_return fail(Errc::kUnavailable, "the partition is stopped");
  if (request.offset > end_) {
    co_return fail(Errc::kInvalidArgument,
                   fmt::format("offset {} is past the end {}", request.offset, end_));
  }
  ReadAnswer answer;
  answer.start = start_;
  answer.end = end_;
  Reading reading{request, answer, std::max(request.offset, start_)};
  while (!reading.done()) {
    auto found = co_await piece_at(reading.at);
    if (!found && answer.entries.empty()) {
      co_return std::unexpected(unreadable(reading.at, std::move(found).error()));
    }
    if (found && !*found && answer.entries.empty() && reading.at < start_) {
      // Removed meanwhile: return what is left.
      answer.start = start_;
      answer.end = end_;
      reading.at = start_;
      continue;
    }
    // Not available now, or removed: return the entries read so far.
    if (!found || !*found) break;
    const std::size_t before = answer.entries.size();
    reading.take(**found);
    if (!reading.done()) release_piece(std::span(answer.entries).subspan(before));
  }
  count_read(reading.messages, reading.bytes);
  // Readers usually continue where they stopped.
  if (!answer.entries.empty() && reading.at < end_) {
    read_ahead(reading.at, kReadAheadBytes);
  }
  co_return answer;
}

void StoredPartition::count_read(std::uint64_t messages, std::size_t bytes) {
  read_messages_.fetch_add(messages, std::memory_order_relaxed);
  read_bytes_.fetch_add(bytes, std::memory_order_relaxed);
}

// Pieces are in the cache only when they are durable, and are cut at the end that is published.
// It does not wait between two pieces, so it need not call release_piece() as read() does.
std::optional<ReadAnswer> StoredPartition::read_cached(const ReadRequest& request) {
  if (stopped()) return std::nullopt;
  ReadAnswer answer;
  {
    const std::lock_guard lock(shared_mutex_);
    answer.start = published_.start;
    answer.end = published_.end;
  }
  if (request.offset > answer.end) return std::nullopt;
  Reading reading{request, answer, std::max(request.offset, answer.start)};
  while (!reading.done()) {
    const std::size_t left = request.bytes_max - std::min(request.bytes_max, reading.bytes);
    const auto run = cache_.find_run({tablet_id_, index_, reading.at}, left);
    if (run.empty()) return std::nullopt;
    for (const Piece& piece : run) {
      if (!reading.done()) reading.take(piece);
    }
  }
  count_read(reading.messages, reading.bytes);
  const BlobCache::Place next{tablet_id_, index_, reading.at};
  if (reading.at < answer.end && !answer.entries.empty() &&
      !cache_.covers(next, answer.end, kReadAheadBytes, kReadAheadPieces)) {
    world_.executor.post([self = shared_from_this(), at = reading.at] {
      if (!self->stopped()) self->read_ahead(at, kReadAheadBytes);
    });
  }
  return answer;
}

Task<Result<std::optional<StoredEntry>>> StoredPartition::find_time(std::int64_t time_ms) {
  return find_time_from(start_, time_ms);
}

Task<Result<std::optional<StoredEntry>>> StoredPartition::find_time_from(Offset from_offset,
                                                                         std::int64_t time_ms) {
  const auto self = shared_from_this();
  const InUse in_use(*this);
  Offset at = std::max(from_offset, start_);
  while (!stopped_) {
    // The first blob from here on that has such a timestamp.
    const auto from =
        std::upper_bound(blobs_.begin(), blobs_.end(), at,
                         [](Offset wanted, const StoredBlob& blob) { return wanted < blob.end(); });
    const auto blob = std::find_if(from, blobs_.end(), [time_ms](const StoredBlob& candidate) {
      return candidate.name.max_timestamp_ms >= time_ms;
    });
    if (blob == blobs_.end()) co_return std::optional<StoredEntry>();
    at = std::max(at, blob->name.offset);
    CO_TRY(const std::optional<Piece> piece, co_await piece_at(at));
    if (!piece) {
      at = std::max(at, start_);
      if (!find_blob(at)) co_return std::optional<StoredEntry>();
      continue;
    }
    for (std::size_t i = piece->index_of(at); i < piece->entries(); ++i) {
      if (piece->max_timestamp_ms(i) >= time_ms) co_return piece->entry(i);
    }
    at = piece->header().end_offset();
  }
  co_return fail(Errc::kUnavailable, "the partition is stopped");
}

// By the keys of the blobs; for the blob that contains the start, by its entries from there on.
Task<Result<std::int64_t>> StoredPartition::newest_time() {
  const auto self = shared_from_this();
  const InUse in_use(*this);
  std::int64_t newest = -1;
  std::int64_t of_cut = -1;
  Offset at = start_;
  Offset cut_end = start_;
  for (const StoredBlob& blob : blobs_) {
    if (blob.end() <= start_) continue;
    const bool cut = blob.name.offset < start_;
    if (cut) cut_end = blob.end();
    std::int64_t& known = cut ? of_cut : newest;
    known = std::max(known, blob.name.max_timestamp_ms);
  }
  if (of_cut <= newest) co_return newest;
  while (at < cut_end && !stopped_) {
    CO_TRY(const std::optional<Piece> piece, co_await piece_at(at));
    if (!piece && at >= start_) break;
    if (!piece) {
      at = start_;  // Removed meanwhile.
      continue;
    }
    for (std::size_t i = piece->index_of(at); i < piece->entries(); ++i) {
      newest = std::max(newest, piece->max_timestamp_ms(i));
    }
    at = piece->header().end_offset();
  }
  co_return newest;
}

Task<Result<std::optional<StoredEntry>>> StoredPartition::find_newest() {
  const auto self = shared_from_this();
  for (int look = 0; look < kLookupsMax; ++look) {
    CO_TRY(const std::int64_t newest, co_await newest_time());
    if (newest < 0) co_return std::optional<StoredEntry>();
    CO_TRY(std::optional<StoredEntry> found, co_await find_time(newest));
    // Else it was removed meanwhile.
    if (found || start_ == end_) co_return std::move(found);
  }
  co_return fail(Errc::kUnavailable, "the newest entry was moved too often during the read; retry");
}

}  // namespace moraine::queue
