// YtSession: where a verb is run: the proxy, what it reads and where it prints.
//
// Promise    Answers go to standard output, in pieces as they arrive; progress and hints to
//            standard error, on a terminal only.
// Threading  One thread.
// Errors     kIo: standard output cannot be written. When its reader is gone (`| head`), `closed`
//            is set, too: that is no failure of a program.
// Tests      app/cli_yt_test.cpp
#pragma once

#include <string>
#include <string_view>

#include "app/yt_client/yt_client.h"
#include "app/yt_verbs/arguments.h"
#include "app/yt_verbs/verb.h"

namespace moraine::app {

struct YtSession {
  YtClient& client;
  bool terminal = false;    // Tables for people, where no format is asked for.
  int input = -1;           // Rows and values are read from here; -1: from nowhere.
  std::string format = {};  // Of verbs without --format.
  bool times = false;       // How long a query took is printed behind the count of its rows.
  bool closed = false;
  bool printed = false;  // Something, since this was cleared.

  Result<void> print(std::string_view text);
};

// Calls what the table says and prints what it says; returns the exit code.
YtResult<int> run_verb(YtSession& session, const Verb& verb, YtArguments arguments);

// --format, or that of the session; empty: neither.
std::string format_of(const YtSession& session, const YtArguments& arguments);
// The same as a node: `json` and `<format=text>yson` are both YSON.
Result<YsonNode> format_node(std::string_view format);
// Prints a document, and a line end that is missing.
Result<void> print_document(YtSession& session, std::string_view text);
// A path, and what follows it: `/@schema`.
YsonMap path_parameters(const std::string& path, std::string_view rest = "");
// The parameters of the transaction: --tx, --ping-ancestor-txs.
void add_transaction(const YtArguments& arguments, YsonMap& parameters);

}  // namespace moraine::app
