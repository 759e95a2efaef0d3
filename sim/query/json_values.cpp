#include "sim/query/json_values.h"

#include <fmt/format.h>

#include "base/invariant.h"
#include "yson/json_reader.h"
#include "yson/yson.h"

namespace moraine::sim {
namespace {

void append_text(std::string& out, std::string_view text) {
  out.push_back('"');
  for (const char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  out.push_back('"');
}

void append_double(std::string& out, double value) {
  const std::string text = fmt::format("{}", value);
  out += text;
  if (text.find_first_of(".e") == std::string::npos) out += ".0";
}

void append(std::string& out, const YsonNode& node) {
  if (const auto* list = node.as<YsonList>()) {
    out.push_back('[');
    for (const YsonNode& item : *list) {
      if (out.back() != '[') out.push_back(',');
      append(out, item);
    }
    out.push_back(']');
  } else if (const auto* map = node.as<YsonMap>()) {
    out.push_back('{');
    for (const YsonPair& pair : *map) {
      if (out.back() != '{') out.push_back(',');
      append_text(out, pair.key);
      out.push_back(':');
      append(out, pair.node);
    }
    out.push_back('}');
  } else if (const auto* text = node.as<std::string>()) {
    append_text(out, *text);
  } else if (const auto* number = node.as<std::int64_t>()) {
    out += fmt::format("{}", *number);
  } else if (const auto* real = node.as<double>()) {
    append_double(out, *real);
  } else if (const auto* flag = node.as<bool>()) {
    out += *flag ? "true" : "false";
  } else {
    INVARIANT(node.is_entity(), "a value without a form in JSON");
    out += "null";
  }
}

YsonNode parsed(std::string_view yson) {
  auto node = parse_yson(yson);
  INVARIANT(node, "{}", node.error().context);
  return std::move(*node);
}

}  // namespace

std::string json_of(std::string_view yson) {
  std::string out;
  append(out, parsed(yson));
  return out;
}

Value any_of_json(std::string_view json, table::TextMemory& texts) {
  JsonReader reader({.plain = true, .encode_utf8 = false});
  YsonTreeBuilder builder;
  const auto done = convert(json, reader, builder);
  INVARIANT(done, "{} in {}", done.error().context, json);
  return Value::any(texts.keep(write_yson(builder.take(), YsonFormat::kBinary)));
}

Value normalized(const Value& value, table::TextMemory& texts) {
  if (value.type() != ValueType::kAny) return value;
  return Value::any(texts.keep(write_yson(parsed(value.text()), YsonFormat::kBinary)));
}

}  // namespace moraine::sim
