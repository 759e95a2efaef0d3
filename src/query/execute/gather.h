// Gather: chosen rows of columns, once or several times, as new columns. Internal to flow.h.
#pragma once

#include <memory>
#include <vector>

#include "query/execute/join_table.h"

namespace moraine::query {

// Copies chosen rows of columns to the beginning of its memory.
class Gather {
 public:
  // Row i of the result is row rows[i]; JoinTable::kNone: null.
  Column column(std::size_t number, const Column& from, const std::uint32_t* rows,
                std::size_t count, bool may_miss) {
    if (number >= buffers_.size()) buffers_.resize(number + 1);
    if (!buffers_[number]) buffers_[number] = std::make_unique<ColumnBuffer>();
    ColumnBuffer& buffer = *buffers_[number];
    if (from.type == ValueType::kNull || from.constant) {
      if (!may_miss) return from;
    }
    Column out{.type = from.type};
    if (from.type == ValueType::kNull) return from;
    const bool nulls = may_miss || from.nulls != nullptr;
    if (nulls) {
      std::uint8_t* const to = buffer.nulls();
      for (std::size_t i = 0; i < count; ++i) {
        to[i] = rows[i] == JoinTable::kNone || from.is_null(rows[i]) ? 1 : 0;
      }
      out.nulls = to;
    }
    if (from.codes != nullptr && !may_miss) {
      std::uint32_t* const to = buffer.codes();
      for (std::size_t i = 0; i < count; ++i) to[i] = from.codes[rows[i]];
      out.texts = from.texts;
      out.codes = to;
      out.table_size = from.table_size;
      out.table_id = from.table_id;
    } else if (is_text(from.type)) {
      std::string_view* const to = buffer.texts();
      copy(from, from.texts, rows, count, to);
      out.texts = to;
    } else {
      std::uint64_t* const to = buffer.words();
      copy(from, from.words, rows, count, to);
      out.words = to;
    }
    return out;
  }

 private:
  template <class T>
  static void copy(const Column& from, const T* items, const std::uint32_t* rows, std::size_t count,
                   T* to) {
    for (std::size_t i = 0; i < count; ++i) {
      if (rows[i] == JoinTable::kNone) continue;
      if constexpr (std::is_same_v<T, std::string_view>) {
        to[i] = from.text(rows[i]);
      } else {
        to[i] = items[from.at(rows[i])];
      }
    }
  }
  std::vector<std::unique_ptr<ColumnBuffer>> buffers_;
};

}  // namespace moraine::query
