#include "table/chunk/row_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/invariant.h"
#include "table/chunk/unit_writer.h"
#include "table/chunk/varint.h"
#include "table/memory/memory_store.h"
#include "table/model/key.h"

namespace moraine::table {
namespace {

constexpr std::uint8_t kRowBlockVersion = 1;
enum RowBlockFlags : std::uint8_t { kBlockOneKeySize = 1, kBlockOneKind = 2 };
constexpr std::size_t kNarrowBlockBytesMax = std::size_t{64} << 10;
// Readable bytes after the last row, since whole words are read.
constexpr std::size_t kBlockPadding = 2 * kBitsPadding;
// An upper bound for a block's head, in memory and stored, without the prefix.
constexpr std::size_t kHeadOverheadBytes = sizeof(RowBlockHead) + kBlockPadding + 48;
// Bytes of a row besides key and body: a hash's byte, an offset, key size, kind, timestamp.
constexpr std::size_t kRowOverheadBytes = 1 + 2 + 1 + 1 + 5;
constexpr std::size_t kMarksAlignment = 8;
constexpr unsigned kSecondBitsMax = 64 - kTimestampCounterBits;

constexpr std::uint64_t kLowBits = 0x0101010101010101;
constexpr std::uint64_t kHighBits = 0x8080808080808080;

// The byte of a hash that blocks store; filters use other bits.
std::uint64_t hash_mark(std::uint64_t hash) {
  return hash >> 56;
}

std::size_t shared_prefix(std::string_view a, std::string_view b) {
  const auto [end, other] = std::ranges::mismatch(a, b);
  return static_cast<std::size_t>(end - a.begin());
}

template <class Items, class Get>
bool all_equal(const Items& items, Get get) {
  return std::ranges::all_of(items, [&](const auto& item) { return get(item) == get(items[0]); });
}

std::unexpected<Error> damaged(std::string_view what) {
  return fail(Errc::kCorrupt, fmt::format("row block: {}", what));
}

// Where the parts of a block are in memory.
struct Layout {
  explicit Layout(const StoredBlock& stored) {
    const std::size_t marks = align_up(stored.rows, kMarksAlignment);
    const std::size_t narrow = sizeof(RowBlockHead) + marks + std::size_t{stored.rows} * 2;
    wide = narrow + stored.raw_bytes >= kNarrowBlockBytesMax;
    offsets_at = sizeof(RowBlockHead) + marks;
    raw_at = offsets_at + std::size_t{stored.rows} * (wide ? 4 : 2);
    bytes = raw_at + stored.raw_bytes + kBlockPadding;
  }
  bool wide = false;
  std::size_t offsets_at = 0;
  std::size_t raw_at = 0;
  std::size_t bytes = 0;
};

// Checks a stored block and makes its form in memory.
class Opener {
 public:
  Opener(const StoredBlock& stored, CellTypes types)
      : stored_(stored), layout_(stored), memory_(layout_.bytes), in_({}), types_(types) {}

  Result<Slice> run(const HunkPlaces& hunks) {
    std::byte* base = memory_.data();
    std::memset(base, 0, layout_.raw_at);
    std::memset(base + layout_.bytes - kBlockPadding, 0, kBlockPadding);
    const MutableByteSpan raw(base + layout_.raw_at, stored_.raw_bytes);
    if (auto done = decompress_into(stored_.codec, stored_.bytes, raw); !done) {
      return std::unexpected(std::move(done.error()));
    }
    in_ = VarintReader(raw);
    if (auto done = take_head(); !done) return std::unexpected(std::move(done.error()));
    for (std::uint32_t row = 0; row < stored_.rows; ++row) {
      if (!take_row(row)) return damaged("a row");
    }
    if (!in_.finished()) return damaged("bytes after the rows");
    for (const std::byte* ref : hunks_) {
      if (auto done = hunks.complete(base + (ref - base)); !done) {
        return std::unexpected(std::move(done.error()));
      }
    }
    std::memcpy(base, &head_, sizeof(head_));
    return std::move(memory_).freeze().sub(0, layout_.bytes);
  }

 private:
  std::uint32_t place(const std::byte* at) {
    return static_cast<std::uint32_t>(at - memory_.data());
  }

  Result<void> take_head() {
    const auto version = in_.fixed<std::uint8_t>();
    if (version != kRowBlockVersion) {
      return fail(Errc::kUnsupported, fmt::format("row block of version {}", version));
    }
    const auto flags = in_.fixed<std::uint8_t>();
    head_.rows = static_cast<std::uint32_t>(in_.varint(kBlockRowsMax));
    prefix_ = in_.sized();
    const ByteSpan suffix = in_.sized();
    head_.one_key_size = (flags & kBlockOneKeySize) != 0;
    head_.one_kind = (flags & kBlockOneKind) != 0;
    if (head_.one_key_size)
      head_.key_size = static_cast<std::uint32_t>(in_.varint(in_.remaining()));
    if (head_.one_kind) head_.kind = in_.fixed<std::uint8_t>();
    if (in_.failed() || head_.rows == 0 || head_.rows != stored_.rows) return damaged("its head");
    head_.prefix_at = place(prefix_.data());
    head_.prefix_size = static_cast<std::uint32_t>(prefix_.size());
    head_.suffix_at = place(suffix.data());
    head_.suffix_size = static_cast<std::uint32_t>(suffix.size());
    head_.offsets_at = static_cast<std::uint32_t>(layout_.offsets_at);
    head_.wide_offsets = layout_.wide;
    key_.assign(as_text(prefix_));
    suffix_ = as_text(suffix);
    return take_times();
  }

  Result<void> take_times() {
    head_.base_seconds = in_.varint((std::uint64_t{1} << kSecondBitsMax) - 1);
    head_.base_counter = static_cast<std::uint32_t>(in_.varint((1u << kTimestampCounterBits) - 1));
    head_.second_bits = in_.fixed<std::uint8_t>();
    head_.counter_bits = in_.fixed<std::uint8_t>();
    if (in_.failed() || head_.second_bits > kSecondBitsMax ||
        head_.counter_bits > kTimestampCounterBits) {
      return damaged("its timestamps");
    }
    const std::uint64_t bits = std::uint64_t{head_.rows} * (head_.second_bits + head_.counter_bits);
    times_ = in_.raw((bits + 7) / 8);
    head_.times_at = place(times_.data());
    if (in_.failed()) return damaged("its timestamps");
    return {};
  }

  Timestamp newest(std::uint32_t row) const {
    const unsigned width = head_.second_bits + head_.counter_bits;
    const std::uint64_t bits = get_bits(times_.data(), std::uint64_t{row} * width, width);
    const std::uint64_t counter = bits & ((std::uint64_t{1} << head_.counter_bits) - 1);
    return make_time({.seconds = head_.base_seconds + (bits >> head_.counter_bits),
                      .counter = head_.base_counter + counter});
  }

  bool take_row(std::uint32_t row) {
    std::byte* base = memory_.data();
    const std::uint32_t at = place(in_.at());
    if (layout_.wide) {
      store(base + layout_.offsets_at + row * 4, at);
    } else {
      store(base + layout_.offsets_at + row * 2, static_cast<std::uint16_t>(at));
    }
    const ByteSpan middle = in_.raw(head_.one_key_size ? head_.key_size : in_.varint());
    const std::uint8_t kind = head_.one_kind ? head_.kind : in_.fixed<std::uint8_t>();
    if (in_.failed() || !check_row(in_, types_, kind, newest(row), hunks_)) return false;
    key_.resize(prefix_.size());
    key_.append(as_text(middle)).append(suffix_);
    base[sizeof(RowBlockHead) + row] = static_cast<std::byte>(hash_mark(key_hash(as_bytes(key_))));
    return true;
  }

  const StoredBlock& stored_;
  const Layout layout_;
  Buffer memory_;
  VarintReader in_;
  const CellTypes types_;
  RowBlockHead head_;
  ByteSpan prefix_;
  std::string_view suffix_;
  ByteSpan times_;
  std::string key_;
  std::vector<const std::byte*> hunks_;
};

// Sets the high bits of those of eight bytes that equal the hash's mark, and sometimes of a byte
// above one.
std::uint64_t equal_marks(const std::byte* marks, std::uint64_t hash) {
  const std::uint64_t differing = load<std::uint64_t>(marks) ^ kLowBits * hash_mark(hash);
  return (differing - kLowBits) & ~differing & kHighBits;
}

bool same(const std::byte* a, const std::byte* b, std::size_t size) {
  return std::memcmp(a, b, size) == 0;
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

Result<Slice> open_row_block(const StoredBlock& stored, CellTypes types, const HunkPlaces& hunks) {
  if (stored.rows == 0 || stored.rows > kBlockRowsMax || stored.raw_bytes > kCodecBytesMax ||
      stored.rows > stored.raw_bytes) {
    return damaged("its size");
  }
  return Opener(stored, types).run(hunks);
}

Timestamp RowBlock::newest(std::uint32_t row) const {
  const RowBlockHead& h = head();
  const unsigned width = h.second_bits + h.counter_bits;
  const std::uint64_t bits = get_bits(base_ + h.times_at, std::uint64_t{row} * width, width);
  const std::uint64_t counter = bits & ((std::uint64_t{1} << h.counter_bits) - 1);
  return make_time(
      {.seconds = h.base_seconds + (bits >> h.counter_bits), .counter = h.base_counter + counter});
}

bool RowBlock::equals(std::uint32_t row, ByteSpan key) const {
  const RowBlockHead& h = head();
  const Place at = place(row);
  if (key.size() != h.prefix_size + at.middle.size() + h.suffix_size) return false;
  const std::byte* middle = key.data() + h.prefix_size;
  return same(middle, at.middle.data(), at.middle.size()) &&
         same(key.data(), base_ + h.prefix_at, h.prefix_size) &&
         same(middle + at.middle.size(), base_ + h.suffix_at, h.suffix_size);
}

std::uint32_t RowBlock::find(ByteSpan key, std::uint64_t hash) const {
  const std::uint32_t count = rows();
  const std::byte* marks = base_ + sizeof(RowBlockHead);
  for (std::uint32_t from = 0; from < count; from += 8) {
    for (std::uint64_t hits = equal_marks(marks + from, hash); hits != 0; hits &= hits - 1) {
      const std::uint32_t row = from + static_cast<std::uint32_t>(std::countr_zero(hits)) / 8;
      if (row < count && equals(row, key)) return row;
    }
  }
  return kNone;
}

void RowBlock::prefetch_row(std::uint64_t hash) const {
  const RowBlockHead& h = head();
  const std::byte* marks = base_ + sizeof(RowBlockHead);
  for (std::uint32_t from = 0; from < h.rows; from += 8) {
    const std::uint64_t hits = equal_marks(marks + from, hash);
    if (hits == 0) continue;
    const std::uint32_t row = from + static_cast<std::uint32_t>(std::countr_zero(hits)) / 8;
    if (row >= h.rows) return;
    const std::byte* offsets = base_ + h.offsets_at;
    const std::byte* at = base_ + (h.wide_offsets ? load<std::uint32_t>(offsets + row * 4)
                                                  : load<std::uint16_t>(offsets + row * 2));
    __builtin_prefetch(at);
    __builtin_prefetch(at + 64);
    __builtin_prefetch(base_ + h.times_at + row * (h.second_bits + h.counter_bits) / 8);
    return;
  }
}

std::uint32_t RowBlock::lower_bound(ByteSpan key) const {
  const RowBlockHead& h = head();
  const ByteSpan prefix(base_ + h.prefix_at, h.prefix_size);
  const ByteSpan suffix(base_ + h.suffix_at, h.suffix_size);
  const ByteSpan begin = key.first(std::min<std::size_t>(key.size(), h.prefix_size));
  if (const auto order = compare_keys(begin, prefix); order != 0) return order < 0 ? 0 : h.rows;
  const ByteSpan rest = key.subspan(h.prefix_size);
  const auto below = [&](std::uint32_t row) {
    const ByteSpan middle = place(row).middle;
    const ByteSpan front = rest.first(std::min(rest.size(), middle.size()));
    if (const auto order = compare_keys(middle, front); order != 0) return order < 0;
    return compare_keys(suffix, rest.subspan(front.size())) < 0;
  };
  std::uint32_t low = 0;
  std::uint32_t high = h.rows;
  while (low < high) {
    const std::uint32_t mid = low + (high - low) / 2;
    if (below(mid)) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  return low;
}

void RowBlock::key(std::uint32_t row, std::string& out) const {
  const RowBlockHead& h = head();
  const ByteSpan middle = place(row).middle;
  out.resize(h.prefix_size + middle.size() + h.suffix_size);
  std::memcpy(out.data(), base_ + h.prefix_at, h.prefix_size);
  std::memcpy(out.data() + h.prefix_size, middle.data(), middle.size());
  std::memcpy(out.data() + h.prefix_size + middle.size(), base_ + h.suffix_at, h.suffix_size);
}

bool RowBlock::read(std::uint32_t row, const ReadPlan& plan, const ReadSpec& spec,
                    RowBuilder& out) const {
  const RowBlockHead& h = head();
  const std::byte* at = place(row).after;
  const std::uint8_t kind = h.one_kind ? h.kind : static_cast<std::uint8_t>(*at++);
  return read_row(at, kind, plan, newest(row), spec, out);
}

}  // namespace moraine::table
