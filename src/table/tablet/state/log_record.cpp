#include "table/tablet/state/log_record.h"

#include <array>
#include <cstring>

namespace moraine::table {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kChunkBytesMin = 8 + 1 + blob::kBlobIdBytes + 8 + 80 + 16 + 8;
constexpr std::size_t kChangeBytesMin = 6;

enum class Kind : std::uint8_t {
  kRows = 1,
  kPrepare = 2,
  kCommit = 3,
  kAbort = 4,
  kBuild = 5,
  kDropBuild = 6,
  kReplace = 7,
  kAdopt = 8,
  kStage = 9,
  kReplaceStaged = 10,
  kTrim = 11,
  kPart = 12,
  kRowsOfParts = 13,
  kPrepareOfParts = 14,
};

Encoder begin(Kind kind) {
  Encoder encoder;
  encoder.u8(kVersion).u8(static_cast<std::uint8_t>(kind));
  return encoder;
}

void append_blob(Encoder& encoder, const BlobId& id) {
  std::array<std::byte, blob::kBlobIdBytes> bytes;
  id.encode(bytes.data());
  encoder.raw(bytes);
}

BlobId take_blob(Decoder& decoder) {
  const ByteSpan bytes = decoder.raw(blob::kBlobIdBytes);
  return bytes.empty() ? BlobId() : BlobId::decode(bytes.data());
}

void append_numbers(Encoder& encoder, const std::vector<std::uint64_t>& numbers) {
  encoder.u32(static_cast<std::uint32_t>(numbers.size()));
  for (const std::uint64_t number : numbers) encoder.u64(number);
}

std::vector<std::uint64_t> take_numbers(Decoder& decoder) {
  std::vector<std::uint64_t> numbers(decoder.count(sizeof(std::uint64_t)));
  for (std::uint64_t& number : numbers) number = decoder.u64();
  return numbers;
}

std::vector<BlobId> take_blobs(Decoder& decoder) {
  std::vector<BlobId> blobs(decoder.count(blob::kBlobIdBytes));
  for (BlobId& id : blobs) id = take_blob(decoder);
  return blobs;
}

void append_blobs(Encoder& encoder, const std::vector<BlobId>& blobs) {
  encoder.u32(static_cast<std::uint32_t>(blobs.size()));
  for (const BlobId& id : blobs) append_blob(encoder, id);
}

void append_chunks(Encoder& encoder, const std::vector<ChunkRecord>& chunks) {
  encoder.u32(static_cast<std::uint32_t>(chunks.size()));
  for (const ChunkRecord& chunk : chunks) append_chunk(encoder, chunk);
}

Result<std::vector<ChunkRecord>> take_chunks(Decoder& decoder) {
  std::vector<ChunkRecord> chunks(decoder.count(kChunkBytesMin));
  for (ChunkRecord& chunk : chunks) {
    TRY(chunk, take_chunk(decoder));
  }
  return chunks;
}

std::string take_text(Decoder& decoder) {
  return std::string(as_text(decoder.sized()));
}

std::array<std::uint64_t*, 10> numbers_of(ChunkStatistics& s) {
  return {&s.rows,         &s.values,     &s.deletes,
          &s.superseded,   &s.data_bytes, &s.uncompressed_bytes,
          &s.meta_bytes,   &s.hunk_bytes, &s.min_timestamp,
          &s.max_timestamp};
}

Result<RowsRecord> take_rows(Decoder& decoder, const TableSchema& schema) {
  RowsRecord record;
  record.store = decoder.u64();
  record.commit = decoder.u64();
  record.transaction = take_transaction(decoder);
  TRY(record.changes, take_changes(decoder, schema));
  return record;
}

Result<ReplaceRecord> take_replace(Decoder& decoder, bool staged) {
  ReplaceRecord record;
  if (staged) {
    record.staged = decoder.u32();
    if (record.staged == 0) return fail(Errc::kCorrupt, "table log record: staged chunks");
  }
  record.build = decoder.u64();
  record.flushed = take_numbers(decoder);
  record.removed = take_numbers(decoder);
  TRY(record.added, take_chunks(decoder));
  record.added_to_eden = take_numbers(decoder);
  if (decoder.flag()) {
    TRY(record.pivots, take_pivots(decoder));
  }
  record.retained_timestamp = decoder.u64();
  return record;
}

PartRecord take_part(Decoder& decoder) {
  PartRecord record;
  record.store = decoder.u64();
  record.transaction = take_transaction(decoder);
  record.number = decoder.u32();
  record.bytes = take_text(decoder);
  return record;
}

Result<std::uint32_t> take_part_count(Decoder& decoder) {
  const std::uint32_t parts = decoder.u32();
  if (parts == 0) return fail(Errc::kCorrupt, "table log record: parts");
  return parts;
}

Result<RowsRecord> take_rows_of_parts(Decoder& decoder) {
  RowsRecord record;
  record.store = decoder.u64();
  record.commit = decoder.u64();
  record.transaction = take_transaction(decoder);
  TRY(record.parts, take_part_count(decoder));
  return record;
}

Result<PrepareRecord> take_prepare_of_parts(Decoder& decoder) {
  PrepareRecord record;
  record.store = decoder.u64();
  record.transaction = take_transaction(decoder);
  record.start = decoder.u64();
  record.coordinator = TabletId{decoder.u64()};
  TRY(record.parts, take_part_count(decoder));
  return record;
}

Result<LogRecord> take_record(Decoder& decoder, Kind kind, const TableSchema& schema) {
  switch (kind) {
    case Kind::kRows: return take_rows(decoder, schema);
    case Kind::kPrepare: return take_prepare(decoder, schema);
    case Kind::kPart: return take_part(decoder);
    case Kind::kRowsOfParts: return take_rows_of_parts(decoder);
    case Kind::kPrepareOfParts: return take_prepare_of_parts(decoder);
    case Kind::kCommit: {
      const TransactionId id = take_transaction(decoder);
      return CommitRecord{id, decoder.u64()};
    }
    case Kind::kAbort: return AbortRecord{take_transaction(decoder)};
    case Kind::kBuild: {
      const std::uint64_t build = decoder.u64();
      return BuildRecord{build, take_blobs(decoder)};
    }
    case Kind::kDropBuild: return DropBuildRecord{decoder.u64()};
    case Kind::kReplace: return take_replace(decoder, false);
    case Kind::kReplaceStaged: return take_replace(decoder, true);
    case Kind::kStage: {
      StageRecord record;
      record.build = decoder.u64();
      record.first = decoder.flag();
      TRY(record.chunks, take_chunks(decoder));
      return record;
    }
    case Kind::kAdopt: {
      AdoptRecord record;
      TRY(record.chunks, take_chunks(decoder));
      return record;
    }
    case Kind::kTrim: {
      TrimRecord record;
      record.trimmed.rows = decoder.u64();
      record.trimmed.weight = decoder.u64();
      if (record.trimmed.rows > kTabletRowsMax) return fail(Errc::kCorrupt, "trimmed rows");
      return record;
    }
  }
  return fail(Errc::kCorrupt, "table log record: kind");
}

}  // namespace

void append_transaction(Encoder& encoder, const TransactionId& id) {
  encoder.raw(std::as_bytes(std::span(id.bytes)));
}

TransactionId take_transaction(Decoder& decoder) {
  TransactionId id;
  const ByteSpan bytes = decoder.raw(id.bytes.size());
  if (!bytes.empty()) std::memcpy(id.bytes.data(), bytes.data(), bytes.size());
  return id;
}

void append_changes(Encoder& encoder, std::span<const RowChange> changes) {
  encoder.u32(static_cast<std::uint32_t>(changes.size()));
  for (const RowChange& change : changes) append_change(encoder, change);
}

Result<std::vector<RowChange>> take_changes(Decoder& decoder, const TableSchema& schema) {
  const std::uint32_t count = decoder.count(kChangeBytesMin);
  std::vector<RowChange> changes;
  changes.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    TRY(RowChange change, take_change(decoder, schema));
    changes.push_back(std::move(change));
  }
  return changes;
}

void append_prepare(Encoder& encoder, const PrepareRecord& record) {
  encoder.u64(record.store);
  append_transaction(encoder, record.transaction);
  encoder.u64(record.start).u64(record.coordinator.value);
  append_changes(encoder, record.changes);
}

Result<PrepareRecord> take_prepare(Decoder& decoder, const TableSchema& schema) {
  PrepareRecord record;
  record.store = decoder.u64();
  record.transaction = take_transaction(decoder);
  record.start = decoder.u64();
  record.coordinator = TabletId{decoder.u64()};
  TRY(record.changes, take_changes(decoder, schema));
  return record;
}

void append_chunk(Encoder& encoder, const ChunkRecord& record) {
  encoder.u64(record.id).u8(static_cast<std::uint8_t>(record.format));
  append_blob(encoder, record.meta);
  append_blobs(encoder, record.data);
  encoder.u32(static_cast<std::uint32_t>(record.hunks.size()));
  for (const HunkUse& use : record.hunks) {
    append_blob(encoder, use.blob);
    encoder.u64(use.bytes);
  }
  ChunkStatistics statistics = record.statistics;
  for (const std::uint64_t* number : numbers_of(statistics)) encoder.u64(*number);
  encoder.sized(statistics.first_key).sized(statistics.last_key);
  encoder.sized(record.from).sized(record.to).u64(record.created_ms);
}

std::size_t encoded_bytes(const ChunkRecord& record) {
  return kChunkBytesMin + record.data.size() * blob::kBlobIdBytes +
         record.hunks.size() * (blob::kBlobIdBytes + sizeof(std::uint64_t)) +
         record.statistics.first_key.size() + record.statistics.last_key.size() +
         record.from.size() + record.to.size();
}

Result<ChunkRecord> take_chunk(Decoder& decoder) {
  ChunkRecord record;
  record.id = decoder.u64();
  const std::uint8_t format = decoder.u8();
  if (format > static_cast<std::uint8_t>(OptimizeFor::kScan)) {
    return fail(Errc::kCorrupt, "chunk record: format");
  }
  record.format = static_cast<OptimizeFor>(format);
  record.meta = take_blob(decoder);
  record.data = take_blobs(decoder);
  record.hunks.resize(decoder.count(blob::kBlobIdBytes + sizeof(std::uint64_t)));
  for (HunkUse& use : record.hunks) {
    use.blob = take_blob(decoder);
    use.bytes = decoder.u64();
  }
  for (std::uint64_t* number : numbers_of(record.statistics)) *number = decoder.u64();
  record.statistics.first_key = take_text(decoder);
  record.statistics.last_key = take_text(decoder);
  record.from = take_text(decoder);
  record.to = take_text(decoder);
  record.created_ms = decoder.u64();
  if (decoder.failed() || record.id == 0) return fail(Errc::kCorrupt, "chunk record");
  return record;
}

void append_pivots(Encoder& encoder, const std::vector<std::string>& pivots) {
  encoder.u32(static_cast<std::uint32_t>(pivots.size()));
  for (const std::string& pivot : pivots) encoder.sized(pivot);
}

Result<std::vector<std::string>> take_pivots(Decoder& decoder) {
  std::vector<std::string> pivots(decoder.count(sizeof(std::uint32_t)));
  for (std::string& pivot : pivots) pivot = take_text(decoder);
  bool ordered = !pivots.empty() && pivots.size() <= kPivotsMax && pivots.front().empty();
  for (std::size_t i = 1; i < pivots.size(); ++i) ordered = ordered && pivots[i - 1] < pivots[i];
  if (!ordered) return fail(Errc::kCorrupt, "pivots of partitions");
  return pivots;
}

Slice encode_rows(StoreNumber store, Timestamp commit, const TransactionId& transaction,
                  std::span<const RowChange> changes) {
  Encoder encoder = begin(Kind::kRows);
  encoder.u64(store).u64(commit);
  append_transaction(encoder, transaction);
  append_changes(encoder, changes);
  return encoder.slice();
}

Slice encode_prepare(const PrepareRecord& record) {
  Encoder encoder = begin(Kind::kPrepare);
  append_prepare(encoder, record);
  return encoder.slice();
}

Slice encode_rows_of_parts(StoreNumber store, Timestamp commit, const TransactionId& transaction,
                           std::uint32_t parts) {
  Encoder encoder = begin(Kind::kRowsOfParts);
  encoder.u64(store).u64(commit);
  append_transaction(encoder, transaction);
  return encoder.u32(parts).slice();
}

Slice encode_prepare_of_parts(const PrepareRecord& record, std::uint32_t parts) {
  Encoder encoder = begin(Kind::kPrepareOfParts);
  encoder.u64(record.store);
  append_transaction(encoder, record.transaction);
  return encoder.u64(record.start).u64(record.coordinator.value).u32(parts).slice();
}

Slice encode(const CommitRecord& record) {
  Encoder encoder = begin(Kind::kCommit);
  append_transaction(encoder, record.transaction);
  return encoder.u64(record.commit).slice();
}

Slice encode(const AbortRecord& record) {
  Encoder encoder = begin(Kind::kAbort);
  append_transaction(encoder, record.transaction);
  return encoder.slice();
}

Slice encode(const BuildRecord& record) {
  Encoder encoder = begin(Kind::kBuild);
  encoder.u64(record.build);
  append_blobs(encoder, record.blobs);
  return encoder.slice();
}

Slice encode(const DropBuildRecord& record) {
  return begin(Kind::kDropBuild).u64(record.build).slice();
}

Slice encode(const ReplaceRecord& record) {
  Encoder encoder = begin(record.staged == 0 ? Kind::kReplace : Kind::kReplaceStaged);
  if (record.staged != 0) encoder.u32(record.staged);
  encoder.u64(record.build);
  append_numbers(encoder, record.flushed);
  append_numbers(encoder, record.removed);
  append_chunks(encoder, record.added);
  append_numbers(encoder, record.added_to_eden);
  encoder.flag(record.pivots.has_value());
  if (record.pivots) append_pivots(encoder, *record.pivots);
  return encoder.u64(record.retained_timestamp).slice();
}

Slice encode(const AdoptRecord& record) {
  Encoder encoder = begin(Kind::kAdopt);
  append_chunks(encoder, record.chunks);
  return encoder.slice();
}

Slice encode(const StageRecord& record) {
  Encoder encoder = begin(Kind::kStage);
  encoder.u64(record.build).flag(record.first);
  append_chunks(encoder, record.chunks);
  return encoder.slice();
}

Slice encode(const TrimRecord& record) {
  return begin(Kind::kTrim).u64(record.trimmed.rows).u64(record.trimmed.weight).slice();
}

Slice encode(const PartRecord& record) {
  Encoder encoder = begin(Kind::kPart);
  encoder.u64(record.store);
  append_transaction(encoder, record.transaction);
  return encoder.u32(record.number).sized(record.bytes).slice();
}

Slice encode(const LogRecord& record) {
  if (const auto* rows = std::get_if<RowsRecord>(&record)) {
    if (rows->parts != 0) {
      return encode_rows_of_parts(rows->store, rows->commit, rows->transaction, rows->parts);
    }
    return encode_rows(rows->store, rows->commit, rows->transaction, rows->changes);
  }
  if (const auto* prepare = std::get_if<PrepareRecord>(&record)) {
    if (prepare->parts != 0) return encode_prepare_of_parts(*prepare, prepare->parts);
    return encode_prepare(*prepare);
  }
  if (const auto* commit = std::get_if<CommitRecord>(&record)) return encode(*commit);
  if (const auto* abort = std::get_if<AbortRecord>(&record)) return encode(*abort);
  if (const auto* build = std::get_if<BuildRecord>(&record)) return encode(*build);
  if (const auto* drop = std::get_if<DropBuildRecord>(&record)) return encode(*drop);
  if (const auto* replace = std::get_if<ReplaceRecord>(&record)) return encode(*replace);
  if (const auto* stage = std::get_if<StageRecord>(&record)) return encode(*stage);
  if (const auto* trim = std::get_if<TrimRecord>(&record)) return encode(*trim);
  if (const auto* part = std::get_if<PartRecord>(&record)) return encode(*part);
  return encode(std::get<AdoptRecord>(record));
}

bool may_have_rows(ByteSpan body) {
  Decoder decoder(body);
  const std::uint8_t version = decoder.u8();
  const auto kind = static_cast<Kind>(decoder.u8());
  // The decoder rejects other versions.
  return version != kVersion || kind == Kind::kRows || kind == Kind::kPrepare ||
         kind == Kind::kCommit || kind == Kind::kPart || kind == Kind::kRowsOfParts ||
         kind == Kind::kPrepareOfParts;
}

Result<LogRecord> decode_log_record(ByteSpan body, const TableSchema& schema) {
  Decoder decoder(body);
  if (const std::uint8_t version = decoder.u8(); version != kVersion) {
    return fail(decoder.failed() ? Errc::kCorrupt : Errc::kUnsupported,
                "table log record of another version");
  }
  const auto kind = static_cast<Kind>(decoder.u8());
  TRY(LogRecord record, take_record(decoder, kind, schema));
  if (!decoder.finished()) return fail(Errc::kCorrupt, "table log record: length");
  return record;
}

}  // namespace moraine::table
