#include "table/chunk/group_patch.h"

#include "table/chunk/column_filter.h"
#include "table/chunk/column_segment.h"

namespace moraine::table {
namespace {

// A table of at most so many texts is searched for those of entries.
constexpr std::size_t kTableSearchedMax = 256;

}  // namespace

std::uint32_t GroupPatch::put(std::uint32_t row, Timestamp time) {
  if (empty()) entries_.assign(rows_, kNone);
  std::uint32_t& entry = entries_[row];
  if (entry == kNone) {
    entry = size();
    places_.push_back(row);
    times_.push_back(time);
  } else {
    times_[entry] = time;
  }
  return entry;
}

GroupPatch::Column& GroupPatch::column(std::size_t i, ValueType type) {
  if (i >= columns_.size()) columns_.resize(i + 1);
  Column& column = columns_[i];
  column.values.type = type;
  column.values.nulls.resize(size());
  if (is_text_type(type)) {
    column.values.texts.resize(size());
  } else {
    column.values.words.resize(size());
  }
  return column;
}

void GroupPatch::set(std::size_t i, std::uint32_t entry, ValueType type, const Value& value) {
  Column& to = column(i, type);
  to.values.nulls[entry] = value.is_null() ? 1 : 0;
  to.any_null = to.any_null || value.is_null();
  if (!is_text_type(type)) {
    to.values.words[entry] = word_of(value);
  } else {
    to.values.texts[entry] = value.has_text() ? value.text() : std::string_view();
  }
}

void GroupPatch::set(std::size_t i, std::span<const std::uint32_t> entries,
                     std::span<const std::uint32_t> rows, const ColumnVector& from) {
  Column& to = column(i, from.type);
  if (is_text_type(from.type)) {
    for (std::size_t k = 0; k < entries.size(); ++k) {
      to.values.texts[entries[k]] = from.text(rows[k]);
    }
  } else {
    for (std::size_t k = 0; k < entries.size(); ++k) {
      to.values.words[entries[k]] = from.words[rows[k]];
    }
  }
  for (std::size_t k = 0; k < entries.size(); ++k) {
    const std::uint8_t null = from.nulls.empty() ? 0 : from.nulls[rows[k]];
    to.values.nulls[entries[k]] = null;
    to.any_null = to.any_null || null != 0;
  }
}

void GroupPatch::begin_codes(Column& from, ColumnVector& to) {
  if (from.table) return;
  from.table = std::make_shared<TextTable>(*to.table);
  from.searched = from.table->size() <= kTableSearchedMax;
  for (std::uint32_t i = 0; from.searched && i < from.table->size(); ++i) {
    from.codes.emplace((*from.table)[i], i);
  }
  to.table = from.table;
}

std::uint32_t GroupPatch::code_of(Column& from, std::string_view text) {
  const auto next = static_cast<std::uint32_t>(from.table->size());
  if (from.searched) {
    const auto [found, added] = from.codes.try_emplace(text, next);
    if (!added) return found->second;
  }
  from.table->push_back(text);
  return next;
}

template <class EntryOf>
void GroupPatch::apply(Column& from, std::size_t count, EntryOf entry_of, ColumnVector& to) {
  if (from.any_null && to.nulls.empty()) to.nulls.assign(rows_, 0);
  for (std::size_t k = 0; !to.nulls.empty() && k < count; ++k) {
    const std::uint32_t entry = entry_of(k);
    to.nulls[places_[entry]] = from.values.nulls[entry];
  }
  if (!is_text_type(from.values.type)) {
    for (std::size_t k = 0; k < count; ++k) {
      const std::uint32_t entry = entry_of(k);
      to.words[places_[entry]] = from.values.words[entry];
    }
  } else if (!to.table) {
    for (std::size_t k = 0; k < count; ++k) {
      const std::uint32_t entry = entry_of(k);
      to.texts[places_[entry]] = from.values.texts[entry];
    }
  } else {
    begin_codes(from, to);
    for (std::size_t k = 0; k < count; ++k) {
      const std::uint32_t entry = entry_of(k);
      to.codes[places_[entry]] = code_of(from, from.values.texts[entry]);
    }
  }
}

void GroupPatch::apply(std::size_t i, ColumnVector& to) {
  apply(columns_[i], size(), [](std::size_t k) { return static_cast<std::uint32_t>(k); }, to);
}

void GroupPatch::apply(std::size_t i, std::span<const std::uint32_t> entries, ColumnVector& to) {
  apply(columns_[i], entries.size(), [entries](std::size_t k) { return entries[k]; }, to);
}

void GroupPatch::apply_to_rows(std::size_t i, std::span<const std::uint32_t> rows,
                               ColumnVector& to) const {
  const Column& from = columns_[i];
  if (from.any_null && to.nulls.empty()) to.nulls.assign(rows.size(), 0);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const std::uint32_t entry = find(rows[k]);
    if (entry == kNone) continue;
    if (!to.nulls.empty()) to.nulls[k] = from.values.nulls[entry];
    if (is_text_type(to.type)) {
      to.texts[k] = from.values.texts[entry];
    } else {
      to.words[k] = from.values.words[entry];
    }
  }
}

void GroupPatch::keep(const std::vector<Slice>& blocks) {
  if (blocks.empty() || last_blocks_ == blocks.front().data()) return;
  last_blocks_ = blocks.front().data();
  blocks_.insert(blocks_.end(), blocks.begin(), blocks.end());
}

}  // namespace moraine::table
