// RowStore: rows kept in memory, by columns.
//
// Promise    Rows keep their places; texts are copied, unless they are given as kept elsewhere.
// Threading  One thread at a time; any thread reads a store that does not change.
// Limits     Its owner bounds bytes().
// Tests      node/select_test.cpp.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "query/execute/vector.h"

namespace moraine::query {

// Texts that stay where they are.
class TextStore {
 public:
  std::string_view keep(std::string_view text) {
    if (text.empty()) return {};
    if (left_ < text.size()) grow(text.size());
    char* const to = next_;
    __builtin_memcpy(to, text.data(), text.size());
    next_ += text.size();
    left_ -= text.size();
    return {to, text.size()};
  }
  std::size_t bytes() const { return bytes_; }

 private:
  void grow(std::size_t size);

  std::vector<std::unique_ptr<char[]>> blocks_;
  char* next_ = nullptr;
  std::size_t left_ = 0;
  std::size_t bytes_ = 0;
};

class RowStore {
 public:
  RowStore() = default;
  explicit RowStore(std::span<const ValueType> types);

  std::size_t rows() const { return rows_; }
  std::size_t width() const { return columns_.size(); }
  ValueType type(std::size_t column) const { return columns_[column].type; }
  std::size_t bytes() const;

  // Requires: columns of the store's types, or null.
  void append(const Batch& batch, const Selection& rows) { append(std::span(batch.columns), rows); }
  void append(std::span<const Column> columns, const Selection& rows);
  void append_value_row(std::span<const Value> values);
  // Rows of another store of the same types; their texts are not copied: `from` shares them.
  void append_rows(const RowStore& from, std::span<const std::uint32_t> rows);
  void clear() { *this = RowStore(types()); }

  std::vector<ValueType> types() const;
  // Rows first, first + 1, ...; valid until the store changes.
  Batch view(std::size_t first, std::size_t count) const;
  Value value(std::size_t number, std::size_t row) const { return column(number).value(row); }
  Column column(std::size_t number, std::size_t first = 0) const;

 private:
  struct Stored {
    ValueType type = ValueType::kNull;
    std::vector<std::uint64_t> words{};
    std::vector<std::string_view> texts{};
    std::vector<std::uint8_t> nulls{};  // Empty: none so far.
  };
  void append(Stored& to, const Column& from, const Selection& rows);

  std::size_t rows_ = 0;
  std::vector<Stored> columns_;
  std::shared_ptr<TextStore> texts_ = std::make_shared<TextStore>();
  std::vector<std::shared_ptr<TextStore>> others_;  // Of rows that were taken over.
};

}  // namespace moraine::query
