// DSV: rows as lines of text: key=value pairs (`dsv`), or the values of given columns
// (`schemaful_dsv`).
//
// clang-format off
//   dsv           : { [ line_prefix FS ] [ pair { FS pair } ] RS }    pair = key KVS value
//   schemaful_dsv : { value { FS value } RS }                         as many values as columns
//   FS field separator, \t; RS record separator, \n; KVS key-value separator, =
//   escapes       : \0 \n \t \r, and \c for another c. Separators and backslashes are written so,
//                   in dsv also zero bytes and \r
// clang-format on
//
// Promise    Rows are read as maps of strings and written from maps of scalars: integers as digits,
//            doubles as in YSON text, booleans as true and false. In dsv nulls are left out, and a
//            field without a KVS is skipped when it is read.
// Limits     YsonLimits: for a row and a field. kDsvColumnsMax columns.
// Threading  Plain data.
// Tests      dsv_test.cpp, dsv_fuzz.cpp.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "yson/event.h"

namespace moraine {

inline constexpr std::size_t kDsvColumnsMax = 32768;

struct DsvOptions {
  char record_separator = '\n';
  char field_separator = '\t';
  char key_value_separator = '=';
  bool enable_escaping = true;
  char escaping_symbol = '\\';
  std::optional<std::string> line_prefix = {};  // The first field of every row.
  bool skip_unsupported_types = false;          // Lists and maps of a row are left out.
};

struct SchemafulDsvOptions {
  // What is written for a row in which a column is null or missing.
  enum class Missing : std::uint8_t { kFail, kSkipRow, kPrintSentinel };

  char record_separator = '\n';
  char field_separator = '\t';
  bool enable_escaping = true;
  char escaping_symbol = '\\';
  std::vector<std::string> columns = {};  // Distinct.
  Missing missing = Missing::kFail;
  std::string sentinel = {};  // Written for a null with kPrintSentinel, and then read as one.
  bool column_names_header = false;
};

// Where fields end, and what is escaped in them.
class DsvSyntax {
 public:
  using Stops = std::array<bool, 256>;

  DsvSyntax(const DsvOptions& options, bool for_writing);
  explicit DsvSyntax(const SchemafulDsvOptions& options);

  // The bytes that do not stand for themselves: they end a key or a value, begin an escape, or have
  // to be escaped.
  const Stops& key_stops() const { return key_stops_; }
  const Stops& value_stops() const { return value_stops_; }
  bool escapes(char c) const { return escaping_ && c == escaping_symbol_; }
  void append_key(std::string& out, std::string_view text) const;
  void append_value(std::string& out, std::string_view text) const;

 private:
  void append(std::string& out, std::string_view text, const Stops& stops) const;

  bool escaping_;
  char escaping_symbol_;
  Stops key_stops_ = {};
  Stops value_stops_ = {};
};

}  // namespace moraine
