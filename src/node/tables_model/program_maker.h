// ProgramMaker: random programs. For tests.
//
// Promise    One seed, one program, whatever the options of the table that runs it.
#pragma once

#include "io/random.h"
#include "node/tables_model/table_program.h"

namespace moraine {

class ProgramMaker {
 public:
  explicit ProgramMaker(std::uint64_t seed) : random_(seed) { program_.seed = seed; }

  Program make(std::size_t steps) {
    draw_schema();
    draw_retention();
    draw_keys();
    current_ = program_.schema;
    for (std::size_t i = 0; i < steps; ++i) program_.steps.push_back(draw_step());
    return std::move(program_);
  }

 private:
  static constexpr std::size_t kKeys = 60;

  bool maybe(std::uint64_t one_in) { return random_.one_in(one_in); }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[random_.below(from.size())];
  }

  ColumnType draw_value_type() {
    static const std::vector<ColumnType> kTypes = {
        ColumnType::kInt8,   ColumnType::kInt32,    ColumnType::kInt64,    ColumnType::kUint16,
        ColumnType::kUint64, ColumnType::kFloat,    ColumnType::kDouble,   ColumnType::kBoolean,
        ColumnType::kString, ColumnType::kString,   ColumnType::kUtf8,     ColumnType::kAny,
        ColumnType::kDate,   ColumnType::kInterval, ColumnType::kTimestamp};
    return pick(kTypes);
  }

  void draw_aggregate(ColumnSchema& column) {
    using enum Aggregate;
    const ColumnType type = column.type;
    if (type == ColumnType::kInt64 || type == ColumnType::kUint64 || type == ColumnType::kDouble) {
      column.aggregate = pick<Aggregate>({kSum, kSum, kMin, kMax, kFirst});
    } else if (type == ColumnType::kAny) {
      column.aggregate = pick<Aggregate>({kDictSum, kFirst});
    } else {
      column.aggregate = pick<Aggregate>({kMin, kMax, kFirst});
    }
  }

  ColumnSchema draw_value_column(std::string name) {
    ColumnSchema column;
    column.name = std::move(name);
    column.type = draw_value_type();
    if (maybe(3)) draw_aggregate(column);
    if (maybe(3)) column.lock = maybe(2) ? "one" : "two";
    if (maybe(3)) column.group = maybe(2) ? "left" : "right";
    const ValueType physical = physical_type(column.type);
    const bool text = physical == ValueType::kString || physical == ValueType::kAny;
    if (text && column.aggregate == Aggregate::kNone && maybe(2)) {
      column.max_inline_hunk_size = 1 + random_.below(60);
    }
    return column;
  }

  void draw_schema() {
    static const std::vector<ColumnType> kKeyTypes = {
        ColumnType::kInt64,  ColumnType::kInt64,  ColumnType::kInt32,  ColumnType::kUint64,
        ColumnType::kString, ColumnType::kDouble, ColumnType::kBoolean};
    TableSchema& schema = program_.schema;
    const std::size_t keys = 1 + random_.below(3);
    for (std::size_t i = 0; i < keys; ++i) {
      ColumnSchema column;
      column.name = fmt::format("k{}", i);
      // The first column has enough values for all keys.
      column.type =
          i == 0 ? pick<ColumnType>({ColumnType::kInt64, ColumnType::kString}) : pick(kKeyTypes);
      column.key = true;
      column.required = maybe(4);
      schema.columns.push_back(std::move(column));
    }
    if (maybe(2)) {
      ColumnSchema computed;
      computed.name = "hash";
      computed.type = ColumnType::kUint64;
      computed.key = true;
      computed.expression = maybe(2) ? "farm_hash(k0)" : "farm_hash(k0) % 5";
      schema.columns.insert(schema.columns.begin(), std::move(computed));
    }
    const std::size_t values = 2 + random_.below(6);
    for (std::size_t i = 0; i < values; ++i) {
      schema.columns.push_back(draw_value_column(fmt::format("v{}", i)));
      ColumnSchema& column = schema.columns.back();
      column.required =
          column.type != ColumnType::kAny && column.aggregate == Aggregate::kNone && maybe(8);
    }
  }

  void draw_retention() {
    using std::chrono::minutes;
    TableMountOptions& keep = program_.retention;
    keep.min_data_versions = static_cast<std::uint32_t>(1 + random_.below(2));
    keep.max_data_versions = keep.min_data_versions + static_cast<std::uint32_t>(random_.below(3));
    keep.min_data_ttl = pick<minutes>({minutes(0), minutes(20), minutes(30), minutes(90)});
    keep.max_data_ttl = keep.min_data_ttl + pick<minutes>({minutes(0), minutes(30)});
  }

  void draw_keys() {
    for (std::size_t i = 0; i < kKeys; ++i) {
      std::vector<Cell> key;
      for (const ColumnSchema& column : program_.schema.columns) {
        if (!column.key || !column.expression.empty()) continue;
        if (key.empty()) {
          const auto number = static_cast<std::int64_t>(i);
          key.push_back(column.type == ColumnType::kInt64 ? Cell(number * 7 - 100)
                                                          : Cell(fmt::format("key{}", number)));
        } else if (!column.required && maybe(6)) {
          key.emplace_back();
        } else {
          key.push_back(draw_cell(column));
        }
      }
      program_.keys.push_back(std::move(key));
    }
  }

  std::string draw_text(bool printable) {
    std::string text;
    const std::uint64_t size = maybe(5) ? random_.below(300) : random_.below(20);
    for (std::uint64_t i = 0; i < size; ++i) {
      text += static_cast<char>(printable ? 'a' + random_.below(26) : random_.below(256));
    }
    return text;
  }
  std::string draw_yson(bool dict) {
    if (!dict && maybe(3)) return fmt::format("\"{}\"", draw_text(true));
    std::string yson = "{";
    for (const char* key : {"a", "b", "c"}) {
      if (maybe(2)) yson += fmt::format("{}={};", key, 1 + random_.below(9));
    }
    if (dict && maybe(3)) yson += fmt::format("d={};", -1 - static_cast<int>(random_.below(5)));
    return yson + "}";
  }
  std::int64_t draw_signed(std::int64_t bound) {
    return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(2 * bound))) - bound;
  }
  Cell draw_cell(const ColumnSchema& column) {
    switch (column.type) {
      case ColumnType::kInt8: return draw_signed(100);
      case ColumnType::kInt64:
        return maybe(10) ? static_cast<std::int64_t>(random_.next()) : draw_signed(50);
      case ColumnType::kUint64: return maybe(10) ? random_.next() : random_.below(50);
      case ColumnType::kUint16: return random_.below(60'000);
      case ColumnType::kFloat:
      case ColumnType::kDouble: return static_cast<double>(draw_signed(400)) / 4;
      case ColumnType::kBoolean: return maybe(2);
      case ColumnType::kString: return draw_text(false);
      case ColumnType::kUtf8: return draw_text(true);
      case ColumnType::kAny: return AnyText{draw_yson(column.aggregate == Aggregate::kDictSum)};
      case ColumnType::kDate: return random_.below(40'000);
      case ColumnType::kTimestamp: return random_.below(1'000'000'000'000);
      default: return draw_signed(1'000'000);
    }
  }

  RowStep draw_row(const std::set<std::size_t>& taken);
  std::vector<RowStep> draw_rows(std::size_t most);
  ProgramStep draw_step();
  void draw_read(ProgramStep& step);
  void draw_scan(ProgramStep& step);
  TableSchema draw_alter();

  SeededRandom random_;
  Program program_;
  TableSchema current_;
  std::size_t columns_added_ = 0;
};

inline RowStep ProgramMaker::draw_row(const std::set<std::size_t>& taken) {
  static const std::vector<RowAct> kActs = {
      RowAct::kInsert, RowAct::kInsert, RowAct::kInsert,      RowAct::kUpdate, RowAct::kUpdate,
      RowAct::kDelta,  RowAct::kDelta,  RowAct::kSharedDelta, RowAct::kDelete, RowAct::kDelete};
  RowStep row;
  do {
    row.key = maybe(2) ? random_.below(8) : random_.below(kKeys);
  } while (taken.contains(row.key));
  row.act = pick(kActs);
  if (row.act == RowAct::kDelete) return row;
  bool any = false;
  std::vector<const ColumnSchema*> values;
  for (const ColumnSchema& column : current_.columns) {
    if (column.key) continue;
    values.push_back(&column);
    if (!column.required && maybe(3)) continue;
    row.cells[column.name] = !column.required && maybe(6) ? Cell() : draw_cell(column);
    any = true;
  }
  if (!any) row.cells[values.front()->name] = draw_cell(*values.front());
  return row;
}

inline std::vector<RowStep> ProgramMaker::draw_rows(std::size_t most) {
  std::vector<RowStep> rows;
  std::set<std::size_t> taken;
  const std::size_t count = 1 + random_.below(most);
  for (std::size_t i = 0; i < count; ++i) {
    rows.push_back(draw_row(taken));
    // Now and then it is changed again.
    if (!maybe(5)) taken.insert(rows.back().key);
  }
  return rows;
}

inline void ProgramMaker::draw_read(ProgramStep& step) {
  if (!maybe(3)) step.draw = 1 + random_.below(1'000'000);
  for (const ColumnSchema& column : current_.columns) {
    if (!maybe(3)) step.columns.push_back(column.name);
  }
  if (step.columns.empty()) step.columns.push_back(current_.columns.back().name);
  if (maybe(4)) std::ranges::reverse(step.columns);
}

inline void ProgramMaker::draw_scan(ProgramStep& step) {
  draw_read(step);
  if (maybe(2)) step.from = random_.below(kKeys);
  if (maybe(2)) step.to = random_.below(kKeys);
  step.bound_columns = 1 + random_.below(current_.key_count());
  if (maybe(4)) step.limit = random_.below(10);
  const std::uint64_t filters = maybe(2) ? random_.below(3) : 0;
  for (std::uint64_t i = 0; i < filters; ++i) {
    const ColumnSchema& column = pick(current_.columns);
    if (column.type == ColumnType::kAny || !column.expression.empty()) continue;
    FilterStep filter;
    filter.column = column.name;
    filter.op = static_cast<table::ColumnFilter::Op>(random_.below(8));
    filter.value = draw_cell(column);
    step.filters.push_back(std::move(filter));
  }
}

// One more column, or a wider one.
inline TableSchema ProgramMaker::draw_alter() {
  TableSchema schema = current_;
  if (maybe(3)) {
    for (ColumnSchema& column : schema.columns) {
      if (column.key && schema.columns[0].name == "hash") continue;
      if (column.type == ColumnType::kInt8) column.type = ColumnType::kInt32;
      if (column.type == ColumnType::kUtf8) column.type = ColumnType::kString;
      if (column.type == ColumnType::kFloat) column.type = ColumnType::kDouble;
      if (column.type == ColumnType::kUint16) column.type = ColumnType::kUint64;
    }
  } else if (columns_added_ < 6) {
    ColumnSchema added = draw_value_column(fmt::format("added{}", columns_added_++));
    const std::size_t values = schema.columns.size() - schema.key_count();
    const std::size_t at = schema.key_count() + random_.below(values + 1);
    schema.columns.insert(schema.columns.begin() + static_cast<std::ptrdiff_t>(at),
                          std::move(added));
  }
  return schema;
}

inline ProgramStep ProgramMaker::draw_step() {
  using Kind = ProgramStep::Kind;
  static const std::vector<std::pair<Kind, std::uint64_t>> kWeights = {
      {Kind::kWrite, 30},   {Kind::kOverlap, 6},  {Kind::kMistake, 3}, {Kind::kLookup, 16},
      {Kind::kVersions, 6}, {Kind::kScan, 12},    {Kind::kFlush, 8},   {Kind::kCompact, 5},
      {Kind::kRestart, 2},  {Kind::kPowerCut, 2}, {Kind::kReshard, 2}, {Kind::kReshardByCount, 1},
      {Kind::kPart, 3},     {Kind::kAlter, 2},    {Kind::kFreeze, 1},  {Kind::kUnmount, 1},
      {Kind::kAdvance, 4}};
  std::uint64_t total = 0;
  for (const auto& [kind, weight] : kWeights) total += weight;
  std::uint64_t at = random_.below(total);
  ProgramStep step;
  for (const auto& [kind, weight] : kWeights) {
    step.kind = kind;
    if (at < weight) break;
    at -= weight;
  }
  switch (step.kind) {
    case Kind::kWrite: step.rows = draw_rows(6); break;
    case Kind::kOverlap:
      step.draw = random_.below(2);
      step.rows = draw_rows(4);
      step.later = draw_rows(4);
      for (RowStep& row : step.later) {
        if (!maybe(3)) row.key = step.rows[0].key;
        if (maybe(5)) row.act = static_cast<RowAct>(5 + random_.below(3));
        if (maybe(2)) row.groups = {"one"};
        if (row.key == step.rows[0].key) {
          step.later = {row};
          break;
        }
      }
      if (maybe(4)) step.rows[0].act = static_cast<RowAct>(5 + random_.below(3));
      break;
    case Kind::kMistake: step.draw = random_.below(1'000); break;
    case Kind::kLookup:
      draw_read(step);
      for (std::size_t i = 0; i < 5; ++i) step.keys.push_back(random_.below(maybe(2) ? 8 : kKeys));
      break;
    case Kind::kVersions: step.keys.push_back(random_.below(8)); break;
    case Kind::kScan: draw_scan(step); break;
    case Kind::kPart: step.draw = random_.below(1'000'000); [[fallthrough]];
    case Kind::kReshard:
      for (std::uint64_t i = random_.below(4); i > 0; --i) {
        step.keys.push_back(random_.below(kKeys));
      }
      step.bound_columns = 1 + random_.below(current_.key_count());
      break;
    case Kind::kReshardByCount: step.draw = 1 + random_.below(4); break;
    case Kind::kAlter:
      step.schema = draw_alter();
      current_ = step.schema;
      break;
    case Kind::kAdvance: step.advance = std::chrono::seconds(60 + random_.below(2'000)); break;
    default: break;
  }
  return step;
}

}  // namespace moraine
