#include "blob/blob_id.h"

#include <charconv>

#include "base/coding.h"
#include "base/invariant.h"

namespace moraine::blob {
namespace {

constexpr std::size_t kHexDigits = 2 * kBlobIdBytes;
// Longer texts are truncated in error messages.
constexpr std::size_t kQuotedTextMax = 80;

struct Field {
  std::string_view name;
  std::uint64_t max;
};
// In the order of the decimal string form.
constexpr std::array<Field, 7> kFields{{
    {"tablet", ~std::uint64_t{0}},
    {"generation", kGenerationMax},
    {"step", kStepMax},
    {"channel", 255},
    {"cookie", kCookieMax},
    {"size", kBlobSizeFieldMax},
    {"part", kPartFieldMax},
}};

// Unprintable characters are escaped.
std::string quoted(std::string_view text) {
  if (text.size() <= kQuotedTextMax) return fmt::format("{:?}", text);
  return fmt::format("{:?}...", text.substr(0, kQuotedTextMax));
}

std::unexpected<Error> bad_id(std::string_view text, std::string_view why) {
  return fail(Errc::kInvalidArgument, fmt::format("blob id {}: {}", quoted(text), why));
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Result<BlobId> parse_hex(std::string_view text) {
  std::array<std::byte, kBlobIdBytes> bytes{};
  for (std::size_t i = 0; i < kHexDigits; ++i) {
    const int digit = hex_digit(text[i]);
    if (digit < 0) return bad_id(text, fmt::format("character {} is not a hex digit", i + 1));
    bytes[i / 2] = bytes[i / 2] << 4 | static_cast<std::byte>(digit);
  }
  return BlobId::decode(bytes.data());
}

Result<std::uint64_t> parse_field(std::string_view text, const Field& field) {
  if (text.empty()) {
    return fail(Errc::kInvalidArgument, fmt::format("{} is empty", field.name));
  }
  for (const char c : text) {
    if (c < '0' || c > '9') {
      return fail(Errc::kInvalidArgument,
                  fmt::format("{} {} is not a decimal number", field.name, quoted(text)));
    }
  }
  if (text.size() > 1 && text.front() == '0') {
    return fail(Errc::kInvalidArgument,
                fmt::format("{} {} has a leading zero", field.name, quoted(text)));
  }
  std::uint64_t value = 0;
  const auto outcome = std::from_chars(text.data(), text.data() + text.size(), value);
  if (outcome.ec != std::errc{} || value > field.max) {
    return fail(Errc::kInvalidArgument,
                fmt::format("{} {} is over its maximum {}", field.name, quoted(text), field.max));
  }
  return value;
}

}  // namespace

BlobId::BlobId(TabletId tablet, Generation generation, Step step, Channel channel,
               std::uint32_t size, std::uint32_t cookie, std::uint32_t part) {
  INVARIANT(size <= kBlobSizeFieldMax, "size {} has more than 28 bits", size);
  INVARIANT(part <= kPartFieldMax, "part {} has more than 4 bits", part);
  set({tablet.value,
       std::uint64_t{channel} << 56 | std::uint64_t{generation} << 24 | std::uint64_t{step} >> 8,
       std::uint64_t{step & 255} << 56 | std::uint64_t{cookie} << 24 | std::uint64_t{size} >> 4,
       std::uint64_t{size & 15} << 4 | part});
}

void BlobId::set(const std::array<std::uint64_t, 4>& raw) {
  for (std::size_t i = 0; i < kWords; ++i) store(bytes_.data() + i * sizeof(raw[i]), raw[i]);
  store(bytes_.data() + kWords * sizeof(raw[0]), static_cast<std::uint32_t>(raw[3]));
}

BlobId BlobId::with_part(std::uint32_t part) const {
  INVARIANT(part <= kPartFieldMax, "part {} has more than 4 bits", part);
  auto changed = raw();
  changed[3] = (changed[3] & ~std::uint64_t{kPartFieldMax}) | part;
  return from_raw(changed);
}

bool BlobId::differs_only_in_size(const BlobId& other) const {
  return word(0) == other.word(0) && word(1) == other.word(1) &&
         word(2) >> 24 == other.word(2) >> 24 && size() != other.size();
}

std::optional<BlobId> BlobId::predecessor() const {
  auto lower = raw();
  if (lower[3] != 0) {
    --lower[3];
    return from_raw(lower);
  }
  lower[3] = 255;
  for (std::size_t i = kWords; i-- > 0;) {
    if (lower[i]-- != 0) return from_raw(lower);
  }
  return std::nullopt;
}

std::uint32_t BlobId::hash() const {
  const auto low = [](std::uint64_t word) { return word & 0xffffffff; };
  const auto high = [](std::uint64_t word) { return word >> 32; };
  // The step's low byte replaces the cookie's high byte, which is a separate term.
  const std::uint64_t step_and_cookie = std::uint64_t{step() & 255} << 24 ^ cookie();
  const std::uint64_t sum =
      0x06c9c021156eaa1f + 0x001dff3d8dc48f5d * low(word(0)) + 0x179ca10c9242235d * high(word(0)) +
      0x0f530cad458b0fb1 * low(word(1)) + 0xb5026f5aa96619e9 * high(word(1)) +
      0x5851f42d4c957f2d * step_and_cookie + 0x2545f4914f6cdd1du * (cookie() >> 24);
  return static_cast<std::uint32_t>(sum >> 32);
}

BlobId BlobId::from_raw(const std::array<std::uint64_t, 4>& raw) {
  INVARIANT(raw[3] < 256, "the last word of an id is {:x}, more than 8 bits", raw[3]);
  BlobId id;
  id.set(raw);
  return id;
}

void BlobId::encode(std::byte* to) const {
  for (std::size_t i = 0; i < kWords; ++i) {
    store(to, __builtin_bswap64(word(i)));
    to += sizeof(std::uint64_t);
  }
  *to = static_cast<std::byte>(tail());
}

BlobId BlobId::decode(const std::byte* from) {
  std::array<std::uint64_t, 4> raw{};
  for (std::size_t i = 0; i < kWords; ++i) {
    raw[i] = __builtin_bswap64(load<std::uint64_t>(from));
    from += sizeof(std::uint64_t);
  }
  raw[3] = static_cast<std::uint64_t>(*from);
  return from_raw(raw);
}

std::string BlobId::to_string() const {
  return fmt::format("[{}:{}:{}:{}:{}:{}:{}]", word(0), generation(), step(), channel(), cookie(),
                     size(), part());
}

std::string BlobId::to_hex() const {
  return fmt::format("{:016x}{:016x}{:016x}{:02x}", word(0), word(1), word(2), tail());
}

Result<BlobId> BlobId::parse(std::string_view text) {
  if (text.empty()) return bad_id(text, "is empty");
  if (text.size() == kHexDigits && hex_digit(text.front()) >= 0) return parse_hex(text);
  if (text.front() != '[') {
    return bad_id(text, "neither starts with \"[\" nor is 50 hex digits");
  }
  const std::size_t close = text.find(']');
  if (close == std::string_view::npos) return bad_id(text, "the closing \"]\" is missing");
  if (close + 1 != text.size()) return bad_id(text, "there are characters after the closing \"]\"");

  std::array<std::uint64_t, kFields.size()> values{};
  std::string_view rest = text.substr(1, close - 1);
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    const bool last = i + 1 == kFields.size();
    const std::size_t colon = rest.find(':');
    if (last && colon != std::string_view::npos) return bad_id(text, "has more than 7 fields");
    auto value = parse_field(rest.substr(0, colon), kFields[i]);
    if (!value) return bad_id(text, value.error().context);
    if (!last && colon == std::string_view::npos) {
      return bad_id(text,
                    fmt::format("has {} fields of 7: {} is missing", i + 1, kFields[i + 1].name));
    }
    values[i] = *value;
    if (!last) rest.remove_prefix(colon + 1);
  }
  return BlobId(TabletId{values[0]}, static_cast<Generation>(values[1]),
                static_cast<Step>(values[2]), static_cast<Channel>(values[3]),
                static_cast<std::uint32_t>(values[5]), static_cast<std::uint32_t>(values[4]),
                static_cast<std::uint32_t>(values[6]));
}

BlobId BlobId::lowest(TabletId tablet, Channel channel, GenStep at) {
  return BlobId(tablet, at.generation, at.step, channel, 0, 0, 0);
}

BlobId BlobId::highest(TabletId tablet, Channel channel, GenStep at) {
  return BlobId(tablet, at.generation, at.step, channel, kBlobSizeFieldMax, kCookieMax,
                kPartFieldMax);
}

Result<void> check_puttable(const BlobId& id, std::size_t bytes) {
  const auto refuse = [&](std::string_view why) {
    return fail(Errc::kInvalidArgument, fmt::format("put of {}: {}", id.to_string(), why));
  };
  if (id.tablet().value == 0) return refuse("the tablet is not set");
  if (id.part() != 0) return refuse("part must be 0");
  if (id.size() == 0) return refuse("the blob is empty");
  if (id.size() > kBlobSizeMax) {
    return refuse(fmt::format("size is over its maximum {}", kBlobSizeMax));
  }
  if (id.size() != bytes) {
    return refuse(fmt::format("the id says {} bytes, the data has {}", id.size(), bytes));
  }
  return {};
}

}  // namespace moraine::blob
