#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "yson/json_reader.h"
#include "yson/number.h"

namespace moraine {
namespace {

using Kind = YsonEvent::Kind;

bool is_begin(Kind kind) {
  return kind == Kind::kBeginList || kind == Kind::kBeginMap;
}

}  // namespace

std::size_t JsonTape::after(std::size_t at) const {
  return is_begin(entries[at].kind) ? entries[at].word + 1 : at + 1;
}

void JsonTape::clear() {
  // The memory of an unusually large item is released.
  constexpr std::size_t kKeptBytesMax = std::size_t{1} << 20;
  if (bytes() > kKeptBytesMax) {
    entries = std::vector<Entry>();
    text = std::string();
  }
  entries.clear();
  text.clear();
}

void JsonTapeReader::begin() {
  open_.clear();
  wrong_.clear();
  pending_value_ = kNone;
  started_ = false;
}

bool JsonTapeReader::refuse(std::string what) {
  wrong_ = std::move(what);
  return false;
}

bool JsonTapeReader::next(YsonEvent& event) {
  if (!started_) {
    started_ = true;
    return visit(0, false, kNone, event);
  }
  if (pending_value_ != kNone) {
    return visit(std::exchange(pending_value_, kNone), true, pending_type_, event);
  }
  if (open_.empty()) return false;
  Open& top = open_.back();
  const JsonTape::Entry& entry = tape_.entries[top.at];
  if (entry.kind == Kind::kKey) {
    ++top.at;
    return key(entry, event);
  }
  if (entry.kind == Kind::kEndList || entry.kind == Kind::kEndMap) {
    event = YsonEvent::of(top.end);
    pending_value_ = top.value;
    pending_type_ = top.type;
    open_.pop_back();
    return true;
  }
  const std::size_t at = top.at;
  top.at = tape_.after(at);
  return visit(at, false, kNone, event);
}

// `bare`: attributes were returned for the value already. `type`: the entry of its $type.
bool JsonTapeReader::visit(std::size_t at, bool bare, std::size_t type, YsonEvent& event) {
  for (;;) {
    const JsonTape::Entry& entry = tape_.entries[at];
    Parts parts;
    if (entry.kind == Kind::kBeginMap && entry.special && !options_.plain) {
      if (!find_parts(at, parts)) return false;
    }
    if (parts.value == kNone) {
      if (type != kNone) {
        return typed(entry, tape_.text_of(tape_.entries[type]), event);
      }
      if (!is_begin(entry.kind)) {
        event = {.kind = entry.kind, .word = entry.word};
        if (entry.kind == Kind::kString) event = YsonEvent::string(tape_.text_of(entry));
        return true;
      }
      const bool map = entry.kind == Kind::kBeginMap;
      open_.push_back({.end = map ? Kind::kEndMap : Kind::kEndList, .at = at + 1});
      event = YsonEvent::of(entry.kind);
      return true;
    }
    if (type != kNone) return refuse("a $value of a $value with $type");
    if (parts.attributes != kNone) {
      if (bare) return refuse("$attributes of the $value of a map with $attributes");
      open_.push_back({.end = Kind::kEndAttributes,
                       .at = parts.attributes + 1,
                       .value = parts.value,
                       .type = parts.type});
      event = YsonEvent::of(Kind::kBeginAttributes);
      return true;
    }
    at = parts.value;
    type = parts.type;
  }
}

// The special keys of a map.
bool JsonTapeReader::find_parts(std::size_t map, Parts& parts) {
  const std::size_t end = tape_.entries[map].word;
  for (std::size_t at = map + 1; at < end; at = tape_.after(at + 1)) {
    const std::string_view name = tape_.text_of(tape_.entries[at]);
    std::size_t* part = name == "$value"        ? &parts.value
                        : name == "$attributes" ? &parts.attributes
                        : name == "$type"       ? &parts.type
                                                : nullptr;
    if (part == nullptr) continue;
    if (*part != kNone) return refuse(fmt::format("a map has the key {} twice", name));
    *part = at + 1;
  }
  if (parts.value == kNone) {
    return parts.attributes == kNone || refuse("a map has $attributes, but no $value");
  }
  if (parts.attributes != kNone && tape_.entries[parts.attributes].kind != Kind::kBeginMap) {
    return refuse("$attributes is not a map");
  }
  if (parts.type != kNone && tape_.entries[parts.type].kind != Kind::kString) {
    return refuse("$type is not a string");
  }
  return true;
}

bool JsonTapeReader::key(const JsonTape::Entry& entry, YsonEvent& event) {
  std::string_view name = tape_.text_of(entry);
  const bool checked = !options_.plain && options_.attributes != JsonOptions::Attributes::kNever;
  if (checked && name.starts_with('$')) {
    if (!name.starts_with("$$")) {
      return refuse(fmt::format("the key {:?} begins with a single '$'; write it as {:?}", name,
                                fmt::format("${}", name)));
    }
    name.remove_prefix(1);
  }
  event = YsonEvent::key(name);
  return true;
}

bool JsonTapeReader::typed(const JsonTape::Entry& entry, std::string_view type, YsonEvent& event) {
  static constexpr std::string_view kNames[] = {"",       "boolean", "int64",
                                                "uint64", "double",  "string"};
  const auto* known = std::ranges::find(kNames, type);
  if (type.empty() || known == std::end(kNames)) {
    return refuse(fmt::format("unknown $type {:?}", type));
  }
  const auto wanted = static_cast<Kind>(known - std::begin(kNames));
  event = {.kind = entry.kind, .word = entry.word};
  if (entry.kind == wanted) {
    if (wanted == Kind::kString) event = YsonEvent::string(tape_.text_of(entry));
    return true;
  }
  if (entry.kind == Kind::kString) return from_text(tape_.text_of(entry), type, event);
  if (entry.kind == Kind::kInt64 && wanted == Kind::kDouble) {
    event = YsonEvent::number(static_cast<double>(static_cast<std::int64_t>(entry.word)));
    return true;
  }
  if (entry.kind == Kind::kInt64 && wanted == Kind::kUint64 &&
      static_cast<std::int64_t>(entry.word) >= 0) {
    event.kind = Kind::kUint64;
    return true;
  }
  return refuse(fmt::format("a $value is not of its $type {}", type));
}

bool JsonTapeReader::from_text(std::string_view text, std::string_view type, YsonEvent& event) {
  using Doubles = std::numeric_limits<double>;
  std::int64_t integer = 0;
  std::uint64_t natural = 0;
  double real = 0;
  if (type == "boolean" && (text == "true" || text == "false")) {
    event = YsonEvent::boolean(text == "true");
  } else if (type == "int64" && parse_decimal(text, integer)) {
    event = YsonEvent::int64(integer);
  } else if (type == "uint64" && parse_decimal(text, natural)) {
    event = YsonEvent::uint64(natural);
  } else if (type == "double" && parse_double(text, real)) {
    event = YsonEvent::number(real);
  } else if (type == "double" && (text == "inf" || text == "-inf")) {
    event = YsonEvent::number(text == "inf" ? Doubles::infinity() : -Doubles::infinity());
  } else if (type == "double" && text == "nan") {
    event = YsonEvent::number(Doubles::quiet_NaN());
  } else {
    return refuse(fmt::format("the $value {:?} is no {}", text.substr(0, 100), type));
  }
  return true;
}

}  // namespace moraine
