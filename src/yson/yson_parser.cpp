#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cstring>
#include <limits>

#include "yson/yson.h"

namespace moraine {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool continues_name(char c) {
  return begins_name(c) || is_digit(c) || c == '.' || c == '-';
}
bool is_number_char(char c) {
  return is_digit(c) || c == '+' || c == '-' || c == '.' || c == 'e' || c == 'E' || c == 'u';
}
int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

constexpr char kBinaryString = 1;
constexpr char kBinaryInt64 = 2;
constexpr char kBinaryDouble = 3;
constexpr char kBinaryFalse = 4;
constexpr char kBinaryTrue = 5;
constexpr char kBinaryUint64 = 6;

// Builds trees, or only checks when `out` is null. After a failure error_ says what failed, and
// nothing more is read.
class Parser {
 public:
  explicit Parser(std::string_view input) : input_(input) {}

  Result<void> run(YsonDocument document, YsonNode* out) {
    bool ok = false;
    switch (document) {
      case YsonDocument::kNode: ok = node(out); break;
      case YsonDocument::kListFragment: ok = items('\0', out); break;
      case YsonDocument::kMapFragment:
        ok = pairs('\0', out == nullptr ? nullptr : &out->value.emplace<YsonMap>());
        break;
    }
    if (ok && !at_end()) ok = refuse("more than one node");
    if (ok) return {};
    return fail(Errc::kInvalidArgument, fmt::format("yson: {} at byte {}", error_, at_));
  }

 private:
  bool refuse(std::string_view what) {
    if (error_.empty()) error_ = what;
    return false;
  }
  // The next character that is no space; '\0' at the end. A zero byte begins no token.
  char peek() {
    while (at_ < input_.size() && is_space(input_[at_])) ++at_;
    if (at_ == input_.size()) return '\0';
    if (input_[at_] == '\0') refuse("unexpected zero byte");
    return input_[at_];
  }
  bool at_end() { return peek() == '\0' && error_.empty(); }

  bool node(YsonNode* out) {
    if (++depth_ > kYsonDepthMax) return refuse("nesting is too deep");
    if (peek() == '<') {
      ++at_;
      if (!pairs('>', out == nullptr ? nullptr : &out->attributes)) return false;
    }
    if (!value(out)) return false;
    --depth_;
    return true;
  }

  bool value(YsonNode* out) {
    const char c = peek();
    if (!error_.empty()) return false;
    switch (c) {
      case '\0': return refuse("unexpected end");
      case '#': ++at_; return true;
      case '[': ++at_; return items(']', out);
      case '{': ++at_; return pairs('}', out == nullptr ? nullptr : &out->value.emplace<YsonMap>());
      case '%': return special(out);
      case '"':
      case kBinaryString: return string(out);
      case kBinaryInt64:
      case kBinaryDouble:
      case kBinaryFalse:
      case kBinaryTrue:
      case kBinaryUint64: return binary(out);
      default: break;
    }
    if (begins_name(c)) return string(out);
    if (is_digit(c) || c == '-' || c == '+') return number(out);
    return refuse("unexpected character");
  }

  bool closes(char closing) {
    if (closing == '\0') return at_end();
    if (peek() != closing) return false;
    ++at_;
    return true;
  }
  // After an item. True: more may follow. False: the end or a failure.
  bool separated(char closing, bool& closed) {
    closed = closes(closing);
    if (closed) return false;
    if (peek() != ';') {
      closed = refuse("expected ';' or the end");
      return false;
    }
    ++at_;
    closed = closes(closing);
    return !closed;
  }

  bool items(char closing, YsonNode* out) {
    YsonList* list = out == nullptr ? nullptr : &out->value.emplace<YsonList>();
    bool closed = closes(closing);
    if (closed) return true;
    do {
      if (!node(list == nullptr ? nullptr : &list->emplace_back())) return false;
    } while (separated(closing, closed));
    return closed;
  }

  bool pairs(char closing, YsonMap* map) {
    bool closed = closes(closing);
    if (closed) return true;
    do {
      YsonPair* pair = map == nullptr ? nullptr : &map->emplace_back();
      if (!key(pair == nullptr ? nullptr : &pair->key)) return false;
      if (peek() != '=') return refuse("expected '='");
      ++at_;
      if (!node(pair == nullptr ? nullptr : &pair->node)) return false;
    } while (separated(closing, closed));
    return closed;
  }

  bool key(std::string* out) {
    const char c = peek();
    if (c != '"' && c != kBinaryString && !begins_name(c)) return refuse("expected a key");
    std::size_t size = 0;
    if (!text(out, size)) return false;
    return size > 0 || refuse("a key is empty");
  }

  bool string(YsonNode* out) {
    std::size_t size = 0;
    return text(out == nullptr ? nullptr : &out->value.emplace<std::string>(), size);
  }

  bool text(std::string* out, std::size_t& size) {
    const char c = input_[at_];
    if (c == '"') return quoted(out, size);
    const std::size_t begin = at_;
    std::string_view bytes;
    if (c == kBinaryString) {
      ++at_;
      std::uint64_t length = 0;
      if (!varint(length)) return false;
      // Zigzag: odd ones are negative.
      if (length % 2 != 0 || length / 2 > input_.size() - at_) {
        return refuse("invalid string length");
      }
      bytes = input_.substr(at_, length / 2);
      at_ += bytes.size();
    } else {
      while (at_ < input_.size() && continues_name(input_[at_])) ++at_;
      bytes = input_.substr(begin, at_ - begin);
    }
    if (out != nullptr) *out = bytes;
    size = bytes.size();
    return true;
  }

  bool quoted(std::string* out, std::size_t& size) {
    ++at_;
    while (at_ < input_.size() && input_[at_] != '"') {
      char c = input_[at_++];
      if (c == '\\' && !escape(c)) return false;
      if (out != nullptr) out->push_back(c);
      ++size;
    }
    if (at_ == input_.size()) return refuse("a string has no end");
    ++at_;
    return true;
  }

  bool escape(char& c) {
    if (at_ == input_.size()) return refuse("a string has no end");
    const char kind = input_[at_++];
    switch (kind) {
      case 'n': c = '\n'; return true;
      case 't': c = '\t'; return true;
      case 'r': c = '\r'; return true;
      case 'a': c = '\a'; return true;
      case 'b': c = '\b'; return true;
      case 'f': c = '\f'; return true;
      case 'v': c = '\v'; return true;
      case '\\':
      case '"':
      case '\'':
      case '?': c = kind; return true;
      case 'x': return digits(16, 2, 0, c);
      default: break;
    }
    if (kind >= '0' && kind <= '7') return digits(8, 2, kind - '0', c);
    return refuse("unknown escape");
  }

  // Up to `count` more digits of a character's code.
  bool digits(int base, int count, int code, char& c) {
    bool any = base == 8;
    for (; count > 0 && at_ < input_.size(); --count) {
      const int digit = hex_digit(input_[at_]);
      if (digit < 0 || digit >= base) break;
      code = code * base + digit;
      any = true;
      ++at_;
    }
    if (!any || code > 255) return refuse("invalid code of an escaped character");
    c = static_cast<char>(code);
    return true;
  }

  bool special(YsonNode* out) {
    struct Word {
      std::string_view name;
      bool boolean;
      double number;
    };
    using Doubles = std::numeric_limits<double>;
    static constexpr Word kWords[] = {{"%true", true, 0},
                                      {"%false", false, 0},
                                      {"%nan", false, Doubles::quiet_NaN()},
                                      {"%inf", false, Doubles::infinity()},
                                      {"%+inf", false, Doubles::infinity()},
                                      {"%-inf", false, -Doubles::infinity()}};
    const std::string_view rest = input_.substr(at_);
    for (const Word& word : kWords) {
      if (!rest.starts_with(word.name)) continue;
      at_ += word.name.size();
      if (out == nullptr) return true;
      if (word.number != 0) {
        out->value = word.number;
      } else {
        out->value = word.boolean;
      }
      return true;
    }
    return refuse("unknown % literal");
  }

  template <class T>
  bool convert(std::string_view digits, YsonNode* out) {
    T result{};
    const char* end = digits.data() + digits.size();
    const auto [stop, code] = std::from_chars(digits.data(), end, result);
    if (digits.empty() || code != std::errc() || stop != end) return refuse("invalid number");
    if (out != nullptr) out->value = result;
    return true;
  }

  bool number(YsonNode* out) {
    const std::size_t begin = at_;
    while (at_ < input_.size() && is_number_char(input_[at_])) ++at_;
    std::string_view token = input_.substr(begin, at_ - begin);
    if (token.starts_with('+')) token.remove_prefix(1);
    if (token.starts_with('+')) return refuse("invalid number");
    if (token.ends_with('u')) return convert<std::uint64_t>(token.substr(0, token.size() - 1), out);
    if (token.find_first_of(".eE") != std::string_view::npos) return convert<double>(token, out);
    return convert<std::int64_t>(token, out);
  }

  bool varint(std::uint64_t& result) {
    result = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == input_.size()) return refuse("unexpected end");
      const auto byte = static_cast<std::uint8_t>(input_[at_++]);
      if (shift == 63 && byte > 1) return refuse("a varint is too long");
      result |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return true;
    }
    return refuse("a varint is too long");
  }

  bool binary(YsonNode* out) {
    const char kind = input_[at_++];
    std::uint64_t word = 0;
    if (kind == kBinaryDouble) {
      if (input_.size() - at_ < sizeof(word)) return refuse("unexpected end");
      std::memcpy(&word, input_.data() + at_, sizeof(word));
      at_ += sizeof(word);
    } else if (kind == kBinaryInt64 || kind == kBinaryUint64) {
      if (!varint(word)) return false;
    }
    if (out == nullptr) return true;
    switch (kind) {
      case kBinaryInt64:
        out->value = static_cast<std::int64_t>((word >> 1) ^ (0 - (word & 1)));
        break;
      case kBinaryUint64: out->value = word; break;
      case kBinaryDouble: out->value = std::bit_cast<double>(word); break;
      default: out->value = kind == kBinaryTrue; break;
    }
    return true;
  }

  std::string_view input_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  std::string_view error_;
};

}  // namespace

Result<YsonNode> parse_yson(std::string_view input, YsonDocument document) {
  YsonNode node;
  TRY_VOID(Parser(input).run(document, &node));
  return node;
}

Result<void> check_yson(std::string_view input, YsonDocument document) {
  return Parser(input).run(document, nullptr);
}

}  // namespace moraine
