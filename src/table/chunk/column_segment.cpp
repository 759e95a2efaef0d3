#include "table/chunk/column_segment.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace moraine::table {
namespace {

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
  std::vector<std::uint64_t> places(rows_);
  second_.decode(places.data());
  for (std::size_t row = 0; row < rows_; ++row) out[row] = entry(places[row]);
}

void ColumnSegmentView::decode(ColumnVector& out) const {
  out.clear();
  out.type = type_;
  if (is_text_type(type_)) {
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

}  // namespace moraine::table
