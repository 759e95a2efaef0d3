// Programs for tables: a schema, retention, keys, and a list of steps. For tests.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "moraine/table_options.h"
#include "node/tables_model/naive_table.h"

namespace moraine {

enum class RowAct : std::uint8_t {
  kInsert,
  kUpdate,
  kDelta,
  kSharedDelta,
  kDelete,
  kLockWeak,
  kLockStrong,
  kLockExclusive
};

struct RowStep {
  RowAct act = RowAct::kInsert;
  std::size_t key = 0;  // In Program::keys.
  std::map<std::string, Cell> cells;
  std::vector<std::string> groups;  // Of a lock; empty: the primary one.
};

struct FilterStep {
  std::string column;
  table::ColumnFilter::Op op = table::ColumnFilter::Op::kEqual;
  Cell value;
};

struct ProgramStep {
  enum class Kind : std::uint8_t {
    kWrite,
    kOverlap,  // Two transactions, begun together, committed one after the other.
    kMistake,
    kLookup,
    kVersions,
    kScan,
    kFlush,
    kCompact,
    kRestart,
    kPowerCut,
    kReshard,
    kReshardByCount,
    kPart,  // A range of tablets is unmounted, maybe resharded, and mounted.
    kAlter,
    kFreeze,
    kUnmount,
    kAdvance
  };
  Kind kind = Kind::kWrite;
  std::vector<RowStep> rows;
  std::vector<RowStep> later;  // Of the second transaction of kOverlap.
  std::vector<std::size_t> keys;
  std::vector<std::string> columns;
  std::uint64_t draw = 0;  // 0: the present. Else which moment of the past; which mistake.
  std::vector<FilterStep> filters;
  std::optional<std::size_t> from;
  std::optional<std::size_t> to;
  std::size_t bound_columns = 1;
  std::uint64_t limit = ~std::uint64_t{0};
  TableSchema schema;
  std::chrono::seconds advance{0};
};

struct Program {
  std::uint64_t seed = 0;
  TableSchema schema;
  TableMountOptions retention;          // Only the options of retention are used.
  std::vector<std::vector<Cell>> keys;  // Of the columns that are not computed.
  std::vector<ProgramStep> steps;
};

inline std::string_view name_of(ProgramStep::Kind kind) {
  static constexpr std::string_view kNames[] = {
      "write", "overlap", "mistake", "lookup",    "versions", "scan",
      "flush", "compact", "restart", "power cut", "reshard",  "reshard by count",
      "part",  "alter",   "freeze",  "unmount",   "advance"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace moraine
