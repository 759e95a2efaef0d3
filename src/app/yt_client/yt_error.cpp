#include "app/yt_client/yt_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "yson/format.h"
#include "yson/yson.h"

namespace moraine::app {
namespace {

// Where in the server the error arose; no help for its reader.
constexpr std::array<std::string_view, 11> kServerAttributes{
    "host",     "pid",     "tid",           "thread",     "fid",    "datetime",
    "trace_id", "span_id", "connection_id", "request_id", "timeout"};
constexpr std::int64_t kTransportCode = 100;
constexpr std::size_t kAttributeBytesMax = 200;

YtError parse_at(const YsonNode& node, std::size_t depth) {
  YtError error;
  if (const YsonNode* code = node.find("code")) {
    if (const auto* number = code->as<std::int64_t>()) error.code = *number;
    if (const auto* number = code->as<std::uint64_t>()) {
      error.code = static_cast<std::int64_t>(*number);
    }
  }
  if (const YsonNode* message = node.find("message")) {
    if (const auto* text = message->as<std::string>()) error.message = *text;
  }
  if (const YsonNode* attributes = node.find("attributes")) {
    if (const auto* map = attributes->as<YsonMap>()) error.attributes = *map;
  }
  const YsonNode* inner = node.find("inner_errors");
  const YsonList* causes = inner == nullptr ? nullptr : inner->as<YsonList>();
  if (causes == nullptr || depth >= kYtErrorDepthMax) return error;
  for (const YsonNode& cause : *causes) error.inner.push_back(parse_at(cause, depth + 1));
  return error;
}

void append(std::string& out, const YtError& error, std::size_t depth) {
  const std::string indent(depth * 2, ' ');
  out += error.message.empty() ? "error without a message" : error.message;
  std::string details;
  if (error.code != 1 && error.code != kTransportCode) details = fmt::format("code {}", error.code);
  for (const auto& [key, value] : error.attributes) {
    if (std::ranges::find(kServerAttributes, key) != kServerAttributes.end()) continue;
    if (value.is_entity()) continue;
    std::string text = write_yson(value, YsonFormat::kText);
    if (const auto* plain = value.as<std::string>()) text = *plain;
    if (text.size() > kAttributeBytesMax) text = text.substr(0, kAttributeBytesMax) + "...";
    fmt::format_to(std::back_inserter(details), "{}{}: {}", details.empty() ? "" : ", ", key, text);
  }
  if (!details.empty()) fmt::format_to(std::back_inserter(out), "\n{}  ({})", indent, details);
  for (const YtError& cause : error.inner) {
    fmt::format_to(std::back_inserter(out), "\n{}  because: ", indent);
    append(out, cause, depth + 1);
  }
}

}  // namespace

bool YtError::has_code(std::initializer_list<std::int64_t> codes) const {
  if (std::ranges::find(codes, code) != codes.end()) return true;
  return std::ranges::any_of(inner, [&](const YtError& cause) { return cause.has_code(codes); });
}

const YsonNode* YtError::attribute(std::string_view name) const {
  if (const YsonNode* own = attributes.find(name)) return own;
  for (const YtError& cause : inner) {
    if (const YsonNode* found = cause.attribute(name)) return found;
  }
  return nullptr;
}

YtError local_error(Error error) {
  YtError made;
  made.kind = error.code;
  const bool broke = error.code == Errc::kUnavailable || error.code == Errc::kTimeout;
  made.code = broke ? kTransportCode : 1;
  made.message = error.context.empty() ? error.message() : std::move(error.context);
  return made;
}

YtError yt_error_of(const YsonNode& node) {
  return parse_at(node, 0);
}

Result<YsonNode> parse_json(std::string_view text) {
  JsonOptions options;
  options.encode_utf8 = false;
  const DataFormat format{.options = options, .conversion = {}};
  TRY(const auto source, make_source(format, YsonDocument::kNode));
  YsonTreeBuilder builder;
  TRY_VOID(convert(text, *source, builder));
  return builder.take();
}

Result<YtError> parse_yt_error(std::string_view text) {
  // A map in JSON is `{"key":`, in YSON `{"key"=`.
  const bool is_json = text.find(':') < text.find('=');
  TRY(const YsonNode node, is_json ? parse_json(text) : parse_yson(text));
  if (node.find("code") == nullptr && node.find("message") == nullptr) {
    return fail(Errc::kInvalidArgument, "no error of YTsaurus");
  }
  return yt_error_of(node);
}

std::string describe(const YtError& error) {
  std::string out;
  append(out, error, 0);
  return out;
}

}  // namespace moraine::app
