// Flow: the steps of a plan that pass batches on (Filter, Join, ArrayJoin, Project), and where the
// rows go.
//
//   batch -> step -> ... -> step -> Sink (groups, sorted rows, collected rows)
//
// Promise    Rows reach the sink in the order in which they are pushed; the rows of a join follow
//            the order of the right rows for each left row.
// Threading  One thread at a time. Tables of joins are shared by the flows of all parts.
// Errors     Those of kernels and of the sink.
// Tests      node/select_test.cpp.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "io/executor.h"
#include "query/execute/group.h"
#include "query/execute/join_table.h"
#include "query/execute/sorter.h"

namespace moraine::query {

class Sink {
 public:
  virtual ~Sink() = default;
  virtual Result<void> take(const Batch& batch, const Selection& rows, std::uint64_t position) = 0;
  virtual std::size_t bytes() const = 0;
  // False: it does not need more rows.
  virtual bool needs_rows() const { return true; }
};

class GroupSink final : public Sink {
 public:
  explicit GroupSink(const Group& group) : grouper(group) {}
  Result<void> take(const Batch& batch, const Selection& rows, std::uint64_t position) override {
    return grouper.add(batch, rows, position);
  }
  std::size_t bytes() const override { return grouper.bytes(); }
  Grouper grouper;
};

class SortSink final : public Sink {
 public:
  SortSink(const Order& order, std::span<const ValueType> types, std::uint64_t rows_max)
      : sorter(order, types, rows_max) {}
  Result<void> take(const Batch& batch, const Selection& rows, std::uint64_t) override {
    return sorter.add(batch, rows);
  }
  std::size_t bytes() const override { return sorter.bytes(); }
  Sorter sorter;
};

// Keeps the first rows as they come.
class CollectSink final : public Sink {
 public:
  CollectSink(std::span<const ValueType> types, std::uint64_t rows_max)
      : store(types), rows_left_(rows_max) {}
  Result<void> take(const Batch& batch, const Selection& rows, std::uint64_t) override {
    Selection some = rows;
    some.count = static_cast<std::size_t>(std::min<std::uint64_t>(some.count, rows_left_));
    rows_left_ -= some.count;
    store.append(batch, some);
    return {};
  }
  std::size_t bytes() const override { return store.bytes(); }
  bool needs_rows() const override { return rows_left_ > 0; }
  RowStore store;

 private:
  std::uint64_t rows_left_;
};

// The right side of a join.
class JoinSink final : public Sink {
 public:
  // The step outlives the sink.
  JoinSink(const Join& join, std::span<const ValueType> types);
  Result<void> take(const Batch& batch, const Selection& rows, std::uint64_t position) override;
  std::size_t bytes() const override { return table.bytes(); }
  JoinTable table;

 private:
  const std::vector<KernelPtr> keys_;
  std::vector<Column> columns_;
};

struct FlowStep {
  const PlanNode* node = nullptr;         // All outlive the flow.
  const JoinTable* table = nullptr;       // Of a join.
  const Expression* predicate = nullptr;  // What is left to test of a filter. Null: all of it.
};

struct StepFigures {
  std::uint64_t rows = 0;     // That it passed on.
  std::uint64_t batches = 0;  // That it was given.
  Duration time{0};           // Without the steps after it.
};

class Flow {
 public:
  // `clock`: measures steps. Null: they are counted only.
  Flow(std::span<const FlowStep> steps, Sink& sink, const Executor* clock = nullptr);
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;
  ~Flow();

  Result<void> push(const Batch& batch, const Selection& rows, std::uint64_t position);
  // Called when the sink has taken a batch: a step may make many of one.
  void set_guard(std::function<Result<void>()> guard) { guard_ = std::move(guard); }
  // Of each step, then of the sink.
  const std::vector<StepFigures>& figures() const { return figures_; }

  class Step;  // Internal.

 private:
  friend class Step;
  Result<void> pass(std::size_t step, const Batch& batch, const Selection& rows,
                    std::uint64_t position);

  std::vector<std::unique_ptr<Step>> steps_;
  Sink& sink_;
  const Executor* const clock_;
  std::function<Result<void>()> guard_;
  std::vector<StepFigures> figures_;
};

std::vector<ValueType> types_of(std::span<const PlanColumn> columns);
std::vector<ValueType> types_of(std::span<const Expression> expressions);

}  // namespace moraine::query
