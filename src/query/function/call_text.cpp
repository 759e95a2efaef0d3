// Functions of texts.

#include <fmt/format.h>

#include "base/utf8.h"
#include "query/function/call.h"
#include "query/function/list_text.h"

namespace moraine::query {
namespace {

using F = Function;
using Rune = char32_t;

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

// Requires: valid UTF-8 of this length.
Rune decode(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return lead;
  Rune rune = lead & (0x7fU >> character.size());
  for (const char c : character.substr(1)) rune = rune << 6 | (static_cast<unsigned char>(c) & 63U);
  return rune;
}

void append_rune(std::string& out, Rune rune) {
  if (rune < 0x80) {
    out.push_back(static_cast<char>(rune));
  } else if (rune < 0x800) {
    out.push_back(static_cast<char>(0xc0 | rune >> 6));
    out.push_back(static_cast<char>(0x80 | (rune & 63)));
  } else if (rune < 0x10000) {
    out.push_back(static_cast<char>(0xe0 | rune >> 12));
    out.push_back(static_cast<char>(0x80 | (rune >> 6 & 63)));
    out.push_back(static_cast<char>(0x80 | (rune & 63)));
  } else {
    out.push_back(static_cast<char>(0xf0 | rune >> 18));
    out.push_back(static_cast<char>(0x80 | (rune >> 12 & 63)));
    out.push_back(static_cast<char>(0x80 | (rune >> 6 & 63)));
    out.push_back(static_cast<char>(0x80 | (rune & 63)));
  }
}

// Capitals first, first + step, ... to last: each is `distance` below its small letter.
struct Capitals {
  Rune first;
  Rune last;
  Rune step;
  Rune distance;
};
constexpr Capitals kCapitals[] = {
    {'A', 'Z', 1, 32},       {0xc0, 0xd6, 1, 32},   {0xd8, 0xde, 1, 32},    {0x100, 0x12e, 2, 1},
    {0x132, 0x136, 2, 1},    {0x139, 0x147, 2, 1},  {0x14a, 0x176, 2, 1},   {0x179, 0x17d, 2, 1},
    {0x386, 0x386, 1, 38},   {0x388, 0x38a, 1, 37}, {0x38c, 0x38c, 1, 64},  {0x38e, 0x38f, 1, 63},
    {0x391, 0x3a1, 1, 32},   {0x3a3, 0x3ab, 1, 32}, {0x400, 0x40f, 1, 80},  {0x410, 0x42f, 1, 32},
    {0x460, 0x480, 2, 1},    {0x48a, 0x4be, 2, 1},  {0x4c0, 0x4c0, 1, 15},  {0x4c1, 0x4cd, 2, 1},
    {0x4d0, 0x52e, 2, 1},    {0x531, 0x556, 1, 48}, {0x1e00, 0x1e94, 2, 1}, {0x1ea0, 0x1efe, 2, 1},
    {0xff21, 0xff3a, 1, 32},
};

Rune lower_rune(Rune rune) {
  if (rune == 0x178) return 0xff;
  if (rune == 0x130) return 'i';
  for (const Capitals& capitals : kCapitals) {
    if (rune < capitals.first || rune > capitals.last) continue;
    if ((rune - capitals.first) % capitals.step == 0) return rune + capitals.distance;
  }
  return rune;
}

// The first character, or one byte that is none.
std::string_view first_character(std::string_view text) {
  const std::size_t length = utf8_length(text);
  return text.substr(0, length == 0 ? 1 : length);
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    out += length == 0 ? kReplacement : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

// One element of a pattern.
struct PatternItem {
  enum class Kind : std::uint8_t { kText, kOne, kRun } kind = Kind::kText;
  std::string_view character{};
};
PatternItem take_item(std::string_view& pattern, char escape) {
  PatternItem item;
  if (pattern[0] == escape && pattern.size() > 1) {
    pattern.remove_prefix(1);
  } else if (pattern[0] == '%') {
    item.kind = PatternItem::Kind::kRun;
  } else if (pattern[0] == '_') {
    item.kind = PatternItem::Kind::kOne;
  }
  item.character = first_character(pattern);
  pattern.remove_prefix(item.character.size());
  return item;
}

bool like_folded(std::string_view text, std::string_view pattern, char escape) {
  // After a mismatch the last run takes one character more: no other run needs to change.
  bool has_run = false;
  std::string_view run_text;
  std::string_view run_pattern;
  while (!text.empty() || !pattern.empty()) {
    if (!pattern.empty()) {
      std::string_view rest = pattern;
      const PatternItem item = take_item(rest, escape);
      if (item.kind == PatternItem::Kind::kRun) {
        has_run = true;
        run_text = text;
        run_pattern = pattern = rest;
        continue;
      }
      if (!text.empty()) {
        const std::string_view character = first_character(text);
        if (item.kind == PatternItem::Kind::kOne || item.character == character) {
          text.remove_prefix(character.size());
          pattern = rest;
          continue;
        }
      }
    }
    if (!has_run || run_text.empty()) return false;
    run_text.remove_prefix(first_character(run_text).size());
    text = run_text;
    pattern = run_pattern;
  }
  return true;
}

}  // namespace

std::string lower(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::string_view character = first_character(text);
    if (utf8_length(text) == 0) {
      out += character;
    } else {
      append_rune(out, lower_rune(decode(character)));
    }
    text.remove_prefix(character.size());
  }
  return out;
}

bool like(std::string_view text, std::string_view pattern, char escape, bool ignore_case) {
  if (!ignore_case) return like_folded(text, pattern, escape);
  return like_folded(lower(text), lower(pattern), lower({&escape, 1})[0]);
}

std::string like_prefix(std::string_view pattern, char escape) {
  std::string prefix;
  while (!pattern.empty()) {
    const PatternItem item = take_item(pattern, escape);
    if (item.kind != PatternItem::Kind::kText) break;
    prefix += item.character;
  }
  return prefix;
}

Result<Value> make_ngrams(std::string_view text, std::int64_t length, table::TextMemory& memory) {
  if (length <= 0) {
    return fail(Errc::kInvalidArgument, fmt::format("Invalid gram length {}", length));
  }
  constexpr std::size_t kItemBytes = 6;  // Around the bytes of a text in a list, at most.
  const auto most = static_cast<std::size_t>(length);
  const std::size_t item = std::min(most, text.size()) + kItemBytes;
  if (!text.empty() && item > kResultBytesMax / text.size()) {
    return fail(Errc::kInvalidArgument, "a list of n-grams is longer than 16 MiB");
  }
  std::string list = "[";
  for (std::size_t i = 0; i < text.size(); ++i) append_item(list, Value(text.substr(i, most)));
  return Value::any(memory.keep(list + "]"));
}

Result<Value> call_text_function(Function function, std::span<const Value> arguments,
                                 table::TextMemory& memory) {
  const std::string_view a = arguments[0].text();
  switch (function) {
    case F::kLower: return memory.keep(lower(a));
    case F::kLength: return static_cast<std::int64_t>(a.size());
    case F::kIsSubstr: return arguments[1].text().contains(a);
    case F::kIsPrefix: return arguments[1].text().starts_with(a);
    case F::kIsValidUtf8: return is_utf8(a);
    case F::kToValidUtf8: return memory.keep(valid_utf8(a));
    default: {
      const std::string_view b = arguments[1].text();
      if (a.size() + b.size() > kResultBytesMax) {
        return fail(Errc::kInvalidArgument, "a text is longer than 16 MiB");
      }
      return memory.keep(std::string(a).append(b));
    }
  }
}

}  // namespace moraine::query
