// SkiffWriter: events of a list fragment -> rows in Skiff (grammar: skiff.h).
//
// Promise    Appends whole rows to `out`, which the caller may drain between them. Columns may come
//            in any order; those that do not come are null. `<row_index=..;range_index=..>#`
//            before a row numbers the rows that follow.
// Errors     kInvalidArgument: an item is no map; a column that the schema has not, when it has no
//            $other_columns either; a value that does not fit its wire type.
// Limits     Memory of one row, beside that of the source.
// Tests      skiff_test.cpp, skiff_fuzz.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "yson/event.h"
#include "yson/skiff.h"
#include "yson/yson.h"

namespace moraine {

class SkiffWriter final : public YsonSink {
 public:
  SkiffWriter(std::string& out, SkiffOptions options);

  bool on(const YsonEvent& event) override;

 private:
  // The encoded value of a column: a part of row_.
  struct Cell {
    std::size_t row = 0;  // In which it was given, counted from 1.
    std::size_t begin = 0;
    std::size_t size = 0;
  };

  bool on_control(const YsonNode& node);
  bool on_key(std::string_view name);
  bool on_value(const YsonEvent& event);
  bool end_row();
  bool append_column(std::size_t column);
  void append_number(const SkiffType& type, std::optional<std::int64_t> number);
  // Begins to gather a node that is more than a scalar.
  bool gather(const YsonEvent& event);
  bool gathered(const YsonNode& node);
  bool refuse_value(const SkiffType& type, std::string_view given);

  // Recursion is bounded by kSkiffDepthMax.
  bool encode(const SkiffType& type, const YsonNode& node);
  bool encode_list(const SkiffType& type, const YsonList& list);
  bool encode_dictionary(const SkiffType& type, const YsonMap& map);
  bool encode_tagged(const SkiffType& type, const YsonNode& node);
  bool encode_tuple(const SkiffType& type, const YsonNode& node);
  // A scalar that is no text.
  bool encode_number(const SkiffType& type, const YsonEvent& event);
  bool encode_scalar(const SkiffType& type, const YsonEvent& event);

  std::string& out_;
  const SkiffOptions options_;
  std::unordered_map<std::string_view, std::size_t> by_name_;
  std::vector<Cell> cells_;
  std::optional<std::size_t> other_;  // The column of columns that are not in the schema.
  std::string row_;
  YsonMap others_;
  std::size_t rows_ = 0;
  bool in_row_ = false;
  std::size_t column_ = 0;  // Of the value that comes; cells_.size(): one of others_,
  std::string key_;         // with this name.
  std::optional<YsonTreeBuilder> tree_;
  std::optional<std::int64_t> row_index_;
  std::optional<std::int64_t> range_index_;
};

}  // namespace moraine
