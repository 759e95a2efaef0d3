// Aggregates that need their rows in order: array_agg and xdelta keep the values of a group until
// its end. dict_sum, which adds them up as they come.

#include <algorithm>

#include "query/execute/aggregate.h"
#include "query/function/call.h"
#include "query/function/list_text.h"
#include "table/model/aggregate.h"

namespace moraine::query {
namespace {

using A = AggregateFunction;

// Patches of a few bytes may make long values.
constexpr std::size_t kPatchedBytesMax = std::size_t{256} << 20;

class KeptAggregator final : public Aggregator {
 public:
  explicit KeptAggregator(const AggregateCall& call) : function_(call.function), type_(call.type) {}

  void resize(std::size_t count) override { groups_.resize(count); }

  Result<void> add(std::span<const Column> arguments, const GroupedRows& grouped) override {
    for (std::size_t i = 0; i < grouped.rows.count; ++i) {
      const std::uint32_t at = grouped.rows[i];
      const Value value = arguments[0].value(at);
      if (leaves_out(arguments, value, at)) continue;
      made_.clear();
      if (function_ == A::kArrayAgg) {
        append_item(made_, value);
      } else {
        made_ = value.text();
      }
      TRY_VOID(keep(groups_[grouped.ids[i]], {.position = grouped.position + at, .text = made_}));
    }
    return {};
  }

  Result<void> merge(const Aggregator& other, std::span<const std::uint32_t> ids) override {
    const auto& from = static_cast<const KeptAggregator&>(other);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] == kNoGroup) continue;
      for (const Item& item : from.groups_[i].items) {
        TRY_VOID(keep(groups_[ids[i]], item));
      }
    }
    return {};
  }

  Result<void> finish() override {
    if (function_ == A::kArrayAgg) return {};
    patched_.clear();
    patched_bytes_ = 0;
    for (const Kept& kept : groups_) {
      patched_.push_back(patch(sorted(kept.items)));
      patched_bytes_ += patched_.back().size();
      if (patched_bytes_ > kPatchedBytesMax) {
        return fail(Errc::kOverloaded, "xdelta: the values of all groups exceed 256 MiB");
      }
    }
    return {};
  }

  Column values(std::size_t first, std::size_t count, ColumnBuffer& buffer) const override {
    lists_.clear();
    for (std::size_t i = 0; i < count; ++i) {
      const std::vector<Item>& items = groups_[first + i].items;
      buffer.nulls()[i] = function_ != A::kArrayAgg && items.empty() ? 1 : 0;
      if (function_ == A::kArrayAgg) lists_.push_back(list_of(sorted(items)));
    }
    for (std::size_t i = 0; i < count; ++i) {
      buffer.texts()[i] = function_ == A::kArrayAgg ? lists_[i] : patched_[first + i];
    }
    return {.type = type_, .texts = buffer.texts(), .nulls = buffer.nulls()};
  }

  std::size_t bytes() const override {
    return groups_.capacity() * sizeof(Kept) + items_ * sizeof(Item) + memory_.bytes() +
           patched_bytes_;
  }

 private:
  struct Item {
    std::uint64_t position = 0;
    std::string_view text;
    std::size_t number = 0;  // While they are sorted.
  };
  struct Kept {
    std::vector<Item> items;
    std::size_t bytes = 0;
  };

  bool leaves_out(std::span<const Column> arguments, const Value& value, std::uint32_t at) const {
    if (!value.is_null()) return false;
    if (function_ != A::kArrayAgg) return true;
    const Value no_nulls = arguments[1].value(at);
    return !no_nulls.is_null() && no_nulls.as_boolean();
  }

  Result<void> keep(Kept& kept, const Item& item) {
    kept.bytes += item.text.size();
    if (kept.bytes > kResultBytesMax) {
      return fail(Errc::kInvalidArgument, "a list of values is longer than 16 MiB");
    }
    kept.items.push_back({.position = item.position, .text = memory_.keep(item.text)});
    ++items_;
    return {};
  }

  // Equal positions are rows that one row of a join has become: they stay as they came.
  static std::vector<Item> sorted(std::vector<Item> items) {
    for (std::size_t i = 0; i < items.size(); ++i) items[i].number = i;
    std::ranges::sort(items, {},
                      [](const Item& item) { return std::pair(item.position, item.number); });
    return items;
  }
  static std::string list_of(const std::vector<Item>& items) {
    std::string list = "[";
    for (const Item& item : items) list += item.text;
    return list + "]";
  }
  static std::string patch(const std::vector<Item>& items) {
    table::Folding folding(Aggregate::kXdelta);
    for (const Item& item : items) folding.add(Value(item.text));
    table::TextMemory memory;
    const Value total = folding.total(memory);
    return std::string(total.is_null() ? std::string_view() : total.text());
  }

  const AggregateFunction function_;
  const ValueType type_;
  std::vector<Kept> groups_;
  TextStore memory_;
  std::size_t items_ = 0;
  std::string made_;
  std::vector<std::string> patched_;  // Of xdelta: values of all groups.
  std::size_t patched_bytes_ = 0;
  mutable std::vector<std::string> lists_;  // Of the last call of values().
};

class DictAggregator final : public Aggregator {
 public:
  void resize(std::size_t count) override { totals_.resize(count); }

  Result<void> add(std::span<const Column> arguments, const GroupedRows& grouped) override {
    for (std::size_t i = 0; i < grouped.rows.count; ++i) {
      TRY_VOID(add_one(grouped.ids[i], arguments[0].value(grouped.rows[i])));
    }
    return {};
  }

  Result<void> merge(const Aggregator& other, std::span<const std::uint32_t> ids) override {
    const auto& from = static_cast<const DictAggregator&>(other);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] == kNoGroup || from.totals_[i].empty()) continue;
      TRY_VOID(add_one(ids[i], Value::any(from.totals_[i])));
    }
    return {};
  }

  Column values(std::size_t first, std::size_t count, ColumnBuffer& buffer) const override {
    for (std::size_t i = 0; i < count; ++i) {
      buffer.texts()[i] = totals_[first + i];
      buffer.nulls()[i] = totals_[first + i].empty() ? 1 : 0;
    }
    return {.type = ValueType::kAny, .texts = buffer.texts(), .nulls = buffer.nulls()};
  }

  std::size_t bytes() const override {
    return totals_.capacity() * sizeof(std::string) + text_bytes_;
  }

 private:
  Result<void> add_one(std::uint32_t id, const Value& delta) {
    if (delta.is_null()) return {};
    std::string& total = totals_[id];
    table::TextMemory memory;
    const Value older = total.empty() ? Value() : Value::any(total);
    const Value sum = fold(Aggregate::kDictSum, older, delta, memory);
    if (sum.text().size() > kResultBytesMax) {
      return fail(Errc::kInvalidArgument, "a sum of maps is longer than 16 MiB");
    }
    text_bytes_ -= total.capacity();
    total = std::string(sum.text());
    text_bytes_ += total.capacity();
    return {};
  }

  std::vector<std::string> totals_;  // Empty: null.
  std::size_t text_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Aggregator> make_kept(const AggregateCall& call) {
  if (call.function == A::kDictSum) return std::make_unique<DictAggregator>();
  return std::make_unique<KeptAggregator>(call);
}

}  // namespace moraine::query
