#include "sim/query/random_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/invariant.h"
#include "expression/farm_hash.h"
#include "yson/yson.h"

namespace moraine::sim {
namespace {

// Texts with static storage: rows borrow them.
constexpr std::string_view kTexts[] = {"",    "a",   "ab",    "abc", "b",     "Ab",     "B",
                                       "a_b", "a%b", "a\\b",  "é",   "aéb",   "it's",   "z",
                                       "0",   "12",  "aa ab", "%",   "\"q\"", "abcabc", "_"};
constexpr std::uint64_t kUnsignedEnds[] = {~std::uint64_t{0}, std::uint64_t{1} << 63,
                                           (std::uint64_t{1} << 63) - 1};
constexpr std::int64_t kSignedMax = 9223372036854775807;
constexpr std::int64_t kSignedEnds[] = {kSignedMax, -kSignedMax - 1, kSignedMax - 1, -kSignedMax};

constexpr ColumnType kKeyTypes[] = {ColumnType::kInt64,   ColumnType::kUint64, ColumnType::kString,
                                    ColumnType::kBoolean, ColumnType::kInt32,  ColumnType::kDouble};

ColumnSchema column(std::string name, ColumnType type, bool key = false) {
  return {.name = std::move(name), .type = type, .key = key};
}

ColumnType random_key_type(SeededRandom& random) {
  return random.one_in(2) ? ColumnType::kInt64 : kKeyTypes[random.below(std::size(kKeyTypes))];
}

// The expression of a computed column over the next key column.
ColumnSchema random_computed(SeededRandom& random, const ColumnSchema& argument) {
  const ValueType type = physical_type(argument.type);
  const auto number = 2 + random.below(4);
  if (type == ValueType::kInt64 && random.one_in(2)) {
    ColumnSchema made = column("h", ColumnType::kInt64, true);
    static constexpr std::string_view kForms[] = {"{} % {}", "{} / {}", "{} * {} + 3"};
    made.expression =
        fmt::format(fmt::runtime(kForms[random.below(std::size(kForms))]), argument.name, number);
    return made;
  }
  ColumnSchema made = column("h", ColumnType::kUint64, true);
  made.expression = fmt::format("farm_hash({}) % {}", argument.name, number);
  return made;
}

TableSchema main_schema(SeededRandom& random) {
  TableSchema schema;
  const std::size_t keys = 1 + random.below(3);
  for (std::size_t i = 0; i < keys; ++i) {
    schema.columns.push_back(column(fmt::format("k{}", i), random_key_type(random), true));
  }
  if (random.one_in(3)) {
    const std::size_t argument = random.below(keys);
    schema.columns.insert(schema.columns.begin(),
                          random_computed(random, schema.columns[argument]));
  }
  for (const auto& [name, type] :
       std::initializer_list<std::pair<const char*, ColumnType>>{{"i", ColumnType::kInt64},
                                                                 {"n", ColumnType::kInt8},
                                                                 {"u", ColumnType::kUint64},
                                                                 {"d", ColumnType::kDouble},
                                                                 {"f", ColumnType::kBoolean},
                                                                 {"s", ColumnType::kString},
                                                                 {"odd.name-1", ColumnType::kInt64},
                                                                 {"q", ColumnType::kInt64}}) {
    schema.columns.push_back(column(name, type));
  }
  for (const auto& [name, type] : std::initializer_list<std::pair<const char*, const char*>>{
           {"y", ""},
           {"l", R"({"type_name"="list";"item"={"type_name"="optional";"item"="int64";};})"},
           {"m", R"({"type_name"="list";"item"={"type_name"="optional";"item"="string";};})"},
           {"t", R"({"type_name"="struct";"members"=[{"name"="a";"type"={"type_name"="optional";)"
                 R"("item"="int64";};};{"name"="s";"type"="string";};];})"}}) {
    schema.columns.push_back(column(name, ColumnType::kAny));
    schema.columns.back().type_v3 = type;
  }
  return schema;
}

// Joined through columns of the main table: its keys and some values.
TableSchema foreign_schema(SeededRandom& random, const TableSchema& main, char letter) {
  TableSchema schema;
  std::vector<ColumnSchema> candidates;
  for (const ColumnSchema& candidate : main.columns) {
    const bool wanted = candidate.name == "i" || candidate.name == "u" || candidate.name == "s" ||
                        candidate.name == "f" || candidate.key;
    if (wanted && candidate.name != "h") candidates.push_back(candidate);
  }
  const std::size_t keys = 1 + random.below(2);
  for (std::size_t i = 0; i < keys; ++i) {
    const std::size_t chosen = random.below(candidates.size());
    ColumnSchema key = candidates[chosen];
    candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(chosen));
    key.key = true;
    schema.columns.push_back(std::move(key));
  }
  if (random.one_in(3)) {
    ColumnSchema computed = random_computed(random, schema.columns[0]);
    computed.name = fmt::format("{}h", letter);
    schema.columns.insert(schema.columns.begin(), std::move(computed));
  }
  schema.columns.push_back(column(fmt::format("{}i", letter), ColumnType::kInt64));
  schema.columns.push_back(column(fmt::format("{}s", letter), ColumnType::kString));
  schema.columns.push_back(column(fmt::format("{}q", letter), ColumnType::kInt64));
  return schema;
}

struct KeyLess {
  bool operator()(const query::Row& a, const query::Row& b) const {
    return std::ranges::lexicographical_compare(
        a, b, [](const Value& x, const Value& y) { return compare(x, y) < 0; });
  }
};

void add_rows(SeededRandom& random, QueryTable& table, bool wrapping, table::TextMemory& texts) {
  const TableSchema& schema = *table.schema;
  std::set<query::Row, KeyLess> keys;
  const std::size_t wanted = random.one_in(12) ? 0 : random.below(kTableRowsMax + 1);
  for (std::size_t i = 0; i < wanted; ++i) {
    query::Row row;
    for (const ColumnSchema& column : schema.columns) {
      const bool narrow = column.type == ColumnType::kInt8 || column.type == ColumnType::kInt32;
      Value value;
      if (!random.one_in(6)) {
        value = column.type == ColumnType::kAny
                    ? random_any(random, column.name, texts)
                    : random_value(random, physical_type(column.type), wrapping && !narrow);
      }
      if (column.name == table.unique) value = static_cast<std::int64_t>((i * 37) % 101);
      row.push_back(value);
    }
    compute_columns(schema, row);
    const auto key = std::span(row).first(schema.key_count());
    if (keys.emplace(key.begin(), key.end()).second) table.rows.push_back(std::move(row));
  }
}

}  // namespace

query::Schemas QueryTables::schemas() const {
  query::Schemas all;
  for (const QueryTable& table : tables) all.emplace(table.path, table.schema);
  return all;
}

query::TableRows QueryTables::rows() const {
  query::TableRows all;
  for (const QueryTable& table : tables) all.emplace(table.path, table.rows);
  return all;
}

QueryTables random_tables(SeededRandom& random) {
  QueryTables made;
  made.wrapping = random.one_in(4);
  const TableSchema main = main_schema(random);
  for (std::size_t i = 0; i < kQueryTables; ++i) {
    QueryTable& table = made.tables[i];
    const char letter = i == 1 ? 'x' : 'y';
    table.path = fmt::format("//t{}", i);
    table.schema =
        std::make_shared<const TableSchema>(i == 0 ? main : foreign_schema(random, main, letter));
    table.unique = i == 0 ? "q" : fmt::format("{}q", letter);
    add_rows(random, table, made.wrapping, *made.texts);
  }
  return made;
}

Value random_value(SeededRandom& random, ValueType type, bool wrapping) {
  const bool end = wrapping && random.one_in(3);
  switch (type) {
    case ValueType::kInt64:
      if (end) return kSignedEnds[random.below(std::size(kSignedEnds))];
      return static_cast<std::int64_t>(random.below(10)) - 4;
    case ValueType::kUint64:
      if (end) return kUnsignedEnds[random.below(std::size(kUnsignedEnds))];
      return std::uint64_t{random.below(7)};
    // Halves: sums of them are exact, in any order.
    case ValueType::kDouble: return static_cast<double>(random.below(12)) / 2 - 2;
    case ValueType::kBoolean: return random.one_in(2);
    default: return kTexts[random.below(std::size(kTexts))];
  }
}

Value random_any(SeededRandom& random, const std::string& column, table::TextMemory& texts) {
  const auto value = [&](ValueType type) -> YsonNode {
    const Value made = random_value(random, type, /*wrapping=*/false);
    switch (type) {
      case ValueType::kInt64: return made.as_int64();
      case ValueType::kDouble: return made.as_double();
      case ValueType::kBoolean: return made.as_boolean();
      default: return made.text();
    }
  };
  const auto maybe = [&](ValueType type) { return random.one_in(5) ? YsonNode() : value(type); };
  YsonNode node;
  if (column == "y") {
    YsonMap map;
    if (!random.one_in(4)) map.set("a", value(ValueType::kInt64));
    if (!random.one_in(4)) map.set("b", value(ValueType::kBoolean));
    if (!random.one_in(4)) map.set("d", value(ValueType::kDouble));
    const ValueType mixed = random.one_in(2) ? ValueType::kInt64 : ValueType::kString;
    if (!random.one_in(4)) map.set("m", value(mixed));
    node = std::move(map);
  } else {
    const ValueType item = column == "m" ? ValueType::kString : ValueType::kInt64;
    YsonList list;
    if (column == "t") {
      list.push_back(maybe(item));
      list.push_back(value(ValueType::kString));
    } else {
      for (std::size_t left = random.below(4); left > 0; --left) list.push_back(maybe(item));
    }
    node = std::move(list);
  }
  const YsonFormat format = random.one_in(2) ? YsonFormat::kBinary : YsonFormat::kText;
  return Value::any(texts.keep(write_yson(node, format)));
}

// Written apart from the evaluators of the engine, but for farm_hash.
void compute_columns(const TableSchema& schema, query::Row& row) {
  for (std::size_t i = 0; i < schema.key_count(); ++i) {
    const std::string& text = schema.columns[i].expression;
    if (text.empty()) continue;
    const bool hashed = text.starts_with("farm_hash(");
    const std::size_t from = hashed ? text.find('(') + 1 : 0;
    const std::string name = text.substr(from, text.find_first_of(") ", from) - from);
    const auto argument = schema.find(name);
    INVARIANT(argument, "expression {} of an unknown column", text);
    const Value value = row[*argument];
    const std::int64_t number = text[text.find_first_of("%/*") + 2] - '0';
    if (hashed) {
      row[i] = farm_hash(std::span(&value, 1)) % static_cast<std::uint64_t>(number);
    } else if (value.is_null()) {
      row[i] = Value();
    } else if (text.find('%') != std::string::npos) {
      row[i] = value.as_int64() % number;
    } else if (text.find('/') != std::string::npos) {
      row[i] = value.as_int64() / number;
    } else {
      row[i] = static_cast<std::int64_t>(
          static_cast<std::uint64_t>(value.as_int64()) * static_cast<std::uint64_t>(number) + 3);
    }
  }
}

}  // namespace moraine::sim
