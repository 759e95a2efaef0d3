#include "app/yt_shell/complete.h"

#include <algorithm>
#include <array>

#include "app/yt_verbs/verb.h"
#include "query/function/functions.h"

namespace moraine::app {
namespace {

constexpr std::array<std::string_view, 46> kKeywords{
    "and",        "array join",  "as",       "asc",    "between", "by",      "case",
    "cast",       "desc",        "else",     "end",    "escape",  "explain", "false",
    "from",       "group by",    "having",   "ilike",  "in",      "is",      "join",
    "left",       "left join",   "like",     "limit",  "not",     "null",    "offset",
    "on",         "or",          "order by", "regexp", "rlike",   "select",  "then",
    "totals",     "transform",   "true",     "using",  "when",    "where",   "with hint",
    "with index", "with totals", "analyze",  "inf"};
constexpr std::array<std::string_view, 5> kStarts{"select", "explain", "help", "quit", "exit"};

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

std::string in_case(std::string_view word, bool upper) {
  std::string out(word);
  for (char& c : out) {
    if (upper && c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
  }
  return out;
}

bool begins(std::string_view word, std::string_view begun) {
  return word.size() >= begun.size() &&
         std::ranges::equal(word.substr(0, begun.size()), begun,
                            [](char a, char b) { return lower(a) == lower(b); });
}

// A word in capitals is completed in capitals.
bool is_upper(std::string_view begun) {
  return !begun.empty() && std::ranges::all_of(begun, [](char c) { return c < 'a' || c > 'z'; }) &&
         std::ranges::any_of(begun, [](char c) { return c >= 'A' && c <= 'Z'; });
}

std::string_view first_word(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\n\r");
  if (begin == text.npos) return {};
  const std::size_t end = text.find_first_of(" \t\n\r", begin);
  return text.substr(begin, end == text.npos ? end : end - begin);
}

// The tables that a query names so far: `[//path]` and `` `//path` ``.
std::vector<std::string> tables_of(std::string_view text) {
  std::vector<std::string> tables;
  for (std::size_t at = text.find("//"); at != text.npos; at = text.find("//", at + 2)) {
    if (at == 0 || (text[at - 1] != '[' && text[at - 1] != '`')) continue;
    const std::size_t end = text.find_first_of("]`", at);
    if (end == text.npos) break;
    tables.emplace_back(text.substr(at, end - at));
  }
  return tables;
}

void complete_path(std::string_view begun, NameSource& names, std::vector<std::string>& words) {
  const std::size_t slash = begun.rfind('/');
  std::string folder(begun.substr(0, slash));
  std::string_view name = begun.substr(slash + 1);
  const bool attribute = name.starts_with('@');
  std::string kept(begun.substr(0, slash + 1));
  if (attribute) {
    name.remove_prefix(1);
    kept += '@';
  }
  if (folder == "/") folder = "//";  // Of `//name`.
  if (folder.empty()) return;
  for (std::string& child : attribute ? names.attributes(folder) : names.children(folder)) {
    if (!child.starts_with(name)) continue;
    words.push_back(kept + std::move(child));
  }
}

void complete_options(const Verb& verb, std::string_view begun, std::vector<std::string>& words) {
  for (const auto* list : {&verb.arguments, &common_arguments()}) {
    for (const VerbArgument& argument : *list) {
      const std::string option = "--" + std::string(argument.name);
      const bool positional = argument.place == VerbArgument::Place::kPositional;
      if (!positional && option.starts_with(begun)) words.push_back(option + " ");
    }
  }
}

void complete_query(std::string_view text, std::string_view begun, NameSource& names,
                    std::vector<std::string>& words) {
  for (const std::string& table : tables_of(text)) {
    for (const std::string& column : names.columns(table)) {
      if (column.starts_with(begun)) words.push_back(column + " ");
    }
  }
  const bool upper = is_upper(begun);
  for (const std::string_view keyword : kKeywords) {
    if (begins(keyword, begun)) words.push_back(in_case(keyword, upper) + " ");
  }
  for (const auto& function : query::all_functions()) {
    if (begins(function.name, begun)) words.push_back(in_case(function.name, upper) + "(");
  }
  for (const auto& aggregate : query::all_aggregates()) {
    if (begins(aggregate.name, begun)) words.push_back(in_case(aggregate.name, upper) + "(");
  }
}

}  // namespace

Completion complete(std::string_view text, NameSource& names) {
  Completion found;
  const std::size_t last = text.find_last_of(kCompletionBreaks);
  found.from = last == text.npos ? 0 : last + 1;
  const std::string_view begun = text.substr(found.from);
  const std::string_view before = text.substr(0, found.from);
  const std::string_view first = first_word(text);
  if (first_word(before).empty()) {
    for (const std::string_view start : kStarts) {
      if (begins(start, begun)) found.words.push_back(in_case(start, is_upper(begun)) + " ");
    }
    for (const Verb& verb : yt_verbs()) {
      if (verb.name.starts_with(begun)) found.words.push_back(std::string(verb.name) + " ");
    }
  } else if (begun.starts_with("//")) {
    complete_path(begun, names, found.words);
  } else {
    const std::string name = in_case(first, false);
    const Verb* verb = begins("select", name) && name.size() == 6 ? nullptr : find_verb(first);
    const bool asks =
        verb == nullptr || verb->command == "select_rows" || verb->command == "explain_query";
    if (verb != nullptr && begun.starts_with('-')) {
      complete_options(*verb, begun, found.words);
    } else if (asks) {
      complete_query(text, begun, names, found.words);
    }
  }
  std::ranges::sort(found.words);
  const auto again = std::ranges::unique(found.words);
  found.words.erase(again.begin(), again.end());
  if (found.words.size() > kCompletionsMax) found.words.resize(kCompletionsMax);
  return found;
}

}  // namespace moraine::app
