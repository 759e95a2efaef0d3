#include "keyvalue/value.h"

#include <array>

#include "base/coding.h"

namespace moraine {
namespace {

constexpr std::uint8_t kVersion = 1;
enum ChangeTag : std::uint8_t { kSetTag = 1, kEraseTag = 2, kLockTag = 3 };
enum PieceTag : std::uint8_t { kBlobTag = 1, kInlineTag = 2 };
constexpr std::size_t kChangeBytesMin = 5;
constexpr std::size_t kPieceBytesMin = 5;

void encode_value(Encoder& encoder, const StoredValue& value) {
  encoder.u64(value.created_ms).u32(static_cast<std::uint32_t>(value.pieces.size()));
  for (const ValuePiece& piece : value.pieces) {
    if (piece.is_inline()) {
      encoder.u8(kInlineTag).sized(piece.inline_data);
      continue;
    }
    std::array<std::byte, blob::kBlobIdBytes> id;
    piece.id.encode(id.data());
    encoder.u8(kBlobTag).raw(id).u32(piece.offset).u32(piece.size);
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

Slice encode_changes(const std::vector<Change>& changes) {
  Encoder encoder;
  encoder.u8(kVersion).u32(static_cast<std::uint32_t>(changes.size()));
  for (const Change& change : changes) {
    if (const auto* set = std::get_if<SetKey>(&change)) {
      encoder.u8(kSetTag).sized(set->key);
      encode_value(encoder, set->value);
    } else if (const auto* erase = std::get_if<EraseKey>(&change)) {
      encoder.u8(kEraseTag).sized(erase->key);
    } else {
      encoder.u8(kLockTag).u64(std::get<SetLock>(change).generation);
    }
  }
  return encoder.slice();
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
