// The verbs of `yt` as commands of this program.
//
// Promise    `moraine VERB ...` takes the words that `yt VERB ...` takes. Verbs and other commands
//            have different names, so the first word that is no option says which of them is meant;
//            options that belong to all verbs may stand before it.
// Errors     Exit codes: exit_code.h. 1: the cluster answered with an error; 2: wrong arguments; 5:
//            no cluster was reached. A reader of standard output that is gone is no failure.
// Tests      program_test.cpp, app/cli_yt_test.cpp
#pragma once

#include <optional>
#include <span>
#include <string>

#include "app/yt_client/yt_client.h"
#include "app/yt_verbs/arguments.h"

namespace moraine::app {

// The place of the verb, or of `shell`; nothing: the words are for other commands.
std::optional<std::size_t> find_verb_word(std::span<const std::string> words);
// Requires: words[at] is what find_verb_word() found. Options before it are passed on to it.
int run_verb_words(std::span<const std::string> words, std::size_t at);

// Of --proxy, YT_PROXY and the default; with a token of YT_TOKEN or YT_TOKEN_PATH.
Result<YtClientOptions> client_options(const YtArguments& arguments);
// Prints the error and returns its exit code.
int report_yt(const YtError& error);

}  // namespace moraine::app
