#include "gateway/yt/request_head.h"

#include <algorithm>
#include <functional>

namespace moraine::yt {
namespace {

// The format of a field, or of the MIME type in another one, or the default of the type.
YtResult<DataFormat> format_from(const http::Fields& fields, std::string_view name,
                                 const std::string* mime, DataType type,
                                 const DataFormat& header_format) {
  YT_TRY(const auto given, long_field(fields, name));
  if (given) {
    YT_TRY(const YsonNode node, read_document(*given, header_format));
    return format_of(node);
  }
  if (mime != nullptr) {
    YT_TRY(const std::optional<DataFormat> found, format_of_mime(*mime));
    if (found) return *found;
  }
  return default_format(type);
}

constexpr std::string_view kHeaderFormat = "X-YT-Header-Format";
constexpr std::string_view kInputFormat = "X-YT-Input-Format";
constexpr std::string_view kOutputFormat = "X-YT-Output-Format";
constexpr std::string_view kErrorFormat = "X-YT-Error-Format";
constexpr std::string_view kParameters = "X-YT-Parameters";
constexpr std::string_view kContentType = "Content-Type";
constexpr std::string_view kAccept = "Accept";

// Names of their own, or the beginnings of those of parts.
constexpr std::array kNames = {kHeaderFormat, kInputFormat, kOutputFormat, kErrorFormat,
                               kParameters,   kContentType, kAccept};

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool begins_with(std::string_view name, std::string_view beginning) {
  return name.size() >= beginning.size() &&
         std::ranges::equal(name.substr(0, beginning.size()), beginning, {}, lower, lower);
}

bool makes_head(std::string_view name) {
  return std::ranges::any_of(kNames, [&](std::string_view one) { return begins_with(name, one); });
}

// Different lists of texts make different keys.
void append(std::string& key, std::string_view text) {
  const auto size = static_cast<std::uint32_t>(text.size());
  key.append(reinterpret_cast<const char*>(&size), sizeof size);
  key += text;
}

YtResult<void> override_format(const Parameters& parameters, std::string_view name,
                               DataFormat& format) {
  const YsonNode* const given = parameters.find(name);
  if (given == nullptr) return {};
  YT_TRY(format, format_of(*given));
  return {};
}

}  // namespace

YtResult<void> read_head_formats(const http::Request& request, const Command& command,
                                 unsigned version, RequestHead& head) {
  const http::Fields& fields = request.fields;
  head.header_format = head.error_format = default_format(DataType::kStructured);
  if (const std::string* given = fields.find(kHeaderFormat)) {
    YT_TRY(head.header_format, parse_format(*given));
  }
  YT_TRY(head.input_format, format_from(fields, kInputFormat, fields.find(kContentType),
                                        command.input, head.header_format));
  YT_TRY(head.output_format, format_from(fields, kOutputFormat, fields.find(kAccept),
                                         command.output(version), head.header_format));
  YT_TRY(head.error_format,
         format_from(fields, kErrorFormat, nullptr, DataType::kStructured, head.header_format));
  return {};
}

YtResult<void> read_head_parameters(const http::Request& request, RequestHead& head) {
  for (const auto& [name, value] : request.target.query) {
    head.parameter_bytes += name.size() + value.size();
  }
  YT_TRY(YsonMap query, query_parameters(request.target.query));
  Parameters parameters(std::move(query));
  YT_TRY(const auto given, long_field(request.fields, kParameters));
  if (given) {
    head.parameter_bytes += given->size();
    YT_TRY(YsonMap map, read_map(*given, head.header_format, kParameters));
    parameters.merge(std::move(map));
  }
  // The body of a POST has parameters, too, and they are not in the format that they name.
  if (request.method != "POST")
    YT_TRY_VOID(override_formats(parameters, head.input_format, head.output_format));
  head.parameters = std::move(parameters.map());
  return {};
}

YtResult<void> override_formats(const Parameters& parameters, DataFormat& input,
                                DataFormat& output) {
  YT_TRY_VOID(override_format(parameters, "input_format", input));
  return override_format(parameters, "output_format", output);
}

std::optional<std::string> RequestHeads::key_of(const http::Request& request,
                                                const Command& command, unsigned version) {
  std::string key;
  key.reserve(kCachedHeadBytesMax / 4);
  append(key, command.name);
  append(key, request.method);
  key += static_cast<char>(version);
  for (const auto& [name, value] : request.target.query) {
    append(key, name);
    append(key, value);
    if (key.size() > kCachedHeadBytesMax) return std::nullopt;
  }
  key += '\n';
  for (const auto& [name, value] : request.fields.all()) {
    if (!makes_head(name)) continue;
    append(key, name);
    append(key, value);
    if (key.size() > kCachedHeadBytesMax) return std::nullopt;
  }
  return key;
}

std::size_t RequestHeads::place(const std::string& key) {
  return std::hash<std::string>()(key) % kHeadsCached;
}

const RequestHead* RequestHeads::find(const std::string& key) const {
  const auto& slot = slots_[place(key)];
  return slot && slot->key == key ? &slot->head : nullptr;
}

void RequestHeads::add(std::string key, const RequestHead& head) {
  const std::size_t at = place(key);
  slots_[at].emplace(std::move(key), head);
}

}  // namespace moraine::yt
