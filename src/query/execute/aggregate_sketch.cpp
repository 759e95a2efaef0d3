// Numbers of distinct values and their states: a sketch per group.

#include "query/execute/aggregate.h"
#include "query/function/sketch.h"

namespace moraine::query {
namespace {

using A = AggregateFunction;

class SketchAggregator final : public Aggregator {
 public:
  explicit SketchAggregator(const AggregateCall& call)
      : precision_(call.precision),
        merges_(call.function == A::kDistinctMerge || call.function == A::kDistinctMergeState),
        counts_(call.function == A::kDistinct || call.function == A::kDistinctMerge) {}

  void resize(std::size_t count) override { sketches_.resize(count, Sketch(precision_)); }

  Result<void> add(std::span<const Column> arguments, const GroupedRows& grouped) override {
    std::vector<Value> row(arguments.size());
    for (std::size_t i = 0; i < grouped.rows.count; ++i) {
      const std::uint32_t at = grouped.rows[i];
      bool has_null = false;
      for (std::size_t k = 0; k < row.size(); ++k) {
        row[k] = arguments[k].value(at);
        has_null = has_null || row[k].is_null();
      }
      if (has_null) continue;
      Sketch& sketch = sketches_[grouped.ids[i]];
      const std::size_t before = sketch.bytes();
      if (merges_) {
        TRY_VOID(sketch.merge_state(row[0].text()));
      } else {
        sketch.add(sketch_hash(row));
      }
      sketch_bytes_ += sketch.bytes() - before;
    }
    return {};
  }

  Result<void> merge(const Aggregator& other, std::span<const std::uint32_t> ids) override {
    const auto& from = static_cast<const SketchAggregator&>(other);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] == kNoGroup) continue;
      Sketch& sketch = sketches_[ids[i]];
      const std::size_t before = sketch.bytes();
      sketch.merge(from.sketches_[i]);
      sketch_bytes_ += sketch.bytes() - before;
    }
    return {};
  }

  Column values(std::size_t first, std::size_t count, ColumnBuffer& buffer) const override {
    if (counts_) {
      for (std::size_t i = 0; i < count; ++i) buffer.words()[i] = sketches_[first + i].count();
      return {.type = ValueType::kUint64, .words = buffer.words()};
    }
    states_.clear();
    for (std::size_t i = 0; i < count; ++i) states_.push_back(sketches_[first + i].state());
    for (std::size_t i = 0; i < count; ++i) buffer.texts()[i] = states_[i];
    return {.type = ValueType::kString, .texts = buffer.texts()};
  }

  std::size_t bytes() const override {
    return sketches_.capacity() * sizeof(Sketch) + sketch_bytes_;
  }

 private:
  const std::uint8_t precision_;
  const bool merges_;  // Its argument is a state.
  const bool counts_;  // Its result is a number.
  std::vector<Sketch> sketches_;
  std::size_t sketch_bytes_ = 0;
  mutable std::vector<std::string> states_;  // Of the last call of values().
};

}  // namespace

std::unique_ptr<Aggregator> make_sketch(const AggregateCall& call) {
  return std::make_unique<SketchAggregator>(call);
}

}  // namespace moraine::query
