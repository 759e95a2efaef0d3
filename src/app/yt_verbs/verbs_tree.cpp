// The tables of verbs about the tree and about transactions.
#include "app/yt_verbs/verb_runs.h"
#include "app/yt_verbs/verb_shorthand.h"

namespace moraine::app {

using namespace shorthand;

namespace {

Arguments create_flags() {
  return {flag("recursive", "Also the parents that are missing", 'r'),
          flag("ignore-existing", "It is no error that it exists", 'i'),
          flag("lock-existing", "Lock it if it exists", 'l'),
          flag("force", "Replace what exists", 'f')};
}

Arguments preserved() {
  Arguments all;
  for (const auto& [name, opposite] : {std::pair{"preserve-account", "no-preserve-account"},
                                       std::pair{"preserve-owner", "no-preserve-owner"},
                                       std::pair{"preserve-acl", "no-preserve-acl"}}) {
    all.push_back(flag(name));
    all.push_back(clear(opposite, name));
  }
  for (const char* name : {"preserve-creation-time", "preserve-modification-time",
                           "preserve-expiration-time", "preserve-expiration-timeout"}) {
    all.push_back(flag(name));
  }
  all.push_back(clear("no-pessimistic-quota-check", "pessimistic-quota-check"));
  return all;
}

std::vector<Verb> reading_verbs() {
  return {
      {.name = "exists",
       .group = kTree,
       .help = "Check whether a node exists",
       .command = "exists",
       .arguments = joined({{path()}, read_options()}),
       .run = run_exists},
      {.name = "list",
       .group = kTree,
       .help = "List the children of a map node",
       .command = "list",
       .arguments = joined({{path(), local_flag("long-format", "Types, sizes and times", 'l'),
                             document_format(), attributes(), integer("max-size"),
                             local_flag("recursive-resource-usage", "Accepted for yt's sake"),
                             local_flag("absolute", "Print whole paths")},
                            read_options()}),
       .run = run_list,
       .example = "  moraine list //tmp -l\n"},
      {.name = "find",
       .group = kTree,
       .help = "Search nodes below a path",
       .command = "get",
       .arguments = joined(
           {{path(),
             {.name = "name", .help = "Pattern: * ? [abc]", .local = true},
             {.name = "type", .help = "table, map_node, ...", .local = true},
             {.name = "account", .local = true},
             {.name = "owner", .local = true},
             local_flag("follow-links", "Also below links"),
             {.name = "attribute-filter", .help = "k1=v1;k2=v2", .local = true},
             {.name = "depth", .kind = Kind::kInteger, .help = "0: only the node", .local = true},
             local_flag("long-format", "Types, sizes and times", 'l'),
             local_flag("recursive-resource-usage", "Accepted for yt's sake"),
             {.name = "time-type",
              .choices = "access_time|modification_time|creation_time",
              .local = true}},
            read_options()}),
       .run = run_find,
       .example = "  moraine find //tmp --type table --name 'log*'\n"},
      {.name = "get",
       .group = kTree,
       .help = "Print a node, an attribute, a whole subtree",
       .command = "get",
       .arguments =
           joined({{path(), integer("max-size"), document_format(), attributes()}, read_options()}),
       .prints = Prints::kDocument,
       .example =
           "  moraine get //tmp/t/@tablet_state\n  moraine get //tmp/t/@schema --format json\n"},
  };
}

std::vector<Verb> writing_verbs() {
  const Argument value{.name = "value",
                       .help = "YSON; otherwise standard input",
                       .place = Place::kEither,
                       .local = true};
  return {
      {.name = "create",
       .group = kTree,
       .help = "Create a table, a map_node, a document, ...",
       .command = "create",
       .arguments = joined({{{.name = "type",
                              .help = "table, map_node, file, document, ...",
                              .place = Place::kEither,
                              .required = true},
                             {.name = "path",
                              .kind = Kind::kPath,
                              .help = "Path in the tree",
                              .place = Place::kEither}},
                            create_flags(),
                            {yson("attributes", "A map: {dynamic=%true;schema=[...]}")}}),
       .prints = Prints::kField,
       .field = "node_id",
       .example = "  moraine create table //tmp/t --attributes \\\n"
                  "    '{dynamic=%true;schema=[{name=k;type=int64;sort_order=ascending};"
                  "{name=v;type=string}]}'\n"},
      {.name = "set",
       .group = kTree,
       .help = "Set a node or an attribute",
       .command = "set",
       .arguments = {path(), value, format("Of the value: yson, json"),
                     flag("recursive", "Also the parents that are missing", 'r'),
                     flag("force", "Also a whole map", 'f'),
                     flag("suppress-transaction-coordinator-sync", "Accepted for yt's sake")},
       .run = run_set,
       .example = "  moraine set //tmp/t/@forced_compaction_revision 1\n"},
      {.name = "set-attribute",
       .group = kTree,
       .help = "Set an attribute",
       .command = "set",
       .arguments = {path(), word("name", "Of the attribute"), word("value", "YSON"),
                     flag("recursive", "", 'r')},
       .run = run_set_attribute},
      {.name = "remove",
       .group = kTree,
       .help = "Remove a node or an attribute",
       .command = "remove",
       .arguments = {path(), flag("recursive", "Also what is below it", 'r'),
                     flag("force", "It is no error that it is missing", 'f')}},
      {.name = "remove-attribute",
       .group = kTree,
       .help = "Remove an attribute",
       .command = "remove",
       .arguments = {path(), word("name", "Of the attribute"), flag("recursive", "", 'r')},
       .run = run_remove_attribute},
  };
}

std::vector<Verb> moving_verbs() {
  return {
      {.name = "copy",
       .group = kTree,
       .help = "Copy a node",
       .command = "copy",
       .arguments =
           joined({{path("source-path"), path("destination-path")}, create_flags(), preserved()})},
      {.name = "move",
       .group = kTree,
       .help = "Move or rename a node",
       .command = "move",
       .arguments = joined({{path("source-path"), path("destination-path"),
                             flag("recursive", "Also the parents that are missing", 'r'),
                             flag("force", "Replace what exists", 'f')},
                            preserved()})},
      {.name = "link",
       .group = kTree,
       .help = "Create a link to a node",
       .command = "link",
       .arguments = joined({{path("target-path"), path("link-path")},
                            create_flags(),
                            {yson("attributes", "Of the link")}})},
      {.name = "concatenate",
       .group = kTree,
       .help = "Concatenate files or static tables",
       .command = "concatenate",
       .arguments = {{.name = "src",
                      .kind = Kind::kPath,
                      .help = "A source",
                      .count = Count::kRepeated,
                      .required = true,
                      .parameter = "source_paths"},
                     {.name = "dst",
                      .kind = Kind::kPath,
                      .help = "The destination",
                      .required = true,
                      .parameter = "destination_path"}}},
  };
}

}  // namespace

std::vector<Verb> tree_verbs() {
  std::vector<Verb> all;
  for (auto& part : {reading_verbs(), writing_verbs(), moving_verbs()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::vector<Verb> transaction_verbs() {
  const Argument id{.name = "transaction",
                    .help = "Its id: 5c51-24e204-1-9f3f6437",
                    .place = Place::kEither,
                    .required = true,
                    .parameter = "transaction_id"};
  return {
      {.name = "start-tx",
       .group = kTransactions,
       .help = "Start a transaction; prints its id",
       .command = "start_transaction",
       .arguments = {yson("attributes", "Of the transaction"),
                     integer("timeout", "Milliseconds from the last ping to its end"),
                     {.name = "type",
                      .help = "Of the tree, or of rows (moraine)",
                      .choices = "master|tablet",
                      .local = true}},
       .run = run_start_transaction,
       .example =
           "  tx=$(moraine start-tx --timeout 60000)\n  moraine create table //tmp/t --tx $tx\n"
           "  moraine commit-tx $tx\n"},
      {.name = "commit-tx",
       .group = kTransactions,
       .help = "Commit a transaction",
       .command = "commit_transaction",
       .arguments = {id}},
      {.name = "abort-tx",
       .group = kTransactions,
       .help = "Abort a transaction",
       .command = "abort_transaction",
       .arguments = {id}},
      {.name = "ping-tx",
       .group = kTransactions,
       .help = "Prolong a transaction",
       .command = "ping_transaction",
       .arguments = {id}},
      {.name = "lock",
       .group = kTransactions,
       .help = "Lock a node in the transaction of --tx",
       .command = "lock",
       .arguments = {path(), choice("mode", "snapshot|shared|exclusive"),
                     flag("waitable", "Queue behind other locks"),
                     integer("wait-for", "Milliseconds to wait"),
                     text("child-key", "Of a shared lock"),
                     text("attribute-key", "Of a shared lock")},
       .prints = Prints::kField,
       .field = "lock_id"},
      {.name = "unlock",
       .group = kTransactions,
       .help = "Unlock a node in the transaction of --tx",
       .command = "unlock",
       .arguments = {path()}},
  };
}

}  // namespace moraine::app
