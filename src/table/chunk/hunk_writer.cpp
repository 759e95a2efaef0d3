#include "table/chunk/hunk_writer.h"

#include <algorithm>
#include <limits>

#include "base/checksum.h"
#include "base/invariant.h"

namespace moraine::table {
namespace {

constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();

}  // namespace

HunkWriter::HunkWriter(const TableSchema& schema) {
  for (const ColumnSchema& column : schema.columns) {
    inline_max_.push_back(column.key ? kNever : column.max_inline_hunk_size.value_or(kNever));
    any_column_ = any_column_ || inline_max_.back() != kNever;
  }
}

bool HunkWriter::is_long(const VersionedValue& value) const {
  if (value.hunk || value.aggregate || !value.value.has_text()) return false;
  // A value that does not fit a blob stays with its row; so does one that a reference would not
  // make shorter.
  const std::size_t size = value.value.text().size();
  return size > inline_max_[value.column] && size > kHunkRefBytes && size <= kChunkBlobBytesMax;
}

VersionedRow HunkWriter::convert(const VersionedRow& row) {
  const auto concerned = [this](const VersionedValue& v) { return v.hunk || is_long(v); };
  if (std::ranges::none_of(row.values, concerned)) return row;
  texts_used_ = 0;
  values_.assign(row.values.begin(), row.values.end());
  for (VersionedValue& value : values_) {
    if (value.hunk) {
      keep_reference(value);
    } else if (is_long(value)) {
      put_long(value);
    }
  }
  VersionedRow converted = row;
  converted.values = values_;
  return converted;
}

std::string& HunkWriter::text() {
  if (texts_used_ == texts_.size()) texts_.emplace_back(kHunkRefBytes, '\0');
  return texts_[texts_used_++];
}

void HunkWriter::put_long(VersionedValue& value) {
  const ByteSpan bytes = as_bytes(value.value.text());
  blobs_.make_room(bytes.size());
  const HunkRef ref{.blob = {},
                    .offset = blobs_.offset(),
                    .size = static_cast<std::uint32_t>(bytes.size()),
                    .checksum = crc32c(bytes)};
  const std::uint32_t ordinal = blobs_.ordinal();
  blobs_.append(bytes);
  if (fresh_bytes_.size() <= ordinal) fresh_bytes_.resize(ordinal + 1);
  fresh_bytes_[ordinal] += bytes.size();
  bytes_ += bytes.size();
  std::string& stored = text();
  encode_stored_hunk(ref, {.fresh = true, .ordinal = ordinal},
                     reinterpret_cast<std::byte*>(stored.data()));
  const bool any = value.value.type() == ValueType::kAny;
  value.value = any ? Value::any(stored) : Value(std::string_view(stored));
  value.hunk = true;
}

void HunkWriter::keep_reference(VersionedValue& value) {
  const std::string_view whole = value.value.text();
  INVARIANT(whole.size() == kHunkRefBytes, "a hunk reference of {} bytes", whole.size());
  const HunkRef ref = decode_hunk(as_bytes(whole).data());
  const auto [at, added] =
      carried_.try_emplace(ref.blob, static_cast<std::uint32_t>(carried_uses_.size()));
  if (added) carried_uses_.push_back({.blob = ref.blob, .bytes = 0});
  carried_uses_[at->second].bytes += ref.size;
  bytes_ += ref.size;
  std::string& stored = text();
  encode_stored_hunk(ref, {.fresh = false, .ordinal = at->second},
                     reinterpret_cast<std::byte*>(stored.data()));
  const bool any = value.value.type() == ValueType::kAny;
  value.value = any ? Value::any(stored) : Value(std::string_view(stored));
}

std::vector<HunkUse> HunkWriter::uses() const {
  INVARIANT(fresh_bytes_.size() == blobs_.ends().size(), "{} hunk blobs, {} counted",
            blobs_.ends().size(), fresh_bytes_.size());
  std::vector<HunkUse> uses;
  for (const std::uint64_t bytes : fresh_bytes_) uses.push_back({.blob = {}, .bytes = bytes});
  uses.insert(uses.end(), carried_uses_.begin(), carried_uses_.end());
  return uses;
}

}  // namespace moraine::table
