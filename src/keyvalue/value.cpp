#include "keyvalue/value.h"

#include "base/coding.h"

namespace moraine {
namespace {

constexpr std::uint8_t kVersion = 1;
enum ChangeTag : std::uint8_t { kSetTag = 1, kEraseTag = 2, kLockTag = 3 };
enum PieceTag : std::uint8_t { kBlobTag = 1, kInlineTag = 2 };
constexpr std::size_t kChangeBytesMin = 5;
constexpr std::size_t kPieceBytesMin = 5;

constexpr std::size_t kBlobPieceBytes = 1 + blob::kBlobIdBytes + 2 * sizeof(std::uint32_t);

std::size_t sized_bytes(std::size_t size) {
  return sizeof(std::uint32_t) + size;
}

// Bytes of the block of a ChainWriter.
std::size_t block_bytes(const Change& change, ChainWriter::Slices slices) {
  if (const auto* erase = std::get_if<EraseKey>(&change)) return 1 + sized_bytes(erase->key.size());
  const auto* set = std::get_if<SetKey>(&change);
  if (set == nullptr) return 1 + sizeof(std::uint64_t);
  std::size_t bytes = 1 + sized_bytes(set->key.size());
  bytes += sizeof(set->value.created_ms) + sizeof(std::uint32_t);
  for (const ValuePiece& piece : set->value.pieces) {
    const std::size_t copied = slices == ChainWriter::Slices::kCopied
                                   ? piece.inline_data.size()
                                   : ChainWriter::copied_bytes(piece.inline_data);
    bytes += piece.is_inline() ? 1 + sized_bytes(copied) : kBlobPieceBytes;
  }
  return bytes;
}

void write_value(ChainWriter& writer, const StoredValue& value) {
  writer.u64(value.created_ms).u32(static_cast<std::uint32_t>(value.pieces.size()));
  for (const ValuePiece& piece : value.pieces) {
    if (piece.is_inline()) {
      writer.u8(kInlineTag).sized(piece.inline_data);
      continue;
    }
    piece.id.encode(writer.u8(kBlobTag).skip(blob::kBlobIdBytes));
    writer.u32(piece.offset).u32(piece.size);
  }
}

Result<ValuePiece> decode_piece(Decoder& decoder, const Slice& bytes) {
  ValuePiece piece;
  const std::uint8_t tag = decoder.u8();
  if (tag == kInlineTag) {
    const ByteSpan data = decoder.sized();
    if (decoder.failed()) return fail(Errc::kCorrupt, "value is truncated");
    piece.inline_data = Slice::copy_of(
        bytes.span().subspan(static_cast<std::size_t>(data.data() - bytes.data()), data.size()));
    piece.size = static_cast<std::uint32_t>(data.size());
    return piece;
  }
  if (tag != kBlobTag) return fail(Errc::kCorrupt, "unknown tag of a value piece");
  const ByteSpan id = decoder.raw(blob::kBlobIdBytes);
  if (decoder.failed()) return fail(Errc::kCorrupt, "value is truncated");
  piece.id = BlobId::decode(id.data());
  piece.offset = decoder.u32();
  piece.size = decoder.u32();
  if (piece.id == BlobId() || std::uint64_t{piece.offset} + piece.size > piece.id.size()) {
    return fail(Errc::kCorrupt, "value piece is outside its blob");
  }
  return piece;
}

Result<StoredValue> decode_value(Decoder& decoder, const Slice& bytes) {
  StoredValue value;
  value.created_ms = decoder.u64();
  const std::uint32_t count = decoder.count(kPieceBytesMin);
  for (std::uint32_t i = 0; i < count; ++i) {
    TRY(ValuePiece piece, decode_piece(decoder, bytes));
    value.pieces.push_back(std::move(piece));
  }
  return value;
}

}  // namespace

std::uint64_t StoredValue::size() const {
  std::uint64_t total = 0;
  for (const ValuePiece& piece : pieces) total += piece.size;
  return total;
}

ByteChain encode_changes(const std::vector<Change>& changes, ChainWriter::Slices slices) {
  std::size_t bytes = sizeof(kVersion) + sizeof(std::uint32_t);
  for (const Change& change : changes) bytes += block_bytes(change, slices);
  ChainWriter writer(bytes, slices);
  writer.u8(kVersion).u32(static_cast<std::uint32_t>(changes.size()));
  for (const Change& change : changes) {
    if (const auto* set = std::get_if<SetKey>(&change)) {
      writer.u8(kSetTag).sized(set->key);
      write_value(writer, set->value);
    } else if (const auto* erase = std::get_if<EraseKey>(&change)) {
      writer.u8(kEraseTag).sized(erase->key);
    } else {
      writer.u8(kLockTag).u64(std::get<SetLock>(change).generation);
    }
  }
  return std::move(writer).finish();
}

Result<std::vector<Change>> decode_changes(const Slice& bytes) {
  Decoder decoder(bytes);
  if (decoder.u8() != kVersion) return fail(Errc::kCorrupt, "unknown version of changes");
  const std::uint32_t count = decoder.count(kChangeBytesMin);
  std::vector<Change> changes;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint8_t tag = decoder.u8();
    if (tag == kSetTag) {
      SetKey set;
      set.key = as_text(decoder.sized());
      TRY(set.value, decode_value(decoder, bytes));
      changes.push_back(std::move(set));
    } else if (tag == kEraseTag) {
      changes.push_back(EraseKey{std::string(as_text(decoder.sized()))});
    } else if (tag == kLockTag) {
      changes.push_back(SetLock{decoder.u64()});
    } else {
      return fail(Errc::kCorrupt, "unknown tag of a change");
    }
  }
  if (!decoder.finished()) return fail(Errc::kCorrupt, "wrong length of changes");
  return changes;
}

}  // namespace moraine
