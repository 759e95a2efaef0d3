// Functions of regular expressions, with RE2.

#include <fmt/format.h>
#include <re2/re2.h>

#include "query/function/call.h"

namespace moraine::query {
namespace {

using F = Function;

re2::StringPiece piece(std::string_view text) {
  return {text.data(), text.size()};
}

// The pattern and the texts are UTF-8.
Result<std::unique_ptr<re2::RE2>> compile(std::string_view pattern) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  auto compiled = std::make_unique<re2::RE2>(piece(pattern), options);
  if (compiled->ok()) return compiled;
  return fail(Errc::kInvalidArgument,
              fmt::format("Error parsing regular expression: {}", compiled->error()));
}

Result<Value> kept(std::string text, table::TextMemory& memory) {
  if (text.size() > kResultBytesMax) {
    return fail(Errc::kInvalidArgument, "a text is longer than 16 MiB");
  }
  return memory.keep(std::move(text));
}

Result<void> check_rewrite(const re2::RE2& pattern, std::string_view rewrite) {
  std::string error;
  if (pattern.CheckRewriteString(piece(rewrite), &error)) return {};
  return fail(Errc::kInvalidArgument, fmt::format("Error in rewrite pattern: {}", error));
}

}  // namespace

Result<bool> regex_full_match(std::string_view pattern, std::string_view text) {
  TRY(const auto compiled, compile(pattern));
  return re2::RE2::FullMatch(piece(text), *compiled);
}

Result<Value> call_regex_function(Function function, std::span<const Value> arguments,
                                  table::TextMemory& memory) {
  if (function == F::kRegexEscape) {
    return kept(re2::RE2::QuoteMeta(piece(arguments[0].text())), memory);
  }
  const bool matches = function == F::kRegexFullMatch || function == F::kRegexPartialMatch;
  if (matches && (arguments[0].is_null() || arguments[1].is_null())) return false;
  TRY(const auto compiled, compile(arguments[0].text()));
  const std::string_view text = arguments[1].text();
  if (function == F::kRegexFullMatch) return re2::RE2::FullMatch(piece(text), *compiled);
  if (function == F::kRegexPartialMatch) return re2::RE2::PartialMatch(piece(text), *compiled);

  const std::string_view rewrite = arguments[2].text();
  TRY_VOID(check_rewrite(*compiled, rewrite));
  std::string result(text);
  if (function == F::kRegexReplaceFirst) {
    re2::RE2::Replace(&result, *compiled, piece(rewrite));
  } else if (function == F::kRegexReplaceAll) {
    re2::RE2::GlobalReplace(&result, *compiled, piece(rewrite));
  } else {
    std::string extracted;
    if (!re2::RE2::Extract(piece(text), *compiled, piece(rewrite), &extracted)) return Value();
    result = std::move(extracted);
  }
  return kept(std::move(result), memory);
}

}  // namespace moraine::query
