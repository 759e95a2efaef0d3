#include "table/model/logical_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/invariant.h"
#include "base/utf8.h"
#include "table/model/limits.h"
#include "yson/yson.h"

namespace moraine::table {
namespace {

using Kind = LogicalType::Kind;

std::unexpected<Error> invalid(std::string why) {
  return fail(Errc::kInvalidArgument, std::move(why));
}

std::string_view name_of(ColumnType type) {
  if (type == ColumnType::kBoolean) return "bool";
  if (type == ColumnType::kAny) return "yson";
  return to_string(type);
}

// The value of "type_name".
std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::kSimple: break;
    case Kind::kNull: return "null";
    case Kind::kVoid: return "void";
    case Kind::kDecimal: return "decimal";
    case Kind::kOptional: return "optional";
    case Kind::kList: return "list";
    case Kind::kStruct: return "struct";
    case Kind::kTuple: return "tuple";
    case Kind::kVariantStruct:
    case Kind::kVariantTuple: return "variant";
    case Kind::kDict: return "dict";
    case Kind::kTagged: return "tagged";
  }
  return "";
}

class TypeParser {
 public:
  Result<LogicalType> parse(const YsonNode& node) {
    if (depth_ == kTypeDepthMax) {
      return invalid(fmt::format("a type is nested more than {} deep", kTypeDepthMax));
    }
    if (++nodes_ > kTypeNodesMax) {
      return invalid(fmt::format("a type has more than {} parts", kTypeNodesMax));
    }
    ++depth_;
    auto type = parse_here(node);
    --depth_;
    return type;
  }

 private:
  static Result<LogicalType> parse_name(const std::string& name) {
    if (name == "null") return LogicalType::of(Kind::kNull);
    if (name == "void") return LogicalType::of(Kind::kVoid);
    const auto type = parse_column_type(name);
    if (type && name_of(*type) == name) return LogicalType::of(*type);
    return invalid(fmt::format("\"{}\" is not the name of a type", name.substr(0, kNameBytesMax)));
  }

  static Result<std::uint8_t> small_number(const YsonNode& node, std::string_view key) {
    const YsonNode* value = node.find(key);
    if (value == nullptr) return invalid(fmt::format("a decimal type has no \"{}\"", key));
    if (const auto* number = value->as<std::int64_t>()) {
      if (*number >= 0 && *number <= kDecimalPrecisionMax) {
        return static_cast<std::uint8_t>(*number);
      }
    }
    if (const auto* number = value->as<std::uint64_t>()) {
      if (*number <= kDecimalPrecisionMax) return static_cast<std::uint8_t>(*number);
    }
    return invalid(fmt::format("\"{}\" of a decimal type is not an integer of 0..{}", key,
                               kDecimalPrecisionMax));
  }

  static Result<LogicalType> parse_decimal(const YsonNode& node) {
    LogicalType type = LogicalType::of(Kind::kDecimal);
    TRY(type.precision, small_number(node, "precision"));
    TRY(type.scale, small_number(node, "scale"));
    if (type.precision == 0) return invalid("the precision of a decimal type is 0");
    if (type.scale > type.precision) {
      return invalid("the scale of a decimal type is above its precision");
    }
    return type;
  }

  Result<void> add_part(LogicalType& type, const YsonNode& node, std::string_view key) {
    const YsonNode* part = node.find(key);
    if (part == nullptr) {
      return invalid(fmt::format("a type \"{}\" has no \"{}\"", name_of(type.kind), key));
    }
    auto parsed = parse(*part);
    if (!parsed) return std::unexpected(std::move(parsed).error().within(std::string(key)));
    type.parts.push_back(std::move(*parsed));
    return {};
  }

  Result<LogicalType> parse_members(Kind kind, const YsonNode& list) {
    LogicalType type = LogicalType::of(kind);
    const auto* members = list.as<YsonList>();
    if (members == nullptr) return invalid("\"members\" is not a list");
    std::set<std::string_view> names;
    for (const YsonNode& member : *members) {
      const YsonNode* name = member.find("name");
      const auto* text = name == nullptr ? nullptr : name->as<std::string>();
      if (text == nullptr) return invalid("a member has no \"name\"");
      if (text->empty() || text->size() > kNameBytesMax || !is_utf8(*text)) {
        return invalid(
            fmt::format("the name of a member has not 1..{} bytes of UTF-8", kNameBytesMax));
      }
      if (!names.insert(*text).second) {
        return invalid(fmt::format("two members have the name \"{}\"", *text));
      }
      type.names.push_back(*text);
      if (auto added = add_part(type, member, "type"); !added) {
        return std::unexpected(
            std::move(added).error().within(fmt::format("member \"{}\"", *text)));
      }
    }
    return type;
  }

  Result<LogicalType> parse_elements(Kind kind, const YsonNode& list) {
    LogicalType type = LogicalType::of(kind);
    const auto* elements = list.as<YsonList>();
    if (elements == nullptr) return invalid("\"elements\" is not a list");
    for (const YsonNode& element : *elements) {
      if (auto added = add_part(type, element, "type"); !added) {
        return std::unexpected(
            std::move(added).error().within(fmt::format("element {}", type.parts.size())));
      }
    }
    return type;
  }

  Result<LogicalType> parse_variant(const YsonNode& node) {
    const YsonNode* members = node.find("members");
    const YsonNode* elements = node.find("elements");
    if ((members == nullptr) == (elements == nullptr)) {
      return invalid("a variant type has neither or both of \"members\" and \"elements\"");
    }
    TRY(LogicalType type, members != nullptr ? parse_members(Kind::kVariantStruct, *members)
                                             : parse_elements(Kind::kVariantTuple, *elements));
    if (type.parts.empty()) return invalid("a variant type has no alternatives");
    return type;
  }

  Result<LogicalType> parse_tagged(const YsonNode& node) {
    LogicalType type = LogicalType::of(Kind::kTagged);
    const YsonNode* tag = node.find("tag");
    const auto* text = tag == nullptr ? nullptr : tag->as<std::string>();
    if (text == nullptr) return invalid("a tagged type has no \"tag\"");
    if (text->empty() || text->size() > kNameBytesMax || !is_utf8(*text)) {
      return invalid(fmt::format("a tag has not 1..{} bytes of UTF-8", kNameBytesMax));
    }
    type.tag = *text;
    TRY_VOID(add_part(type, node, "item"));
    return type;
  }

  Result<LogicalType> parse_named(const YsonNode& node, const std::string& name) {
    if (name == "decimal") return parse_decimal(node);
    if (name == "variant") return parse_variant(node);
    if (name == "tagged") return parse_tagged(node);
    if (name == "optional" || name == "list") {
      LogicalType type = LogicalType::of(name == "list" ? Kind::kList : Kind::kOptional);
      TRY_VOID(add_part(type, node, "item"));
      return type;
    }
    if (name == "dict") {
      LogicalType type = LogicalType::of(Kind::kDict);
      TRY_VOID(add_part(type, node, "key"));
      TRY_VOID(add_part(type, node, "value"));
      return type;
    }
    const bool is_struct = name == "struct";
    if (!is_struct && name != "tuple") return parse_name(name);
    const std::string_view key = is_struct ? "members" : "elements";
    const YsonNode* list = node.find(key);
    if (list == nullptr) return invalid(fmt::format("a type \"{}\" has no \"{}\"", name, key));
    return is_struct ? parse_members(Kind::kStruct, *list) : parse_elements(Kind::kTuple, *list);
  }

  Result<LogicalType> parse_here(const YsonNode& node) {
    if (const auto* name = node.as<std::string>()) return parse_name(*name);
    const YsonNode* name = node.find("type_name");
    const auto* text = name == nullptr ? nullptr : name->as<std::string>();
    if (text == nullptr) return invalid("a type is neither a name nor a map with a \"type_name\"");
    return parse_named(node, *text);
  }

  std::size_t depth_ = 0;
  std::size_t nodes_ = 0;
};

YsonNode list_of(const LogicalType& type) {
  YsonList list;
  for (std::size_t i = 0; i < type.parts.size(); ++i) {
    YsonMap part;
    if (!type.names.empty()) part.set("name", type.names[i]);
    part.set("type", to_yson(type.parts[i]));
    list.emplace_back(std::move(part));
  }
  return list;
}

// The part of a type that columns keep beside `required`.
const LogicalType& column_part(const LogicalType& type) {
  const bool outer = type.kind == Kind::kOptional && !type.parts.front().is_nullable();
  return outer ? type.parts.front() : type;
}

ColumnType stored_type(const LogicalType& type) {
  const LogicalType& bare = type.untagged();
  if (bare.kind == Kind::kSimple) return bare.simple;
  return bare.kind == Kind::kDecimal ? ColumnType::kString : ColumnType::kAny;
}

bool parts_are_wider(const LogicalType& from, const LogicalType& to) {
  for (std::size_t i = 0; i < from.parts.size(); ++i) {
    if (!is_wider(from.parts[i], to.parts[i])) return false;
  }
  return true;
}

bool is_wider_integer(ColumnType from, ColumnType to) {
  using enum ColumnType;
  constexpr std::array<std::array<ColumnType, 4>, 2> kRanks = {
      {{kInt8, kInt16, kInt32, kInt64}, {kUint8, kUint16, kUint32, kUint64}}};
  for (const auto& rank : kRanks) {
    const auto* low = std::ranges::find(rank, from);
    if (low != rank.end()) return std::find(low, rank.end(), to) != rank.end();
  }
  return false;
}

bool is_wider_simple(ColumnType from, ColumnType to) {
  if (from == to || is_wider_integer(from, to)) return true;
  if (from == ColumnType::kFloat) return to == ColumnType::kDouble;
  return from == ColumnType::kUtf8 && to == ColumnType::kString;
}

}  // namespace

LogicalType LogicalType::optional(LogicalType item) {
  LogicalType type = of(Kind::kOptional);
  type.parts.push_back(std::move(item));
  return type;
}

const LogicalType& LogicalType::untagged() const {
  const LogicalType* type = this;
  while (type->kind == Kind::kTagged) type = &type->parts.front();
  return *type;
}

bool LogicalType::is_nullable() const {
  const Kind bare = untagged().kind;
  return bare == Kind::kOptional || bare == Kind::kNull || bare == Kind::kVoid;
}

bool LogicalType::is_composite() const {
  const Kind bare = untagged().kind;
  return bare >= Kind::kOptional;
}

Result<LogicalType> parse_type(const YsonNode& node) {
  return TypeParser().parse(node);
}

Result<LogicalType> parse_type_text(std::string_view yson) {
  if (yson.size() > kTypeBytesMax) {
    return invalid(
        fmt::format("a type has {} bytes, at most {} are allowed", yson.size(), kTypeBytesMax));
  }
  TRY(const YsonNode node, parse_yson(yson));
  return parse_type(node);
}

YsonNode to_yson(const LogicalType& type) {
  if (type.kind == Kind::kSimple) return name_of(type.simple);
  if (type.kind == Kind::kNull || type.kind == Kind::kVoid) return name_of(type.kind);
  YsonMap map;
  map.set("type_name", name_of(type.kind));
  switch (type.kind) {
    case Kind::kDecimal:
      map.set("precision", std::int64_t{type.precision});
      map.set("scale", std::int64_t{type.scale});
      break;
    case Kind::kTagged: map.set("tag", type.tag); [[fallthrough]];
    case Kind::kOptional:
    case Kind::kList: map.set("item", to_yson(type.parts.front())); break;
    case Kind::kDict:
      map.set("key", to_yson(type.parts[0]));
      map.set("value", to_yson(type.parts[1]));
      break;
    case Kind::kStruct:
    case Kind::kVariantStruct: map.set("members", list_of(type)); break;
    default: map.set("elements", list_of(type)); break;
  }
  return map;
}

std::string print_type(const LogicalType& type) {
  return write_yson(to_yson(type), YsonFormat::kText);
}

LogicalType stored_part(const ColumnSchema& column) {
  auto parsed = parse_type_text(column.type_v3);
  INVARIANT(parsed.has_value(), "column {} has the type {}", column.name, column.type_v3);
  return std::move(*parsed);
}

LogicalType type_of(const ColumnSchema& column) {
  LogicalType type = LogicalType::of(column.type);
  if (!column.type_v3.empty()) type = stored_part(column);
  return column.required || type.is_nullable() ? type : LogicalType::optional(std::move(type));
}

void set_type(ColumnSchema& column, const LogicalType& type) {
  const LogicalType& part = column_part(type);
  column.type = stored_type(part);
  column.required = &part == &type && !part.is_nullable();
  column.type_v3 = part.kind == Kind::kSimple ? std::string() : print_type(part);
}

Result<void> check_type(const ColumnSchema& column) {
  if (column.type_v3.empty()) return {};
  TRY(const LogicalType type, parse_type_text(column.type_v3));
  ColumnSchema same;
  set_type(same, type);
  if (same.type_v3 != column.type_v3) return invalid("type_v3 is not in the form that is stored");
  if (same.type != column.type) {
    return invalid(fmt::format("values of its type_v3 are stored as {}, not as {}",
                               to_string(same.type), to_string(column.type)));
  }
  if (column.required && type.is_nullable()) {
    return invalid("a type that has the value null cannot be required");
  }
  return {};
}

std::string_view type_name(const ColumnSchema& column) {
  if (column.type_v3 == "\"null\"") return "null";
  if (column.type_v3 == "\"void\"") return "void";
  return to_string(column.type);
}

bool is_wider(const LogicalType& from, const LogicalType& to) {
  const LogicalType& before = from.untagged();
  const LogicalType& after = to.untagged();
  if (before == after) return true;
  if (after.kind == Kind::kOptional && before.kind != Kind::kOptional) {
    // An optional of a nullable type is encoded with brackets: other values.
    return !after.parts.front().is_nullable() && !before.is_nullable() &&
           is_wider(before, after.parts.front());
  }
  if (before.kind != after.kind) return false;
  switch (before.kind) {
    case Kind::kSimple: return is_wider_simple(before.simple, after.simple);
    case Kind::kDecimal: return false;
    case Kind::kNull:
    case Kind::kVoid: return true;
    case Kind::kOptional:
      return before.parts.front().is_nullable() == after.parts.front().is_nullable() &&
             parts_are_wider(before, after);
    case Kind::kList:
    case Kind::kDict: return parts_are_wider(before, after);
    case Kind::kTuple:
      return before.parts.size() == after.parts.size() && parts_are_wider(before, after);
    case Kind::kVariantTuple:
      return before.parts.size() <= after.parts.size() && parts_are_wider(before, after);
    case Kind::kStruct:
    case Kind::kVariantStruct: break;
    case Kind::kTagged: return false;  // Not untagged.
  }
  if (before.names.size() > after.names.size()) return false;
  if (!std::equal(before.names.begin(), before.names.end(), after.names.begin())) return false;
  for (std::size_t i = before.parts.size(); i < after.parts.size(); ++i) {
    if (before.kind == Kind::kStruct && !after.parts[i].is_nullable()) return false;
  }
  return parts_are_wider(before, after);
}

}  // namespace moraine::table
