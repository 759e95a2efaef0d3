#include "query/execute/row_store.h"

#include <algorithm>

#include "base/invariant.h"

namespace moraine::query {

void TextStore::grow(std::size_t size) {
  constexpr std::size_t kFirst = 4'096;
  constexpr std::size_t kBlock = std::size_t{1} << 20;
  const std::size_t room = std::max(size, std::clamp(bytes_, kFirst, kBlock));
  blocks_.push_back(std::make_unique_for_overwrite<char[]>(room));
  next_ = blocks_.back().get();
  left_ = room;
  bytes_ += room;
}

RowStore::RowStore(std::span<const ValueType> types) {
  for (const ValueType type : types) columns_.push_back({.type = type});
}

std::vector<ValueType> RowStore::types() const {
  std::vector<ValueType> types;
  for (const Stored& column : columns_) types.push_back(column.type);
  return types;
}

std::size_t RowStore::bytes() const {
  std::size_t bytes = texts_->bytes();
  for (const auto& other : others_) bytes += other->bytes();
  for (const Stored& column : columns_) {
    bytes += column.words.capacity() * sizeof(std::uint64_t) +
             column.texts.capacity() * sizeof(std::string_view) + column.nulls.capacity();
  }
  return bytes;
}

void RowStore::append(Stored& to, const Column& from, const Selection& rows) {
  const std::size_t before = rows_;
  const bool only_null = from.type == ValueType::kNull || from.all_null();
  INVARIANT(only_null || from.type == to.type, "a column of {} in one of {}", to_string(from.type),
            to_string(to.type));
  const bool has_nulls = only_null || !from.without_nulls();
  if (has_nulls && to.nulls.empty()) to.nulls.resize(before);
  if (!to.nulls.empty() || has_nulls) {
    to.nulls.resize(before + rows.count);
    for (std::size_t i = 0; i < rows.count; ++i) {
      to.nulls[before + i] = only_null || from.is_null(rows[i]) ? 1 : 0;
    }
  }
  const bool text = is_text(to.type);
  if (!text) {
    to.words.resize(before + rows.count);
    if (only_null) return;
    std::uint64_t* const words = to.words.data() + before;
    if (from.constant) {
      std::fill_n(words, rows.count, from.words[0]);
    } else if (rows.is_dense()) {
      std::copy_n(from.words, rows.count, words);
    } else {
      for (std::size_t i = 0; i < rows.count; ++i) words[i] = from.words[rows.rows[i]];
    }
    return;
  }
  to.texts.resize(before + rows.count);
  if (only_null) return;
  std::string_view* const texts = to.texts.data() + before;
  if (from.constant) {
    std::fill_n(texts, rows.count, texts_->keep(from.texts[0]));
    return;
  }
  for (std::size_t i = 0; i < rows.count; ++i) {
    const std::uint32_t row = rows[i];
    if (from.nulls == nullptr || from.nulls[row] == 0) texts[i] = texts_->keep(from.text(row));
  }
}

void RowStore::append(std::span<const Column> columns, const Selection& rows) {
  for (std::size_t i = 0; i < columns_.size(); ++i) append(columns_[i], columns[i], rows);
  rows_ += rows.count;
}

void RowStore::append_value_row(std::span<const Value> values) {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Value& value = values[i];
    const std::uint64_t word = word_of_value(value);
    const std::string_view text = value.has_text() ? value.text() : std::string_view();
    const std::uint8_t null = value.is_null() ? 1 : 0;
    const Column column{
        .type = columns_[i].type, .constant = true, .words = &word, .texts = &text, .nulls = &null};
    append(columns_[i], column, Selection::all(1));
  }
  ++rows_;
}

void RowStore::append_rows(const RowStore& from, std::span<const std::uint32_t> rows) {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    Stored& to = columns_[i];
    const Stored& source = from.columns_[i];
    if (!source.nulls.empty() && to.nulls.empty()) to.nulls.resize(rows_);
    for (const std::uint32_t row : rows) {
      if (is_text(to.type)) {
        to.texts.push_back(source.texts[row]);
      } else {
        to.words.push_back(source.words[row]);
      }
      if (!source.nulls.empty()) to.nulls.push_back(source.nulls[row]);
    }
    if (source.nulls.empty() && !to.nulls.empty()) to.nulls.resize(rows_ + rows.size());
  }
  rows_ += rows.size();
  const auto share = [&](const std::shared_ptr<TextStore>& texts) {
    if (texts == texts_ || std::ranges::find(others_, texts) != others_.end()) return;
    others_.push_back(texts);
  };
  share(from.texts_);
  for (const auto& texts : from.others_) share(texts);
}

Column RowStore::column(std::size_t number, std::size_t first) const {
  const Stored& stored = columns_[number];
  if (stored.type == ValueType::kNull) {
    static constexpr std::uint8_t kOne = 1;
    static constexpr std::uint64_t kWord = 0;
    static constexpr std::string_view kText;
    return {
        .type = stored.type, .constant = true, .words = &kWord, .texts = &kText, .nulls = &kOne};
  }
  return {.type = stored.type,
          .words = stored.words.data() + (stored.words.empty() ? 0 : first),
          .texts = stored.texts.data() + (stored.texts.empty() ? 0 : first),
          .nulls = stored.nulls.empty() ? nullptr : stored.nulls.data() + first};
}

Batch RowStore::view(std::size_t first, std::size_t count) const {
  Batch batch{.rows = count, .columns = {}};
  for (std::size_t i = 0; i < columns_.size(); ++i) batch.columns.push_back(column(i, first));
  return batch;
}

}  // namespace moraine::query
