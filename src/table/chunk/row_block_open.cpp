#include <fmt/format.h>

#include <cstring>

#include "table/chunk/row_block.h"
#include "table/chunk/row_block_layout.h"
#include "table/memory/memory_store.h"

namespace moraine::table {
namespace {

constexpr std::size_t kMarksAlignment = 8;
constexpr unsigned kSecondBitsMax = 64 - kTimestampCounterBits;

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

}  // namespace

Result<Slice> open_row_block(const StoredBlock& stored, CellTypes types, const HunkPlaces& hunks) {
  if (stored.rows == 0 || stored.rows > kBlockRowsMax || stored.raw_bytes > kCodecBytesMax ||
      stored.rows > stored.raw_bytes) {
    return damaged("its size");
  }
  return Opener(stored, types).run(hunks);
}

}  // namespace moraine::table
