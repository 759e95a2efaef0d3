// Completion: what may follow where the cursor is in a statement.
//
// clang-format off
//   first word     verbs, SELECT, EXPLAIN, HELP, QUIT
//   //path...      children of the folder; after /@ attributes
//   -...           options of the verb
//   in a query     keywords and functions in the case that was begun, columns of the tables named
// clang-format on
//
// Promise    Pure, but for the names of the cluster, which come from NameSource. A word that is
//            completed ends with a space, a folder with a slash, a function with a parenthesis;
//            other paths with nothing, since a bracket or a quote may follow.
// Limits     kCompletionsMax.
// Tests      complete_test.cpp
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace moraine::app {

inline constexpr std::size_t kCompletionsMax = 1000;
// What ends a word that is completed.
inline constexpr std::string_view kCompletionBreaks = " \t\n\"'`[](){}=,;<>+*%|&!~^";

class NameSource {
 public:
  virtual ~NameSource() = default;
  // Names of nodes below a path; folders end with a slash. Empty: none, or none can be asked.
  virtual std::vector<std::string> children(const std::string& path) = 0;
  virtual std::vector<std::string> attributes(const std::string& path) = 0;
  virtual std::vector<std::string> columns(const std::string& table) = 0;
};

struct Completion {
  std::size_t from = 0;  // In the text: where the completed word begins.
  std::vector<std::string> words;
};

// `text`: the statement up to the cursor.
Completion complete(std::string_view text, NameSource& names);

}  // namespace moraine::app
