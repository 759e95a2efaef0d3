// min, max, first, argmin and argmax; and which class computes which function.

#include "query/execute/aggregate.h"

#include "query/execute/kernel.h"
#include "query/function/sketch.h"

namespace moraine::query {
namespace {

using A = AggregateFunction;

std::uint64_t word_of_ordered(ValueType type, std::uint64_t word) {
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  if (type == ValueType::kInt64) return word ^ kSign;
  if (type != ValueType::kDouble) return word;
  return (word & kSign) != 0 ? word & ~kSign : ~word;
}

// Rows in which no argument is null.
GroupedRows without_nulls(std::span<const Column> arguments, const GroupedRows& grouped,
                          std::vector<std::uint32_t>& rows, std::vector<std::uint32_t>& ids) {
  bool any = false;
  for (const Column& argument : arguments) any = any || !argument.without_nulls();
  if (!any) return grouped;
  rows.clear();
  ids.clear();
  for (std::size_t i = 0; i < grouped.rows.count; ++i) {
    const std::uint32_t row = grouped.rows[i];
    bool has_null = false;
    for (const Column& argument : arguments) has_null = has_null || argument.is_null(row);
    if (has_null) continue;
    rows.push_back(row);
    ids.push_back(grouped.ids[i]);
  }
  return {.rows = {.rows = rows.data(), .count = rows.size()},
          .ids = ids.data(),
          .position = grouped.position,
          .one_group = grouped.one_group};
}

bool is_missing(std::span<const Column> arguments) {
  for (const Column& argument : arguments) {
    if (argument.type == ValueType::kNull || argument.all_null()) return true;
  }
  return false;
}

// min and max of numbers.
class ExtremeAggregator final : public Aggregator {
 public:
  ExtremeAggregator(ValueType type, bool greatest) : type_(type), greatest_(greatest) {}

  void resize(std::size_t count) override {
    best_.resize(count, greatest_ ? 0 : ~std::uint64_t{0});
    seen_.resize(count);
  }

  Result<void> add(std::span<const Column> arguments, const GroupedRows& all) override {
    if (is_missing(arguments)) return {};
    const GroupedRows grouped = without_nulls(arguments, all, rows_, row_ids_);
    const Column& a = arguments[0];
    TRY_VOID(refuse_nan(a, grouped.rows));
    for (std::size_t i = 0; i < grouped.rows.count; ++i) {
      take(grouped.ids[i], ordered(type_, a.words[a.at(grouped.rows[i])]));
    }
    return {};
  }

  Result<void> merge(const Aggregator& other, std::span<const std::uint32_t> ids) override {
    const auto& from = static_cast<const ExtremeAggregator&>(other);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] != kNoGroup && from.seen_[i] != 0) take(ids[i], from.best_[i]);
    }
    return {};
  }

  Column values(std::size_t first, std::size_t count, ColumnBuffer& buffer) const override {
    std::uint64_t* const words = buffer.words();
    std::uint8_t* const nulls = buffer.nulls();
    for (std::size_t i = 0; i < count; ++i) {
      words[i] = word_of_ordered(type_, best_[first + i]);
      nulls[i] = seen_[first + i] == 0 ? 1 : 0;
    }
    return {.type = type_, .words = words, .nulls = nulls};
  }

  std::size_t bytes() const override {
    return best_.capacity() * sizeof(std::uint64_t) + seen_.capacity();
  }

 private:
  void take(std::uint32_t id, std::uint64_t word) {
    const bool better = greatest_ ? word > best_[id] : word < best_[id];
    best_[id] = better ? word : best_[id];
    seen_[id] = 1;
  }

  const ValueType type_;
  const bool greatest_;
  std::vector<std::uint64_t> best_;  // As ordered().
  std::vector<std::uint8_t> seen_;
  std::vector<std::uint32_t> rows_;
  std::vector<std::uint32_t> row_ids_;
};

// A value of one row of the group: that which is chosen by another, or by its position.
class ChosenAggregator final : public Aggregator {
 public:
  explicit ChosenAggregator(const AggregateCall& call)
      : type_(call.type),
        function_(call.function),
        by_((call.function == A::kArgmin || call.function == A::kArgmax) ? 1 : 0) {}

  void resize(std::size_t count) override { chosen_.resize(count); }

  Result<void> add(std::span<const Column> arguments, const GroupedRows& all) override {
    if (is_missing(arguments)) return {};
    const GroupedRows grouped = without_nulls(arguments, all, rows_, row_ids_);
    const Column& value = arguments[0];
    const Column& by = arguments[by_];
    if (function_ != A::kFirst) {
      TRY_VOID(refuse_nan(by, grouped.rows));
    }
    for (std::size_t i = 0; i < grouped.rows.count; ++i) {
      const std::uint32_t row = grouped.rows[i];
      Chosen& chosen = chosen_[grouped.ids[i]];
      const std::uint64_t position = grouped.position + row;
      if (!better(chosen, by.value(row), position)) continue;
      set(chosen, value.value(row), by.value(row), position);
    }
    return {};
  }

  Result<void> merge(const Aggregator& other, std::span<const std::uint32_t> ids) override {
    const auto& from = static_cast<const ChosenAggregator&>(other);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const Chosen& candidate = from.chosen_[i];
      if (ids[i] == kNoGroup || !candidate.seen) continue;
      Chosen& chosen = chosen_[ids[i]];
      if (better(chosen, candidate.by, candidate.position)) {
        set(chosen, candidate.value, candidate.by, candidate.position);
      }
    }
    return {};
  }

  Column values(std::size_t first, std::size_t count, ColumnBuffer& buffer) const override {
    std::uint8_t* const nulls = buffer.nulls();
    for (std::size_t i = 0; i < count; ++i) {
      const Chosen& chosen = chosen_[first + i];
      nulls[i] = chosen.seen ? 0 : 1;
      if (!chosen.seen) continue;
      if (is_text(type_)) {
        buffer.texts()[i] = chosen.value.text();
      } else {
        buffer.words()[i] = word_of_value(chosen.value);
      }
    }
    return {.type = type_, .words = buffer.words(), .texts = buffer.texts(), .nulls = nulls};
  }

  std::size_t bytes() const override { return chosen_.capacity() * sizeof(Chosen) + text_bytes_; }

 private:
  struct Chosen {
    bool seen = false;
    std::uint64_t position = 0;
    Value value;  // Their texts are the two below.
    Value by;
    std::unique_ptr<std::string> value_text;
    std::unique_ptr<std::string> by_text;
  };

  bool better(const Chosen& chosen, const Value& by, std::uint64_t position) const {
    if (!chosen.seen) return true;
    const auto order =
        function_ == A::kFirst ? std::strong_ordering::equal : compare(by, chosen.by);
    if (order == 0) return position < chosen.position;
    const bool greatest = function_ == A::kArgmax || function_ == A::kMax;
    return greatest ? order > 0 : order < 0;
  }

  void keep(Value& to, std::unique_ptr<std::string>& memory, const Value& value) {
    to = value;
    if (!value.has_text()) return;
    if (!memory) {
      memory = std::make_unique<std::string>();
      text_bytes_ += sizeof(std::string);
    }
    text_bytes_ -= memory->capacity();
    memory->assign(value.text());
    text_bytes_ += memory->capacity();
    to = value.type() == ValueType::kAny ? Value::any(*memory) : Value(*memory);
  }
  void set(Chosen& chosen, const Value& value, const Value& by, std::uint64_t position) {
    chosen.seen = true;
    chosen.position = position;
    keep(chosen.value, chosen.value_text, value);
    if (by_ == 0) {
      chosen.by = chosen.value;
    } else {
      keep(chosen.by, chosen.by_text, by);
    }
  }

  const ValueType type_;
  const AggregateFunction function_;
  const std::size_t by_;  // The argument that is compared.
  std::vector<Chosen> chosen_;
  std::size_t text_bytes_ = 0;
  std::vector<std::uint32_t> rows_;
  std::vector<std::uint32_t> row_ids_;
};

}  // namespace

Result<std::unique_ptr<Aggregator>> make_aggregator(const AggregateCall& call) {
  switch (call.function) {
    case A::kSum:
    case A::kAvg: return make_sum(call);
    case A::kMin:
    case A::kMax:
      if (!is_text(call.type)) {
        return std::make_unique<ExtremeAggregator>(call.type, call.function == A::kMax);
      }
      return std::make_unique<ChosenAggregator>(call);
    case A::kFirst:
    case A::kArgmin:
    case A::kArgmax: return std::make_unique<ChosenAggregator>(call);
    case A::kDistinct:
      if (call.precision == kUniq) return make_distinct(call);
      return make_sketch(call);
    case A::kDistinctState:
    case A::kDistinctMerge:
    case A::kDistinctMergeState: return make_sketch(call);
    case A::kArrayAgg:
    case A::kXdelta:
    case A::kDictSum: return make_kept(call);
    default: break;
  }
  return fail(Errc::kUnsupported, "the aggregate is not supported yet");
}

}  // namespace moraine::query
