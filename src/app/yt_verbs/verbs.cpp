#include <algorithm>

#include "app/yt_verbs/verb.h"
#include "app/yt_verbs/verb_shorthand.h"

namespace moraine::app {
namespace {

using Kind = VerbArgument::Kind;

std::vector<Verb> make_verbs() {
  std::vector<Verb> all;
  for (auto& part :
       {tree_verbs(), transaction_verbs(), table_verbs(), row_verbs(), other_verbs()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  // The short names of `yt`.
  for (const auto& [alias, name] :
       {std::pair{"select", "select-rows"}, std::pair{"lookup", "lookup-rows"},
        std::pair{"insert", "insert-rows"}, std::pair{"delete", "delete-rows"},
        std::pair{"read", "read-table"}, std::pair{"write", "write-table"},
        std::pair{"download", "read-file"}, std::pair{"upload", "write-file"}}) {
    Verb verb = *std::ranges::find(all, name, &Verb::name);
    verb.name = alias;
    verb.group = "";
    all.push_back(std::move(verb));
  }
  return all;
}

}  // namespace

const std::vector<Verb>& yt_verbs() {
  static const std::vector<Verb> verbs = make_verbs();
  return verbs;
}

const Verb* find_verb(std::string_view name) {
  const auto& verbs = yt_verbs();
  const auto found = std::ranges::find(verbs, name, &Verb::name);
  return found == verbs.end() ? nullptr : &*found;
}

const std::vector<VerbArgument>& common_arguments() {
  static const std::vector<VerbArgument> arguments{
      {.name = "proxy", .help = "Address (default: YT_PROXY, else 127.0.0.1:8080)", .local = true},
      {.name = "http", .help = "The same (moraine)", .parameter = "proxy", .local = true},
      {.name = "tx", .help = "Run in this transaction", .local = true},
      {.name = "prefix", .help = "Of relative paths (default: YT_PREFIX)", .local = true},
      {.name = "ping-ancestor-txs",
       .kind = Kind::kFlag,
       .help = "Also prolong parents",
       .local = true},
      {.name = "params",
       .kind = Kind::kYson,
       .help = "More parameters of the call: a map",
       .local = true},
      {.name = "log-level", .help = "debug, info, warning, error, off", .local = true},
  };
  return arguments;
}

}  // namespace moraine::app
