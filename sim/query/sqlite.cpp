#include "sim/query/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include "base/invariant.h"
#include "sim/query/json_values.h"
#include "sim/query/sqlite_functions.h"
#include "sim/query/term.h"
#include "yson/yson.h"

namespace moraine::sim {
namespace {

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

// Null when SQLite has null, or another type than the engine says.
Result<Value> cell(sqlite3_stmt* statement, int column, ValueType type, table::TextMemory& texts) {
  const int stored = sqlite3_column_type(statement, column);
  if (stored == SQLITE_NULL) return Value();
  const bool is_integer = stored == SQLITE_INTEGER;
  switch (type) {
    case ValueType::kInt64:
      if (is_integer) return static_cast<std::int64_t>(sqlite3_column_int64(statement, column));
      break;
    case ValueType::kUint64:
      if (is_integer) return unflip(sqlite3_column_int64(statement, column));
      break;
    case ValueType::kBoolean:
      if (is_integer) return sqlite3_column_int64(statement, column) != 0;
      break;
    case ValueType::kDouble:
      if (stored == SQLITE_FLOAT || is_integer) return sqlite3_column_double(statement, column);
      break;
    case ValueType::kString:
      if (stored == SQLITE_TEXT) {
        const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
        const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, column));
        return texts.keep(std::string(text, size));
      }
      break;
    case ValueType::kAny: {
      if (is_integer)
        return any_of_json(std::to_string(sqlite3_column_int64(statement, column)), texts);
      const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
      const std::string text(bytes,
                             static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
      // No text of the tables begins as JSON does.
      if (text.starts_with('[') || text.starts_with('{')) return any_of_json(text, texts);
      return Value::any(texts.keep(write_yson(YsonNode(text), YsonFormat::kBinary)));
    }
    default: break;
  }
  return fail(Errc::kInvalidArgument, fmt::format("column {} is {} here, and SQLite's type {}",
                                                  column, moraine::to_string(type), stored));
}

void bind(sqlite3_stmt* statement, int at, const Value& value) {
  switch (value.type()) {
    case ValueType::kInt64: sqlite3_bind_int64(statement, at, value.as_int64()); break;
    case ValueType::kUint64: sqlite3_bind_int64(statement, at, flip(value.as_uint64())); break;
    case ValueType::kBoolean: sqlite3_bind_int64(statement, at, value.as_boolean() ? 1 : 0); break;
    case ValueType::kDouble: sqlite3_bind_double(statement, at, value.as_double()); break;
    case ValueType::kString:
      sqlite3_bind_text(statement, at, value.text().data(), static_cast<int>(value.text().size()),
                        SQLITE_TRANSIENT);
      break;
    case ValueType::kAny: {
      const std::string json = json_of(value.text());
      sqlite3_bind_text(statement, at, json.data(), static_cast<int>(json.size()),
                        SQLITE_TRANSIENT);
      break;
    }
    default: sqlite3_bind_null(statement, at); break;
  }
}

}  // namespace

Sqlite::Sqlite() {
  INVARIANT(sqlite3_open(":memory:", &database_) == SQLITE_OK, "SQLite cannot be opened");
  register_functions(database_);
  const auto done = execute(
      "PRAGMA case_sensitive_like = ON;"
      "CREATE TABLE places AS WITH RECURSIVE p(n) AS (VALUES (0) UNION ALL SELECT n + 1 FROM p "
      "WHERE n < 9) SELECT n FROM p");
  INVARIANT(done, "{}", done.error().context);
}

Sqlite::~Sqlite() {
  sqlite3_close(database_);
}

Result<void> Sqlite::execute(const std::string& sql) {
  if (sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("SQLite: {} in {}", sqlite3_errmsg(database_), sql));
}

Result<void> Sqlite::load(const QueryTables& tables) {
  TRY_VOID(execute("BEGIN"));
  for (std::size_t i = 0; i < tables.tables.size(); ++i) {
    const QueryTable& table = tables.tables[i];
    std::string columns;
    std::string places;
    for (const ColumnSchema& column : table.schema->columns) {
      columns += (columns.empty() ? "" : ", ") + sql_name(column.name);
      places += places.empty() ? "?" : ", ?";
    }
    TRY_VOID(
        execute(fmt::format("DROP TABLE IF EXISTS t{0}; CREATE TABLE t{0} ({1})", i, columns)));
    sqlite3_stmt* made = nullptr;
    const std::string insert = fmt::format("INSERT INTO t{} VALUES ({})", i, places);
    sqlite3_prepare_v2(database_, insert.c_str(), -1, &made, nullptr);
    const Statement statement(made);
    for (const query::Row& row : table.rows) {
      for (std::size_t c = 0; c < row.size(); ++c) bind(made, static_cast<int>(c) + 1, row[c]);
      if (sqlite3_step(made) != SQLITE_DONE) {
        return fail(Errc::kInvalidArgument, sqlite3_errmsg(database_));
      }
      sqlite3_reset(made);
    }
  }
  return execute("COMMIT");
}

Result<std::vector<query::Row>> Sqlite::run(const std::string& sql,
                                            std::span<const ValueType> types,
                                            table::TextMemory& texts) {
  sqlite3_stmt* made = nullptr;
  const int prepared = sqlite3_prepare_v2(database_, sql.c_str(), -1, &made, nullptr);
  const Statement statement(made);
  const auto refuse = [&] {
    return fail(Errc::kInvalidArgument,
                fmt::format("SQLite: {} in {}", sqlite3_errmsg(database_), sql));
  };
  if (prepared != SQLITE_OK) return refuse();
  if (static_cast<std::size_t>(sqlite3_column_count(made)) != types.size()) {
    return fail(Errc::kInvalidArgument, fmt::format("{} columns, not {}: {}",
                                                    sqlite3_column_count(made), types.size(), sql));
  }
  std::vector<query::Row> rows;
  int step = sqlite3_step(made);
  for (; step == SQLITE_ROW; step = sqlite3_step(made)) {
    query::Row row;
    for (std::size_t c = 0; c < types.size(); ++c) {
      TRY(const Value value, cell(made, static_cast<int>(c), types[c], texts));
      row.push_back(value);
    }
    rows.push_back(std::move(row));
  }
  if (step != SQLITE_DONE) return refuse();
  return rows;
}

std::string sql_name(std::string_view name) {
  return fmt::format("\"{}\"", name);
}

}  // namespace moraine::sim
