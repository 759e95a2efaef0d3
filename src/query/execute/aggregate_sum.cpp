// sum and avg.

#include "query/execute/aggregate.h"

namespace moraine::query {
namespace {

template <class T>
T number(std::uint64_t word) {
  return std::bit_cast<T>(word);
}

// `Add`: uint64_t for integers, whose bits are added alike, or double.
template <class Add>
class SumAggregator final : public Aggregator {
 public:
  SumAggregator(ValueType type, ValueType argument, bool average)
      : type_(type), argument_(argument), average_(average) {}

  void resize(std::size_t count) override {
    // -0.0 changes no number that is added to it.
    sums_.resize(count, average_ ? Add(0) : static_cast<Add>(-0.0));
    if (counted()) counts_.resize(count);
  }

  Result<void> add(std::span<const Column> arguments, const GroupedRows& grouped) override {
    const Column& a = arguments[0];
    if (a.type == ValueType::kNull || a.all_null()) {
      count_from_now_on();
      return {};
    }
    const bool nulls = !a.without_nulls();
    if (nulls) count_from_now_on();
    switch (argument_) {
      case ValueType::kInt64: add_numbers<std::int64_t>(a, grouped, nulls); break;
      case ValueType::kDouble: add_numbers<double>(a, grouped, nulls); break;
      default: add_numbers<std::uint64_t>(a, grouped, nulls); break;
    }
    return {};
  }

  Result<void> merge(const Aggregator& other, std::span<const std::uint32_t> ids) override {
    const auto& from = static_cast<const SumAggregator&>(other);
    if (from.counted()) count_from_now_on();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] == kNoGroup) continue;
      sums_[ids[i]] += from.sums_[i];
      if (counted()) counts_[ids[i]] += from.counted() ? from.counts_[i] : 1;
    }
    if (!counted()) filled_ = sums_.size();
    return {};
  }

  Column values(std::size_t first, std::size_t count, ColumnBuffer& buffer) const override {
    std::uint64_t* const words = buffer.words();
    std::uint8_t* const nulls = buffer.nulls();
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t rows = counted() ? counts_[first + i] : 1;
      nulls[i] = rows == 0 ? 1 : 0;
      if (average_) {
        words[i] = std::bit_cast<std::uint64_t>(static_cast<double>(sums_[first + i]) /
                                                static_cast<double>(rows));
      } else {
        words[i] = std::bit_cast<std::uint64_t>(sums_[first + i]);
      }
    }
    return {.type = type_, .words = words, .nulls = counted() ? nulls : nullptr};
  }

  std::size_t bytes() const override {
    return sums_.capacity() * sizeof(Add) + counts_.capacity() * sizeof(std::uint64_t);
  }

 private:
  // A sum without nulls needs no count: a group has a row.
  bool counted() const { return average_ || saw_null_; }
  void count_from_now_on() {
    if (counted()) return;
    saw_null_ = true;
    counts_.assign(sums_.size(), 0);
    // Groups that had rows before, none of them null.
    for (std::size_t i = 0; i < filled_; ++i) counts_[i] = 1;
  }

  template <class T>
  void add_numbers(const Column& a, const GroupedRows& grouped, bool nulls) {
    const std::uint64_t* const words = a.words;
    const auto one = [&](std::size_t i, std::size_t row) {
      sums_[grouped.ids[i]] += static_cast<Add>(number<T>(words[row]));
    };
    const Selection& rows = grouped.rows;
    if (grouped.one_group && !nulls) {
      add_to_first<T>(a, rows);
    } else if (counted()) {
      for (std::size_t i = 0; i < rows.count; ++i) {
        const std::size_t row = a.at(rows[i]);
        if (nulls && a.nulls[row] != 0) continue;
        one(i, row);
        ++counts_[grouped.ids[i]];
      }
    } else if (a.constant) {
      for (std::size_t i = 0; i < rows.count; ++i) one(i, 0);
    } else if (rows.is_dense()) {
      for (std::size_t i = 0; i < rows.count; ++i) one(i, i);
    } else {
      for (std::size_t i = 0; i < rows.count; ++i) one(i, rows.rows[i]);
    }
    if (!counted()) filled_ = sums_.size();
  }

  template <class T>
  void add_to_first(const Column& a, const Selection& rows) {
    const std::uint64_t* const words = a.words;
    Add sum = sums_[0];
    if (a.constant) {
      const Add one = static_cast<Add>(number<T>(words[0]));
      if constexpr (std::is_same_v<Add, double>) {
        for (std::size_t i = 0; i < rows.count; ++i) sum += one;
      } else {
        sum += one * rows.count;
      }
    } else {
      for_each(rows, [&](std::size_t row) { sum += static_cast<Add>(number<T>(words[row])); });
    }
    sums_[0] = sum;
    if (counted()) counts_[0] += rows.count;
  }

  const ValueType type_;
  const ValueType argument_;
  const bool average_;
  bool saw_null_ = false;
  std::size_t filled_ = 0;
  std::vector<Add> sums_;
  std::vector<std::uint64_t> counts_;
};

}  // namespace

std::unique_ptr<Aggregator> make_sum(const AggregateCall& call) {
  const ValueType argument = call.arguments[0].type;
  const bool average = call.function == AggregateFunction::kAvg;
  if (average || argument == ValueType::kDouble) {
    return std::make_unique<SumAggregator<double>>(call.type, argument, average);
  }
  return std::make_unique<SumAggregator<std::uint64_t>>(call.type, argument, average);
}

}  // namespace moraine::query
