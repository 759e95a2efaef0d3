#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "yson/yson.h"

namespace moraine {
namespace {

constexpr std::size_t kIndent = 4;

void append_varint(std::string& out, std::uint64_t word) {
  for (; word >= 0x80; word >>= 7) out.push_back(static_cast<char>(word | 0x80));
  out.push_back(static_cast<char>(word));
}

void append_quoted(std::string& out, std::string_view text) {
  out.push_back('"');
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (c >= ' ' && c <= '~') {
      out.push_back(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<std::uint8_t>(c));
    }
  }
  out.push_back('"');
}

void append_double(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "%nan";
  } else if (std::isinf(value)) {
    out += value < 0 ? "%-inf" : "%inf";
  } else {
    const std::size_t begin = out.size();
    fmt::format_to(std::back_inserter(out), "{}", value);
    if (out.find_first_of(".e", begin) == std::string::npos) out.push_back('.');
  }
}

class Writer {
 public:
  Writer(std::string& out, YsonFormat format) : out_(out), format_(format) {}

  void node(const YsonNode& node) {
    if (!node.attributes.empty()) {
      pairs('<', node.attributes, '>');
      if (format_ == YsonFormat::kPretty) out_.push_back(' ');
    }
    std::visit([this](const auto& value) { write(value); }, node.value);
  }

 private:
  bool binary() const { return format_ == YsonFormat::kBinary; }

  void write(std::monostate) { out_.push_back('#'); }
  void write(std::int64_t value) {
    if (!binary()) {
      fmt::format_to(std::back_inserter(out_), "{}", value);
      return;
    }
    const auto word = static_cast<std::uint64_t>(value);
    out_.push_back('\x02');
    append_varint(out_, (word << 1) ^ (value < 0 ? ~std::uint64_t{0} : 0));
  }
  void write(std::uint64_t value) {
    if (!binary()) {
      fmt::format_to(std::back_inserter(out_), "{}u", value);
      return;
    }
    out_.push_back('\x06');
    append_varint(out_, value);
  }
  void write(double value) {
    if (!binary()) {
      append_double(out_, value);
      return;
    }
    out_.push_back('\x03');
    const auto bits = std::bit_cast<std::uint64_t>(value);
    for (unsigned shift = 0; shift < 64; shift += 8)
      out_.push_back(static_cast<char>(bits >> shift));
  }
  void write(bool value) {
    if (binary()) {
      out_.push_back(value ? '\x05' : '\x04');
    } else {
      out_ += value ? "%true" : "%false";
    }
  }
  void write(const std::string& text) {
    if (!binary()) {
      append_quoted(out_, text);
      return;
    }
    out_.push_back('\x01');
    append_varint(out_, std::uint64_t{text.size()} << 1);
    out_ += text;
  }
  void write(const YsonList& list) {
    open('[');
    for (const YsonNode& item : list) {
      new_line();
      node(item);
      out_.push_back(';');
    }
    close(']', list.empty());
  }
  void write(const YsonMap& map) { pairs('{', map, '}'); }

  void pairs(char opening, const YsonMap& map, char closing) {
    open(opening);
    for (const YsonPair& pair : map) {
      new_line();
      write(pair.key);
      out_ += format_ == YsonFormat::kPretty ? " = " : "=";
      node(pair.node);
      out_.push_back(';');
    }
    close(closing, map.empty());
  }
  void open(char bracket) {
    out_.push_back(bracket);
    ++depth_;
  }
  void close(char bracket, bool empty) {
    --depth_;
    if (!empty) new_line();
    out_.push_back(bracket);
  }
  void new_line() {
    if (format_ != YsonFormat::kPretty) return;
    out_.push_back('\n');
    out_.append(depth_ * kIndent, ' ');
  }

  std::string& out_;
  const YsonFormat format_;
  std::size_t depth_ = 0;
};

}  // namespace

void append_yson(std::string& out, const YsonNode& node, YsonFormat format) {
  Writer(out, format).node(node);
}

std::string write_yson(const YsonNode& node, YsonFormat format) {
  std::string out;
  append_yson(out, node, format);
  return out;
}

bool operator==(const YsonNode& a, const YsonNode& b) {
  return a.value == b.value && a.attributes == b.attributes;
}

bool operator==(const YsonPair& a, const YsonPair& b) {
  return a.key == b.key && a.node == b.node;
}

const YsonNode* find(const YsonMap& map, std::string_view key) {
  const auto found = std::find_if(map.rbegin(), map.rend(),
                                  [key](const YsonPair& pair) { return pair.key == key; });
  return found == map.rend() ? nullptr : &found->node;
}

}  // namespace moraine
