// NaiveTable: the expected answers of a table, computed in the simplest way. For tests.
//
// Promise    Keeps every version of every row for ever. A row at T: the writes at or below T that
//            are above the newest delete at or below T, oldest first; a full value replaces, a
//            delta is folded by the definition of its aggregate. Columns go by name.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "moraine/schema.h"
#include "table/model/change.h"
#include "table/model/column_batch.h"
#include "table/model/timestamp.h"
#include "yson/yson.h"

namespace moraine {

struct AnyText {
  std::string yson;
  auto operator<=>(const AnyText&) const = default;
};
using Cell =
    std::variant<std::monostate, std::int64_t, std::uint64_t, double, bool, std::string, AnyText>;

inline bool is_null(const Cell& cell) {
  return cell.index() == 0;
}

// Borrows the cell.
inline Value to_value(const Cell& cell) {
  switch (cell.index()) {
    case 1: return std::get<1>(cell);
    case 2: return std::get<2>(cell);
    case 3: return std::get<3>(cell);
    case 4: return std::get<4>(cell);
    case 5: return std::string_view(std::get<5>(cell));
    case 6: return Value::any(std::get<6>(cell).yson);
    default: return {};
  }
}

inline Cell to_cell(const Value& value) {
  switch (value.type()) {
    case ValueType::kNull: return {};
    case ValueType::kInt64: return value.as_int64();
    case ValueType::kUint64: return value.as_uint64();
    case ValueType::kDouble: return value.as_double();
    case ValueType::kBoolean: return value.as_boolean();
    case ValueType::kString: return std::string(value.text());
    case ValueType::kAny: return AnyText{std::string(value.text())};
  }
  return {};
}

// A node whose maps have their keys in order.
inline YsonNode with_sorted_maps(const YsonNode& node) {
  const auto* map = node.as<YsonMap>();
  if (map == nullptr) return node;
  std::map<std::string, YsonNode> sorted;
  for (const YsonPair& pair : *map) sorted.emplace(pair.key, with_sorted_maps(pair.node));
  YsonMap result;
  for (auto& [key, child] : sorted) result.set(key, std::move(child));
  return YsonNode(std::move(result));
}

// Equal texts: equal cells. Trees are equal whatever the order of their keys.
inline std::string text_of(const Cell& cell) {
  switch (cell.index()) {
    case 1: return fmt::format("{}", std::get<1>(cell));
    case 2: return fmt::format("{}u", std::get<2>(cell));
    case 3: return fmt::format("{:.17g}d", std::get<3>(cell));
    case 4: return std::get<4>(cell) ? "true" : "false";
    case 5: {
      std::string out = "'";
      for (const char c : std::get<5>(cell)) {
        out += c >= ' ' && c <= '~' ? std::string(1, c)
                                    : fmt::format("\\{:02x}", static_cast<unsigned char>(c));
      }
      return out + "'";
    }
    case 6: {
      const auto parsed = parse_yson(std::get<6>(cell).yson);
      if (!parsed) return "bad yson";
      return write_yson(with_sorted_maps(*parsed), YsonFormat::kText);
    }
    default: return "null";
  }
}

// A dict_sum of flat maps of integers.
inline Cell add_dicts(const Cell& older, const Cell& newer) {
  std::map<std::string, std::int64_t> total;
  for (const Cell* part : {&older, &newer}) {
    const auto parsed = parse_yson(std::get<AnyText>(*part).yson);
    for (const YsonPair& pair : *parsed->as<YsonMap>()) {
      total[pair.key] += *pair.node.as<std::int64_t>();
    }
  }
  std::string yson = "{";
  for (const auto& [key, sum] : total) {
    if (sum != 0) yson += fmt::format("{}={};", key, sum);
  }
  return AnyText{yson + "}"};
}

inline Cell add_numbers(const Cell& a, const Cell& b) {
  if (a.index() == 1) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(std::get<1>(a)) +
                                     static_cast<std::uint64_t>(std::get<1>(b)));
  }
  if (a.index() == 2) return std::get<2>(a) + std::get<2>(b);
  return std::get<3>(a) + std::get<3>(b);
}

inline Cell fold_cells(Aggregate aggregate, const Cell& older, const Cell& newer) {
  if (is_null(newer)) return older;
  if (is_null(older)) return newer;
  switch (aggregate) {
    case Aggregate::kSum: return add_numbers(older, newer);
    case Aggregate::kMin: return newer < older ? newer : older;
    case Aggregate::kMax: return older < newer ? newer : older;
    case Aggregate::kFirst: return older;
    case Aggregate::kDictSum: return add_dicts(older, newer);
    default: return newer;
  }
}

struct NaiveCell {
  Cell value;
  bool delta = false;
};

struct NaiveVersion {
  Timestamp timestamp = 0;
  bool deletes = false;
  std::map<std::string, NaiveCell> cells;
};

using NaiveRow = std::map<std::string, Cell>;  // Value columns; those that are missing are null.

class NaiveTable {
 public:
  // Versions come in the order of their timestamps.
  void add(const std::string& key, NaiveVersion version) {
    rows_[key].push_back(std::move(version));
  }

  std::optional<NaiveRow> at(const std::string& key, Timestamp timestamp,
                             const TableSchema& schema) const {
    const auto found = rows_.find(key);
    if (found == rows_.end()) return std::nullopt;
    std::optional<NaiveRow> row;
    for (const NaiveVersion& version : found->second) {
      if (version.timestamp > timestamp) break;
      if (version.deletes) {
        row.reset();
        continue;
      }
      if (!row) row.emplace();
      for (const auto& [name, cell] : version.cells) {
        const Aggregate aggregate = schema.columns[*schema.find(name)].aggregate;
        Cell& now = (*row)[name];
        now = cell.delta ? fold_cells(aggregate, now, cell.value) : cell.value;
      }
    }
    return row;
  }

  const std::vector<NaiveVersion>& versions(const std::string& key) const {
    static const std::vector<NaiveVersion> kNone;
    const auto found = rows_.find(key);
    return found == rows_.end() ? kNone : found->second;
  }
  // Every key that was ever written, encoded and in order.
  const std::map<std::string, std::vector<NaiveVersion>>& rows() const { return rows_; }

 private:
  std::map<std::string, std::vector<NaiveVersion>> rows_;
};

// `cell op value`; a null cell fits kIsNull alone.
inline bool naive_fits(table::ColumnFilter::Op op, const Cell& cell, const Cell& value) {
  using Op = table::ColumnFilter::Op;
  if (op == Op::kIsNull) return is_null(cell);
  if (is_null(cell)) return false;
  switch (op) {
    case Op::kEqual: return cell == value;
    case Op::kNotEqual: return cell != value;
    case Op::kLess: return cell < value;
    case Op::kLessOrEqual: return cell <= value;
    case Op::kGreater: return cell > value;
    case Op::kGreaterOrEqual: return cell >= value;
    default: return true;
  }
}

// The locks of a transaction on one row: modes by lock group, "" is the primary lock.
struct NaiveLocks {
  std::map<std::string, table::LockMode> modes;
  // A shared write of what the same transaction has read is exclusive.
  void add(const std::string& group, table::LockMode mode) {
    using table::LockMode;
    LockMode& held = modes[group];
    const auto [weaker, stronger] = std::minmax({held, mode});
    const bool both = stronger == LockMode::kSharedWrite && weaker != LockMode::kSharedWrite &&
                      weaker != LockMode::kNone;
    held = both ? LockMode::kExclusive : stronger;
  }
  void add(const NaiveLocks& more) {
    for (const auto& [group, mode] : more.modes) add(group, mode);
  }
};

// Whether a transaction that began before `earlier` committed conflicts with it.
inline bool naive_conflict(const NaiveLocks& earlier, const NaiveLocks& later) {
  using table::LockMode;
  for (const auto& [group, wants] : later.modes) {
    for (const auto& [other, had] : earlier.modes) {
      if (group != other && !group.empty() && !other.empty()) continue;
      if (had == LockMode::kExclusive) return true;
      if (had == LockMode::kSharedWrite && wants != LockMode::kSharedWrite) return true;
      if (had == LockMode::kSharedStrong && wants >= LockMode::kSharedWrite) return true;
    }
  }
  return false;
}

}  // namespace moraine
