// Arguments: the words after a verb, by its table.
//
// clang-format off
//   words  = { "--name" [value] | "--name=value" | "-" letters | "-" letter value | word | "--" }
//   A name may be cut where it stays unique. A word after "--" is positional, and so is a number.
// clang-format on
//
// Promise    Pure. The rules are those of Python's argparse, which `yt` uses.
// Errors     kInvalidArgument names the argument and says what is expected.
// Tests      arguments_test.cpp
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/yt_verbs/verb.h"
#include "base/result.h"
#include "yson/node.h"

namespace moraine::app {

struct YtArguments {
  YsonMap parameters;  // Of the call.
  YsonMap local;       // For this program, by key().
  bool help = false;   // -h was given; nothing else is checked.

  // Empty: not given.
  std::string text(std::string_view key) const;
  bool flag(std::string_view key) const;
};

// `prefix`: of relative paths, when --prefix is not given.
Result<YtArguments> parse_arguments(const Verb& verb, std::span<const std::string> words,
                                    std::string_view prefix = {});
// `//a`, `/`, `#id` and those with attributes `<...>//a` stay as they are; others begin at
// `prefix`.
Result<std::string> resolve_path(std::string_view path, std::string_view prefix);
// The path without attributes before it and ranges and columns behind it.
std::string plain_path(std::string_view path);
std::string help_of(const Verb& verb);

}  // namespace moraine::app
