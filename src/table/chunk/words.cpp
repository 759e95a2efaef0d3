#include "table/chunk/words.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/invariant.h"

namespace moraine::table {
namespace {

// Wider numbers take a whole word, so that any narrower one is read by a single load.
constexpr unsigned kNarrowMax = 56;

unsigned width_of(std::uint64_t greatest) {
  const auto width = static_cast<unsigned>(std::bit_width(greatest));
  return width > kNarrowMax ? 64 : width;
}

struct Fit {
  std::uint64_t base = 0;
  std::uint64_t step = 0;
  unsigned width = 64;
};

Fit fit(std::span<const std::uint64_t> words, std::uint64_t step, bool is_signed) {
  const std::uint64_t flip = is_signed ? std::uint64_t{1} << 63 : 0;
  std::uint64_t least = ~std::uint64_t{0};
  std::uint64_t greatest = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::uint64_t word = (words[i] - step * i) ^ flip;
    least = std::min(least, word);
    greatest = std::max(greatest, word);
  }
  return {.base = least ^ flip, .step = step, .width = width_of(greatest - least)};
}

Fit best_fit(std::span<const std::uint64_t> words, bool is_signed) {
  const Fit flat = fit(words, 0, is_signed);
  if (words.size() < 2 || flat.width == 0) return flat;
  const std::uint64_t step = (words.back() - words.front()) / (words.size() - 1);
  if (step == 0) return flat;
  const Fit sloped = fit(words, step, true);
  return sloped.width < flat.width ? sloped : flat;
}

// Eight numbers of W bits are W bytes.
template <unsigned W, class Word>
void unpack_eight(const std::byte* from, Word* out) {
  if constexpr (W == 64) {
    for (unsigned i = 0; i < 8; ++i) out[i] = static_cast<Word>(load<std::uint64_t>(from + 8 * i));
  } else {
    constexpr std::uint64_t mask = (std::uint64_t{1} << W) - 1;
    for (unsigned i = 0; i < 8; ++i) {
      out[i] = static_cast<Word>(load<std::uint64_t>(from + i * W / 8) >> (i * W % 8) & mask);
    }
  }
}

template <unsigned W, class Word>
void unpack(const std::byte* from, std::size_t eights, Word* out) {
  for (std::size_t i = 0; i < eights; ++i) unpack_eight<W>(from + i * W, out + 8 * i);
}

template <class Word>
using Unpack = void (*)(const std::byte*, std::size_t, Word*);

template <class Word, std::size_t... Widths>
constexpr std::array<Unpack<Word>, sizeof...(Widths)> make_unpackers(
    std::index_sequence<Widths...>) {
  return {unpack<Widths, Word>...};
}
template <class Word>
constexpr auto kUnpackers = make_unpackers<Word>(std::make_index_sequence<kNarrowMax + 1>());

std::size_t bits_bytes(std::size_t count, unsigned width) {
  return (count * width + 7) / 8;
}

}  // namespace

void append_words(std::string& out, std::span<const std::uint64_t> words, bool is_signed) {
  INVARIANT(words.size() <= kWordsMax, "{} words", words.size());
  put_fixed(out, static_cast<std::uint32_t>(words.size()));
  std::string bits;
  for (std::size_t from = 0; from < words.size(); from += kWordsPart) {
    const auto part = words.subspan(from, std::min(kWordsPart, words.size() - from));
    const Fit f = best_fit(part, is_signed);
    put_fixed(out, f.base);
    put_fixed(out, f.step);
    put_fixed(out, static_cast<std::uint32_t>(bits.size()));
    put_fixed(out, std::uint32_t{f.width});
    BitWriter writer(bits);
    for (std::size_t i = 0; i < part.size(); ++i) {
      writer.put(part[i] - f.step * i - f.base, f.width);
    }
    writer.finish();
  }
  out.append(bits);
}

bool WordsView::take(VarintReader& in) {
  count_ = in.fixed<std::uint32_t>();
  if (in.failed() || count_ > kWordsMax) return false;
  const std::size_t parts = (count_ + kWordsPart - 1) / kWordsPart;
  parts_ = in.raw(parts * kPartBytes).data();
  if (in.failed()) return false;
  std::size_t at = 0;
  for (std::size_t i = 0; i < parts; ++i) {
    const std::byte* part = parts_ + i * kPartBytes;
    const auto width = load<std::uint32_t>(part + kWidthAt);
    if (load<std::uint32_t>(part + 16) != at || (width > kNarrowMax && width != 64)) return false;
    at += bits_bytes(std::min(kWordsPart, count_ - i * kWordsPart), width);
  }
  bits_ = in.raw(at).data();
  return !in.failed();
}

namespace {

template <class Word>
void decode_parts(const std::byte* parts, const std::byte* all_bits, std::size_t total, Word* out) {
  for (std::size_t from = 0; from < total; from += kWordsPart) {
    const std::byte* part = parts + from / kWordsPart * WordsView::kPartBytes;
    const std::size_t count = std::min(kWordsPart, total - from);
    const auto base = static_cast<Word>(load<std::uint64_t>(part));
    const auto step = static_cast<Word>(load<std::uint64_t>(part + 8));
    const std::byte* bits = all_bits + load<std::uint32_t>(part + 16);
    const auto width = static_cast<unsigned>(part[WordsView::kWidthAt]);
    const std::size_t eights = count / 8;
    (width == 64 ? unpack<64, Word> : kUnpackers<Word>[width])(bits, eights, out + from);
    for (std::size_t i = eights * 8; i < count; ++i) {
      out[from + i] = static_cast<Word>(get_bits(bits, i * width, width));
    }
    Word* words = out + from;
    if (step == 0) {
      for (std::size_t i = 0; i < count; ++i) words[i] += base;
    } else {
      for (std::size_t i = 0; i < count; ++i) words[i] += base + step * static_cast<Word>(i);
    }
  }
}

}  // namespace

void WordsView::decode(std::uint64_t* out) const {
  decode_parts(parts_, bits_, count_, out);
}

void WordsView::decode(std::uint32_t* out) const {
  decode_parts(parts_, bits_, count_, out);
}

}  // namespace moraine::table
