#include "yson/json_reader.h"

#include <fmt/format.h>

#include <limits>

#include "base/utf8.h"
#include "yson/escape.h"
#include "yson/json_text.h"
#include "yson/number.h"

namespace moraine {
namespace {

using Kind = YsonEvent::Kind;

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}
bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
         c == '-' || c == '.';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string describe(char c) {
  if (c > ' ' && c <= '~') return fmt::format("'{}'", c);
  return fmt::format("byte 0x{:02x}", static_cast<std::uint8_t>(c));
}

std::size_t digits(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end;
}

// -?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)?
bool is_number(std::string_view text) {
  std::size_t at = text.starts_with('-') ? 1 : 0;
  std::size_t end = digits(text, at);
  if (end == at || (text[at] == '0' && end > at + 1)) return false;
  if (end < text.size() && text[end] == '.') {
    at = end + 1;
    end = digits(text, at);
    if (end == at) return false;
  }
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    at = end + 1;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    end = digits(text, at);
    if (end == at) return false;
  }
  return end == text.size();
}

// The code of \uXXXX whose digits are at text[at].
bool read_unit(std::string_view text, std::size_t at, std::uint32_t& code) {
  constexpr std::size_t kDigits = 4;
  if (text.size() - at < kDigits) return false;
  const char* begin = text.data() + at;
  const auto [stop, error] = std::from_chars(begin, begin + kDigits, code, 16);
  return error == std::errc() && stop == begin + kDigits;
}

}  // namespace

JsonReader::JsonReader(JsonOptions options, YsonDocument document, YsonLimits limits)
    : options_(options),
      document_(document),
      limits_(limits),
      state_(document == YsonDocument::kNode ? State::kValue : State::kTop),
      tape_reader_(tape_, options_) {
  if (document == YsonDocument::kMapFragment) fail("there are no map fragments");
}

void JsonReader::feed(std::string_view piece) {
  piece_offset_ = offset();
  piece_ = at_ = piece.data();
  end_ = piece.data() + piece.size();
}

bool JsonReader::fail(std::string_view what) {
  state_ = State::kFailed;
  error_ = {Errc::kInvalidArgument, fmt::format("json: {} at byte {}", what, offset())};
  return false;
}

YsonStep JsonReader::next(YsonEvent& event) {
  for (;;) {
    if (state_ == State::kFailed) return YsonStep::kError;
    if (state_ == State::kEmit) {
      if (tape_reader_.next(event)) {
        depth_ = tape_reader_.depth();
        return YsonStep::kEvent;
      }
      if (!tape_reader_.wrong().empty()) {
        fail(fmt::format("{}; in the value that ends", tape_reader_.wrong()));
        continue;
      }
      tape_.clear();
      state_ = document_ == YsonDocument::kNode ? State::kEnd : State::kTop;
    }
    if (unfinished_ != Token::kNone) {
      if (scan(unfinished_) == Scan::kNeedInput) return input_ended();
      continue;
    }
    while (at_ != end_ && is_space(*at_)) ++at_;
    if (at_ == end_) return input_ended();
    if (!byte(*at_) && state_ != State::kFailed) return input_ended();
  }
}

YsonStep JsonReader::input_ended() {
  if (!finished_) return YsonStep::kNeedInput;
  if (state_ == State::kTop || state_ == State::kEnd) return YsonStep::kEnd;
  fail("unexpected end of input");
  return YsonStep::kError;
}

// Takes the token that begins with this byte. False: it failed, or the token goes on past the
// piece.
bool JsonReader::byte(char c) {
  switch (state_) {
    case State::kEnd:
      return fail(fmt::format("the end of the document is expected, not {}", describe(c)));
    case State::kColon:
      if (c != ':') return fail(fmt::format("':' is expected after a key, not {}", describe(c)));
      ++at_;
      state_ = State::kValue;
      return true;
    case State::kComma:
      if (c != ',') return close(c);
      ++at_;
      state_ = tape_.entries[open_.back()].kind == Kind::kBeginMap ? State::kKey : State::kValue;
      return true;
    case State::kFirstItem: return c == ']' ? close(c) : value(c);
    case State::kFirstKey:
      if (c == '}') return close(c);
      [[fallthrough]];
    case State::kKey:
      if (c != '"') return fail(fmt::format("a key is expected, not {}", describe(c)));
      return scan(Token::kString) == Scan::kGoOn;
    default: return value(c);
  }
}

bool JsonReader::value(char c) {
  if (c == '"') return scan(Token::kString) == Scan::kGoOn;
  if (c == '[' || c == '{') return open(c);
  if (is_word(c)) return scan(Token::kWord) == Scan::kGoOn;
  return fail(fmt::format("a value is expected, not {}", describe(c)));
}

bool JsonReader::open(char c) {
  if (open_.size() >= limits_.depth_max) {
    return fail(fmt::format("more than {} lists and maps in one another", limits_.depth_max));
  }
  ++at_;
  open_.push_back(tape_.entries.size());
  state_ = c == '[' ? State::kFirstItem : State::kFirstKey;
  return add({.kind = c == '[' ? Kind::kBeginList : Kind::kBeginMap});
}

bool JsonReader::close(char c) {
  JsonTape::Entry& begin = tape_.entries[open_.back()];
  const bool map = begin.kind == Kind::kBeginMap;
  if (c != (map ? '}' : ']')) {
    return fail(fmt::format("',' or '{}' is expected, not {}", map ? '}' : ']', describe(c)));
  }
  ++at_;
  begin.word = tape_.entries.size();
  open_.pop_back();
  if (!add({.kind = map ? Kind::kEndMap : Kind::kEndList})) return false;
  value_ended();
  return true;
}

void JsonReader::value_ended() {
  state_ = State::kComma;
  if (!open_.empty()) return;
  state_ = State::kEmit;
  tape_reader_.begin();
}

bool JsonReader::add(JsonTape::Entry entry) {
  tape_.entries.push_back(entry);
  return check_memory();
}

bool JsonReader::check_memory() {
  if (tape_.bytes() + kept_.size() <= options_.memory_limit) return true;
  return fail(fmt::format("a value takes more than {} bytes", options_.memory_limit));
}

// Begins or continues a token.
JsonReader::Scan JsonReader::scan(Token token) {
  const char* begin = at_;
  if (unfinished_ == Token::kNone) {
    ++at_;
    after_backslash_ = false;
  }
  const bool ended = advance(token) || (finished_ && token == Token::kWord);
  std::string_view bytes(begin, static_cast<std::size_t>(at_ - begin));
  if (!ended || unfinished_ != Token::kNone) {
    kept_ += bytes;
    bytes = kept_;
  }
  if (!ended) {
    unfinished_ = token;
    if (!check_memory()) return Scan::kFailed;
    if (bytes.size() - 1 > limits_.string_bytes_max) {
      fail(fmt::format("a string is longer than {} bytes", limits_.string_bytes_max));
      return Scan::kFailed;
    }
    return Scan::kNeedInput;
  }
  unfinished_ = Token::kNone;
  const bool taken = token_ended(token, bytes);
  kept_.clear();
  return taken ? Scan::kGoOn : Scan::kFailed;
}

bool JsonReader::advance(Token token) {
  if (token == Token::kWord) {
    while (at_ != end_ && is_word(*at_)) ++at_;
    return at_ != end_;
  }
  for (; at_ != end_; ++at_) {
    if (after_backslash_) {
      after_backslash_ = false;
      continue;
    }
    at_ += plain_json_length({at_, end_});
    if (at_ == end_) return false;
    if (*at_ == '\\') {
      after_backslash_ = true;
    } else if (*at_ == '"') {
      ++at_;
      return true;
    }
  }
  return false;
}

bool JsonReader::token_ended(Token token, std::string_view bytes) {
  if (token == Token::kString) return string(bytes.substr(1, bytes.size() - 2));
  return word(bytes);
}

bool JsonReader::string(std::string_view raw) {
  if (raw.size() > limits_.string_bytes_max) {
    return fail(fmt::format("a string is longer than {} bytes", limits_.string_bytes_max));
  }
  const std::size_t begin = tape_.text.size();
  if (!decode(raw)) return false;
  const bool is_key = state_ == State::kKey || state_ == State::kFirstKey;
  const std::size_t size = tape_.text.size() - begin;
  if (!add({.kind = is_key ? Kind::kKey : Kind::kString, .word = begin, .size = size}))
    return false;
  if (!is_key) {
    value_ended();
    return true;
  }
  if (size == 0) return fail("a key is empty, ending");
  if (tape_.text[begin] == '$') tape_.entries[open_.back()].special = true;
  state_ = State::kColon;
  return true;
}

bool JsonReader::decode(std::string_view raw) {
  for (std::size_t at = 0; at < raw.size();) {
    std::size_t end = at + plain_json_length(raw.substr(at));
    tape_.text.append(raw, at, end - at);
    if (end == raw.size()) return true;
    at = end + 1;
    if (raw[end] == '\\') {
      if (!decode_escape(raw, at)) return false;
      continue;
    }
    const auto byte = static_cast<std::uint8_t>(raw[end]);
    if (byte < ' ') return fail("a control character in a string, ending");
    const std::size_t length = utf8_length(raw.substr(end));
    if (length == 0) return fail("bytes that are not UTF-8 in a string, ending");
    at = end + length;
    if (!options_.encode_utf8) {
      tape_.text += raw.substr(end, length);
    } else if (length == 2) {
      const auto low = static_cast<std::uint8_t>(raw[end + 1]);
      if (!append_code((byte & 0x1fU) << 6 | (low & 0x3fU))) return false;
    } else {
      return append_code(0x10ffff);
    }
  }
  return true;
}

// The escape whose backslash is before raw[at].
bool JsonReader::decode_escape(std::string_view raw, std::size_t& at) {
  static constexpr std::string_view kKinds = "\"\\/bfnrt";
  static constexpr std::string_view kBytes = "\"\\/\b\f\n\r\t";
  const char kind = raw[at++];
  if (const std::size_t known = kKinds.find(kind); known != std::string_view::npos) {
    tape_.text.push_back(kBytes[known]);
    return true;
  }
  std::uint32_t code = 0;
  if (kind != 'u' || !read_unit(raw, at, code))
    return fail("an invalid escape in a string, ending");
  at += 4;
  if (code >= 0xd800 && code < 0xdc00 && raw.substr(at).starts_with("\\u")) {
    std::uint32_t low = 0;
    if (read_unit(raw, at + 2, low) && low >= 0xdc00 && low < 0xe000) {
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
      at += 6;
    }
  }
  return append_code(code);
}

bool JsonReader::append_code(std::uint32_t code) {
  if (!options_.encode_utf8) {
    return append_utf8(tape_.text, code) || fail("half of a surrogate pair in a string, ending");
  }
  if (code > 0xff) {
    return fail("a character above U+00FF (encode_utf8=%false allows it) in a string, ending");
  }
  tape_.text.push_back(static_cast<char>(code));
  return true;
}

bool JsonReader::word(std::string_view bytes) {
  using Doubles = std::numeric_limits<double>;
  JsonTape::Entry entry{.kind = Kind::kEntity};
  if (bytes == "true" || bytes == "false") {
    entry.kind = Kind::kBoolean;
    entry.word = bytes == "true";
  } else if (options_.support_infinity && (bytes == "inf" || bytes == "-inf")) {
    const double value = bytes == "inf" ? Doubles::infinity() : -Doubles::infinity();
    entry = {.kind = Kind::kDouble, .word = std::bit_cast<std::uint64_t>(value)};
  } else if (bytes != "null") {
    return number(bytes);
  }
  if (!add(entry)) return false;
  value_ended();
  return true;
}

bool JsonReader::number(std::string_view bytes) {
  if (!is_number(bytes)) {
    return fail(fmt::format("{:?} is no value, ending", bytes.substr(0, 30)));
  }
  JsonTape::Entry entry{.kind = Kind::kInt64};
  std::int64_t integer = 0;
  double real = 0;
  if (parse_decimal(bytes, integer)) {
    entry.word = static_cast<std::uint64_t>(integer);
  } else if (parse_decimal(bytes, entry.word)) {
    entry.kind = Kind::kUint64;
  } else if (bytes.find_first_of(".eE") != std::string_view::npos && parse_double(bytes, real)) {
    entry = {.kind = Kind::kDouble, .word = std::bit_cast<std::uint64_t>(real)};
  } else {
    return fail(fmt::format("the number {:?} is out of range, ending", bytes.substr(0, 30)));
  }
  if (!add(entry)) return false;
  value_ended();
  return true;
}

}  // namespace moraine
