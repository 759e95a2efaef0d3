#include <algorithm>
#include <bit>

#include "base/invariant.h"
#include "table/chunk/row_block.h"
#include "table/chunk/row_block_layout.h"
#include "table/chunk/unit_writer.h"

namespace moraine::table {
namespace {

// An upper bound for a block's head, in memory and stored, without the prefix.
constexpr std::size_t kHeadOverheadBytes = sizeof(RowBlockHead) + kBlockPadding + 48;
// Bytes of a row besides key and body: a hash's byte, an offset, key size, kind, timestamp.
constexpr std::size_t kRowOverheadBytes = 1 + 2 + 1 + 1 + 5;

std::size_t shared_prefix(std::string_view a, std::string_view b) {
  const auto [end, other] = std::ranges::mismatch(a, b);
  return static_cast<std::size_t>(end - a.begin());
}

template <class Items, class Get>
bool all_equal(const Items& items, Get get) {
  return std::ranges::all_of(items, [&](const auto& item) { return get(item) == get(items[0]); });
}

}  // namespace

RowBlockBuilder::RowBlockBuilder(std::vector<ValueType> types, ColumnIndex first_column,
                                 std::size_t block_bytes, std::size_t row_bytes_max)
    : types_(std::move(types)),
      first_column_(first_column),
      block_bytes_(block_bytes),
      row_bytes_max_(row_bytes_max) {}

std::string_view RowBlockBuilder::key(std::size_t row) const {
  const std::size_t from = row == 0 ? 0 : rows_[row - 1].key_end;
  return std::string_view(keys_).substr(from, rows_[row].key_end - from);
}

std::string_view RowBlockBuilder::body(std::size_t row) const {
  const std::size_t from = row == 0 ? 0 : rows_[row - 1].body_end;
  return std::string_view(bodies_).substr(from, rows_[row].body_end - from);
}

std::size_t RowBlockBuilder::memory_bytes_with(ByteSpan new_key, std::size_t body_size) const {
  const std::size_t count = rows_.size() + 1;
  const std::size_t prefix = shared_prefix(key(0), as_text(new_key));
  return kHeadOverheadBytes + prefix + count * kRowOverheadBytes + keys_.size() + new_key.size() -
         count * prefix + bodies_.size() + body_size;
}

Result<bool> RowBlockBuilder::add(const VersionedRow& row) {
  scratch_.clear();
  const auto kind = append_row(scratch_, types_, row, first_column_);
  if (!kind) return std::unexpected(kind.error());
  TRY_VOID(check_encoded_row(scratch_.size(), row_bytes_max_));
  if (!rows_.empty() && (memory_bytes_with(row.key, scratch_.size()) > block_bytes_ ||
                         rows_.size() == kBlockRowsMax)) {
    return false;
  }
  keys_.append(as_text(row.key));
  bodies_.append(scratch_);
  rows_.push_back({.key_end = keys_.size(),
                   .body_end = bodies_.size(),
                   .newest = newest_timestamp(row),
                   .kind = *kind});
  return true;
}

std::size_t RowBlockBuilder::shared_suffix(std::size_t prefix) const {
  const std::string_view first = key(0);
  std::size_t suffix = first.size() - prefix;
  for (std::size_t i = 1; i < rows_.size() && suffix > 0; ++i) {
    const std::string_view other = key(i);
    suffix = std::min(suffix, other.size() - prefix);
    std::size_t same = 0;
    while (same < suffix && other[other.size() - 1 - same] == first[first.size() - 1 - same]) {
      ++same;
    }
    suffix = same;
  }
  return suffix;
}

void RowBlockBuilder::append_head(std::string& out, std::size_t prefix, std::size_t suffix) const {
  const std::string_view first = key(0);
  std::size_t from = 0;
  bool one_size = true;
  for (const Row& row : rows_) {
    one_size = one_size && row.key_end - from == first.size();
    from = row.key_end;
  }
  const bool one_kind = all_equal(rows_, [](const Row& row) { return row.kind; });
  put_fixed(out, kRowBlockVersion);
  put_fixed(out, static_cast<std::uint8_t>((one_size ? kBlockOneKeySize : 0) |
                                           (one_kind ? kBlockOneKind : 0)));
  put_varint(out, rows_.size());
  put_sized(out, first.substr(0, prefix));
  put_sized(out, first.substr(first.size() - suffix));
  if (one_size) put_varint(out, first.size() - prefix - suffix);
  if (one_kind) put_fixed(out, rows_[0].kind);
}

void RowBlockBuilder::append_times(std::string& out) const {
  TimeParts least = time_parts(rows_[0].newest);
  TimeParts greatest = least;
  for (const Row& row : rows_) {
    const TimeParts parts = time_parts(row.newest);
    least.seconds = std::min(least.seconds, parts.seconds);
    least.counter = std::min(least.counter, parts.counter);
    greatest.seconds = std::max(greatest.seconds, parts.seconds);
    greatest.counter = std::max(greatest.counter, parts.counter);
  }
  const auto second_bits =
      static_cast<std::uint8_t>(std::bit_width(greatest.seconds - least.seconds));
  const auto counter_bits =
      static_cast<std::uint8_t>(std::bit_width(greatest.counter - least.counter));
  put_varint(out, least.seconds);
  put_varint(out, least.counter);
  put_fixed(out, second_bits);
  put_fixed(out, counter_bits);
  BitWriter bits(out);
  for (const Row& row : rows_) {
    const TimeParts parts = time_parts(row.newest);
    bits.put(parts.counter - least.counter, counter_bits);
    bits.put(parts.seconds - least.seconds, second_bits);
  }
  bits.finish();
}

std::string RowBlockBuilder::finish() {
  INVARIANT(!rows_.empty(), "a block without rows");
  const std::size_t prefix = shared_prefix(key(0), key(rows_.size() - 1));
  const std::size_t suffix = shared_suffix(prefix);
  std::string out;
  out.reserve(kHeadOverheadBytes + rows_.size() * kRowOverheadBytes + keys_.size() +
              bodies_.size());
  append_head(out, prefix, suffix);
  const auto flags = static_cast<std::uint8_t>(out[1]);
  append_times(out);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const std::string_view middle = key(i).substr(prefix, key(i).size() - prefix - suffix);
    if ((flags & kBlockOneKeySize) == 0) put_varint(out, middle.size());
    out.append(middle);
    if ((flags & kBlockOneKind) == 0) put_fixed(out, rows_[i].kind);
    out.append(body(i));
  }
  keys_.clear();
  bodies_.clear();
  rows_.clear();
  return out;
}

}  // namespace moraine::table
