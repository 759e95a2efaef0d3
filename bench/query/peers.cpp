#include "bench/query/peers.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "bench/measure.h"

namespace moraine::bench {
namespace {

using Database = std::unique_ptr<sqlite3, decltype(&sqlite3_close)>;
using Statement = std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)>;

std::unexpected<Error> sqlite_error(sqlite3* database) {
  return fail(Errc::kIo, fmt::format("SQLite: {}", sqlite3_errmsg(database)));
}

Result<Statement> prepare(sqlite3* database, std::string_view text) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v2(database, text.data(), static_cast<int>(text.size()), &statement, nullptr);
  if (code != SQLITE_OK) return sqlite_error(database);
  return Statement(statement, &sqlite3_finalize);
}

Result<void> execute(sqlite3* database, const std::string& text) {
  if (sqlite3_exec(database, text.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return sqlite_error(database);
}

Result<void> load(sqlite3* database, const BenchTable& table) {
  std::string columns;
  std::string keys;
  std::string places;
  for (const ColumnSchema& column : table.schema.columns) {
    const char* type = column.type == ColumnType::kString ? "text" : "integer";
    columns += fmt::format("{} {} not null, ", column.name, type);
    if (column.key) keys += (keys.empty() ? "" : ", ") + column.name;
    places += places.empty() ? "?" : ", ?";
  }
  TRY_VOID(execute(database, fmt::format("create table {} ({} primary key ({})) without rowid",
                                         table.name, columns, keys)));
  TRY_VOID(execute(database, "begin"));
  TRY(const Statement insert,
      prepare(database, fmt::format("insert into {} values ({})", table.name, places)));
  std::string memory;
  for (std::uint64_t number = 0; number < table.rows; ++number) {
    const std::vector<Value> row = table.row(number, memory);
    for (std::size_t i = 0; i < row.size(); ++i) {
      const int at = static_cast<int>(i) + 1;
      if (row[i].has_text()) {
        const std::string_view text = row[i].text();
        sqlite3_bind_text(insert.get(), at, text.data(), static_cast<int>(text.size()),
                          SQLITE_TRANSIENT);
      } else {
        sqlite3_bind_int64(insert.get(), at, row[i].as_int64());
      }
    }
    if (sqlite3_step(insert.get()) != SQLITE_DONE) return sqlite_error(database);
    sqlite3_reset(insert.get());
  }
  return execute(database, "commit");
}

std::string row_text(sqlite3_stmt* statement) {
  std::string out;
  for (int i = 0; i < sqlite3_column_count(statement); ++i) {
    if (i > 0) out += '|';
    if (sqlite3_column_type(statement, i) == SQLITE_FLOAT) {
      out += fmt::format("{:.3f}", sqlite3_column_double(statement, i));
    } else {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, i));
      out += text == nullptr ? "null" : text;
    }
  }
  return out;
}

}  // namespace

Result<std::vector<QueryTime>> run_sqlite(const std::vector<BenchTable>& tables) {
  sqlite3* opened = nullptr;
  if (sqlite3_open(":memory:", &opened) != SQLITE_OK) return sqlite_error(opened);
  const Database database(opened, &sqlite3_close);
  for (const BenchTable& table : tables) {
    TRY_VOID(load(database.get(), table));
  }
  TRY_VOID(execute(database.get(), "analyze"));
  std::vector<QueryTime> times;
  for (const BenchQuery& query : bench_queries()) {
    TRY(const Statement statement, prepare(database.get(), query.peers));
    QueryTime time;
    std::vector<double> rounds;
    // Its rounds take long and differ little.
    for (int round = 0; round < 2; ++round) {
      const Stopwatch watch;
      bool first = true;
      while (sqlite3_step(statement.get()) == SQLITE_ROW) {
        if (std::exchange(first, false)) time.first_row = row_text(statement.get());
      }
      rounds.push_back(watch.seconds());
      sqlite3_reset(statement.get());
    }
    time.seconds = std::min(rounds[0], rounds[1]);
    times.push_back(std::move(time));
  }
  return times;
}

Result<void> write_csv(const std::vector<BenchTable>& tables, const std::filesystem::path& folder) {
  for (const BenchTable& table : tables) {
    std::ofstream file(folder / fmt::format("{}.csv", table.name));
    std::string line;
    std::string memory;
    for (const ColumnSchema& column : table.schema.columns) {
      line += (line.empty() ? "" : ",") + column.name;
    }
    file << line << '\n';
    for (std::uint64_t number = 0; number < table.rows; ++number) {
      line.clear();
      for (const Value& value : table.row(number, memory)) {
        if (!line.empty()) line += ',';
        line += value.has_text() ? fmt::format("\"{}\"", value.text()) : cell_text(value);
      }
      file << line << '\n';
    }
    file.close();
    if (!file) return fail(Errc::kIo, fmt::format("cannot write {}.csv", table.name));
  }
  return {};
}

Result<std::optional<std::vector<QueryTime>>> run_duckdb(const std::filesystem::path& folder,
                                                         std::size_t threads, std::string& why) {
  // The program is in build/.
  const std::filesystem::path home =
      std::filesystem::canonical("/proc/self/exe").parent_path().parent_path();
  const std::filesystem::path script = home / "bench" / "query" / "duckdb_side";
  const std::filesystem::path queries = folder / "queries.txt";
  const std::filesystem::path answers = folder / "answers.txt";
  {
    std::ofstream file(queries);
    for (const BenchQuery& query : bench_queries()) file << query.peers << '\n';
  }
  const std::string command =
      fmt::format("'{}' '{}' {} {}", script.string(), folder.string(), threads, kQueryRounds);
  const int code = std::system(command.c_str());
  std::ifstream file(answers);
  if (code != 0 || !file) {
    why = fmt::format("skipped: {} failed with {}; it needs PyPI or an installed duckdb",
                      script.filename().string(), code);
    return std::nullopt;
  }
  std::vector<QueryTime> times;
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t tab = line.find('\t');
    times.push_back({.seconds = std::strtod(line.c_str(), nullptr),
                     .first_row = tab == std::string::npos ? "" : line.substr(tab + 1)});
  }
  if (times.size() != bench_queries().size()) {
    return fail(Errc::kIo, fmt::format("DuckDB answered {} queries", times.size()));
  }
  return times;
}

std::string cell_text(const Value& value) {
  switch (value.type()) {
    case ValueType::kInt64: return fmt::format("{}", value.as_int64());
    case ValueType::kUint64: return fmt::format("{}", value.as_uint64());
    case ValueType::kDouble: return fmt::format("{:.3f}", value.as_double());
    case ValueType::kBoolean: return value.as_boolean() ? "1" : "0";
    case ValueType::kNull: return "null";
    default: return std::string(value.text());
  }
}

}  // namespace moraine::bench
