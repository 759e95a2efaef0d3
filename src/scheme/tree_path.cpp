#include "scheme/tree_path.h"

#include <fmt/format.h>

#include "scheme/object_id.h"
#include "scheme/path.h"

namespace moraine {
namespace {

constexpr std::string_view kSpecial = "/@&*[{\\";
constexpr std::string_view kHex = "0123456789ABCDEF";

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// A byte of two hex digits at the start of `text`; -1: there are none.
int hex_byte(std::string_view text) {
  if (text.size() < 2) return -1;
  const int high = hex_digit(text[0]);
  const int low = hex_digit(text[1]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

class PathParser {
 public:
  explicit PathParser(std::string_view text) : text_(text) {}

  Result<TreePath> parse() {
    if (text_.size() > kTreePathBytesMax) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("a path of {} bytes, more than {}", text_.size(), kTreePathBytesMax));
    }
    TRY_VOID(root());
    while (at_ < text_.size()) {
      if (path_.tokens.size() >= kTreePathTokensMax) {
        return fail(Errc::kInvalidArgument,
                    fmt::format("a path of more than {} names", kTreePathTokensMax));
      }
      TRY_VOID(token());
    }
    return std::move(path_);
  }

 private:
  std::unexpected<Error> wrong(std::string_view what) const {
    return fail(Errc::kInvalidArgument,
                fmt::format("{} at byte {} of path {}", what, at_, text_.substr(0, 256)));
  }

  Result<void> root() {
    if (text_.empty()) return fail(Errc::kInvalidArgument, "YPath cannot be empty");
    if (text_[0] == '/') {
      at_ = 1;
      return {};
    }
    if (text_[0] != '#') return wrong("YPath must start with \"/\" or \"#\", not so");
    const std::size_t end = std::min(text_.find_first_of("/&", 1), text_.size());
    TRY(path_.object, parse_object_id(text_.substr(1, end - 1)));
    at_ = end;
    return {};
  }

  Result<void> token() {
    const char c = text_[at_];
    if (c == '&') {
      ++at_;
      add(TreeToken::Kind::kNoLink);
      return {};
    }
    if (c != '/') return wrong(fmt::format("Expected \"slash\" but got \"{}\"", c));
    ++at_;
    if (at_ == text_.size()) return wrong("Expected a name but got the end");
    if (text_[at_] == '*') {
      ++at_;
      add(TreeToken::Kind::kAll);
      return {};
    }
    if (text_[at_] != '@') return name();
    ++at_;
    add(TreeToken::Kind::kAttributes);
    if (at_ == text_.size() || text_[at_] == '/' || text_[at_] == '&') return {};
    if (text_[at_] == '*') {
      ++at_;
      add(TreeToken::Kind::kAll);
      return {};
    }
    return name();
  }

  Result<void> name() {
    TreeToken token;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\\') {
        TRY_VOID(escape(token.name));
        continue;
      }
      if (kSpecial.find(c) != std::string_view::npos) break;
      token.name.push_back(c);
      ++at_;
    }
    if (token.name.empty()) return wrong("Expected a name");
    path_.tokens.push_back(std::move(token));
    return {};
  }

  Result<void> escape(std::string& out) {
    if (at_ + 1 == text_.size()) return wrong("Unexpected end-of-string while parsing an escape");
    const char c = text_[at_ + 1];
    if (kSpecial.find(c) != std::string_view::npos) {
      out.push_back(c);
      at_ += 2;
      return {};
    }
    const int byte = c == 'x' ? hex_byte(text_.substr(at_ + 2)) : -1;
    if (byte < 0) return wrong("Invalid escape sequence");
    out.push_back(static_cast<char>(byte));
    at_ += 4;
    return {};
  }

  void add(TreeToken::Kind kind) { path_.tokens.push_back({kind, {}}); }

  const std::string_view text_;
  std::size_t at_ = 0;
  TreePath path_;
};

void append_name(std::string& out, std::string_view name) {
  for (const char c : name) {
    if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
      continue;
    }
    if (kSpecial.find(c) != std::string_view::npos) out.push_back('\\');
    out.push_back(c);
  }
}

}  // namespace

Result<TreePath> parse_tree_path(std::string_view text) {
  return PathParser(text).parse();
}

std::string to_text(std::span<const TreeToken> tokens) {
  std::string out;
  bool after_at = false;
  for (const TreeToken& token : tokens) {
    switch (token.kind) {
      case TreeToken::Kind::kName:
        if (!after_at) out += '/';
        append_name(out, token.name);
        break;
      case TreeToken::Kind::kAttributes: out += "/@"; break;
      case TreeToken::Kind::kNoLink: out += '&'; break;
      case TreeToken::Kind::kAll: out += after_at ? "*" : "/*"; break;
    }
    after_at = token.kind == TreeToken::Kind::kAttributes;
  }
  return out;
}

std::string to_text(const TreePath& path) {
  return (path.object ? "#" + to_text(*path.object) : "/") + to_text(path.tokens);
}

std::string scheme_name(std::string_view name) {
  if (check_name(name) && name.find('%') == std::string_view::npos) return std::string(name);
  const bool dots = name == "." || name == "..";
  std::string out;
  for (const char c : name) {
    if (!dots && check_name(std::string_view(&c, 1))) {
      out.push_back(c);
    } else if (!dots && c == '.') {
      out.push_back(c);
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out.push_back('%');
      out.push_back(kHex[byte >> 4]);
      out.push_back(kHex[byte & 0xf]);
    }
  }
  return out;
}

std::string tree_name(std::string_view scheme_name) {
  std::string out;
  for (std::size_t i = 0; i < scheme_name.size(); ++i) {
    const int byte = scheme_name[i] == '%' ? hex_byte(scheme_name.substr(i + 1)) : -1;
    if (byte < 0) {
      out.push_back(scheme_name[i]);
      continue;
    }
    out.push_back(static_cast<char>(byte));
    i += 2;
  }
  return out;
}

std::string tree_path_of(std::string_view scheme_path) {
  if (scheme_path.empty()) return "/";
  if (scheme_path.starts_with('#')) return std::string(scheme_path);
  std::string out = "/";
  for (const std::string_view name : names_of(scheme_path)) {
    out += '/';
    append_name(out, tree_name(name));
  }
  return out;
}

}  // namespace moraine
