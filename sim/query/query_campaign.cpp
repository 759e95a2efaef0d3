#include "sim/query/query_campaign.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/log.h"
#include "sim/query/query_engine.h"
#include "sim/query/shrink.h"

namespace moraine::sim {
namespace {

using Engines = std::vector<std::unique_ptr<QueryEngine>>;

// Attempts of an engine that chooses the options of each run.
constexpr std::size_t kAttempts = 6;

std::unique_ptr<QueryEngine> engine_number(std::size_t number, const QueryTables& tables,
                                           std::uint64_t seed) {
  if (number < 2) return model_engine(tables, /*use_ranges=*/number == 0);
  return select_engine(tables, seed);
}
constexpr std::size_t kEngines = 3;

Engines engines_of(const QueryTables& tables, std::uint64_t seed) {
  Engines engines;
  for (std::size_t i = 0; i < kEngines; ++i) engines.push_back(engine_number(i, tables, seed));
  return engines;
}

// Nodes of queries start often.
class QuietLog {
 public:
  QuietLog() { set_log_level(LogLevel::kWarning); }
  QuietLog(const QuietLog&) = delete;
  QuietLog& operator=(const QuietLog&) = delete;
  ~QuietLog() { set_log_level(before_); }

 private:
  const LogLevel before_ = log_level();
};

std::string tables_text(const QueryTables& tables) {
  std::string out;
  for (const QueryTable& table : tables.tables) {
    out += "  " + table.path + " (";
    for (const ColumnSchema& column : table.schema->columns) {
      out +=
          fmt::format("{} {}{}{}, ", column.name, to_string(column.type), column.key ? " key" : "",
                      column.expression.empty() ? "" : " = " + column.expression);
    }
    out.resize(out.size() - 2);
    out += fmt::format("), {} rows\n{}", table.rows.size(), rows_text(table.rows));
  }
  return out;
}

std::string options_text(const QueryCase& query) {
  std::string out =
      fmt::format("syntax version {}, expression builder {}{}", query.dialect.syntax_version,
                  query.dialect.expression_builder_version,
                  query.dialect.canonical_nulls ? ", canonical nulls" : "");
  for (const YsonPair& pair : query.placeholders) {
    out += fmt::format(", {}={}", pair.key, write_yson(pair.node, YsonFormat::kText));
  }
  return out;
}

// The first words of a message: a smaller query must fail in the same way.
std::string kind_of(const std::string& message) {
  if (message.starts_with("has ")) return "has ";
  return message.substr(0, std::min(message.find(" at "), message.find(" in ")));
}

// Engine and difference of the first engine that differs.
struct Difference {
  std::size_t engine = 0;
  std::string message;
};
std::optional<Difference> difference(Engines& engines, const QueryCase& query, Sqlite& sqlite) {
  for (std::size_t i = 0; i < engines.size(); ++i) {
    auto message = compare_answers(query, engines[i]->run(query), sqlite);
    if (message) return Difference{.engine = i, .message = std::move(*message)};
  }
  return std::nullopt;
}

std::string explain_failure(QueryTables tables, QueryCase query, const Difference& first,
                            const std::string& name, std::uint64_t seed) {
  const std::string kind = kind_of(first.message);
  std::string message = first.message;
  std::string last_name = name;
  const bool chooses = first.engine >= 2;
  const Fails fails = [&](const QueryTables& smaller_tables, const QueryCase& smaller) {
    Sqlite sqlite;
    if (!sqlite.load(smaller_tables)) return false;
    const auto engine = engine_number(first.engine, smaller_tables, seed);
    for (std::size_t i = 0; i < (chooses ? kAttempts : 1); ++i) {
      auto found = compare_answers(smaller, engine->run(smaller), sqlite);
      if (!found || kind_of(*found) != kind) continue;
      message = std::move(*found);
      last_name = engine->name();
      return true;
    }
    return false;
  };
  shrink(tables, query, fails, chooses ? kShrinkRunsMax / 20 : kShrinkRunsMax);
  return fmt::format("{} {}\n  query: {}\n  {}\n{}", last_name, message, query.yt(),
                     options_text(query), tables_text(tables));
}

}  // namespace

SeedReport run_query_seed(const SeedOptions& options) {
  const QuietLog quiet;
  SeedReport report;
  SeededRandom random(options.seed);
  const QueryTables tables = random_tables(random);
  Sqlite sqlite;
  const auto loaded = sqlite.load(tables);
  if (!loaded) {
    report.failure = loaded.error().context;
    return report;
  }
  Engines engines = engines_of(tables, options.seed);
  ++report.tally.runs;
  for (std::uint64_t i = 0; i < kQueriesPerSeed; ++i) {
    const QueryCase query = random_query(random, tables);
    if (options.verbose) fmt::print("{}\n", query.yt());
    query.features.count_in(report.tally.query_features);
    ++report.tally.queries;
    const auto found = difference(engines, query, sqlite);
    if (!found) continue;
    report.failure = fmt::format(
        "seed {}, query {}: {}", options.seed, i,
        explain_failure(tables, query, *found, engines[found->engine]->name(), options.seed));
    return report;
  }
  return report;
}

}  // namespace moraine::sim
