#include "query/function/sketch.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/coding.h"
#include "expression/farm_hash.h"

namespace moraine::query {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kRegisters = 1;  // As a form.
constexpr std::size_t kHeaderBytes = 3;
constexpr std::size_t kFirstSlots = 8;
constexpr std::uint8_t kLevelMax = 48;

// Series of the estimator, for the share of registers that are empty and of those that are full
// (Ertl, "New cardinality estimation algorithms for HyperLogLog sketches", 2017).
double empty_share(double x) {
  if (x == 1) return std::numeric_limits<double>::infinity();
  double sum = x;
  double factor = 1;
  for (double before = -1; sum != before; factor += factor) {
    before = sum;
    x *= x;
    sum += x * factor;
  }
  return sum;
}
double full_share(double x) {
  if (x == 0 || x == 1) return 0;
  double rest = 1 - x;
  double factor = 1;
  for (double before = -1; rest != before;) {
    before = rest;
    x = std::sqrt(x);
    factor /= 2;
    rest -= (1 - x) * (1 - x) * factor;
  }
  return rest / 3;
}

std::unexpected<Error> malformed(std::string_view what) {
  return fail(Errc::kInvalidArgument, "a state of distinct values " + std::string(what));
}

// Those of uniq's sample have equal lower bits.
std::size_t place_of(std::uint64_t hash) {
  hash = (hash ^ (hash >> 32)) * 0x9e3779b97f4a7c15;
  return hash >> 32;
}

bool has_level(std::uint64_t hash, std::uint8_t level) {
  return (hash & ((std::uint64_t{1} << level) - 1)) == 0;
}

}  // namespace

std::uint64_t sketch_hash(std::span<const Value> values) {
  FarmHasher hasher;
  for (const Value& value : values) {
    const bool zero = value.type() == ValueType::kDouble && value.as_double() == 0;
    hasher.add(zero ? Value(0.0) : value);
  }
  return std::max<std::uint64_t>(hasher.finish(), 1);
}

std::size_t Sketch::hashes_max() const {
  return precision_ == kUniq ? kUniqHashesMax : std::size_t{1} << (precision_ - 3);
}

void Sketch::add(std::uint64_t hash) {
  if (!registers_.empty()) {
    add_to_registers(hash);
  } else if (has_level(hash, level_)) {
    insert(hash);
  }
}

void Sketch::insert(std::uint64_t hash) {
  if (slots_.empty()) slots_.resize(kFirstSlots);
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = place_of(hash) & mask;
  while (slots_[at] != 0) {
    if (slots_[at] == hash) return;
    at = (at + 1) & mask;
  }
  slots_[at] = hash;
  ++used_;
  if (used_ > hashes_max()) {
    if (precision_ == kUniq) {
      raise_level();
    } else {
      make_registers();
    }
  } else if (used_ * 2 > slots_.size()) {
    grow();
  }
}

void Sketch::grow() {
  std::vector<std::uint64_t> old(slots_.size() * 2);
  old.swap(slots_);
  used_ = 0;
  for (const std::uint64_t hash : old) {
    if (hash != 0) insert(hash);
  }
}

void Sketch::raise_level() {
  std::vector<std::uint64_t> hashes;
  hashes.swap(slots_);
  // A level more leaves out half of them, as a rule.
  do {
    ++level_;
    std::erase_if(hashes,
                  [&](std::uint64_t hash) { return hash == 0 || !has_level(hash, level_); });
  } while (hashes.size() > kUniqHashesMax);
  used_ = 0;
  for (const std::uint64_t hash : hashes) insert(hash);
}

void Sketch::make_registers() {
  registers_.resize(std::size_t{1} << precision_);
  for (const std::uint64_t hash : slots_) {
    if (hash != 0) add_to_registers(hash);
  }
  slots_ = {};
  used_ = 0;
}

void Sketch::add_to_registers(std::uint64_t hash) {
  const std::size_t at = hash >> (64 - precision_);
  // Leading zeros of the other bits, and one; a bit behind them ends the run.
  const std::uint64_t rest = (hash << precision_) | (std::uint64_t{1} << (precision_ - 1));
  const auto rank = static_cast<std::uint8_t>(std::countl_zero(rest) + 1);
  registers_[at] = std::max(registers_[at], rank);
}

void Sketch::merge(const Sketch& other) {
  if (precision_ != kUniq && !other.registers_.empty()) {
    if (registers_.empty()) make_registers();
    for (std::size_t i = 0; i < registers_.size(); ++i) {
      registers_[i] = std::max(registers_[i], other.registers_[i]);
    }
    return;
  }
  if (other.level_ > level_) {
    // What the other has left out, this one leaves out too.
    std::vector<std::uint64_t> old;
    old.swap(slots_);
    used_ = 0;
    level_ = other.level_;
    for (const std::uint64_t hash : old) {
      if (hash != 0) add(hash);
    }
  }
  for (const std::uint64_t hash : other.slots_) {
    if (hash != 0) add(hash);
  }
}

Result<void> Sketch::merge_state(std::string_view state) {
  if (state.size() < kHeaderBytes || static_cast<std::uint8_t>(state[0]) != kVersion) {
    return malformed("has no version that this program knows");
  }
  const auto kind = static_cast<std::uint8_t>(state[1]);
  const auto form = static_cast<std::uint8_t>(state[2]);
  if (kind != precision_) {
    return malformed(kind == kUniq ? "was made by uniq_state, not by hll_N_state"
                                   : "has another precision, or was not made by uniq_state");
  }
  Sketch other(precision_);
  state.remove_prefix(kHeaderBytes);
  if (kind != kUniq && form == kRegisters) {
    if (state.size() != std::size_t{1} << precision_) return malformed("has a wrong size");
    other.registers_.assign(state.begin(), state.end());
    const auto most = static_cast<std::uint8_t>(65 - precision_);
    if (std::ranges::max(other.registers_) > most) return malformed("has a wrong register");
    merge(other);
    return {};
  }
  if (form > (kind == kUniq ? kLevelMax : 0)) return malformed("has an unknown form");
  other.level_ = form;
  const std::size_t count = state.size() / sizeof(std::uint64_t);
  if (state.size() % sizeof(std::uint64_t) != 0 || count > hashes_max()) {
    return malformed("has a wrong size");
  }
  Decoder hashes(as_bytes(state));
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t hash = hashes.u64();
    if (hash <= before || !has_level(hash, form)) return malformed("has a wrong hash");
    before = hash;
    other.insert(hash);
  }
  merge(other);
  return {};
}

std::uint64_t Sketch::estimate() const {
  const int longest = 64 - precision_;
  std::vector<std::size_t> counts(static_cast<std::size_t>(longest) + 2);
  for (const std::uint8_t value : registers_) ++counts[value];
  const auto registers = static_cast<double>(registers_.size());
  double sum = registers * full_share(1 - static_cast<double>(counts.back()) / registers);
  for (int rank = longest; rank >= 1; --rank) {
    sum = (sum + static_cast<double>(counts[static_cast<std::size_t>(rank)])) / 2;
  }
  sum += registers * empty_share(static_cast<double>(counts[0]) / registers);
  return static_cast<std::uint64_t>(
      std::llround(registers * registers / (2 * std::numbers::ln2 * sum)));
}

std::uint64_t Sketch::count() const {
  if (!registers_.empty()) return estimate();
  return std::uint64_t{used_} << level_;
}

std::string Sketch::state() const {
  const bool dense = !registers_.empty();
  Encoder out;
  out.u8(kVersion).u8(precision_).u8(dense ? kRegisters : level_);
  out.raw(std::as_bytes(std::span(registers_)));
  std::vector<std::uint64_t> hashes;
  for (const std::uint64_t hash : slots_) {
    if (hash != 0) hashes.push_back(hash);
  }
  std::ranges::sort(hashes);
  for (const std::uint64_t hash : hashes) out.u64(hash);
  return std::string(as_text(out.span()));
}

}  // namespace moraine::query
