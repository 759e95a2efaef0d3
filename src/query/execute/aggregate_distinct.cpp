// uniq: numbers of distinct values, one hash table of (group, value) for all groups. Of several
// arguments the hash stands for the values.

#include "query/execute/aggregate.h"
#include "query/execute/group_table.h"
#include "query/function/sketch.h"

namespace moraine::query {
namespace {

class DistinctAggregator final : public Aggregator {
 public:
  explicit DistinctAggregator(const AggregateCall& call)
      : tuples_(call.arguments.size() > 1),
        text_(!tuples_ && is_text(call.arguments[0].type)),
        type_(call.arguments[0].type) {
    slots_.resize(kFirstSlots);
  }

  void resize(std::size_t count) override { counts_.resize(count); }

  Result<void> add(std::span<const Column> arguments, const GroupedRows& grouped) override {
    const Column& a = arguments[0];
    const Selection& rows = grouped.rows;
    if (tuples_) {
      add_tuples(arguments, grouped);
      return {};
    }
    if (a.type == ValueType::kNull || a.all_null()) return {};
    reserve(rows.count);
    const bool far = !text_ && slots_.size() >= kPrefetchSlots;
    for (std::size_t i = 0; i < rows.count; ++i) {
      const std::size_t row = a.at(rows[i]);
      if (far && i + kPrefetchDistance < rows.count) {
        const std::size_t ahead = i + kPrefetchDistance;
        const std::uint64_t word = ordered(type_, a.words[a.at(rows[ahead])]);
        __builtin_prefetch(&slots_[hash(grouped.ids[ahead], word) & (slots_.size() - 1)]);
      }
      if (a.nulls != nullptr && a.nulls[row] != 0) continue;
      if (text_) {
        insert_text(grouped.ids[i], a.text(row));
      } else {
        insert_word(grouped.ids[i], ordered(type_, a.words[row]));
      }
    }
    return {};
  }

  Result<void> merge(const Aggregator& other, std::span<const std::uint32_t> ids) override {
    const auto& from = static_cast<const DistinctAggregator&>(other);
    for (const Slot& slot : from.slots_) {
      if (slot.group == kNoGroup || slot.group >= ids.size() || ids[slot.group] == kNoGroup) {
        continue;
      }
      reserve(1);
      if (text_) {
        insert_text(ids[slot.group], from.texts_[slot.text]);
      } else {
        insert_word(ids[slot.group], slot.word);
      }
    }
    return {};
  }

  Column values(std::size_t first, std::size_t, ColumnBuffer&) const override {
    return {.type = ValueType::kUint64, .words = counts_.data() + first};
  }

  std::size_t bytes() const override {
    return slots_.capacity() * sizeof(Slot) + counts_.capacity() * sizeof(std::uint64_t) +
           texts_.capacity() * sizeof(std::string_view) + memory_.bytes();
  }

 private:
  static constexpr std::size_t kFirstSlots = 256;
  // From so many slots on a probe misses the cache, and is asked for in advance.
  static constexpr std::size_t kPrefetchSlots = 32'768;
  static constexpr std::size_t kPrefetchDistance = 16;
  struct Slot {
    std::uint64_t word = 0;  // Of a text its hash.
    std::uint32_t group = kNoGroup;
    std::uint32_t text = 0;
  };

  void add_tuples(std::span<const Column> arguments, const GroupedRows& grouped) {
    std::vector<Value> values(arguments.size());
    reserve(grouped.rows.count);
    for (std::size_t i = 0; i < grouped.rows.count; ++i) {
      for (std::size_t k = 0; k < values.size(); ++k) {
        values[k] = arguments[k].value(grouped.rows[i]);
      }
      if (std::ranges::any_of(values, &Value::is_null)) continue;
      insert_word(grouped.ids[i], sketch_hash(values));
    }
  }
  static std::uint64_t hash(std::uint32_t group, std::uint64_t word) {
    return hash_word(word + group * std::uint64_t{0x9e3779b97f4a7c15});
  }
  void reserve(std::size_t more) {
    while ((used_ + more) * 2 > slots_.size()) grow();
  }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    const std::size_t mask = slots_.size() - 1;
    for (const Slot& slot : old) {
      if (slot.group == kNoGroup) continue;
      std::size_t at = hash(slot.group, slot.word) & mask;
      while (slots_[at].group != kNoGroup) at = (at + 1) & mask;
      slots_[at] = slot;
    }
  }
  void insert_word(std::uint32_t group, std::uint64_t word) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash(group, word) & mask;
    while (slots_[at].group != kNoGroup) {
      if (slots_[at].word == word && slots_[at].group == group) return;
      at = (at + 1) & mask;
    }
    slots_[at] = {.word = word, .group = group};
    ++used_;
    ++counts_[group];
  }
  void insert_text(std::uint32_t group, std::string_view text) {
    const std::uint64_t word = hash_text(text);
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash(group, word) & mask;
    while (slots_[at].group != kNoGroup) {
      const Slot& slot = slots_[at];
      if (slot.word == word && slot.group == group && texts_[slot.text] == text) return;
      at = (at + 1) & mask;
    }
    slots_[at] = {.word = word, .group = group, .text = static_cast<std::uint32_t>(texts_.size())};
    texts_.push_back(memory_.keep(text));
    ++used_;
    ++counts_[group];
  }

  const bool tuples_;
  const bool text_;
  const ValueType type_;
  std::vector<Slot> slots_;  // A power of 2, at most half full.
  std::size_t used_ = 0;
  std::vector<std::uint64_t> counts_;
  std::vector<std::string_view> texts_;
  TextStore memory_;
};

}  // namespace

std::unique_ptr<Aggregator> make_distinct(const AggregateCall& call) {
  return std::make_unique<DistinctAggregator>(call);
}

}  // namespace moraine::query
