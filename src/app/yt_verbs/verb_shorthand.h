// Shorthand for the tables of verbs: the kinds of arguments that many of them have.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "app/yt_verbs/verb.h"

namespace moraine::app {

// The tables, in the order of the help.
std::vector<Verb> tree_verbs();
std::vector<Verb> transaction_verbs();
std::vector<Verb> table_verbs();
std::vector<Verb> row_verbs();
std::vector<Verb> other_verbs();

namespace shorthand {

using Argument = VerbArgument;
using Kind = VerbArgument::Kind;
using Place = VerbArgument::Place;
using Count = VerbArgument::Count;
using Prints = Verb::Prints;

inline constexpr std::string_view kTree = "Tree (verbs of yt)";
inline constexpr std::string_view kTransactions = "Transactions (verbs of yt)";
inline constexpr std::string_view kTables = "Tables (verbs of yt)";
inline constexpr std::string_view kRows = "Rows (verbs of yt)";
inline constexpr std::string_view kOther = "Others (verbs of yt)";

inline Argument path(std::string_view name = "path",
                     std::string_view help = "Path in the tree: //tmp/t") {
  return {.name = name,
          .kind = Kind::kPath,
          .help = help,
          .place = Place::kEither,
          .required = true,
          .parameter = name == "table" || name == "destination" ? "path" : name};
}

inline Argument flag(std::string_view name, std::string_view help = "", char letter = 0) {
  return {.name = name, .kind = Kind::kFlag, .help = help, .letter = letter};
}

inline Argument local_flag(std::string_view name, std::string_view help, char letter = 0) {
  return {.name = name, .kind = Kind::kFlag, .help = help, .letter = letter, .local = true};
}

// Clears the parameter of another option.
inline Argument clear(std::string_view name, std::string_view parameter) {
  return {.name = name, .kind = Kind::kClear, .help = "The opposite", .parameter = parameter};
}

inline Argument text(std::string_view name, std::string_view help = "") {
  return {.name = name, .kind = Kind::kText, .help = help};
}

inline Argument integer(std::string_view name, std::string_view help = "") {
  return {.name = name, .kind = Kind::kInteger, .help = help};
}

inline Argument yson(std::string_view name, std::string_view help) {
  return {.name = name, .kind = Kind::kYson, .help = help};
}

inline Argument choice(std::string_view name, std::string_view choices,
                       std::string_view help = "") {
  return {.name = name, .help = help, .choices = choices};
}

inline Argument format(std::string_view help) {
  return {.name = "format", .kind = Kind::kFormat, .help = help, .local = true};
}

inline Argument document_format() {
  return format("Of the answer: yson, json, '<format=text>yson'");
}

inline Argument attributes() {
  return {.name = "attribute",
          .help = "Also returned: this attribute",
          .count = Count::kRepeated,
          .parameter = "attributes"};
}

inline Argument word(std::string_view name, std::string_view help, bool local = true) {
  return {
      .name = name, .help = help, .place = Place::kPositional, .required = true, .local = local};
}

inline Argument rows() {
  return {.name = "rows",
          .help = "Rows, instead of standard input (moraine)",
          .place = Place::kPositional,
          .count = Count::kSeveral,
          .local = true};
}

using Arguments = std::vector<Argument>;

inline Arguments joined(std::initializer_list<Arguments> parts) {
  Arguments all;
  for (const Arguments& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

inline Arguments read_options() {
  return {flag("suppress-transaction-coordinator-sync", "Accepted for yt's sake"),
          text("read-from", "`cache`: an older answer will do"),
          integer("cache-sticky-group-size")};
}

}  // namespace shorthand
}  // namespace moraine::app
