#include "blob/group/erasure.h"

#include <isa-l/erasure_code.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/invariant.h"
#include "blob/blob_id.h"

namespace moraine::blob {
namespace {

constexpr std::uint32_t kDataParts = 4;
constexpr std::uint32_t kParityParts = 2;
constexpr std::uint32_t kAllParts = kDataParts + kParityParts;
constexpr std::uint32_t kRow = kDataParts * kColumnUnit;  // Blob bytes of one column unit.
constexpr std::uint32_t kParitySet = 0b110000;
constexpr std::uint32_t kDataSet = 0b001111;

static_assert(kAllParts == kPartsMax);

using Sources = std::array<const std::byte*, kDataParts>;
using Targets = std::array<std::byte*, kParityParts>;

std::uint32_t count(std::uint32_t set) {
  return static_cast<std::uint32_t>(std::popcount(set));
}
bool has(std::uint32_t set, std::uint32_t index) {
  return (set >> index & 1) != 0;
}

// For each choice of four source parts: the tables from which ISA-L computes the two others.
class Tables {
 public:
  static const Tables& get() {
    static const Tables tables;
    return tables;
  }

  // Computes bytes of the parts in `wanted` (a subset of the complement of `from`, in part order)
  // from the parts in `from`. Requires: `from` has four parts.
  void apply(std::uint32_t from, std::uint32_t wanted, std::size_t size, const Sources& sources,
             const Targets& targets) const {
    if (size == 0 || wanted == 0) return;
    const std::uint32_t others = ~from & (kParitySet | kDataSet);
    // The tables of the two others are adjacent, so that both can be computed in one pass.
    const bool skips_first = !has(wanted, static_cast<std::uint32_t>(std::countr_zero(others)));
    const unsigned char* table = tables_[from].data() + (skips_first ? kTableBytes : 0);
    std::array<unsigned char*, kDataParts> in{};
    std::array<unsigned char*, kParityParts> out{};
    for (std::uint32_t i = 0; i < kDataParts; ++i) {
      in[i] = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(sources[i]));
    }
    for (std::uint32_t i = 0; i < kParityParts; ++i) {
      out[i] = reinterpret_cast<unsigned char*>(targets[i]);
    }
    ec_encode_data(static_cast<int>(size), kDataParts, static_cast<int>(count(wanted)),
                   const_cast<unsigned char*>(table), in.data(), out.data());
  }

 private:
  static constexpr std::size_t kTableBytes = 32 * kDataParts;
  using Matrix = std::array<unsigned char, kDataParts * kDataParts>;

  Tables() {
    std::array<unsigned char, kAllParts * kDataParts> code{};
    gf_gen_rs_matrix(code.data(), kAllParts, kDataParts);
    for (std::uint32_t from = 0; from < tables_.size(); ++from) {
      if (count(from) == kDataParts) init(code.data(), from);
    }
  }

  void init(const unsigned char* code, std::uint32_t from) {
    Matrix chosen{};
    std::uint32_t row = 0;
    for (std::uint32_t part = 0; part < kAllParts; ++part) {
      if (has(from, part)) std::copy_n(code + part * kDataParts, kDataParts, &chosen[4 * row++]);
    }
    Matrix to_data{};
    const int singular = gf_invert_matrix(chosen.data(), to_data.data(), kDataParts);
    INVARIANT(singular == 0, "the blob cannot be restored from parts {:06b}", from);

    std::array<unsigned char, kParityParts * kDataParts> rows{};
    std::uint32_t at = 0;
    for (std::uint32_t part = 0; part < kAllParts; ++part) {
      if (has(from, part)) continue;
      for (std::uint32_t source = 0; source < kDataParts; ++source, ++at) {
        for (std::uint32_t data = 0; data < kDataParts; ++data) {
          rows[at] ^= gf_mul(code[part * kDataParts + data], to_data[data * kDataParts + source]);
        }
      }
    }
    ec_init_tables(kDataParts, kParityParts, rows.data(), tables_[from].data());
  }

  std::array<std::array<unsigned char, kParityParts * kTableBytes>, 1 << kAllParts> tables_{};
};

// New parts of one size in one block, each aligned like a separate Buffer.
class FreshParts {
 public:
  FreshParts(std::uint32_t parts, std::uint32_t part_size)
      : stride_(part_size >= kAlignment ? align_up(part_size, kAlignment) : part_size),
        part_size_(part_size),
        buffer_(parts * stride_) {}

  std::byte* data(std::uint32_t index) { return buffer_.data() + index * stride_; }
  void freeze() { slice_ = std::move(buffer_).freeze(); }
  Slice slice(std::uint32_t index) const { return slice_.sub(index * stride_, part_size_); }

 private:
  std::size_t stride_;
  std::size_t part_size_;
  Buffer buffer_;
  Slice slice_;
};

std::uint32_t parts_at_hand(const PartSet& parts) {
  std::uint32_t set = 0;
  for (std::uint32_t i = 0; i < kAllParts; ++i) set |= parts[i].empty() ? 0 : 1u << i;
  return set;
}

// The first four of a set of parts.
Result<std::uint32_t> choose_sources(std::uint32_t at_hand) {
  if (count(at_hand) < kDataParts) {
    return fail(Errc::kNotFound,
                fmt::format("{} parts available, {} are needed to restore the blob", count(at_hand),
                            kDataParts));
  }
  while (count(at_hand) > kDataParts) at_hand &= ~std::bit_floor(at_hand);
  return at_hand;
}

Sources source_pointers(const PartSet& parts, std::uint32_t from, std::size_t offset = 0) {
  Sources sources{};
  std::uint32_t next = 0;
  for (std::uint32_t i = 0; i < kAllParts; ++i) {
    if (has(from, i)) sources[next++] = parts[i].data() + offset;
  }
  return sources;
}

Result<void> check_sizes(Species species, std::uint32_t blob_size, const PartSet& parts) {
  if (blob_size == 0 || blob_size > kBlobSizeFieldMax) {
    return fail(Errc::kInvalidArgument, fmt::format("the blob size {} is out of range", blob_size));
  }
  const std::uint32_t expected = stored_part_size(species, blob_size);
  for (std::uint32_t i = 0; i < kAllParts; ++i) {
    if (parts[i].empty() || parts[i].size() == expected) continue;
    return fail(Errc::kCorrupt,
                fmt::format("part {} of a blob of {} bytes has {} bytes, expected {}", i + 1,
                            blob_size, parts[i].size(), expected));
  }
  return {};
}

// A copy of the whole blob, for the species in which each part is one.
Result<Slice> any_replica(Species species, const PartSet& parts) {
  const std::uint32_t replicas = species == Species::kNone ? 1 : 3;
  for (std::uint32_t i = 0; i < replicas; ++i) {
    if (!parts[i].empty()) return parts[i];
  }
  return fail(Errc::kNotFound, "no replica is available");
}

// Requires: `padded` has room for `part_size` bytes.
void copy_padded(const Slice& blob, PartRange range, std::uint32_t part_size, std::byte* padded) {
  if (range.size > 0) std::memcpy(padded, blob.data() + range.offset, range.size);
  std::memset(padded + range.size, 0, part_size - range.size);
}

std::vector<Slice> split_block42(const Slice& blob) {
  const auto size = static_cast<std::uint32_t>(blob.size());
  const std::uint32_t part_size = stored_part_size(Species::kBlock42, size);
  std::array<PartRange, kDataParts> ranges{};
  std::uint32_t short_slices = 0;
  for (std::uint32_t i = 0; i < kDataParts; ++i) {
    ranges[i] = data_slice(size, i + 1);
    if (ranges[i].size != part_size) short_slices |= 1u << i;
  }
  // In part order: the padded copies of short slices, then the parity.
  FreshParts fresh(count(short_slices) + kParityParts, part_size);
  Sources sources{};
  std::uint32_t next = 0;
  for (std::uint32_t i = 0; i < kDataParts; ++i) {
    sources[i] = has(short_slices, i) ? fresh.data(next) : blob.data() + ranges[i].offset;
    if (has(short_slices, i)) copy_padded(blob, ranges[i], part_size, fresh.data(next++));
  }
  Tables::get().apply(kDataSet, kParitySet, part_size, sources,
                      {fresh.data(next), fresh.data(next + 1)});

  fresh.freeze();
  std::vector<Slice> parts;
  parts.reserve(kAllParts);
  next = 0;
  for (std::uint32_t i = 0; i < kAllParts; ++i) {
    const bool shared = has(kDataSet & ~short_slices, i);
    parts.push_back(shared ? blob.sub(ranges[i].offset, part_size) : fresh.slice(next++));
  }
  return parts;
}

// Computes the lost data parts directly into their place in the blob.
void restore_into(std::byte* blob, std::uint32_t blob_size, const PartSet& parts,
                  std::uint32_t from) {
  std::uint32_t lost = kDataSet & ~from;
  std::array<PartRange, kParityParts> ranges{};
  Targets targets{};
  std::uint32_t lost_count = 0;
  for (std::uint32_t i = 0; i < kDataParts; ++i) {
    if (!has(lost, i)) continue;
    ranges[lost_count] = data_slice(blob_size, i + 1);
    targets[lost_count] = blob + ranges[lost_count].offset;
    ++lost_count;
  }
  // Two lost slices may differ in length: both up to the shorter length, then the longer one alone.
  const std::uint32_t together = lost_count == 2 ? std::min(ranges[0].size, ranges[1].size) : 0;
  if (lost_count == 2)
    Tables::get().apply(from, lost, together, source_pointers(parts, from), targets);
  for (std::uint32_t i = 0; i < lost_count; ++i, lost &= lost - 1) {
    const std::uint32_t one = lost & ~(lost - 1);
    Tables::get().apply(from, one, ranges[i].size - together,
                        source_pointers(parts, from, together), {targets[i] + together});
  }
}

Result<Slice> join_block42(std::uint32_t blob_size, const PartSet& parts) {
  TRY(const std::uint32_t from, choose_sources(parts_at_hand(parts)));
  Buffer blob(blob_size);
  for (std::uint32_t i = 0; i < kDataParts; ++i) {
    const PartRange range = data_slice(blob_size, i + 1);
    if (!has(from, i) || range.size == 0) continue;
    std::memcpy(blob.data() + range.offset, parts[i].data(), range.size);
  }
  restore_into(blob.data(), blob_size, parts, from);
  return std::move(blob).freeze();
}

// The bytes of all missing parts in `wanted` (bit part-1), from equally long bytes of any four.
Result<void> restore_block42(PartSet& parts, std::size_t size, std::uint32_t wanted) {
  const std::uint32_t at_hand = parts_at_hand(parts);
  const std::uint32_t missing = wanted & ~at_hand;
  if (missing == 0) return {};
  TRY(const std::uint32_t from, choose_sources(at_hand));
  FreshParts fresh(count(missing), static_cast<std::uint32_t>(size));
  const Targets targets{fresh.data(0), count(missing) == 2 ? fresh.data(1) : nullptr};
  Tables::get().apply(from, missing, size, source_pointers(parts, from), targets);
  fresh.freeze();
  std::uint32_t next = 0;
  for (std::uint32_t i = 0; i < kAllParts; ++i) {
    if (has(missing, i)) parts[i] = fresh.slice(next++);
  }
  return {};
}

}  // namespace

std::uint32_t stored_part_size(Species species, std::uint32_t size) {
  if (species != Species::kBlock42) return size;
  return (size / kRow + (size % kRow != 0)) * kColumnUnit;
}

PartRange data_slice(std::uint32_t blob_size, std::uint32_t part) {
  INVARIANT(part >= 1 && part <= kDataParts, "part {} is no data part", part);
  const std::uint32_t even = blob_size / kRow * kColumnUnit;
  const std::uint32_t rest = blob_size % kRow;
  const std::uint32_t before = part - 1;
  const std::uint32_t units = std::min(rest / kColumnUnit, kDataParts - 1);
  PartRange range;
  range.offset = before * even + std::min(before, units) * kColumnUnit;
  range.size =
      part == kDataParts ? blob_size - range.offset : even + (before < units ? kColumnUnit : 0);
  return range;
}

std::vector<Slice> split(Species species, const Slice& blob) {
  INVARIANT(!blob.empty() && blob.size() <= kBlobSizeFieldMax, "a blob of {} bytes", blob.size());
  if (species == Species::kBlock42) return split_block42(blob);
  return std::vector<Slice>(species == Species::kNone ? 1 : 3, blob);
}

Result<Slice> join(Species species, std::uint32_t blob_size, const PartSet& parts) {
  TRY_VOID(check_sizes(species, blob_size, parts));
  if (species == Species::kBlock42) return join_block42(blob_size, parts);
  return any_replica(species, parts);
}

Result<void> restore_parts(Species species, std::uint32_t blob_size, PartSet& parts,
                           std::uint32_t wanted) {
  TRY_VOID(check_sizes(species, blob_size, parts));
  if (species == Species::kBlock42) {
    INVARIANT(wanted >> kAllParts == 0, "parts {:b} of block-4-2", wanted);
    return restore_block42(parts, stored_part_size(species, blob_size), wanted);
  }
  const std::uint32_t replicas = species == Species::kNone ? 1 : 3;
  INVARIANT(wanted >> replicas == 0, "parts {:b} of {}", wanted, to_string(species));
  if ((wanted & ~parts_at_hand(parts)) == 0) return {};
  TRY(const Slice replica, any_replica(species, parts));
  for (std::uint32_t i = 0; i < replicas; ++i) {
    if (has(wanted, i) && parts[i].empty()) parts[i] = replica;
  }
  return {};
}

Result<Slice> restore_column(std::uint32_t wanted_part, const PartSet& columns) {
  INVARIANT(wanted_part >= 1 && wanted_part <= kAllParts, "part {} of block-4-2", wanted_part);
  std::size_t size = 0;
  for (const Slice& column : columns) {
    if (column.empty()) continue;
    if (size != 0 && column.size() != size) {
      return fail(Errc::kCorrupt, fmt::format("columns of {} and {} bytes", size, column.size()));
    }
    size = column.size();
  }
  PartSet parts = columns;
  TRY_VOID(restore_block42(parts, size, 1u << (wanted_part - 1)));
  return parts[wanted_part - 1];
}

}  // namespace moraine::blob
