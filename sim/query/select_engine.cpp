// client::select() over a simulated node, as an engine of queries.

#include <fmt/format.h>

#include "client/select.h"
#include "sim/query/query_engine.h"
#include "sim/query/query_node.h"

namespace moraine::sim {
namespace {

constexpr std::size_t kLanesMax = 3;

Value kept(const Value& value, table::TextMemory& texts) {
  if (!value.has_text()) return value;
  const std::string_view text = texts.keep(std::string(value.text()));
  return value.type() == ValueType::kAny ? Value::any(text) : Value(text);
}

class SelectEngine final : public QueryEngine {
 public:
  SelectEngine(const QueryTables& tables, std::uint64_t seed)
      : random_(seed), node_(seed, 1 + random_.below(kLanesMax)), loaded_(node_.load(tables)) {}

  std::string name() const override {
    return fmt::format("select, {} lanes, columnar {}, pushdown {},\n{}  ", node_.lanes(),
                       options_.columnar, options_.pushdown, node_.layout());
  }

  Result<QueryAnswer> run(const QueryCase& query) override {
    if (!loaded_) return std::unexpected(loaded_.error());
    if (random_.one_in(50)) {
      TRY_VOID(node_.change_layout());
    }
    options_ = {};
    options_.bind = bind_options(query);
    options_.columnar = !random_.one_in(3);
    options_.pushdown = !random_.one_in(3);
    return node_.run<Result<QueryAnswer>>(random_.below(node_.lanes()),
                                          [&] { return select(query.yt()); });
  }

 private:
  Task<Result<QueryAnswer>> select(std::string text) {
    CO_TRY(const auto selection, co_await client::select(node_.client(), text, options_));
    QueryAnswer answer;
    const auto texts = std::make_shared<table::TextMemory>();
    answer.memory = texts;
    for (const query::PlanColumn& column : selection->columns()) {
      answer.types.push_back(column.type);
    }
    ScanBatch batch;
    for (;;) {
      CO_TRY(const bool more, co_await selection->next(batch));
      if (!more) break;
      for (std::size_t i = 0; i < batch.rows; ++i) {
        query::Row row;
        for (const ScanBatch::Column& column : batch.columns) {
          const Value value = column.at(i);
          row.push_back(kept(value, *texts));
        }
        answer.rows.push_back(std::move(row));
      }
    }
    co_return answer;
  }

  SeededRandom random_;
  QueryNode node_;
  const Result<void> loaded_;
  client::SelectOptions options_;
};

}  // namespace

std::unique_ptr<QueryEngine> select_engine(const QueryTables& tables, std::uint64_t seed) {
  return std::make_unique<SelectEngine>(tables, seed);
}

}  // namespace moraine::sim
