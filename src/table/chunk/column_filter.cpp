#include "table/chunk/column_filter.h"

#include <algorithm>
#include <bit>

#include "table/chunk/column_segment.h"

namespace moraine::table {
namespace {

// Longer lists of single values are looked up by hash.
constexpr std::size_t kPointsSearched = 16;

// -1: the cut is below all values of the type, 1: above them, 0: among them.
int side_of(const ValueCut& cut, ValueType type) {
  if (cut.end) return 1;
  if (cut.value.type() == type) return 0;
  return cut.value.type() < type ? -1 : 1;
}

template <class T>
void gather_items(std::vector<T>& items, std::span<const std::uint32_t> rows) {
  if (items.empty()) return;
  for (std::size_t i = 0; i < rows.size(); ++i) items[i] = items[rows[i]];
  items.resize(rows.size());
}

}  // namespace

ColumnTest::ColumnTest(const ValueSet& set, ValueType type)
    : type_(type), null_(set.contains(Value())) {
  for (const ValueInterval& interval : set.intervals()) {
    if (side_of(interval.from, type) > 0 || side_of(interval.to, type) < 0) continue;
    if (is_text_type(type)) {
      add_texts(interval);
    } else {
      add_words(interval);
    }
  }
  collect_points();
}

void ColumnTest::add_words(const ValueInterval& interval) {
  WordInterval words{.from = 0, .to = ~std::uint64_t{0}};
  if (side_of(interval.from, type_) == 0) {
    words.from = ordered_word(type_, word_of(interval.from.value));
    if (interval.from.after && words.from++ == ~std::uint64_t{0}) return;
  }
  if (side_of(interval.to, type_) == 0) {
    words.to = ordered_word(type_, word_of(interval.to.value));
    if (!interval.to.after && words.to-- == 0) return;
  }
  if (words.from <= words.to) words_.push_back(words);
}

void ColumnTest::add_texts(const ValueInterval& interval) {
  TextInterval texts;
  if (side_of(interval.from, type_) == 0) {
    texts.from = interval.from.value.text();
    texts.after_from = interval.from.after;
  }
  texts.unbounded = side_of(interval.to, type_) > 0;
  if (!texts.unbounded) {
    texts.to = interval.to.value.text();
    texts.after_to = interval.to.after;
  }
  texts_.push_back(texts);
}

void ColumnTest::collect_points() {
  if (std::max(words_.size(), texts_.size()) <= kPointsSearched) return;
  const bool points =
      std::ranges::all_of(words_, [](const WordInterval& i) { return i.from == i.to; }) &&
      std::ranges::all_of(texts_, [](const TextInterval& i) {
        return !i.unbounded && i.from == i.to && !i.after_from && i.after_to;
      });
  if (!points) return;
  for (const WordInterval& interval : words_) word_points_.insert(interval.from);
  for (const TextInterval& interval : texts_) text_points_.insert(interval.from);
}

bool ColumnTest::has_word(std::uint64_t word) const {
  if (!word_points_.empty()) return word_points_.contains(word);
  const auto found =
      std::ranges::partition_point(words_, [word](const WordInterval& i) { return i.to < word; });
  return found != words_.end() && found->from <= word;
}

bool ColumnTest::has_text(std::string_view text) const {
  if (!text_points_.empty()) return text_points_.contains(text);
  const auto found = std::ranges::partition_point(texts_, [text](const TextInterval& i) {
    return !i.unbounded && (i.after_to ? i.to < text : i.to <= text);
  });
  if (found == texts_.end()) return false;
  return found->after_from ? found->from < text : found->from <= text;
}

bool ColumnTest::may_pass(const ColumnRange& range) const {
  if (range.nulls && null_) return true;
  if (!range.values) return false;
  if (is_text_type(type_)) return may_pass_texts(range);
  const auto found = std::ranges::partition_point(
      words_, [&range](const WordInterval& i) { return i.to < range.least; });
  return found != words_.end() && found->from <= range.greatest;
}

// A least text that may be cut is at or below the real one, so it serves as a bound as it is.
bool ColumnTest::may_pass_texts(const ColumnRange& range) const {
  const std::string_view least = range.least_text;
  const std::string_view greatest = range.greatest_text;
  const auto found = std::ranges::partition_point(texts_, [least](const TextInterval& i) {
    return !i.unbounded && (i.after_to ? i.to < least : i.to <= least);
  });
  if (found == texts_.end()) return false;
  if (range.greatest_cut && found->from.starts_with(greatest)) return true;
  return found->after_from ? found->from < greatest : found->from <= greatest;
}

template <class Passes>
void ColumnTest::keep(const ColumnVector& column, std::span<std::uint8_t> mask,
                      Passes passes) const {
  if (column.nulls.empty()) {
    for (std::size_t i = 0; i < mask.size(); ++i) {
      mask[i] = static_cast<std::uint8_t>(mask[i] & (passes(i) ? 1 : 0));
    }
    return;
  }
  const std::uint8_t* nulls = column.nulls.data();
  const std::uint8_t of_null = null_ ? 1 : 0;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    const std::uint8_t of_value = passes(i) ? 1 : 0;
    mask[i] = static_cast<std::uint8_t>(mask[i] & (nulls[i] != 0 ? of_null : of_value));
  }
}

void ColumnTest::test(const ColumnVector& column, std::span<std::uint8_t> mask) const {
  if (is_text_type(type_)) return test_texts(column, mask);
  return test_words(column, mask);
}

void ColumnTest::test_words(const ColumnVector& column, std::span<std::uint8_t> mask) const {
  const std::uint64_t* words = column.words.data();
  if (words_.size() != 1 || type_ == ValueType::kDouble) {
    return keep(column, mask,
                [this, words](std::size_t i) { return has_word(ordered_word(type_, words[i])); });
  }
  // The order of words is that of words with an offset, so an interval is one comparison.
  const std::uint64_t offset = ordered_word(type_, 0) - words_.front().from;
  const std::uint64_t span = words_.front().to - words_.front().from;
  keep(column, mask, [words, offset, span](std::size_t i) { return words[i] + offset <= span; });
}

void ColumnTest::test_texts(const ColumnVector& column, std::span<std::uint8_t> mask) const {
  if (!column.table) {
    const std::string_view* texts = column.texts.data();
    return keep(column, mask, [this, texts](std::size_t i) { return has_text(texts[i]); });
  }
  std::vector<std::uint8_t> entries(column.table->size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    entries[i] = has_text((*column.table)[i]) ? 1 : 0;
  }
  const std::uint32_t* codes = column.codes.data();
  keep(column, mask, [&entries, codes](std::size_t i) { return entries[codes[i]] != 0; });
}

void list_rows(std::span<const std::uint8_t> mask, std::vector<std::uint32_t>& rows) {
  rows.resize(mask.size());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    rows[kept] = static_cast<std::uint32_t>(i);
    kept += mask[i];
  }
  rows.resize(kept);
}

void gather(ColumnVector& column, std::span<const std::uint32_t> rows) {
  gather_items(column.words, rows);
  gather_items(column.texts, rows);
  gather_items(column.nulls, rows);
  gather_items(column.codes, rows);
}

void look_up_texts(ColumnVector& column) {
  if (!column.table) return;
  column.texts.resize(column.codes.size());
  for (std::size_t i = 0; i < column.codes.size(); ++i) {
    column.texts[i] = (*column.table)[column.codes[i]];
  }
  column.table.reset();
  column.codes.clear();
}

Value value_at(const ColumnVector& column, std::size_t row) {
  if (!column.nulls.empty() && column.nulls[row] != 0) return {};
  switch (column.type) {
    case ValueType::kInt64: return Value(static_cast<std::int64_t>(column.words[row]));
    case ValueType::kUint64: return Value(column.words[row]);
    case ValueType::kDouble: return Value(std::bit_cast<double>(column.words[row]));
    case ValueType::kBoolean: return Value(column.words[row] != 0);
    case ValueType::kString: return Value(column.text(row));
    case ValueType::kAny: return Value::any(column.text(row));
    case ValueType::kNull: break;
  }
  return {};
}

}  // namespace moraine::table
