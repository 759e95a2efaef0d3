#include "table/chunk/filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "base/coding.h"

namespace moraine::table {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kHeaderBytes = 14;
constexpr unsigned kSeedsMax = 100;

// The sizes for which peeling nearly always succeeds, by Graf and Lemire's measurements.
KeyFilter::Shape shape_of(std::size_t keys) {
  KeyFilter::Shape shape;
  const double logarithm = std::log(static_cast<double>(std::max<std::size_t>(keys, 2)));
  const auto bits = static_cast<unsigned>(std::floor(logarithm / std::log(3.33) + 2.25));
  shape.segment_bits = std::min(bits, kFilterSegmentBitsMax);
  const double factor = std::max(1.125, 0.875 + 0.25 * std::log(1e6) / logarithm);
  const auto cells = static_cast<std::size_t>(std::ceil(static_cast<double>(keys) * factor));
  const std::size_t length = std::size_t{1} << shape.segment_bits;
  const std::size_t all = (cells + length - 1) / length;
  shape.segments = static_cast<std::uint32_t>(all <= 3 ? 1 : all - 2);
  return shape;
}

struct Cell {
  std::uint64_t hashes = 0;  // Xor of the hashes that may be placed here.
  std::uint32_t count = 0;
};
struct Peeled {
  std::uint64_t hash = 0;
  std::uint32_t place = 0;
};

// An order in which each hash gets a cell of its own; nullopt: none exists.
std::optional<std::vector<Peeled>> peel(const KeyFilter::Shape& shape,
                                        const std::vector<std::uint64_t>& hashes) {
  std::vector<Cell> cells(shape.cells());
  const auto change = [&cells](std::uint32_t place, std::uint64_t hash, std::uint32_t by) {
    cells[place].hashes ^= hash;
    cells[place].count += by;
    return cells[place].count == 1;
  };
  for (const std::uint64_t hash : hashes) {
    const KeyFilter::Places at = shape.places(hash);
    for (const std::uint32_t place : {at.first, at.second, at.third}) change(place, hash, 1);
  }
  std::vector<std::uint32_t> alone;
  for (std::uint32_t place = 0; place < cells.size(); ++place) {
    if (cells[place].count == 1) alone.push_back(place);
  }
  std::vector<Peeled> order;
  order.reserve(hashes.size());
  while (!alone.empty()) {
    const std::uint32_t place = alone.back();
    alone.pop_back();
    if (cells[place].count != 1) continue;
    const std::uint64_t hash = cells[place].hashes;
    order.push_back({hash, place});
    const KeyFilter::Places at = shape.places(hash);
    for (const std::uint32_t other : {at.first, at.second, at.third}) {
      if (change(other, hash, ~std::uint32_t{0})) alone.push_back(other);
    }
  }
  if (order.size() != hashes.size()) return std::nullopt;
  return order;
}

std::string encode(const KeyFilter::Shape& shape, const std::vector<Peeled>& order) {
  std::string out(kHeaderBytes + shape.cells(), '\0');
  auto* bytes = reinterpret_cast<std::byte*>(out.data());
  store(bytes, kVersion);
  store(bytes + 1, shape.seed);
  store(bytes + 9, static_cast<std::uint8_t>(shape.segment_bits));
  store(bytes + 10, shape.segments);
  auto* cells = reinterpret_cast<std::uint8_t*>(bytes + kHeaderBytes);
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const KeyFilter::Places at = shape.places(it->hash);
    cells[it->place] = 0;
    const auto others =
        static_cast<std::uint8_t>(cells[at.first] ^ cells[at.second] ^ cells[at.third]);
    cells[it->place] = static_cast<std::uint8_t>(others ^ at.fingerprint);
  }
  return out;
}

}  // namespace

std::string build_filter(std::vector<std::uint64_t> hashes) {
  std::ranges::sort(hashes);
  const auto repeated = std::ranges::unique(hashes);
  hashes.erase(repeated.begin(), repeated.end());
  KeyFilter::Shape shape = shape_of(hashes.size());
  if (shape.segments > kFilterSegmentsMax) return {};
  for (unsigned attempt = 0; attempt < kSeedsMax; ++attempt) {
    shape.seed += 0x9e3779b97f4a7c15;
    if (const auto order = peel(shape, hashes)) return encode(shape, *order);
  }
  return {};
}

Result<KeyFilter> KeyFilter::open(Slice bytes) {
  KeyFilter filter;
  if (bytes.empty()) return filter;
  Decoder in(bytes);
  const std::uint8_t version = in.u8();
  if (version != kVersion) {
    return fail(Errc::kUnsupported, fmt::format("key filter of version {}", version));
  }
  filter.shape_.seed = in.u64();
  filter.shape_.segment_bits = in.u8();
  filter.shape_.segments = in.u32();
  if (in.failed() || filter.shape_.segment_bits > kFilterSegmentBitsMax ||
      filter.shape_.segments == 0 || filter.shape_.segments > kFilterSegmentsMax ||
      in.remaining() != filter.shape_.cells()) {
    return fail(Errc::kCorrupt, "key filter's sizes");
  }
  filter.cells_ = reinterpret_cast<const std::uint8_t*>(bytes.data() + kHeaderBytes);
  filter.memory_ = std::move(bytes);
  return filter;
}

}  // namespace moraine::table
