// Rowset: rows that a read found, with the memory of their texts.
//
// Promise    Can be reused from read to read without allocating again. Row i is the result for key
//            i of a lookup; exists(i) is false for a key that was not found.
// Threading  One thread at a time.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "moraine/value.h"

namespace moraine {

class Rowset {
 public:
  void reset(std::size_t rows, std::size_t columns) {
    columns_ = columns;
    exists_.assign(rows, 0);
    values_.assign(rows * columns, Value());
    used_ = 0;
    block_ = 0;
  }
  std::size_t rows() const { return exists_.size(); }
  std::size_t columns() const { return columns_; }
  bool exists(std::size_t row) const { return exists_[row] != 0; }
  std::span<const Value> row(std::size_t row) const {
    return {values_.data() + row * columns_, columns_};
  }
  const Value& at(std::size_t row, std::size_t column) const {
    return values_[row * columns_ + column];
  }

  // For the code that fills it.
  void set_exists(std::size_t row) { exists_[row] = 1; }
  Value* cells(std::size_t row) { return values_.data() + row * columns_; }
  // Copies the text of `value` into this rowset's memory.
  Value keep(const Value& value) {
    if (!value.has_text()) return value;
    const std::string_view text = keep(value.text());
    return value.type() == ValueType::kAny ? Value::any(text) : Value(text);
  }
  std::string_view keep(std::string_view text) {
    char* to = take(text.size());
    std::memcpy(to, text.data(), text.size());
    return {to, text.size()};
  }

 private:
  static constexpr std::size_t kBlockBytes = std::size_t{16} << 10;
  struct Block {
    std::unique_ptr<char[]> bytes;
    std::size_t size = 0;
  };

  char* take(std::size_t size) {
    while (block_ < blocks_.size() && blocks_[block_].size - used_ < size) {
      ++block_;
      used_ = 0;
    }
    if (block_ == blocks_.size()) {
      const std::size_t bytes = size > kBlockBytes ? size : kBlockBytes;
      blocks_.push_back({std::make_unique_for_overwrite<char[]>(bytes), bytes});
      used_ = 0;
    }
    char* at = blocks_[block_].bytes.get() + used_;
    used_ += size;
    return at;
  }

  std::size_t columns_ = 0;
  std::vector<std::uint8_t> exists_;
  std::vector<Value> values_;
  std::vector<Block> blocks_;
  std::size_t block_ = 0;
  std::size_t used_ = 0;
};

}  // namespace moraine
