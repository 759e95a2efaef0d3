#include "query/execute/flow.h"

#include "base/invariant.h"
#include "query/execute/array_join.h"
#include "query/execute/gather.h"

namespace moraine::query {

namespace {

class FilterStep final : public Flow::Step {
 public:
  explicit FilterStep(const Expression& predicate) : predicate_(compile(predicate)) {}
  Result<void> run(Flow& flow, std::size_t next, const Batch& batch, const Selection& rows,
                   std::uint64_t position) override {
    std::uint32_t* const kept = kept_.rows();
    TRY(const std::size_t count, predicate_->filter(batch, rows, kept));
    if (count == rows.count) return pass(flow, next, batch, rows, position);
    return pass(flow, next, batch, {.rows = kept, .count = count}, position);
  }

 private:
  const KernelPtr predicate_;
  SelectionBuffer kept_;
};

class ProjectStep final : public Flow::Step {
 public:
  explicit ProjectStep(const Project& project) : columns_(compile(std::span(project.columns))) {}
  Result<void> run(Flow& flow, std::size_t next, const Batch& batch, const Selection& rows,
                   std::uint64_t position) override {
    out_.rows = batch.rows;
    out_.columns.clear();
    for (const KernelPtr& column : columns_) {
      TRY(Column computed, column->eval(batch, rows));
      out_.columns.push_back(computed);
    }
    return pass(flow, next, out_, rows, position);
  }

 private:
  const std::vector<KernelPtr> columns_;
  Batch out_;
};

class JoinStep final : public Flow::Step {
 public:
  JoinStep(const Join& join, const JoinTable& table)
      : join_(join), table_(table), keys_(compile(std::span(join.left_keys))) {}

  Result<void> run(Flow& flow, std::size_t next, const Batch& batch, const Selection& rows,
                   std::uint64_t position) override {
    key_columns_.clear();
    for (const KernelPtr& key : keys_) {
      TRY(const Column column, key->eval(batch, rows));
      if (table_.rows().rows() > 0) {
        TRY_VOID(refuse_nan(column, rows));
      }
      key_columns_.push_back(column);
    }
    hashes_.resize(rows.count);
    first_.resize(rows.count);
    table_.probe(key_columns_, rows, hashes_.data(), first_.data());
    std::size_t pairs = 0;
    for (std::size_t i = 0; i < rows.count; ++i) {
      std::uint32_t right = first_[i];
      if (right == JoinTable::kNone && !join_.left) continue;
      do {
        left_rows_.rows()[pairs] = rows[i];
        right_rows_.rows()[pairs] = right;
        if (++pairs == kVectorRows) {
          TRY_VOID(emit(flow, next, batch, pairs, position));
          pairs = 0;
        }
        if (right != JoinTable::kNone) right = table_.next(right);
      } while (right != JoinTable::kNone);
    }
    return pairs == 0 ? Result<void>() : emit(flow, next, batch, pairs, position);
  }

 private:
  Result<void> emit(Flow& flow, std::size_t next, const Batch& batch, std::size_t pairs,
                    std::uint64_t position) {
    out_.rows = pairs;
    out_.columns.clear();
    std::size_t number = 0;
    for (const Column& column : batch.columns) {
      out_.columns.push_back(
          gather_.column(number++, column, left_rows_.rows(), pairs, /*may_miss=*/false));
    }
    const RowStore& right = table_.rows();
    for (std::size_t i = 0; i < right.width(); ++i) {
      out_.columns.push_back(
          gather_.column(number++, right.column(i), right_rows_.rows(), pairs, join_.left));
    }
    return pass(flow, next, out_, Selection::all(pairs), position);
  }

  const Join& join_;
  const JoinTable& table_;
  const std::vector<KernelPtr> keys_;
  std::vector<Column> key_columns_;
  std::vector<std::uint64_t> hashes_;
  std::vector<std::uint32_t> first_;
  SelectionBuffer left_rows_;
  SelectionBuffer right_rows_;
  Gather gather_;
  Batch out_;
};

std::unique_ptr<Flow::Step> make_step(const FlowStep& step) {
  if (const auto* filter = std::get_if<Filter>(&step.node->step)) {
    return std::make_unique<FilterStep>(step.predicate != nullptr ? *step.predicate
                                                                  : filter->predicate);
  }
  if (const auto* project = std::get_if<Project>(&step.node->step)) {
    return std::make_unique<ProjectStep>(*project);
  }
  if (std::holds_alternative<ArrayJoin>(step.node->step)) return make_array_join(*step.node);
  const auto* join = std::get_if<Join>(&step.node->step);
  INVARIANT(join != nullptr && step.table != nullptr, "a step that does not pass batches on");
  return std::make_unique<JoinStep>(*join, *step.table);
}

}  // namespace

JoinSink::JoinSink(const Join& join, std::span<const ValueType> types)
    : table(types, types_of(join.right_keys), join.null_equals_null),
      keys_(compile(std::span(join.right_keys))) {}

Result<void> JoinSink::take(const Batch& batch, const Selection& rows, std::uint64_t) {
  if (rows.count == 0) return {};
  columns_.clear();
  for (const KernelPtr& key : keys_) {
    TRY(const Column column, key->eval(batch, rows));
    TRY_VOID(refuse_nan(column, rows));
    columns_.push_back(column);
  }
  if (table.rows().rows() + rows.count >= JoinTable::kRowsMax) {
    return fail(Errc::kOverloaded, "the right side of JOIN has too many rows");
  }
  table.add(batch.columns, columns_, rows);
  return {};
}

Flow::Flow(std::span<const FlowStep> steps, Sink& sink, const Executor* clock)
    : sink_(sink), clock_(clock), figures_(steps.size() + 1) {
  for (const FlowStep& step : steps) steps_.push_back(make_step(step));
}

Flow::~Flow() = default;

Result<void> Flow::push(const Batch& batch, const Selection& rows, std::uint64_t position) {
  return pass(0, batch, rows, position);
}

Result<void> Flow::pass(std::size_t step, const Batch& batch, const Selection& rows,
                        std::uint64_t position) {
  if (step > 0) figures_[step - 1].rows += rows.count;
  if (rows.count == 0) return {};
  StepFigures& mine = figures_[step];
  ++mine.batches;
  const Instant begun = clock_ == nullptr ? Instant() : clock_->now();
  Result<void> done = step < steps_.size()
                          ? steps_[step]->run(*this, step + 1, batch, rows, position)
                          : sink_.take(batch, rows, position);
  if (done && guard_ && step == steps_.size()) done = guard_();
  if (clock_ != nullptr) {
    const Duration spent = clock_->now() - begun;
    mine.time += spent;
    if (step > 0) figures_[step - 1].time -= spent;
  }
  return done;
}

std::vector<ValueType> types_of(std::span<const PlanColumn> columns) {
  std::vector<ValueType> types;
  for (const PlanColumn& column : columns) types.push_back(column.type);
  return types;
}

std::vector<ValueType> types_of(std::span<const Expression> expressions) {
  std::vector<ValueType> types;
  for (const Expression& expression : expressions) types.push_back(expression.type);
  return types;
}

}  // namespace moraine::query
