#include "yson/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/invariant.h"
#include "yson/dsv_reader.h"
#include "yson/dsv_writer.h"
#include "yson/json_reader.h"
#include "yson/json_writer.h"
#include "yson/number.h"
#include "yson/reader.h"
#include "yson/skiff_reader.h"
#include "yson/skiff_writer.h"
#include "yson/yson.h"

namespace moraine {
namespace {

// Reads options; the first one that is wrong is the error.
class OptionReader {
 public:
  explicit OptionReader(const YsonMap& options) : options_(options) {}

  void read(std::string_view name, bool& value) {
    const YsonNode* node = find(name);
    if (node == nullptr) return;
    const auto* text = node->as<std::string>();
    const auto* number = node->as<std::int64_t>();
    if (const auto* flag = node->as<bool>()) {
      value = *flag;
    } else if (text != nullptr && (*text == "true" || *text == "false")) {
      value = *text == "true";
    } else if (number != nullptr && (*number == 0 || *number == 1)) {
      value = *number == 1;
    } else {
      refuse(name, "is not a boolean");
    }
  }

  void read(std::string_view name, char& value) {
    const YsonNode* node = find(name);
    if (node == nullptr) return;
    const auto* text = node->as<std::string>();
    if (text == nullptr || text->size() != 1) return refuse(name, "is not one byte");
    value = text->front();
  }

  void read(std::string_view name, std::string& value) {
    const YsonNode* node = find(name);
    if (node == nullptr) return;
    const auto* text = node->as<std::string>();
    if (text == nullptr) return refuse(name, "is not a string");
    value = *text;
  }

  void read(std::string_view name, std::size_t& value) {
    const YsonNode* node = find(name);
    if (node == nullptr) return;
    const auto* natural = node->as<std::uint64_t>();
    const auto* integer = node->as<std::int64_t>();
    const auto* text = node->as<std::string>();
    std::uint64_t parsed = 0;
    if (natural != nullptr) {
      value = *natural;
    } else if (integer != nullptr && *integer >= 0) {
      value = static_cast<std::size_t>(*integer);
    } else if (text != nullptr && parse_decimal(*text, parsed)) {
      value = parsed;
    } else {
      refuse(name, "is not a number of bytes");
    }
  }

  template <class T>
  void read(std::string_view name, std::optional<T>& value) {
    if (find(name) != nullptr) read(name, value.emplace());
  }

  void read(std::string_view name, std::vector<std::string>& value) {
    const YsonNode* node = find(name);
    if (node == nullptr) return;
    const auto* list = node->as<YsonList>();
    if (list == nullptr) return refuse(name, "is not a list");
    if (list->size() > kDsvColumnsMax) {
      return refuse(name, fmt::format("has more than {} items", kDsvColumnsMax));
    }
    for (const YsonNode& item : *list) {
      const auto* text = item.as<std::string>();
      if (text == nullptr) return refuse(name, "is not a list of strings");
      value.push_back(*text);
    }
  }

  // One of the names; the value is its place.
  template <class T>
  void read(std::string_view name, T& value, std::initializer_list<std::string_view> names)
    requires std::is_enum_v<T>
  {
    const YsonNode* node = find(name);
    if (node == nullptr) return;
    const auto* text = node->as<std::string>();
    const auto* found = text == nullptr ? names.end() : std::ranges::find(names, *text);
    if (found == names.end()) return refuse(name, fmt::format("is not {}", fmt::join(names, ", ")));
    value = static_cast<T>(found - names.begin());
  }

  void refuse(std::string_view name, std::string_view what) {
    if (error_.empty()) error_ = fmt::format("the option {} of a format {}", name, what);
  }

  Result<DataFormat> result(DataFormat format) const {
    if (!error_.empty()) return fail(Errc::kInvalidArgument, error_);
    return format;
  }

 private:
  const YsonNode* find(std::string_view name) const {
    const YsonNode* node = options_.find(name);
    // Null stands for the default.
    return node == nullptr || node->is_entity() ? nullptr : node;
  }

  const YsonMap& options_;
  std::string error_;
};

RowConversion read_conversion(OptionReader& reader) {
  RowConversion conversion;
  reader.read("enable_integral_type_conversion", conversion.integral);
  reader.read("enable_integral_to_double_conversion", conversion.integral_to_double);
  reader.read("enable_string_to_all_conversion", conversion.string_to_all);
  reader.read("enable_all_to_string_conversion", conversion.all_to_string);
  reader.read("enable_null_to_yson_entity_conversion", conversion.null_to_entity);
  bool all = false;
  reader.read("enable_type_conversion", all);
  if (all) {
    conversion.integral = conversion.integral_to_double = true;
    conversion.string_to_all = conversion.all_to_string = true;
  }
  return conversion;
}

YsonOptions read_yson(OptionReader& reader) {
  YsonOptions options;
  reader.read("format", options.format, {"binary", "text", "pretty"});
  reader.read("skip_null_values", options.skip_null_values);
  return options;
}

JsonOptions read_json(OptionReader& reader) {
  enum class Layout : std::uint8_t { kText, kPretty };
  Layout layout = Layout::kText;
  JsonOptions options;
  reader.read("format", layout, {"text", "pretty"});
  options.pretty = layout == Layout::kPretty;
  reader.read("attributes_mode", options.attributes, {"on_demand", "always", "never"});
  reader.read("plain", options.plain);
  reader.read("encode_utf8", options.encode_utf8);
  reader.read("stringify", options.stringify);
  reader.read("annotate_with_types", options.annotate_with_types);
  reader.read("support_infinity", options.support_infinity);
  reader.read("stringify_nan_and_infinity", options.stringify_nan_and_infinity);
  reader.read("skip_null_values", options.skip_null_values);
  reader.read("string_length_limit", options.string_length_limit);
  reader.read("memory_limit", options.memory_limit);
  // A client may ask for less, not for more.
  options.memory_limit = std::min(options.memory_limit, kJsonMemoryMax);
  if (options.support_infinity && options.stringify_nan_and_infinity) {
    reader.refuse("support_infinity", "excludes stringify_nan_and_infinity");
  }
  return options;
}

DsvOptions read_dsv(OptionReader& reader) {
  DsvOptions options;
  reader.read("record_separator", options.record_separator);
  reader.read("field_separator", options.field_separator);
  reader.read("key_value_separator", options.key_value_separator);
  reader.read("enable_escaping", options.enable_escaping);
  reader.read("escaping_symbol", options.escaping_symbol);
  reader.read("line_prefix", options.line_prefix);
  reader.read("skip_unsupported_types", options.skip_unsupported_types);
  return options;
}

SchemafulDsvOptions read_schemaful_dsv(OptionReader& reader) {
  SchemafulDsvOptions options;
  reader.read("record_separator", options.record_separator);
  reader.read("field_separator", options.field_separator);
  reader.read("enable_escaping", options.enable_escaping);
  reader.read("escaping_symbol", options.escaping_symbol);
  reader.read("columns", options.columns);
  reader.read("missing_value_mode", options.missing, {"fail", "skip_row", "print_sentinel"});
  reader.read("missing_value_sentinel", options.sentinel);
  reader.read("enable_column_names_header", options.column_names_header);
  std::set<std::string_view> distinct(options.columns.begin(), options.columns.end());
  if (distinct.size() != options.columns.size()) reader.refuse("columns", "names a column twice");
  return options;
}

constexpr std::string_view kNotImplemented[] = {"yamr",  "yamred_dsv", "web_json",
                                                "arrow", "protobuf",   "yaml"};

struct MimeType {
  std::string_view mime;
  std::string_view format;
};
constexpr MimeType kMimeTypes[] = {
    {"application/json", "json"},
    {"application/x-yamr-delimited", "<lenval=%false; has_subkey=%false>yamr"},
    {"application/x-yamr-lenval", "<lenval=%true; has_subkey=%false>yamr"},
    {"application/x-yamr-subkey-delimited", "<lenval=%false; has_subkey=%true>yamr"},
    {"application/x-yamr-subkey-lenval", "<lenval=%true; has_subkey=%true>yamr"},
    {"application/x-yt-yson-binary", "<format=binary>yson"},
    {"application/x-yt-yson-pretty", "<format=pretty>yson"},
    {"application/x-yt-yson-text", "<format=text>yson"},
    {"text/csv", "<record_separator=\",\"; key_value_separator=\":\">dsv"},
    {"text/tab-separated-values", "dsv"},
    {"text/x-tskv", "<line_prefix=tskv>dsv"},
};

std::string_view strip(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::unexpected<Error> refuse_map_fragment() {
  return fail(Errc::kInvalidArgument, "the format json has no map fragments");
}
std::unexpected<Error> refuse_document() {
  return fail(Errc::kInvalidArgument, "the formats dsv, schemaful_dsv and skiff are for rows only");
}

}  // namespace

Result<DataFormat> format_of(const YsonNode& node) {
  const auto* name = node.as<std::string>();
  if (name == nullptr) return fail(Errc::kInvalidArgument, "the name of a format is not a string");
  OptionReader reader(node.attributes());
  DataFormat format;
  format.conversion = read_conversion(reader);
  if (*name == "yson") {
    format.options = read_yson(reader);
  } else if (*name == "json") {
    format.options = read_json(reader);
  } else if (*name == "dsv") {
    format.options = read_dsv(reader);
  } else if (*name == "schemaful_dsv") {
    format.options = read_schemaful_dsv(reader);
  } else if (*name == "skiff") {
    TRY(format.options, skiff_options(node.attributes()));
  } else if (std::ranges::find(kNotImplemented, *name) != std::end(kNotImplemented)) {
    return fail(Errc::kUnsupported, fmt::format("the format {} is not supported", *name));
  } else {
    return fail(Errc::kInvalidArgument, fmt::format("Invalid format name {:?}", *name));
  }
  return reader.result(std::move(format));
}

Result<DataFormat> parse_format(std::string_view yson) {
  auto node = parse_yson(yson);
  if (!node) return std::unexpected<Error>(std::move(node).error().within("the name of a format"));
  return format_of(*node);
}

DataFormat default_format(DataType type) {
  switch (type) {
    case DataType::kStructured: return {.options = JsonOptions(), .conversion = {}};
    case DataType::kTabular:
      return {.options = YsonOptions{.format = YsonFormat::kText}, .conversion = {}};
    default: return {.options = YsonOptions(), .conversion = {}};
  }
}

Result<std::optional<DataFormat>> format_of_mime(std::string_view mime) {
  const auto* known = std::ranges::find(kMimeTypes, strip(mime), &MimeType::mime);
  if (known == std::end(kMimeTypes)) return std::optional<DataFormat>();
  TRY(DataFormat format, parse_format(known->format));
  return std::optional<DataFormat>(std::move(format));
}

std::string_view mime_of(const DataFormat& format) {
  if (const auto* yson = format.as<YsonOptions>()) {
    switch (yson->format) {
      case YsonFormat::kText: return "application/x-yt-yson-text";
      case YsonFormat::kPretty: return "application/x-yt-yson-pretty";
      case YsonFormat::kBinary: return "application/x-yt-yson-binary";
    }
  }
  if (format.as<JsonOptions>() != nullptr) return "application/json";
  if (format.as<SkiffOptions>() != nullptr) return "application/octet-stream";
  const auto* dsv = format.as<DsvOptions>();
  if (dsv == nullptr) return "text/tab-separated-values";
  if (dsv->record_separator == ',' && dsv->key_value_separator == ':') return "text/csv";
  return dsv->line_prefix == "tskv" ? "text/x-tskv" : "text/tab-separated-values";
}

Result<std::unique_ptr<YsonSource>> make_source(const DataFormat& format, YsonDocument document,
                                                YsonLimits limits) {
  if (format.as<YsonOptions>() != nullptr) return std::make_unique<YsonReader>(document, limits);
  if (const auto* json = format.as<JsonOptions>()) {
    if (document == YsonDocument::kMapFragment) return refuse_map_fragment();
    return std::make_unique<JsonReader>(*json, document, limits);
  }
  if (document != YsonDocument::kListFragment) return refuse_document();
  if (const auto* dsv = format.as<DsvOptions>()) return std::make_unique<DsvReader>(*dsv, limits);
  if (const auto* skiff = format.as<SkiffOptions>()) {
    return std::make_unique<SkiffReader>(*skiff, limits);
  }
  return std::make_unique<SchemafulDsvReader>(*format.as<SchemafulDsvOptions>(), limits);
}

Result<std::unique_ptr<YsonSink>> make_sink(std::string& out, const DataFormat& format,
                                            YsonDocument document) {
  if (const auto* yson = format.as<YsonOptions>()) {
    return std::make_unique<YsonWriter>(out, yson->format, document);
  }
  if (const auto* json = format.as<JsonOptions>()) {
    if (document == YsonDocument::kMapFragment) return refuse_map_fragment();
    return std::make_unique<JsonWriter>(out, *json, document);
  }
  if (document != YsonDocument::kListFragment) return refuse_document();
  if (const auto* dsv = format.as<DsvOptions>()) return std::make_unique<DsvWriter>(out, *dsv);
  if (const auto* skiff = format.as<SkiffOptions>()) {
    return std::make_unique<SkiffWriter>(out, *skiff);
  }
  return std::make_unique<SchemafulDsvWriter>(out, *format.as<SchemafulDsvOptions>());
}

}  // namespace moraine
