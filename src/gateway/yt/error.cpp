#include "gateway/yt/error.h"

#include <fmt/format.h>

#include <array>
#include <span>

#include "client/table_errors.h"
#include "yson/yson.h"

namespace moraine::yt {
namespace {

// What a text that has `part`, outside of what it quotes, means. error_codes_test.cpp has the
// errors of the layers below that these are made for.
struct Meaning {
  std::string_view part;
  Code code;
};

constexpr Meaning kInvalidArguments[] = {
    {"Invalid type", Code::kSchemaViolation},
    {"No column", Code::kSchemaViolation},
    {"No such column", Code::kSchemaViolation},
    {"Required column", Code::kSchemaViolation},
    {"is out of range of type", Code::kSchemaViolation},
    {"is not of type", Code::kSchemaViolation},
    {"has no exact value", Code::kSchemaViolation},
    {"Missing required column", Code::kMissingColumn},
    {"Missing key column", Code::kMissingColumn},
    {"is given twice", Code::kDuplicateColumn},
    {"Transaction affects too many", Code::kTooManyRows},
    {"value is too long", Code::kStringTooLong},
    {"Row weight is too large", Code::kRowWeight},
    {"Row is too large", Code::kRowWeight},
    {"Sort order violation", Code::kSortOrder},
    {"Duplicate key", Code::kUniqueKey},
    {"schemas are incompatible", Code::kIncompatibleSchemas},
    {"schema is not valid", Code::kInvalidSchema},
    {"Retention timestamp ", Code::kTimestampRange},
    {"Invalid read timestamp ", Code::kTimestampRange},
    {"tablet retained timestamp ", Code::kTimestampRange},
    {"nested too deeply", Code::kExpressionDepth},
    {"does not have unique keys", Code::kNotSorted},
    {"is an ordered table", Code::kNotSorted},
};
constexpr Meaning kReadOnly[] = {
    {"Cannot read from tablet", Code::kNotMounted},
    {"while  expected", Code::kNotMounted},  // while "mounted" expected
    {"no mounted tablets", Code::kNotMounted},
    {"is not mounted", Code::kNotMounted},
};
constexpr Meaning kAborted[] = {
    {"row lock conflict: row ", Code::kRowConflict},  // What follows is the user's text.
    {"the scan was not used", Code::kTimeout},
    {" is over", Code::kNoTransaction},
    {" and has expired", Code::kNoTransaction},
};
constexpr Meaning kLockConflict[] = {
    {"is already taken by same transaction", Code::kSameTransactionLock},
    {" is taken by descendant transaction", Code::kDescendantLock},
    {" is locked by descendant transaction", Code::kDescendantLock},
    {"pending lock(s) for this node", Code::kPendingLock},
};
constexpr Meaning kOverloaded[] = {
    {"excessive input", Code::kInputRows},
    {"input_row_limit", Code::kInputRows},
    {"excessive output", Code::kOutputRows},
    {"output_row_limit", Code::kOutputRows},
};

// Without what is quoted: names that users have chosen.
std::string outside_quotes(std::string_view text) {
  std::string out;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"')
      quoted = !quoted;
    else if (quoted && text[i] == '\\')
      ++i;
    else if (!quoted)
      out.push_back(text[i]);
  }
  return out;
}

Code meaning_of(const std::string& given, std::span<const Meaning> meanings, Code otherwise) {
  const std::string text = outside_quotes(given);
  for (const Meaning& meaning : meanings) {
    if (text.find(meaning.part) != text.npos) return meaning.code;
  }
  return otherwise;
}

Code code_of(const Error& error) {
  switch (error.code) {
    case Errc::kInvalidArgument:
      return meaning_of(error.context, kInvalidArguments, Code::kGeneric);
    case Errc::kNotFound: return Code::kResolve;
    case Errc::kAlreadyExists: return Code::kAlreadyExists;
    case Errc::kNoSpace: return Code::kAccountLimit;
    case Errc::kReadOnly: return meaning_of(error.context, kReadOnly, Code::kTabletState);
    case Errc::kOverloaded: return meaning_of(error.context, kOverloaded, Code::kQueueLimit);
    case Errc::kTimeout: return Code::kTimeout;
    case Errc::kUnavailable: return Code::kUnavailable;
    case Errc::kAborted: return meaning_of(error.context, kAborted, Code::kRowConflict);
    case Errc::kUnknownOutcome: return Code::kTransport;
    case Errc::kNotHere: return Code::kTabletMoves;
    case Errc::kNotEmpty: return Code::kNotEmpty;
    case Errc::kLockConflict:
      return meaning_of(error.context, kLockConflict, Code::kConcurrentLock);
    case Errc::kNoTransaction: return Code::kNoTransaction;
    case Errc::kCorrupt:
    case Errc::kIo:
    case Errc::kUnsupported:
    case Errc::kConflict: return Code::kGeneric;
  }
  return Code::kGeneric;
}

std::optional<std::string> write_line(const YsonNode& node, const DataFormat& format) {
  std::string out;
  DataFormat in_line = format;
  if (auto* yson = std::get_if<YsonOptions>(&in_line.options)) yson->format = YsonFormat::kText;
  if (auto* json = std::get_if<JsonOptions>(&in_line.options)) json->pretty = false;
  const auto sink = make_sink(out, in_line, YsonDocument::kNode);
  if (!sink || !emit(node, **sink)) return std::nullopt;
  return out;
}

}  // namespace

YtError::YtError(Error error)
    : code(code_of(error)), attributes(client::table_error_attributes(error)) {
  message = std::move(error.context);
  if (message.empty()) message = to_string(error.code);
  if (code == Code::kRowConflict && message.find("Row lock conflict") == message.npos) {
    message = "Row lock conflict due to concurrent write: " + message;
  }
  if (error.code == Errc::kUnsupported && message.find("not supported") == message.npos) {
    message += " (not supported)";
  }
}

YtError YtError::within(std::string text) && {
  YtError outer(Code::kGeneric, std::move(text));
  outer.inner.push_back(std::move(*this));
  return outer;
}

std::unexpected<YtError> not_supported(std::string_view what) {
  return refuse(Code::kGeneric, fmt::format("{} is not supported", what));
}

YsonNode to_yson(const YtError& error) {
  YsonMap map;
  map.set("code", static_cast<std::int64_t>(error.code));
  map.set("message", error.message);
  map.set("attributes", error.attributes);
  if (!error.inner.empty()) {
    YsonList inner;
    for (const YtError& one : error.inner) inner.push_back(to_yson(one));
    map.set("inner_errors", std::move(inner));
  }
  return map;
}

std::string error_text(const YtError& error, const DataFormat& format, std::size_t bytes_max) {
  DataFormat plain_json;
  plain_json.options = JsonOptions{};
  const auto fitting = [&](const YsonNode& node) -> std::optional<std::string> {
    std::optional<std::string> text = write_line(node, format);
    if (!text) text = write_line(node, plain_json);
    if (text && text->size() <= bytes_max) return text;
    return std::nullopt;
  };
  if (auto text = fitting(to_yson(error))) return *text;
  YtError less(error.code, error.message);
  // The innermost number is often the one that a client looks for.
  for (const YtError* at = &error; !at->inner.empty();) {
    at = &at->inner.front();
    if (at->code != Code::kGeneric) {
      less.inner.emplace_back(at->code, at->message.substr(0, 200));
      break;
    }
  }
  if (auto text = fitting(to_yson(less))) return *text;
  // Bytes that are escaped take up to six.
  less.message.resize(std::min(less.message.size(), bytes_max / 8));
  if (auto text = fitting(to_yson(less))) return *text;
  less.inner.clear();
  less.message.clear();
  return fitting(to_yson(less)).value_or("{}");
}

}  // namespace moraine::yt
