#include "client/select_run.h"

#include <algorithm>

#include "query/ranges/infer.h"

namespace moraine::client {
namespace {

using query::Batch;
using query::Expression;
using query::ExpressionKind;
using query::FlowStep;
using query::Group;
using query::GroupSink;
using query::Join;
using query::JoinSink;
using query::kVectorRows;
using query::Limit;
using query::Order;
using query::PlanNode;
using query::Relation;
using query::RowStore;
using query::SortSink;
using query::Stage;

// The condition of a filter right above the scan.
const Expression* scan_predicate(const Stage& stage) {
  if (stage.steps.empty()) return nullptr;
  const auto* filter = std::get_if<query::Filter>(&stage.steps[0]->step);
  return filter == nullptr ? nullptr : &filter->predicate;
}

bool begins_with_rows_of_totals(const Stage& stage) {
  const PlanNode* first = stage.steps.empty() ? stage.end : stage.steps[0];
  return first != nullptr && (std::holds_alternative<query::Filter>(first->step) ||
                              std::holds_alternative<Join>(first->step) ||
                              std::holds_alternative<query::ArrayJoin>(first->step) ||
                              std::holds_alternative<Group>(first->step));
}

template <class F>
Result<void> for_batches(const RowStore& rows, F&& f) {
  for (std::size_t first = 0; first < rows.rows(); first += kVectorRows) {
    const std::size_t count = std::min(kVectorRows, rows.rows() - first);
    TRY_VOID(f(rows.view(first, count), first));
  }
  return {};
}

Relation with_totals_as_rows(Relation relation) {
  if (relation.totals.rows() == 0) return relation;
  Relation merged;
  merged.rows = RowStore(relation.rows.types());
  const auto add = [&](const RowStore& rows) {
    (void)for_batches(rows, [&](const Batch& batch, std::size_t) -> Result<void> {
      merged.rows.append(batch, query::Selection::all(batch.rows));
      return {};
    });
  };
  if (relation.totals_first) add(relation.totals);
  add(relation.rows);
  if (!relation.totals_first) add(relation.totals);
  return merged;
}

// What the distinct keys of the left side of a join are, unless there are many.
class KeySink final : public query::Sink {
 public:
  explicit KeySink(const Join& join)
      : keys_(query::compile(std::span(join.left_keys))), table_(query::types_of(join.left_keys)) {}

  Result<void> take(const Batch& batch, const query::Selection& rows, std::uint64_t) override {
    columns_.clear();
    for (const query::KernelPtr& key : keys_) {
      TRY(const query::Column column, key->eval(batch, rows));
      columns_.push_back(column);
    }
    ids_.resize(rows.count);
    rows_ += rows.count;
    const bool fits = table_.find(columns_, rows, ids_.data());
    over_ = !fits || table_.size() > kLookupKeysMax || rows_ > kLookupRowsMax;
    return {};
  }
  std::size_t bytes() const override { return table_.bytes(); }
  bool needs_rows() const override { return !over_; }
  const RowStore& keys() const { return table_.keys(); }

 private:
  const std::vector<query::KernelPtr> keys_;
  query::GroupTable table_;
  std::vector<query::Column> columns_;
  std::vector<std::uint32_t> ids_;
  std::uint64_t rows_ = 0;
  bool over_ = false;
};

// right columns IN (keys)
Expression in_keys(const Join& join, const RowStore& keys, table::TextMemory& texts) {
  Expression in;
  in.kind = ExpressionKind::kIn;
  in.type = ValueType::kBoolean;
  in.nulls = join.null_equals_null ? query::NullRelation::kNullIsLeast
                                   : query::NullRelation::kNullGivesNull;
  std::vector<std::size_t> used;
  for (std::size_t i = 0; i < join.right_keys.size(); ++i) {
    if (join.right_keys[i].kind != ExpressionKind::kColumn) continue;
    used.push_back(i);
    in.operands.push_back(join.right_keys[i]);
  }
  in.width = used.size();
  for (std::size_t row = 0; row < keys.rows(); ++row) {
    for (const std::size_t i : used) {
      Value value = keys.value(i, row);
      if (value.has_text()) {
        const std::string_view text = texts.keep(std::string(value.text()));
        value = value.type() == ValueType::kAny ? Value::any(text) : Value(text);
      }
      in.operands.push_back(query::make_literal(value, join.right_keys[i].type));
    }
  }
  return in;
}

}  // namespace

Task<Result<std::unique_ptr<ReadyStage>>> SelectRun::ready(const Stage& stage,
                                                           const Relation& source) {
  auto ready = std::make_unique<ReadyStage>();
  ready->stage = &stage;
  std::size_t first = 0;
  if (stage.scan != nullptr) {
    const Expression* predicate = scan_predicate(stage);
    CO_TRY(ready->input, scan_input(context_, *stage.scan, predicate));
    context_.statistics.ranges += stage.scan->ranges.size();
    // All rows in the ranges pass, or the reader tests them.
    if (predicate != nullptr && context_.options.pushdown &&
        (stage.scan->exact || (ready->input.tested && !ready->input.residual))) {
      first = 1;
    }
    if (stage.scan->exact) ready->input.conditions.clear();
  }
  for (std::size_t i = first; i < stage.steps.size(); ++i) {
    FlowStep step{.node = stage.steps[i]};
    if (i == 0 && ready->input.tested && !stage.scan->exact) {
      step.predicate = ready->input.residual.get();
    }
    if (std::holds_alternative<Join>(step.node->step)) {
      CO_TRY(auto table, co_await join_table(*ready, *step.node, source));
      step.table = &table->table;
      ready->joins.push_back(std::move(table));
      auto& memory =
          ready->memory.emplace_back(std::make_unique<query::MemoryUse>(context_.control, "JOIN"));
      CO_TRY_VOID(memory->set(ready->joins.back()->bytes()));
    }
    ready->steps.push_back(step);
  }
  co_return ready;
}

Task<Result<std::unique_ptr<JoinSink>>> SelectRun::join_table(const ReadyStage& before,
                                                              const PlanNode& node,
                                                              const Relation& source) {
  const auto& join = std::get<Join>(node.step);
  const PlanNode& right = node.inputs[1];
  CO_TRY(const std::optional<PlanNode> looked_up, co_await by_lookup(before, node, source));
  auto sink = std::make_unique<JoinSink>(join, query::types_of(right.columns));
  CO_TRY_VOID(co_await run(looked_up ? *looked_up : right, *sink));
  sink->table.build();
  co_return sink;
}

Task<Result<std::optional<PlanNode>>> SelectRun::by_lookup(const ReadyStage& before,
                                                           const PlanNode& node,
                                                           const Relation& source) {
  const auto& join = std::get<Join>(node.step);
  PlanNode right = node.inputs[1];
  const auto* filter = std::get_if<query::Filter>(&right.step);
  auto* scan = std::get_if<query::Scan>(filter == nullptr ? &right.step : &right.inputs[0].step);
  if (join.key_prefix == 0 || scan == nullptr || !context_.options.pushdown) {
    co_return std::nullopt;
  }
  KeySink sink(join);
  CO_TRY(const bool complete, co_await feed_all(before, source, sink, "JOIN", kLookupRowsMax));
  if (!complete || !sink.needs_rows()) co_return std::nullopt;
  if (sink.keys().rows() == 0) {
    scan->ranges.clear();
    co_return std::move(right);
  }
  Expression condition = in_keys(join, sink.keys(), context_.texts);
  if (filter != nullptr) {
    Expression both;
    both.kind = ExpressionKind::kAnd;
    both.type = ValueType::kBoolean;
    both.operands = {std::move(condition), filter->predicate};
    condition = std::move(both);
  }
  query::RangeSet set = query::infer_ranges(condition, scan->columns, *scan->schema, context_.texts,
                                            context_.options.ranges_max);
  scan->ranges = std::move(set.ranges);
  scan->exact = false;
  co_return std::move(right);
}

Task<Result<bool>> SelectRun::feed_all(const ReadyStage& ready, const Relation& source,
                                       query::Sink& sink, const char* step,
                                       std::uint64_t rows_max) {
  FedSink fed(context_, ready, sink, step);
  if (ready.stage->scan == nullptr) {
    CO_TRY_VOID(for_batches(source.rows, [&](const Batch& batch, std::uint64_t first) {
      return fed.push(batch, query::Selection::all(batch.rows), first);
    }));
  }
  bool ended = true;
  std::uint64_t read = 0;
  for (std::size_t i = 0; i < ready.input.parts.size() && sink.needs_rows() && ended; ++i) {
    PartReader reader(context_, ready.input, ready.input.parts[i]);
    const auto over = [&] { return read + reader.statistics().rows_read > rows_max; };
    std::uint64_t position = first_position(i);
    CO_TRY(ended, co_await fed.feed(reader, position, over));
    read += reader.statistics().rows_read;
  }
  fed.report();
  co_return ended;
}

Task<Result<void>> SelectRun::run(const PlanNode& root, query::Sink& sink) {
  const std::vector<Stage> stages = query::stages_of(root);
  Relation relation;
  CO_TRY_VOID(co_await run_stages(stages, relation));
  if (stages.back().scan == nullptr) relation = with_totals_as_rows(std::move(relation));
  CO_TRY(const auto last, co_await ready(stages.back(), relation));
  CO_TRY_VOID(co_await feed_all(*last, relation, sink, "JOIN"));
  co_return Result<void>();
}

namespace {

std::unique_ptr<query::Sink> make_sink(const Stage& stage) {
  const std::vector<ValueType> types = query::types_of(stage.before_end().columns);
  if (stage.end != nullptr) {
    if (const auto* group = std::get_if<Group>(&stage.end->step)) {
      return std::make_unique<GroupSink>(*group);
    }
    if (const auto* order = std::get_if<Order>(&stage.end->step)) {
      return std::make_unique<SortSink>(*order, types, stage.rows_max());
    }
  }
  return std::make_unique<query::CollectSink>(types, stage.rows_max());
}

const char* end_name(const Stage& stage) {
  if (stage.end == nullptr) return "the result of a subquery";
  if (std::holds_alternative<Group>(stage.end->step)) return "GROUP BY";
  return std::holds_alternative<Order>(stage.end->step) ? "ORDER BY" : "LIMIT";
}

bool only_sorts(const Stage& stage) {
  return stage.scan == nullptr && stage.steps.empty() && stage.end != nullptr &&
         std::holds_alternative<Order>(stage.end->step);
}

// The groups of all lanes; `sorting`: in its order.
Result<void> finish_groups(const Stage& stage, const Stage* sorting,
                           std::vector<std::unique_ptr<query::Sink>>& sinks,
                           SelectStatistics& statistics, Relation& out) {
  const std::vector<ValueType> types = query::types_of(stage.end->columns);
  out.rows = RowStore(types);
  out.totals = RowStore(types);
  auto& first = static_cast<GroupSink&>(*sinks[0]).grouper;
  for (std::size_t i = 1; i < sinks.size(); ++i) {
    TRY_VOID(first.merge(static_cast<GroupSink&>(*sinks[i]).grouper));
    sinks[i].reset();
  }
  statistics.rows_grouped += first.groups();
  if (sorting == nullptr) {
    const auto append = [&](const Batch& batch, const query::Selection& rows) -> Result<void> {
      out.rows.append(batch, rows);
      return {};
    };
    return first.finish(append, out.totals);
  }
  query::Sorter sorter(std::get<Order>(sorting->end->step), types, sorting->rows_max());
  const auto sort = [&](const Batch& batch, const query::Selection& rows) {
    return sorter.add(batch, rows);
  };
  TRY_VOID(first.finish(sort, out.totals));
  sorter.finish(sorting->limit.offset, out.rows);
  out.totals_first = true;
  return {};
}

// Merges the sinks of all lanes, in their order.
Result<void> finish(const Stage& stage, const Stage* sorting,
                    std::vector<std::unique_ptr<query::Sink>>& sinks, SelectStatistics& statistics,
                    Relation& out) {
  if (stage.end != nullptr && std::holds_alternative<Group>(stage.end->step)) {
    return finish_groups(stage, sorting, sinks, statistics, out);
  }
  out.rows = RowStore(query::types_of(stage.before_end().columns));
  if (stage.end != nullptr && std::holds_alternative<Order>(stage.end->step)) {
    auto& first = static_cast<SortSink&>(*sinks[0]).sorter;
    for (std::size_t i = 1; i < sinks.size(); ++i) {
      first.merge(static_cast<SortSink&>(*sinks[i]).sorter);
    }
    first.finish(stage.limit.offset, out.rows);
    out.totals_first = true;
    return {};
  }
  auto& rows = static_cast<query::CollectSink&>(*sinks[0]).store;
  return for_batches(rows, [&](const Batch& batch, std::size_t first) -> Result<void> {
    std::vector<std::uint32_t> kept;
    for (std::size_t i = 0; i < batch.rows; ++i) {
      if (first + i >= stage.limit.offset) kept.push_back(static_cast<std::uint32_t>(i));
    }
    out.rows.append(batch, {.rows = kept.data(), .count = kept.size()});
    return {};
  });
}

}  // namespace

Result<void> SelectRun::count_relation(const Relation& relation) {
  return relation_memory_.set(relation.rows.bytes());
}

Task<Result<void>> SelectRun::run_stages(const std::vector<Stage>& stages, Relation& relation) {
  for (std::size_t i = 0; i + 1 < stages.size(); ++i) {
    const bool groups =
        stages[i].end != nullptr && std::holds_alternative<Group>(stages[i].end->step);
    const Stage* sorting = groups && only_sorts(stages[i + 1]) ? &stages[i + 1] : nullptr;
    CO_TRY_VOID(co_await run_stage(stages[i], sorting, relation));
    if (sorting != nullptr) ++i;
  }
  co_return Result<void>();
}

Task<Result<void>> SelectRun::run_stage(const Stage& stage, const Stage* sorting,
                                        Relation& relation) {
  Relation source = std::move(relation);
  relation = Relation();
  if (begins_with_rows_of_totals(stage)) source = with_totals_as_rows(std::move(source));
  CO_TRY(const auto ready_stage, co_await ready(stage, source));
  const bool ends_whole = stage.end != nullptr && !std::holds_alternative<Limit>(stage.end->step);
  if (stage.scan != nullptr && !ends_whole) {
    PartStream stream(context_, *ready_stage);
    relation.rows = RowStore(query::types_of(stage.before_end().columns));
    for (;;) {
      CO_TRY(const bool more, co_await stream.next(relation.rows));
      CO_TRY_VOID(count_relation(relation));
      if (!more) break;
    }
    co_return Result<void>();
  }
  if (stage.scan != nullptr) co_return co_await read_parts(*ready_stage, sorting, relation);
  std::vector<std::unique_ptr<query::Sink>> sinks;
  sinks.push_back(make_sink(stage));
  CO_TRY_VOID(co_await feed_all(*ready_stage, source, *sinks[0], end_name(stage)));
  CO_TRY_VOID(finish(stage, sorting, sinks, context_.statistics, relation));
  if (source.totals.rows() > 0) {
    // A source without totals, such as an ordered subquery, says nothing of those made here.
    relation.totals_first = relation.totals_first || source.totals_first;
    query::CollectSink totals(query::types_of(stage.before_end().columns), 1);
    FedSink fed(context_, *ready_stage, totals, end_name(stage));
    CO_TRY_VOID(fed.push(source.totals.view(0, 1), query::Selection::all(1), 0));
    relation.totals = std::move(totals.store);
  }
  co_return count_relation(relation);
}

Task<Result<void>> SelectRun::read_parts(ReadyStage& ready_stage, const Stage* sorting,
                                         Relation& out) {
  const Stage& stage = *ready_stage.stage;
  const std::size_t count =
      std::clamp<std::size_t>(ready_stage.input.parts.size(), 1, context_.lanes.size());
  std::vector<std::unique_ptr<query::Sink>> sinks;
  std::vector<std::unique_ptr<FedSink>> fed;
  for (std::size_t i = 0; i < count; ++i) {
    sinks.push_back(make_sink(stage));
    fed.push_back(std::make_unique<FedSink>(context_, ready_stage, *sinks.back(), end_name(stage)));
  }
  CO_TRY_VOID(co_await feed_parts(context_, ready_stage, fed));
  CO_TRY_VOID(finish(stage, sorting, sinks, context_.statistics, out));
  co_return count_relation(out);
}

Task<Result<void>> SelectRun::run_all(const PlanNode& root) {
  stages_ = query::stages_of(root);
  const Stage& last = stages_.back();
  const bool joins = std::ranges::any_of(
      last.steps, [](const PlanNode* node) { return std::holds_alternative<Join>(node->step); });
  const bool limited = stages_.size() == 2 && stages_[0].scan != nullptr &&
                       std::holds_alternative<Limit>(stages_[0].end->step) && !joins;
  if (last.scan != nullptr || limited) {
    CO_TRY(streamed_, co_await ready(stages_[0], relation_));
    stream_ = std::make_unique<PartStream>(context_, *streamed_);
    if (last.scan != nullptr) co_return Result<void>();
  } else {
    CO_TRY_VOID(co_await run_stages(stages_, relation_));
    if (begins_with_rows_of_totals(last)) relation_ = with_totals_as_rows(std::move(relation_));
  }
  if (last.steps.empty()) co_return Result<void>();
  CO_TRY(last_, co_await ready(last, relation_));
  last_sink_ =
      std::make_unique<query::CollectSink>(query::types_of(root.columns), ~std::uint64_t{0});
  last_fed_ = std::make_unique<FedSink>(context_, *last_, *last_sink_, "the result of the query");
  co_return Result<void>();
}

Task<Result<bool>> SelectRun::next_source(Batch& rows) {
  if (stream_) {
    while (row_ == streamed_rows_.rows()) {
      streamed_rows_ = RowStore(query::types_of(streamed_->stage->before_end().columns));
      row_ = 0;
      CO_TRY(const bool more, co_await stream_->next(streamed_rows_));
      if (!more) co_return false;
    }
    const std::size_t count = std::min(kVectorRows, streamed_rows_.rows() - row_);
    rows = streamed_rows_.view(row_, count);
    row_ += count;
    co_return true;
  }
  const std::size_t totals = relation_.totals.rows();
  const std::size_t before = relation_.totals_first ? totals : 0;
  if (row_ >= relation_.rows.rows() + totals) co_return false;
  if (row_ >= before && row_ < before + relation_.rows.rows()) {
    const std::size_t at = row_ - before;
    const std::size_t count = std::min(kVectorRows, relation_.rows.rows() - at);
    rows = relation_.rows.view(at, count);
    row_ += count;
    co_return true;
  }
  rows = relation_.totals.view(0, 1);
  ++row_;
  co_return true;
}

void SelectRun::report() {
  if (last_fed_) last_fed_->report();
}

Task<Result<bool>> SelectRun::next(Batch& rows) {
  for (;;) {
    CO_TRY_VOID(context_.control.check(*Executor::current()));
    Batch source;
    CO_TRY(const bool more, co_await next_source(source));
    if (!more) co_return false;
    if (!last_fed_) {
      rows = std::move(source);
      co_return true;
    }
    last_sink_->store.clear();
    CO_TRY_VOID(last_fed_->push(source, query::Selection::all(source.rows), row_));
    if (last_sink_->store.rows() == 0) continue;
    rows = last_sink_->store.view(0, last_sink_->store.rows());
    co_return true;
  }
}

}  // namespace moraine::client
