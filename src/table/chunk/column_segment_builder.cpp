#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/invariant.h"
#include "table/chunk/column_segment.h"

namespace moraine::table {
namespace {

// A table has at most 1/kTableShare as many entries as rows.
constexpr std::size_t kTableShare = 4;
constexpr std::size_t kWordTableMax = 256;  // Entries.
constexpr std::uint64_t kSignBit = std::uint64_t{1} << 63;

template <class Key>
struct Table {
  std::vector<Key> entries;
  std::vector<std::uint64_t> places;  // By row.
};

// Nullopt: too many different values.
template <class Key, class Get>
std::optional<Table<Key>> make_table(std::size_t rows, std::size_t entries_max, Get get) {
  absl::flat_hash_map<Key, std::uint64_t> found;
  Table<Key> table;
  for (std::size_t row = 0; row < rows; ++row) {
    const Key key = get(row);
    const auto [at, added] = found.try_emplace(key, table.entries.size());
    if (added) {
      if (table.entries.size() == entries_max) return std::nullopt;
      table.entries.push_back(key);
    }
    table.places.push_back(at->second);
  }
  return table;
}

void append_texts(std::string& out, std::span<const std::string_view> texts) {
  std::vector<std::uint64_t> ends;
  std::size_t end = 0;
  for (const std::string_view text : texts) ends.push_back(end += text.size());
  append_words(out, ends, false);
  put_varint(out, end);
  for (const std::string_view text : texts) out.append(text);
}

}  // namespace

std::uint64_t ordered_word(ValueType type, std::uint64_t word) {
  if (type == ValueType::kInt64) return word ^ kSignBit;
  if (type != ValueType::kDouble) return word;
  const auto number = std::bit_cast<double>(word);
  if (std::isnan(number)) return ~std::uint64_t{0};
  if (number == 0) return kSignBit;
  return (word & kSignBit) != 0 ? ~word : word | kSignBit;
}

void ColumnSegmentBuilder::add(const Value& value) {
  if (value.is_null()) return add_null();
  INVARIANT(value.type() == type_, "a {} in a segment of {}", to_string(value.type()),
            to_string(type_));
  marks_.push_back(kValueMark);
  if (is_text_type(type_)) {
    texts_.append(value.text());
    words_.push_back(texts_.size());
  } else {
    words_.push_back(word_of(value));
  }
}

void ColumnSegmentBuilder::add_mark(std::size_t& count, Mark mark) {
  ++count;
  marks_.push_back(mark);
  // Repeats the value before it, which costs least.
  words_.push_back(words_.empty() ? 0 : words_.back());
}

std::string_view ColumnSegmentBuilder::text(std::size_t row) const {
  const std::size_t from = row == 0 ? 0 : words_[row - 1];
  return std::string_view(texts_).substr(from, words_[row] - from);
}

ColumnRange ColumnSegmentBuilder::range() const {
  ColumnRange range;
  range.nulls = nulls_ + absents_ > 0;
  std::string_view least;
  std::string_view greatest;
  for (std::size_t row = 0; row < rows(); ++row) {
    if (marks_[row] != kValueMark) continue;
    if (is_text_type(type_)) {
      const std::string_view value = text(row);
      least = range.values ? std::min(least, value) : value;
      greatest = range.values ? std::max(greatest, value) : value;
    } else {
      const std::uint64_t value = ordered_word(type_, words_[row]);
      range.least = range.values ? std::min(range.least, value) : value;
      range.greatest = range.values ? std::max(range.greatest, value) : value;
    }
    range.values = true;
  }
  range.least_text = least.substr(0, kRangeTextBytes);
  range.greatest_text = greatest.substr(0, kRangeTextBytes);
  range.greatest_cut = greatest.size() > kRangeTextBytes;
  return range;
}

std::uint8_t ColumnSegmentBuilder::append_words_payload(std::string& out) const {
  const bool is_signed = type_ == ValueType::kInt64;
  std::vector<std::uint64_t> ends;
  std::vector<std::uint64_t> values;
  const std::size_t runs_max = rows() / kTableShare;
  for (std::size_t row = 0; row < rows() && values.size() <= runs_max; ++row) {
    if (row > 0 && words_[row] == words_[row - 1]) continue;
    if (row > 0) ends.push_back(row);
    values.push_back(words_[row]);
  }
  std::string plain;
  append_words(plain, words_, is_signed);
  std::string other;
  std::uint8_t encoding = ColumnSegmentView::kWords;
  if (values.size() <= runs_max) {
    ends.push_back(rows());
    append_words(other, ends, false);
    append_words(other, values, is_signed);
    encoding = ColumnSegmentView::kRuns;
  } else if (plain.size() > rows()) {
    const std::size_t entries_max = std::min(kWordTableMax, rows() / kTableShare);
    const auto table = make_table<std::uint64_t>(rows(), entries_max,
                                                 [this](std::size_t row) { return words_[row]; });
    if (table) {
      append_words(other, table->entries, is_signed);
      append_words(other, table->places, false);
      encoding = ColumnSegmentView::kWordTable;
    }
  }
  const bool better = encoding != ColumnSegmentView::kWords && other.size() < plain.size();
  out.append(better ? other : plain);
  return better ? encoding : ColumnSegmentView::kWords;
}

std::uint8_t ColumnSegmentBuilder::append_texts_payload(std::string& out) const {
  const auto table = make_table<std::string_view>(rows(), rows() / kTableShare,
                                                  [this](std::size_t row) { return text(row); });
  if (table) {
    append_texts(out, table->entries);
    append_words(out, table->places, false);
    return ColumnSegmentView::kTextTable;
  }
  append_words(out, words_, false);
  put_sized(out, texts_);
  return ColumnSegmentView::kTexts;
}

std::string ColumnSegmentBuilder::finish() {
  std::string payload;
  std::uint8_t encoding = ColumnSegmentView::kEmpty;
  if (nulls_ + absents_ < rows()) {
    encoding = is_text_type(type_) ? append_texts_payload(payload) : append_words_payload(payload);
  }
  std::string out;
  put_fixed(out, ColumnSegmentView::kVersion);
  put_fixed(out, encoding);
  put_fixed(out, static_cast<std::uint8_t>((nulls_ > 0 ? 1 : 0) | (absents_ > 0 ? 2 : 0)));
  put_fixed(out, static_cast<std::uint8_t>(type_));
  for (const Mark mark : {kNullMark, kAbsentMark}) {
    if ((mark == kNullMark ? nulls_ : absents_) == 0) continue;
    BitWriter bits(out);
    for (const std::uint8_t m : marks_) bits.put(m == mark ? 1 : 0, 1);
    bits.finish();
  }
  out.append(payload);
  marks_.clear();
  words_.clear();
  texts_.clear();
  nulls_ = absents_ = 0;
  return out;
}

}  // namespace moraine::table
