#include "base/json.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/invariant.h"
#include "base/utf8.h"

namespace moraine {
namespace {

constexpr std::string_view kReplacement = "\\ufffd";

void append_quoted(std::string& to, std::string_view text) {
  to += '"';
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char c = text.front();
    if (length == 0) {
      to += kReplacement;
    } else if (c == '"' || c == '\\') {
      to += '\\';
      to += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      to += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      to += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  to += '"';
}

}  // namespace

void Json::separate() {
  if (after_key_) {
    after_key_ = false;
  } else if (!first_) {
    text_ += ',';
  }
  first_ = false;
}

Json& Json::open(char opening, char closing) {
  separate();
  text_ += opening;
  open_.push_back(closing);
  first_ = true;
  return *this;
}

Json& Json::end() {
  INVARIANT(!open_.empty() && !after_key_, "nothing to end");
  text_ += open_.back();
  open_.pop_back();
  first_ = false;
  return *this;
}

Json& Json::key(std::string_view name) {
  INVARIANT(!open_.empty() && open_.back() == '}' && !after_key_, "a key outside an object");
  separate();
  append_quoted(text_, name);
  text_ += ':';
  after_key_ = true;
  return *this;
}

Json& Json::raw(std::string_view text) {
  separate();
  text_ += text;
  return *this;
}

Json& Json::value(std::string_view text) {
  separate();
  append_quoted(text_, text);
  return *this;
}

Json& Json::value(double number) {
  return std::isfinite(number) ? raw(fmt::format("{}", number)) : null();
}

std::string Json::take() {
  INVARIANT(open_.empty(), "{} brackets are open", open_.size());
  first_ = true;
  return std::exchange(text_, {});
}

std::string base64(ByteSpan bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      word = word << 8 | (i < count ? static_cast<std::uint32_t>(bytes[at + i]) : 0);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      text += i <= count ? kDigits[word >> (18 - 6 * i) & 63] : '=';
    }
  }
  return text;
}

}  // namespace moraine
