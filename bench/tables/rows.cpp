#include "bench/tables/rows.h"

#include <cstring>

namespace moraine::bench {
namespace {

constexpr std::array<std::string_view, 8> kCities{"Amsterdam", "Berlin", "Cairo",   "Dublin",
                                                  "Edinburgh", "Lisbon", "Nairobi", "Oslo"};
constexpr std::uint64_t kVersionStride = std::uint64_t{1} << 40;

std::uint64_t zigzag(std::int64_t number) {
  return (static_cast<std::uint64_t>(number) << 1) ^ static_cast<std::uint64_t>(number >> 63);
}

std::int64_t unzigzag(std::uint64_t word) {
  return static_cast<std::int64_t>(word >> 1) ^ -static_cast<std::int64_t>(word & 1);
}

void put_word(std::uint64_t word, std::string& out) {
  for (; word >= 0x80; word >>= 7) out += static_cast<char>(word | 0x80);
  out += static_cast<char>(word);
}

bool take_word(std::string_view& bytes, std::uint64_t& word) {
  word = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<std::uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    word |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

bool take_text(std::string_view& bytes, std::string_view& text) {
  std::uint64_t size = 0;
  if (!take_word(bytes, size) || size > bytes.size()) return false;
  text = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return true;
}

}  // namespace

ValueText::ValueText(std::uint64_t number, std::uint64_t version) {
  constexpr std::size_t kHalf = kValueBytes / 2;
  std::array<std::uint64_t, kHalf / 8 + 1> words;
  Dice dice(number + version * kVersionStride);
  for (std::uint64_t& word : words) word = dice.next();
  std::memcpy(text_.data(), words.data(), kHalf);
  std::memcpy(text_.data() + kHalf, text_.data(), kHalf);
}

const WideRow& WideRowMaker::make(std::uint64_t number) {
  Dice dice(number);
  row_.id = static_cast<std::int64_t>(number);
  row_.numbers = {static_cast<std::int64_t>(1'700'000'000 + number / 10),
                  static_cast<std::int64_t>(dice.below(100)),
                  static_cast<std::int64_t>(dice.below(1'000'000)),
                  static_cast<std::int64_t>(dice.next()),
                  static_cast<std::int64_t>(dice.below(2'000)) - 1'000,
                  static_cast<std::int64_t>(number % 7),
                  static_cast<std::int64_t>(dice.below(std::uint64_t{1} << 32))};
  row_.city = kCities[dice.below(kCities.size())];
  for (char& c : comment_) c = static_cast<char>('a' + dice.below(26));
  row_.comment = {comment_.data(), comment_.size()};
  return row_;
}

void encode_wide(const WideRow& row, std::string& out) {
  out.clear();
  for (const std::int64_t number : row.numbers) put_word(zigzag(number), out);
  for (const std::string_view text : {row.city, row.comment}) {
    put_word(text.size(), out);
    out += text;
  }
}

Result<void> decode_wide(std::string_view bytes, WideRow& row) {
  for (std::int64_t& number : row.numbers) {
    std::uint64_t word = 0;
    if (!take_word(bytes, word)) return fail(Errc::kCorrupt, "a number of a row");
    number = unzigzag(word);
  }
  if (!take_text(bytes, row.city) || !take_text(bytes, row.comment)) {
    return fail(Errc::kCorrupt, "a text of a row");
  }
  return {};
}

}  // namespace moraine::bench
