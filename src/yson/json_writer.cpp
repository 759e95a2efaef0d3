#include "yson/json_writer.h"

#include <cmath>

#include "base/utf8.h"
#include "yson/json_text.h"
#include "yson/number.h"

namespace moraine {
namespace {

using Kind = YsonEvent::Kind;
using Attributes = JsonOptions::Attributes;

constexpr std::size_t kIndent = 4;

std::string_view type_name(Kind kind) {
  switch (kind) {
    case Kind::kBoolean: return "boolean";
    case Kind::kInt64: return "int64";
    case Kind::kUint64: return "uint64";
    case Kind::kDouble: return "double";
    default: return "string";
  }
}

void append_escape(std::string& out, char c) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  out.push_back('\\');
  switch (c) {
    case '"':
    case '\\': out.push_back(c); return;
    case '\b': out.push_back('b'); return;
    case '\f': out.push_back('f'); return;
    case '\n': out.push_back('n'); return;
    case '\r': out.push_back('r'); return;
    case '\t': out.push_back('t'); return;
    default: break;
  }
  out += "u00";
  out.push_back(kDigits[static_cast<std::uint8_t>(c) >> 4]);
  out.push_back(kDigits[static_cast<std::uint8_t>(c) & 15]);
}

// At most `limit` bytes, without a part of a character if the text is UTF-8.
std::string_view cut_to(std::string_view text, std::size_t limit, bool utf8) {
  if (!utf8) return text.substr(0, limit);
  while (limit > 0 && (static_cast<std::uint8_t>(text[limit]) & 0xc0) == 0x80) --limit;
  return text.substr(0, limit);
}

}  // namespace

bool JsonWriter::on(const YsonEvent& event) {
  if (document_ == YsonDocument::kMapFragment) return refuse("json: there are no map fragments");
  const bool never = options_.attributes == Attributes::kNever;
  if (event.kind == Kind::kBeginAttributes) {
    ++attributes_;
    if (never) return true;
    open('{');
    special_key("$attributes");
    open('{');
    return true;
  }
  if (event.kind == Kind::kEndAttributes) {
    --attributes_;
    if (never) return true;
    close('}');
    has_start_ = true;
    return true;
  }
  if (never && attributes_ > 0) return true;
  if (event.is_scalar()) return scalar(event);
  return structure(event);
}

bool JsonWriter::structure(const YsonEvent& event) {
  switch (event.kind) {
    case Kind::kKey: return key(event.text);
    case Kind::kBeginList:
      enter_node();
      open('[');
      return true;
    case Kind::kBeginMap:
      enter_node();
      open('{');
      return true;
    default:
      close(event.kind == Kind::kEndList ? ']' : '}');
      leave_node();
      return true;
  }
}

bool JsonWriter::scalar(const YsonEvent& event) {
  std::string_view text = event.text;
  const bool cut = event.kind == Kind::kString && options_.string_length_limit &&
                   text.size() > *options_.string_length_limit &&
                   options_.attributes != Attributes::kNever;
  if (cut) text = cut_to(text, *options_.string_length_limit, !options_.encode_utf8);
  if (event.kind != Kind::kEntity) begin_annotated(type_name(event.kind), cut);
  enter_node();
  begin_value();
  const bool quoted =
      options_.stringify && event.kind != Kind::kEntity && event.kind != Kind::kString;
  if (quoted) out_.push_back('"');
  bool written = true;
  switch (event.kind) {
    case Kind::kEntity: out_ += "null"; break;
    case Kind::kBoolean: out_ += event.as_boolean() ? "true" : "false"; break;
    case Kind::kInt64: append_decimal(out_, event.as_int64()); break;
    case Kind::kUint64: append_decimal(out_, event.as_uint64()); break;
    case Kind::kDouble: written = number(event.as_double()); break;
    default: written = encoded(text); break;
  }
  if (quoted) out_.push_back('"');
  leave_node();
  return written;
}

bool JsonWriter::number(double value) {
  if (options_.stringify) {
    append_shortest(out_, value);
    return true;
  }
  if (!std::isfinite(value)) {
    if (options_.stringify_nan_and_infinity) {
      out_.push_back('"');
      append_shortest(out_, value);
      out_.push_back('"');
      return true;
    }
    if (std::isnan(value) && options_.support_infinity) {
      return refuse("json: a double is NaN; use the option stringify_nan_and_infinity");
    }
    if (!options_.support_infinity) {
      return refuse(
          "json: a double is NaN or infinite; use the option support_infinity or "
          "stringify_nan_and_infinity");
    }
  }
  append_json_double(out_, value);
  return true;
}

// Opens the map in which the next node becomes the $value.
void JsonWriter::wrap() {
  if (has_start_) return;
  open('{');
  has_start_ = true;
}

void JsonWriter::begin_annotated(std::string_view type, bool cut) {
  if (options_.attributes == Attributes::kNever) return;
  if (cut) {
    wrap();
    special_key("$incomplete");
    begin_value();
    out_ += "true";
  }
  if (options_.annotate_with_types) {
    wrap();
    special_key("$type");
    begin_value();
    plain_text(type);
  }
}

void JsonWriter::enter_node() {
  if (options_.attributes == Attributes::kAlways && !has_start_) {
    wrap();
    special_key("$attributes");
    open('{');
    close('}');
  }
  wrapped_.push_back(has_start_);
  if (has_start_) special_key("$value");
  has_start_ = false;
}

void JsonWriter::leave_node() {
  if (wrapped_.back()) close('}');
  wrapped_.pop_back();
  if (!open_.empty()) return;
  if (options_.pretty) out_.push_back('\n');
  if (document_ == YsonDocument::kListFragment) out_.push_back('\n');
}

void JsonWriter::indent() {
  out_.append(open_.size() * kIndent, ' ');
}

void JsonWriter::begin_value() {
  if (after_key_) {
    out_ += options_.pretty ? ": " : ":";
    after_key_ = false;
    return;
  }
  if (!open_.empty()) begin_key();
}

// Also the beginning of an item of a list.
void JsonWriter::begin_key() {
  if (!open_.back().empty) out_ += options_.pretty ? ",\n" : ",";
  open_.back().empty = false;
  if (options_.pretty) indent();
}

void JsonWriter::open(char bracket) {
  begin_value();
  out_.push_back(bracket);
  if (options_.pretty) out_.push_back('\n');
  open_.emplace_back();
}

void JsonWriter::close(char bracket) {
  open_.pop_back();
  if (options_.pretty) {
    out_.push_back('\n');
    indent();
  }
  out_.push_back(bracket);
}

void JsonWriter::special_key(std::string_view key) {
  begin_key();
  plain_text(key);
  after_key_ = true;
}

bool JsonWriter::key(std::string_view text) {
  begin_key();
  after_key_ = true;
  if (!text.starts_with('$')) return encoded(text);
  return encoded("$" + std::string(text));
}

// Requires: the text needs no escapes.
void JsonWriter::plain_text(std::string_view text) {
  out_.push_back('"');
  out_ += text;
  out_.push_back('"');
}

bool JsonWriter::encoded(std::string_view text) {
  out_.push_back('"');
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = at + plain_json_length(text.substr(at));
    out_.append(text, at, end - at);
    if (end == text.size()) break;
    const auto byte = static_cast<std::uint8_t>(text[end]);
    at = end + 1;
    if (byte < 0x80) {
      append_escape(out_, text[end]);
    } else if (options_.encode_utf8) {
      out_.push_back(static_cast<char>(0xc0 | byte >> 6));
      out_.push_back(static_cast<char>(0x80 | (byte & 0x3f)));
    } else {
      const std::size_t length = utf8_length(text.substr(end));
      if (length == 0) return refuse("json: a string is not UTF-8; use the option encode_utf8");
      out_ += text.substr(end, length);
      at = end + length;
    }
  }
  out_.push_back('"');
  return true;
}

}  // namespace moraine
