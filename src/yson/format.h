// DataFormat: in which format a client sends or wants data, and with which options.
//
// clang-format off
//   format = [ "<" options ">" ] name         as YSON, for example <format=text>yson
//   name   = yson | json | dsv | schemaful_dsv | skiff
//   booleans may be 0, 1, "true" or "false", too; options that are not known are ignored
// clang-format on
//
// Promise    Pure. A source and a sink of a format convert to and from those of any other.
// Errors     kInvalidArgument: an unknown name, an option with a wrong value, a kind of document
//            that the format cannot hold. kUnsupported: a format of YTsaurus that is not
//            implemented.
// Limits     kDsvColumnsMax columns in schemaful_dsv.
// Tests      format_test.cpp, format_fuzz.cpp.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "yson/dsv.h"
#include "yson/event.h"
#include "yson/json_options.h"
#include "yson/node.h"
#include "yson/skiff.h"
#include "yson/writer.h"

namespace moraine {

struct YsonOptions {
  YsonFormat format = YsonFormat::kBinary;
  bool skip_null_values = false;  // For writers of rows: columns that are null are left out.
};

// How the values of rows are made those of a table's columns. Any format may say so.
struct RowConversion {
  bool integral = true;  // Between int64 and uint64, in range.
  bool integral_to_double = false;
  bool string_to_all = false;
  bool all_to_string = false;
  bool null_to_entity = true;  // A null for a column of type any is the entity.
};

struct DataFormat {
  std::variant<YsonOptions, JsonOptions, DsvOptions, SchemafulDsvOptions, SkiffOptions> options;
  RowConversion conversion;

  template <class T>
  const T* as() const {
    return std::get_if<T>(&options);
  }
};

// What a command takes or returns.
enum class DataType : std::uint8_t { kNull, kBinary, kStructured, kTabular };

Result<DataFormat> format_of(const YsonNode& node);
Result<DataFormat> parse_format(std::string_view yson);
// The format of a command's data when the client names none.
DataFormat default_format(DataType type);

// For example of application/json. Nothing: the MIME type names no format.
Result<std::optional<DataFormat>> format_of_mime(std::string_view mime);
std::string_view mime_of(const DataFormat& format);

Result<std::unique_ptr<YsonSource>> make_source(const DataFormat& format, YsonDocument document,
                                                YsonLimits limits = {});
// Requires: `out` outlives the sink.
Result<std::unique_ptr<YsonSink>> make_sink(std::string& out, const DataFormat& format,
                                            YsonDocument document);

}  // namespace moraine
