#include "expression/farm_hash.h"

#include <bit>
#include <cstring>
#include <utility>

namespace moraine {
namespace {

constexpr std::uint64_t kMix = 0x9ddfea08eb382d69;
constexpr std::uint64_t k0 = 0xc3a5c85c97cb3127;
constexpr std::uint64_t k1 = 0xb492b66fbe98f273;
constexpr std::uint64_t k2 = 0x9ae16a3b2f90404f;

struct Pair {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};

std::uint64_t u64(const char* at) {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}
std::uint64_t u32(const char* at) {
  std::uint32_t word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}
std::uint64_t rotate(std::uint64_t word, int bits) {
  return std::rotr(word, bits);
}
std::uint64_t shift_mix(std::uint64_t word) {
  return word ^ (word >> 47);
}

std::uint64_t mix(std::uint64_t u, std::uint64_t v, std::uint64_t multiplier) {
  const std::uint64_t a = shift_mix((u ^ v) * multiplier);
  return shift_mix((v ^ a) * multiplier) * multiplier;
}

std::uint64_t finish_word(std::uint64_t word) {
  word ^= word >> 44;
  word *= kMix;
  word ^= word >> 41;
  return word * kMix;
}
std::uint64_t hash_word(std::uint64_t word) {
  return finish_word(word * kMix);
}
std::uint64_t combine(std::uint64_t low, std::uint64_t high) {
  const std::uint64_t a = shift_mix((low ^ high) * kMix);
  return finish_word((high ^ a) * kMix);
}

std::uint64_t hash_to_16(const char* s, std::size_t n) {
  const std::uint64_t multiplier = k2 + 2 * n;
  if (n >= 8) {
    const std::uint64_t a = u64(s) + k2;
    const std::uint64_t b = u64(s + n - 8);
    return mix(rotate(b, 37) * multiplier + a, (rotate(a, 25) + b) * multiplier, multiplier);
  }
  if (n >= 4) return mix(n + 8 * u32(s), u32(s + n - 4), multiplier);
  if (n == 0) return k2;
  const auto byte = [s](std::size_t i) { return std::uint64_t{static_cast<std::uint8_t>(s[i])}; };
  const std::uint64_t y = byte(0) + (byte(n / 2) << 8);
  const std::uint64_t z = n + 4 * byte(n - 1);
  return shift_mix((y * k2) ^ (z * k0)) * k2;
}

std::uint64_t hash_to_32(const char* s, std::size_t n) {
  const std::uint64_t multiplier = k2 + 2 * n;
  const std::uint64_t a = u64(s) * k1;
  const std::uint64_t b = u64(s + 8);
  const std::uint64_t c = u64(s + n - 8) * multiplier;
  const std::uint64_t d = u64(s + n - 16) * k2;
  return mix(rotate(a + b, 43) + rotate(c, 30) + d, a + rotate(b + k2, 18) + c, multiplier);
}

std::uint64_t hash_to_64(const char* s, std::size_t n) {
  const std::uint64_t multiplier = k2 + 2 * n;
  const std::uint64_t a = u64(s) * k2;
  const std::uint64_t b = u64(s + 8);
  const std::uint64_t c = u64(s + n - 8) * multiplier;
  const std::uint64_t d = u64(s + n - 16) * k2;
  const std::uint64_t y = rotate(a + b, 43) + rotate(c, 30) + d;
  const std::uint64_t z = mix(y, a + rotate(b + k2, 18) + c, multiplier);
  const std::uint64_t e = u64(s + 16) * multiplier;
  const std::uint64_t f = u64(s + 24);
  const std::uint64_t g = (y + u64(s + n - 32)) * multiplier;
  const std::uint64_t h = (z + u64(s + n - 24)) * multiplier;
  return mix(rotate(e + f, 43) + rotate(g, 30) + h, e + rotate(f + a, 18) + g, multiplier);
}

Pair weak_hash(const char* s, std::uint64_t a, std::uint64_t b) {
  const std::uint64_t z = u64(s + 24);
  a += u64(s);
  b = rotate(b + a + z, 21);
  const std::uint64_t c = a;
  a += u64(s + 8) + u64(s + 16);
  b += rotate(a, 44);
  return {a + z, b + c};
}

std::uint64_t hash_long(const char* s, std::size_t n) {
  std::uint64_t x = 81;
  std::uint64_t y = 81 * k1 + 113;
  std::uint64_t z = shift_mix(y * k2 + 113) * k2;
  Pair v;
  Pair w;
  x = x * k2 + u64(s);
  const char* const last = s + n - 64;
  const char* const end = s + (n - 1) / 64 * 64;
  for (; s != end; s += 64) {
    x = rotate(x + y + v.first + u64(s + 8), 37) * k1;
    y = rotate(y + v.second + u64(s + 48), 42) * k1;
    x ^= w.second;
    y += v.first + u64(s + 40);
    z = rotate(z + w.first, 33) * k1;
    v = weak_hash(s, v.second * k1, x + w.first);
    w = weak_hash(s + 32, z + w.second, y + u64(s + 16));
    std::swap(z, x);
  }
  const std::uint64_t multiplier = k1 + ((z & 0xff) << 1);
  s = last;
  w.first += (n - 1) & 63;
  v.first += w.first;
  w.first += v.first;
  x = rotate(x + y + v.first + u64(s + 8), 37) * multiplier;
  y = rotate(y + v.second + u64(s + 48), 42) * multiplier;
  x ^= w.second * 9;
  y += v.first * 9 + u64(s + 40);
  z = rotate(z + w.first, 33) * multiplier;
  v = weak_hash(s, v.second * multiplier, x + w.first);
  w = weak_hash(s + 32, z + w.second, y + u64(s + 16));
  std::swap(z, x);
  return mix(mix(v.first, w.first, multiplier) + shift_mix(y) * k0 + z,
             mix(v.second, w.second, multiplier) + x, multiplier);
}

std::uint64_t hash_value(const Value& value) {
  switch (value.type()) {
    case ValueType::kNull: return hash_word(0);
    case ValueType::kInt64: return hash_word(static_cast<std::uint64_t>(value.as_int64()));
    case ValueType::kUint64: return hash_word(value.as_uint64());
    case ValueType::kDouble: return hash_word(std::bit_cast<std::uint64_t>(value.as_double()));
    case ValueType::kBoolean: return hash_word(value.as_boolean() ? 1 : 0);
    case ValueType::kString:
    case ValueType::kAny: return farm_fingerprint(value.text());
  }
  return 0;
}

}  // namespace

std::uint64_t farm_fingerprint(std::string_view bytes) {
  if (bytes.size() <= 16) return hash_to_16(bytes.data(), bytes.size());
  if (bytes.size() <= 32) return hash_to_32(bytes.data(), bytes.size());
  if (bytes.size() <= 64) return hash_to_64(bytes.data(), bytes.size());
  return hash_long(bytes.data(), bytes.size());
}

void FarmHasher::add(const Value& value) {
  state_ = combine(state_, hash_value(value));
  ++count_;
}

std::uint64_t farm_hash(std::span<const Value> values) {
  FarmHasher hasher;
  for (const Value& value : values) hasher.add(value);
  return hasher.finish();
}

}  // namespace moraine
