#include "yson/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "yson/escape.h"
#include "yson/number.h"

namespace moraine {
namespace {

using Kind = YsonEvent::Kind;

// What a byte begins.
enum class Begins : std::uint8_t {
  kNothing,
  kSpace,
  kName,
  kNumber,
  kSpecial,
  kQuoted,
  kString,
  kVarint,
  kDouble,
  kBoolean,
  kEntity,
  kList,
  kMap,
  kAttributes,
};

constexpr char kBinaryString = 1;
constexpr char kBinaryInt64 = 2;
constexpr char kBinaryDouble = 3;
constexpr char kBinaryFalse = 4;
constexpr char kBinaryTrue = 5;
constexpr char kBinaryUint64 = 6;
constexpr std::size_t kVarintBytesMax = 10;
constexpr std::size_t kDoubleBytes = 9;  // With its marker.

constexpr std::array<Begins, 256> make_beginnings() {
  std::array<Begins, 256> table{};
  const auto put = [&table](std::string_view bytes, Begins what) {
    for (const char c : bytes) table[static_cast<std::uint8_t>(c)] = what;
  };
  put(" \t\n\v\f\r", Begins::kSpace);
  put("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", Begins::kName);
  put("0123456789+-", Begins::kNumber);
  put("%", Begins::kSpecial);
  put("\"", Begins::kQuoted);
  put("#", Begins::kEntity);
  put("[", Begins::kList);
  put("{", Begins::kMap);
  put("<", Begins::kAttributes);
  table[kBinaryString] = Begins::kString;
  table[kBinaryInt64] = table[kBinaryUint64] = Begins::kVarint;
  table[kBinaryDouble] = Begins::kDouble;
  table[kBinaryFalse] = table[kBinaryTrue] = Begins::kBoolean;
  return table;
}

constexpr std::array<bool, 256> make_continuations(bool sign) {
  std::array<bool, 256> table{};
  table['+'] = sign;
  for (const char c :
       std::string_view("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.%")) {
    table[static_cast<std::uint8_t>(c)] = true;
  }
  return table;
}

constexpr std::array<Begins, 256> kBegins = make_beginnings();
constexpr std::array<bool, 256> kContinuesName = make_continuations(false);
// Also literals that begin with '%'.
constexpr std::array<bool, 256> kContinuesNumber = make_continuations(true);

Begins begins(char c) {
  return kBegins[static_cast<std::uint8_t>(c)];
}

std::string describe(char c) {
  if (c > ' ' && c <= '~') return fmt::format("'{}'", c);
  return fmt::format("byte 0x{:02x}", static_cast<std::uint8_t>(c));
}

// Bytes of the varint at `at`; 0: it goes on past the end, or is longer than 64 bits.
std::size_t read_varint(const char* at, const char* end, std::uint64_t& word) {
  word = 0;
  const std::size_t most =
      std::min<std::size_t>(kVarintBytesMax, static_cast<std::size_t>(end - at));
  for (std::size_t count = 0; count < most; ++count) {
    const auto byte = static_cast<std::uint8_t>(at[count]);
    if (count + 1 == kVarintBytesMax && byte > 1) return 0;
    word |= std::uint64_t{byte & 0x7fU} << (7 * count);
    if (byte < 0x80) return count + 1;
  }
  return 0;
}

std::int64_t from_zigzag(std::uint64_t word) {
  return static_cast<std::int64_t>((word >> 1) ^ (0 - (word & 1)));
}

}  // namespace

YsonReader::YsonReader(YsonDocument document, YsonLimits limits)
    : document_(document), limits_(limits) {
  if (document != YsonDocument::kNode) state_ = inner_state();
}

void YsonReader::feed(std::string_view piece) {
  piece_ = at_ = piece.data();
  end_ = piece.data() + piece.size();
}

// Forgets the piece, but for its size and where its last line begins.
void YsonReader::release_piece() {
  const Place end = place(end_);
  piece_offset_ = end.offset;
  line_ = end.line;
  line_offset_ = end.offset - end.column;
  piece_ = at_ = end_ = token_ = nullptr;
}

YsonReader::Place YsonReader::place(const char* at) const {
  Place found{.offset = piece_offset_ + static_cast<std::size_t>(at - piece_), .line = line_};
  found.column = found.offset - line_offset_;
  if (at == piece_) return found;
  const auto size = static_cast<std::size_t>(at - piece_);
  if (const void* newline = memrchr(piece_, '\n', size)) {
    found.line += static_cast<std::size_t>(std::count(piece_, at, '\n'));
    found.column = static_cast<std::size_t>(at - static_cast<const char*>(newline)) - 1;
  }
  return found;
}

YsonStep YsonReader::fail_at(std::string_view what, const Place& where) {
  state_ = State::kFailed;
  std::string context = fmt::format("yson: {} at byte {}", what, where.offset);
  if (!binary_) context += fmt::format(" (line {}, column {})", where.line + 1, where.column + 1);
  error_ = {Errc::kInvalidArgument, std::move(context)};
  return YsonStep::kError;
}

YsonStep YsonReader::fail(std::string_view what) {
  return fail_at(what, place(at_));
}

// At the first byte of the token.
YsonStep YsonReader::fail_token(std::string_view what) {
  return fail_at(what, token_ != nullptr ? place(token_) : suspended_);
}

YsonStep YsonReader::fail_string() {
  return fail_token(fmt::format("a string is longer than {} bytes", limits_.string_bytes_max));
}

YsonStep YsonReader::fail_number() {
  return fail_token(fmt::format("a number is longer than {} bytes", kYsonNumberBytesMax));
}

YsonReader::State YsonReader::inner_state() const {
  if (open_.empty()) {
    return document_ == YsonDocument::kListFragment ? State::kItem : State::kKey;
  }
  return open_.back() == '[' ? State::kItem : State::kKey;
}

void YsonReader::node_ended() {
  state_ = State::kSeparator;
  if (!open_.empty()) return;
  item_offset_ = offset();
  if (document_ == YsonDocument::kNode) state_ = State::kEnd;
}

bool YsonReader::at_closing(char c) const {
  if (open_.empty()) return false;
  switch (open_.back()) {
    case '[': return c == ']';
    case '{': return c == '}';
    default: return c == '>';
  }
}

YsonStep YsonReader::next(YsonEvent& event) {
  if (state_ == State::kFailed) return YsonStep::kError;
  if (kept_used_) {
    kept_.clear();
    kept_used_ = false;
  }
  if (unfinished_ != Token::kNone) return resume(event);
  for (;;) {
    while (at_ != end_ && begins(*at_) == Begins::kSpace) ++at_;
    if (at_ == end_) return input_ended();
    const char c = *at_;
    switch (state_) {
      case State::kSeparator:
        if (c != ';') return structure(c, event);
        ++at_;
        state_ = inner_state();
        continue;
      case State::kEquals:
        if (c != '=') return fail(fmt::format("'=' is expected after a key, not {}", describe(c)));
        ++at_;
        state_ = State::kValue;
        continue;
      case State::kValue:
      case State::kBareValue: return value(c, event);
      default: return structure(c, event);
    }
  }
}

YsonStep YsonReader::input_ended() {
  if (!finished_) {
    if (offset() - item_offset_ > limits_.item_bytes_max) {
      return fail(fmt::format("a document or row is longer than {} bytes", limits_.item_bytes_max));
    }
    release_piece();
    return YsonStep::kNeedInput;
  }
  const bool between = state_ == State::kItem || state_ == State::kKey ||
                       state_ == State::kSeparator || state_ == State::kEnd;
  if (open_.empty() && between) return YsonStep::kEnd;
  return fail("unexpected end of input");
}

// In the states in which something may end.
YsonStep YsonReader::structure(char c, YsonEvent& event) {
  if (state_ == State::kEnd) {
    return fail(fmt::format("the end of the document is expected, not {}", describe(c)));
  }
  if (at_closing(c)) return close(c, event);
  if (state_ == State::kItem) return value(c, event);
  if (state_ == State::kSeparator) return fail(fmt::format("';' is expected, not {}", describe(c)));
  switch (begins(c)) {
    case Begins::kName: return scan(Token::kName, event);
    case Begins::kQuoted: return scan(Token::kQuoted, event);
    case Begins::kString: return binary_string(event);
    default: return fail(fmt::format("a key is expected, not {}", describe(c)));
  }
}

YsonStep YsonReader::value(char c, YsonEvent& event) {
  std::uint64_t word = 0;
  switch (begins(c)) {
    case Begins::kName: return scan(Token::kName, event);
    case Begins::kNumber: return scan(Token::kNumber, event);
    case Begins::kSpecial: return scan(Token::kSpecial, event);
    case Begins::kQuoted: return scan(Token::kQuoted, event);
    case Begins::kString: return binary_string(event);
    case Begins::kVarint:
      if (const std::size_t bytes = read_varint(at_ + 1, end_, word); bytes > 0) {
        at_ += 1 + bytes;
        return binary_word(c, word, event);
      }
      return suspend(Token::kVarint);
    case Begins::kDouble:
      if (static_cast<std::size_t>(end_ - at_) >= kDoubleBytes) {
        std::memcpy(&word, at_ + 1, sizeof(word));
        at_ += kDoubleBytes;
        return binary_word(c, word, event);
      }
      return suspend(Token::kDouble);
    case Begins::kBoolean:
      ++at_;
      binary_ = true;
      event = YsonEvent::boolean(c == kBinaryTrue);
      return scalar();
    case Begins::kEntity:
      ++at_;
      event = YsonEvent::of(Kind::kEntity);
      return scalar();
    case Begins::kList: return open(c, Kind::kBeginList, event);
    case Begins::kMap: return open(c, Kind::kBeginMap, event);
    case Begins::kAttributes:
      if (state_ == State::kBareValue) return fail("a value is expected after attributes");
      return open(c, Kind::kBeginAttributes, event);
    default: return fail(fmt::format("a value is expected, not {}", describe(c)));
  }
}

YsonStep YsonReader::open(char bracket, Kind kind, YsonEvent& event) {
  if (open_.size() >= limits_.depth_max) {
    return fail(
        fmt::format("more than {} lists, maps and attributes in one another", limits_.depth_max));
  }
  ++at_;
  open_.push_back(bracket);
  depth_ = open_.size();
  state_ = inner_state();
  event = YsonEvent::of(kind);
  return YsonStep::kEvent;
}

YsonStep YsonReader::close(char bracket, YsonEvent& event) {
  ++at_;
  open_.pop_back();
  depth_ = open_.size();
  if (bracket == '>') {
    state_ = State::kBareValue;
    event = YsonEvent::of(Kind::kEndAttributes);
    return YsonStep::kEvent;
  }
  event = YsonEvent::of(bracket == ']' ? Kind::kEndList : Kind::kEndMap);
  node_ended();
  return YsonStep::kEvent;
}

YsonStep YsonReader::scalar() {
  node_ended();
  return YsonStep::kEvent;
}

// A key or a string.
YsonStep YsonReader::text(std::string_view bytes, YsonEvent& event) {
  if (bytes.size() > limits_.string_bytes_max) return fail_string();
  if (state_ == State::kKey) {
    if (bytes.empty()) return fail_token("a key is empty");
    state_ = State::kEquals;
    event = YsonEvent::key(bytes);
    return YsonStep::kEvent;
  }
  event = YsonEvent::string(bytes);
  return scalar();
}

// A token of text: as a whole from this piece, or suspended at its end.
YsonStep YsonReader::scan(Token token, YsonEvent& event) {
  token_ = at_;
  ++at_;
  escaped_ = after_backslash_ = false;
  if (advance(token) || (finished_ && token != Token::kQuoted)) {
    return token_ended(token, {token_, static_cast<std::size_t>(at_ - token_)}, event);
  }
  if (finished_) return fail_token("a string has no end");
  kept_.assign(token_, at_);
  suspended_ = place(token_);
  unfinished_ = token;
  return input_ended();
}

// Moves to the end of a token of text. False: it goes on past the piece.
bool YsonReader::advance(Token token) {
  if (token == Token::kQuoted) return advance_quoted();
  const auto& continues = token == Token::kName ? kContinuesName : kContinuesNumber;
  const char* at = at_;
  while (at != end_ && continues[static_cast<std::uint8_t>(*at)]) ++at;
  at_ = at;
  return at != end_;
}

bool YsonReader::advance_quoted() {
  const char* at = at_;
  const char* const end = end_;
  if (after_backslash_ && at != end) {
    ++at;
    after_backslash_ = false;
  }
  for (;;) {
    while (at != end && *at != '"' && *at != '\\') ++at;
    if (at == end) break;
    if (*at++ == '"') {
      at_ = at;
      return true;
    }
    escaped_ = true;
    if (at == end) {
      after_backslash_ = true;
      break;
    }
    ++at;
  }
  at_ = at;
  return false;
}

// Begins to collect a binary scalar that goes on past the piece, or is malformed.
YsonStep YsonReader::suspend(Token token) {
  token_ = at_;
  suspended_ = place(at_);
  unfinished_ = token;
  sized_ = false;
  kept_.clear();
  YsonEvent unused;
  return resume(unused);
}

YsonStep YsonReader::resume(YsonEvent& event) {
  const Token token = unfinished_;
  if (token >= Token::kString) return resume_binary(event);
  const char* begin = at_;
  const bool ended = advance(token);
  kept_.append(begin, at_);
  if (!ended && !(finished_ && token != Token::kQuoted)) {
    if (finished_) return fail_token("a string has no end");
    if (token != Token::kName && token != Token::kQuoted) {
      if (kept_.size() > kYsonNumberBytesMax) return fail_number();
    } else if (kept_.size() - (token == Token::kQuoted ? 1 : 0) > limits_.string_bytes_max) {
      return fail_string();
    }
    return input_ended();
  }
  unfinished_ = Token::kNone;
  kept_used_ = true;
  return token_ended(token, kept_, event);
}

// Takes bytes until the scalar in kept_ is whole.
YsonStep YsonReader::resume_binary(YsonEvent& event) {
  while (at_ != end_) {
    if (sized_) {
      const std::size_t count = std::min(missing_, static_cast<std::size_t>(end_ - at_));
      kept_.append(at_, count);
      at_ += count;
      missing_ -= count;
    } else {
      kept_.push_back(*at_++);
    }
    if (sized_ ? missing_ == 0 : header_ended()) return binary_ended(event);
    if (state_ == State::kFailed) return YsonStep::kError;
  }
  if (!finished_) return input_ended();
  if (!sized_) return fail("unexpected end of input");
  return fail_token(fmt::format("a string of {} bytes goes on past the end of the input",
                                kept_.size() - header_ + missing_));
}

// After a byte before those of a string: is the scalar whole with it?
bool YsonReader::header_ended() {
  if (unfinished_ == Token::kDouble) return kept_.size() == kDoubleBytes;
  if (kept_.size() == 1) return false;
  std::uint64_t word = 0;
  const std::size_t bytes = read_varint(kept_.data() + 1, kept_.data() + kept_.size(), word);
  if (bytes == 0) {
    if (kept_.size() > kVarintBytesMax) fail_token("a varint is too long");
    return false;
  }
  if (unfinished_ == Token::kVarint) return true;
  if (!check_length(word)) return false;
  sized_ = true;
  header_ = kept_.size();
  missing_ = word / 2;
  return missing_ == 0;
}

YsonStep YsonReader::binary_ended(YsonEvent& event) {
  const Token token = unfinished_;
  unfinished_ = Token::kNone;
  kept_used_ = true;
  binary_ = true;
  if (token == Token::kString) return text(std::string_view(kept_).substr(header_), event);
  std::uint64_t word = 0;
  if (token == Token::kVarint) {
    read_varint(kept_.data() + 1, kept_.data() + kept_.size(), word);
  } else {
    std::memcpy(&word, kept_.data() + 1, sizeof(word));
  }
  return binary_word(kept_[0], word, event);
}

// Checks the length of a binary string, as it is stored.
bool YsonReader::check_length(std::uint64_t zigzag) {
  binary_ = true;
  if (zigzag % 2 != 0) {
    fail_token("a string has a negative length");
  } else if (zigzag / 2 > limits_.string_bytes_max) {
    fail_token(fmt::format("a string of {} bytes is longer than {} bytes", zigzag / 2,
                           limits_.string_bytes_max));
  } else {
    return true;
  }
  return false;
}

YsonStep YsonReader::binary_string(YsonEvent& event) {
  token_ = at_;
  std::uint64_t zigzag = 0;
  const std::size_t bytes = read_varint(at_ + 1, end_, zigzag);
  if (bytes == 0) return suspend(Token::kString);
  if (!check_length(zigzag)) return YsonStep::kError;
  const char* begin = at_ + 1 + bytes;
  const std::uint64_t length = zigzag / 2;
  if (length > static_cast<std::uint64_t>(end_ - begin)) return suspend(Token::kString);
  at_ = begin + length;
  return text({begin, length}, event);
}

YsonStep YsonReader::binary_word(char kind, std::uint64_t word, YsonEvent& event) {
  binary_ = true;
  switch (kind) {
    case kBinaryInt64: event = YsonEvent::int64(from_zigzag(word)); break;
    case kBinaryUint64: event = YsonEvent::uint64(word); break;
    default: event = YsonEvent::number(std::bit_cast<double>(word)); break;
  }
  return scalar();
}

YsonStep YsonReader::token_ended(Token token, std::string_view bytes, YsonEvent& event) {
  switch (token) {
    case Token::kName: return text(bytes, event);
    case Token::kQuoted: return quoted(bytes.substr(1, bytes.size() - 2), event);
    case Token::kNumber: return number(bytes, event);
    default: return special(bytes, event);
  }
}

YsonStep YsonReader::quoted(std::string_view bytes, YsonEvent& event) {
  if (!escaped_) return text(bytes, event);
  if (bytes.size() > limits_.string_bytes_max) return fail_string();
  decoded_.clear();
  if (!append_unescaped(decoded_, bytes)) return fail_token("an invalid escape in a string");
  return text(decoded_, event);
}

YsonStep YsonReader::number(std::string_view bytes, YsonEvent& event) {
  if (bytes.size() > kYsonNumberBytesMax) return fail_number();
  std::int64_t integer = 0;
  std::uint64_t natural = 0;
  double real = 0;
  bool parsed = false;
  if (bytes.ends_with('u')) {
    parsed = parse_decimal(bytes.substr(0, bytes.size() - 1), natural);
    event = YsonEvent::uint64(natural);
  } else if (std::ranges::any_of(bytes, [](char c) { return c == '.' || c == 'e' || c == 'E'; })) {
    parsed = parse_double(bytes, real);
    event = YsonEvent::number(real);
  } else {
    parsed = parse_decimal(bytes, integer);
    event = YsonEvent::int64(integer);
  }
  return parsed ? scalar() : fail_token("a number is malformed or out of range");
}

YsonStep YsonReader::special(std::string_view bytes, YsonEvent& event) {
  using Doubles = std::numeric_limits<double>;
  if (bytes == "%true" || bytes == "%false") {
    event = YsonEvent::boolean(bytes == "%true");
  } else if (bytes == "%nan") {
    event = YsonEvent::number(Doubles::quiet_NaN());
  } else if (bytes == "%inf" || bytes == "%+inf") {
    event = YsonEvent::number(Doubles::infinity());
  } else if (bytes == "%-inf") {
    event = YsonEvent::number(-Doubles::infinity());
  } else {
    return fail_token("an unknown literal that begins with '%'");
  }
  return scalar();
}

}  // namespace moraine
