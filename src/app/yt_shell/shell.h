// moraine shell: queries and verbs, typed at a terminal or read from a script.
//
// Promise    At a terminal: a prompt, history, completion, rows as tables with their count and
//            time; Ctrl-C drops the statement that is typed, or ends the call that runs. From
//            --execute or standard input: no prompts; the first statement that fails ends it with
//            its exit code. An error in a query shows its place with a caret.
// Threading  One thread.
// Limits     Statements: statement.h. Names for completion are kept for kNamesKept.
// Tests      shell_test.cpp, app/cli_yt_test.cpp
#pragma once

#include <chrono>

#include "app/yt_verbs/verb.h"

namespace moraine::app {

inline constexpr auto kNamesKept = std::chrono::seconds(5);

// Its options, as a verb's.
const Verb& shell_verb();
int run_shell(YtArguments arguments);

// The error; if it has a `position` in the query, also the line and a caret below the place.
std::string describe_query_error(const YtError& error, std::string_view query);

}  // namespace moraine::app
