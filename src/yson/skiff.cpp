#include "yson/skiff.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace moraine {
namespace {

using Wire = SkiffType::Wire;

// In the order of Wire.
constexpr std::array<std::string_view, 18> kWireNames = {"nothing",
                                                         "boolean",
                                                         "int8",
                                                         "int16",
                                                         "int32",
                                                         "int64",
                                                         "uint8",
                                                         "uint16",
                                                         "uint32",
                                                         "uint64",
                                                         "double",
                                                         "string32",
                                                         "yson32",
                                                         "variant8",
                                                         "variant16",
                                                         "repeated_variant8",
                                                         "repeated_variant16",
                                                         "tuple"};
constexpr std::string_view kUnsupported[] = {"int128", "uint128", "int256", "uint256"};

std::unexpected<Error> wrong(std::string what) {
  return fail(Errc::kInvalidArgument, fmt::format("skiff: {}", what));
}

class SchemaReader {
 public:
  explicit SchemaReader(const YsonMap* registry) : registry_(registry) {}

  // Recursion is bounded by kSkiffDepthMax.
  Result<SkiffType> read(const YsonNode& given, std::size_t depth) {
    if (depth > kSkiffDepthMax || ++types_ > kSkiffTypesMax) {
      return wrong(fmt::format("a schema has more than {} types, or more than {} in one another",
                               kSkiffTypesMax, kSkiffDepthMax));
    }
    if (const auto* reference = given.as<std::string>()) return named(*reference, depth);
    const YsonNode* const wire = given.find("wire_type");
    const auto* const text = wire == nullptr ? nullptr : wire->as<std::string>();
    if (text == nullptr) return wrong("a schema has no wire_type");
    const auto* const known = std::ranges::find(kWireNames, *text);
    if (known == kWireNames.end()) return unknown(*text);
    SkiffType type;
    type.wire = static_cast<Wire>(known - kWireNames.begin());
    if (const YsonNode* name = given.find("name"); name != nullptr && !name->is_entity()) {
      if (!name->as<std::string>()) return wrong("the name of a schema is not a string");
      type.name = *name->as<std::string>();
    }
    TRY_VOID(read_children(given, depth, type));
    return type;
  }

 private:
  static std::unexpected<Error> unknown(const std::string& wire) {
    if (std::ranges::find(kUnsupported, wire) == std::end(kUnsupported)) {
      return wrong(fmt::format("the wire type {:?} is not known", wire));
    }
    return fail(Errc::kUnsupported, fmt::format("skiff: the wire type {} is not supported", wire));
  }

  Result<SkiffType> named(std::string_view reference, std::size_t depth) {
    const YsonNode* const found = registry_ == nullptr || !reference.starts_with('$')
                                      ? nullptr
                                      : registry_->find(reference.substr(1));
    if (found == nullptr) {
      return wrong(fmt::format("the schema {:?} is not in skiff_schema_registry", reference));
    }
    return read(*found, depth + 1);
  }

  Result<void> read_children(const YsonNode& given, std::size_t depth, SkiffType& type) {
    const YsonNode* const node = given.find("children");
    const YsonList* const children = node == nullptr ? nullptr : node->as<YsonList>();
    const bool has_children = type.is_variant() || type.is_repeated() || type.wire == Wire::kTuple;
    if (!has_children) {
      if (children == nullptr || children->empty()) return {};
      return wrong(fmt::format("the wire type {} has no children", to_string(type.wire)));
    }
    if (children == nullptr) {
      return wrong(fmt::format("the wire type {} needs children", to_string(type.wire)));
    }
    const std::size_t most = type.tag_bytes() == 1 ? 0xff : 0xffff;
    if (type.wire != Wire::kTuple && (children->empty() || children->size() > most)) {
      return wrong(fmt::format("a {} has 1 to {} children", to_string(type.wire), most));
    }
    for (const YsonNode& child : *children) {
      TRY(SkiffType made, read(child, depth + 1));
      type.children.push_back(std::move(made));
    }
    return {};
  }

  const YsonMap* const registry_;
  std::size_t types_ = 0;
};

bool is_optional_int(const SkiffType& type, bool may_be_unknown) {
  const auto& children = type.children;
  const bool more = may_be_unknown && children.size() == 3 && children[2].wire == Wire::kNothing;
  return type.wire == Wire::kVariant8 && (children.size() == 2 || more) &&
         children[0].wire == Wire::kNothing && children[1].wire == Wire::kInt64;
}

Result<void> check_system_column(const SkiffType& column) {
  const bool fits = column.name == kSkiffRowIndex       ? is_optional_int(column, true)
                    : column.name == kSkiffRangeIndex   ? is_optional_int(column, true)
                    : column.name == kSkiffKeySwitch    ? column.wire == Wire::kBoolean
                    : column.name == kSkiffOtherColumns ? column.wire == Wire::kYson32
                                                        : true;
  if (fits) return {};
  return wrong(fmt::format("the column {} has another type than it must have", column.name));
}

Result<void> check_row(const SkiffType& row) {
  if (row.wire != Wire::kTuple) return wrong("the schema of a table is not a tuple");
  std::set<std::string_view> names;
  for (const SkiffType& column : row.children) {
    if (column.name.empty()) return wrong("a column of a table has no name");
    if (!names.insert(column.name).second) {
      return wrong(fmt::format("two columns have the name {:?}", column.name));
    }
    TRY_VOID(check_system_column(column));
  }
  return {};
}

}  // namespace

std::size_t SkiffType::fixed_bytes() const {
  switch (wire) {
    case Wire::kBoolean:
    case Wire::kInt8:
    case Wire::kUint8: return 1;
    case Wire::kInt16:
    case Wire::kUint16: return 2;
    case Wire::kInt32:
    case Wire::kUint32: return 4;
    case Wire::kInt64:
    case Wire::kUint64:
    case Wire::kDouble: return 8;
    default: return 0;
  }
}

std::string_view to_string(SkiffType::Wire wire) {
  return kWireNames[static_cast<std::size_t>(wire)];
}

Result<SkiffOptions> skiff_options(const YsonMap& attributes) {
  const YsonNode* const tables = attributes.find("table_skiff_schemas");
  const YsonList* const list = tables == nullptr ? nullptr : tables->as<YsonList>();
  if (list == nullptr || list->empty()) {
    return wrong("the format needs the attribute table_skiff_schemas, a list of schemas");
  }
  const YsonNode* const registry = attributes.find("skiff_schema_registry");
  SchemaReader reader(registry == nullptr ? nullptr : registry->as<YsonMap>());
  TRY(SkiffType row, reader.read(list->front(), 0));
  TRY_VOID(check_row(row));
  return SkiffOptions{std::make_shared<const SkiffType>(std::move(row))};
}

}  // namespace moraine
