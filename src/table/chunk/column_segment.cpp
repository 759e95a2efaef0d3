#include "table/chunk/column_segment.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/invariant.h"

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

Value value_of(ValueType type, std::uint64_t word) {
  switch (type) {
    case ValueType::kInt64: return Value(static_cast<std::int64_t>(word));
    case ValueType::kDouble: return Value(std::bit_cast<double>(word));
    case ValueType::kBoolean: return Value(word != 0);
    default: return Value(word);
  }
}

bool ascending_to(const WordsView& ends, std::uint64_t last, bool strictly) {
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const std::uint64_t end = ends.get(i);
    if (end < before || end > last || (strictly && end == before)) return false;
    before = end;
  }
  return before == last;
}

bool all_below(const WordsView& places, std::uint64_t limit) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places.get(i) >= limit) return false;
  }
  return true;
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

Result<ColumnSegmentView> ColumnSegmentView::open(ByteSpan bytes, std::uint32_t rows,
                                                  ValueType type, bool check) {
  VarintReader in(bytes);
  const auto version = in.fixed<std::uint8_t>();
  if (version != kVersion) {
    return fail(Errc::kUnsupported, fmt::format("column segment of version {}", version));
  }
  ColumnSegmentView view;
  const auto encoding = in.fixed<std::uint8_t>();
  const auto flags = in.fixed<std::uint8_t>();
  const auto stored_type = in.fixed<std::uint8_t>();
  view.rows_ = rows;
  view.type_ = type;
  view.encoding_ = static_cast<Encoding>(encoding);
  const std::size_t bitmap = (std::size_t{rows} + 7) / 8;
  if ((flags & 1) != 0) view.nulls_ = in.raw(bitmap).data();
  if ((flags & 2) != 0) view.absents_ = in.raw(bitmap).data();
  if (in.failed() || encoding > kTextTable || flags > 3 ||
      stored_type != static_cast<std::uint8_t>(type) || !view.take_payload(in) || !in.finished() ||
      (check && !view.check_payload())) {
    return fail(Errc::kCorrupt, "segment");
  }
  return view;
}

bool ColumnSegmentView::take_payload(VarintReader& in) {
  const bool texts = encoding_ == kTexts || encoding_ == kTextTable;
  if (encoding_ == kEmpty) return true;
  if (texts != is_text_type(type_) || !first_.take(in)) return false;
  if (texts) texts_ = in.sized();
  if (encoding_ == kRuns || encoding_ == kWordTable || encoding_ == kTextTable) {
    if (!second_.take(in)) return false;
  }
  switch (encoding_) {
    case kEmpty: return true;
    case kWords:
    case kTexts: return first_.size() == rows_;
    case kRuns: return first_.size() == second_.size() && first_.size() > 0;
    case kWordTable:
    case kTextTable: return second_.size() == rows_;
  }
  return false;
}

bool ColumnSegmentView::check_payload() const {
  if (encoding_ == kRuns && !ascending_to(first_, rows_, true)) return false;
  if (is_text_type(type_) && encoding_ != kEmpty && !ascending_to(first_, texts_.size(), false)) {
    return false;
  }
  if (encoding_ == kWordTable || encoding_ == kTextTable) {
    if (!all_below(second_, first_.size())) return false;
  }
  if (encoding_ != kEmpty) return true;
  for (std::size_t row = 0; row < rows_; ++row) {
    if (!is_null(row) && !is_absent(row)) return false;
  }
  return true;
}

std::string_view ColumnSegmentView::text(std::size_t place) const {
  const std::size_t from = place == 0 ? 0 : first_.get(place - 1);
  return as_text(texts_.subspan(from, first_.get(place) - from));
}

std::uint64_t ColumnSegmentView::word(std::size_t row) const {
  if (encoding_ == kWords) return first_.get(row);
  if (encoding_ == kWordTable) return first_.get(second_.get(row));
  std::size_t low = 0;
  std::size_t high = first_.size();
  while (low < high) {
    const std::size_t mid = low + (high - low) / 2;
    if (first_.get(mid) <= row) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  return second_.get(low);
}

Value ColumnSegmentView::get(std::size_t row) const {
  if (encoding_ == kEmpty || is_null(row) || is_absent(row)) return {};
  if (!is_text_type(type_)) return value_of(type_, word(row));
  const std::string_view found = text(encoding_ == kTexts ? row : second_.get(row));
  return type_ == ValueType::kAny ? Value::any(found) : Value(found);
}

void ColumnSegmentView::decode_words(std::vector<std::uint64_t>& out) const {
  out.resize(rows_);
  if (encoding_ == kWords) {
    first_.decode(out.data());
  } else if (encoding_ == kRuns) {
    std::size_t row = 0;
    for (std::size_t i = 0; i < first_.size(); ++i) {
      const std::uint64_t value = second_.get(i);
      for (const std::uint64_t end = first_.get(i); row < end; ++row) out[row] = value;
    }
  } else if (encoding_ == kWordTable) {
    std::vector<std::uint64_t> table(first_.size());
    first_.decode(table.data());
    second_.decode(out.data());
    for (std::uint64_t& word : out) word = table[word];
  } else {
    std::ranges::fill(out, 0);
  }
}

void ColumnSegmentView::decode_texts(std::vector<std::string_view>& out) const {
  out.assign(rows_, {});
  if (encoding_ == kEmpty) return;
  std::vector<std::uint64_t> ends(first_.size());
  first_.decode(ends.data());
  const std::string_view all = as_text(texts_);
  const auto entry = [&](std::size_t i) {
    const std::size_t from = i == 0 ? 0 : ends[i - 1];
    return std::string_view(all.data() + from, ends[i] - from);
  };
  if (encoding_ == kTexts) {
    for (std::size_t row = 0; row < rows_; ++row) out[row] = entry(row);
    return;
  }
  std::vector<std::uint32_t> places(rows_);
  second_.decode(places.data());
  for (std::size_t row = 0; row < rows_; ++row) out[row] = entry(places[row]);
}

std::shared_ptr<const TextTable> ColumnSegmentView::text_table() const {
  auto table = std::make_shared<TextTable>();
  table->reserve(first_.size());
  const std::string_view all = as_text(texts_);
  std::size_t from = 0;
  for (std::size_t i = 0; i < first_.size(); ++i) {
    const std::size_t end = first_.get(i);
    table->push_back(all.substr(from, end - from));
    from = end;
  }
  return table;
}

void ColumnSegmentView::decode(ColumnVector& out, bool codes) const {
  out.clear();
  out.type = type_;
  if (codes && encoding_ == kTextTable) {
    out.table = text_table();
    out.codes.resize(rows_);
    second_.decode(out.codes.data());
  } else if (is_text_type(type_)) {
    decode_texts(out.texts);
  } else {
    decode_words(out.words);
  }
  if (nulls_ == nullptr && absents_ == nullptr) return;
  out.nulls.resize(rows_);
  for (std::size_t row = 0; row < rows_; ++row) {
    out.nulls[row] = is_null(row) || is_absent(row) ? 1 : 0;
  }
}

void ColumnSegmentView::decode_rows(std::span<const std::uint32_t> rows, ColumnVector& out,
                                    bool codes) const {
  out.clear();
  out.type = type_;
  if (codes && encoding_ == kTextTable) {
    out.table = text_table();
    out.codes.reserve(rows.size());
    for (const std::uint32_t row : rows) {
      out.codes.push_back(static_cast<std::uint32_t>(second_.get(row)));
    }
  } else if (is_text_type(type_)) {
    out.texts.resize(rows.size());
    for (std::size_t i = 0; encoding_ != kEmpty && i < rows.size(); ++i) {
      out.texts[i] = text(encoding_ == kTexts ? rows[i] : second_.get(rows[i]));
    }
  } else {
    out.words.resize(rows.size());
    for (std::size_t i = 0; encoding_ != kEmpty && i < rows.size(); ++i) {
      out.words[i] = word(rows[i]);
    }
  }
  if (nulls_ == nullptr && absents_ == nullptr) return;
  out.nulls.resize(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out.nulls[i] = is_null(rows[i]) || is_absent(rows[i]) ? 1 : 0;
  }
}

}  // namespace moraine::table
