#include "yson/dsv.h"

#include <algorithm>

namespace moraine {
namespace {

char escaped(char c) {
  switch (c) {
    case '\0': return '0';
    case '\n': return 'n';
    case '\t': return 't';
    case '\r': return 'r';
    default: return c;
  }
}

}  // namespace

DsvSyntax::DsvSyntax(const DsvOptions& options, bool for_writing)
    : escaping_(options.enable_escaping), escaping_symbol_(options.escaping_symbol) {
  for (const char c : {options.record_separator, options.field_separator, '\0'}) {
    value_stops_[static_cast<std::uint8_t>(c)] = true;
  }
  if (for_writing) value_stops_['\r'] = true;
  if (escaping_) value_stops_[static_cast<std::uint8_t>(escaping_symbol_)] = true;
  key_stops_ = value_stops_;
  key_stops_[static_cast<std::uint8_t>(options.key_value_separator)] = true;
}

DsvSyntax::DsvSyntax(const SchemafulDsvOptions& options)
    : escaping_(options.enable_escaping), escaping_symbol_(options.escaping_symbol) {
  value_stops_[static_cast<std::uint8_t>(options.record_separator)] = true;
  value_stops_[static_cast<std::uint8_t>(options.field_separator)] = true;
  if (escaping_) value_stops_[static_cast<std::uint8_t>(escaping_symbol_)] = true;
  key_stops_ = value_stops_;
}

void DsvSyntax::append_key(std::string& out, std::string_view text) const {
  append(out, text, key_stops_);
}

void DsvSyntax::append_value(std::string& out, std::string_view text) const {
  append(out, text, value_stops_);
}

void DsvSyntax::append(std::string& out, std::string_view text, const Stops& stops) const {
  if (!escaping_) {
    out += text;
    return;
  }
  const auto stop = [&stops](char c) { return stops[static_cast<std::uint8_t>(c)]; };
  for (;;) {
    const auto* found = std::ranges::find_if(text, stop);
    const auto plain = static_cast<std::size_t>(found - text.begin());
    out += text.substr(0, plain);
    if (plain == text.size()) return;
    out.push_back(escaping_symbol_);
    out.push_back(escaped(*found));
    text.remove_prefix(plain + 1);
  }
}

}  // namespace moraine
