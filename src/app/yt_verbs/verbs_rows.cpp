// The tables of verbs about rows and files, and of those that fit nowhere else.
#include "app/yt_verbs/verb_runs.h"
#include "app/yt_verbs/verb_shorthand.h"

namespace moraine::app {

using namespace shorthand;

namespace {

Arguments write_options() {
  return {choice("atomicity", "full|none"), choice("durability", "sync|async"),
          flag("require-sync-replica"), clear("no-require-sync-replica", "require-sync-replica")};
}

Arguments select_options() {
  return {integer("timestamp", "Read as of this timestamp"),
          integer("input-row-limit"),
          integer("output-row-limit"),
          flag("allow-full-scan"),
          clear("forbid-full-scan", "allow-full-scan"),
          flag("allow-join-without-index"),
          clear("forbid-join-without-index", "allow-join-without-index"),
          text("execution-pool"),
          integer("syntax-version"),
          text("udf-registry-path"),
          document_format()};
}

std::vector<Verb> key_verbs() {
  const Argument row_format = format("Of rows: yson, json, dsv, '<columns=[k;v]>schemaful_dsv'");
  const Argument replica = choice("replica-consistency", "none|sync");
  return {
      {.name = "insert-rows",
       .group = kRows,
       .help = "Insert rows into a dynamic table",
       .command = "insert_rows",
       .arguments = joined({{path("table"), rows(), row_format,
                             flag("update", "Columns that are not given stay as they are"),
                             clear("no-update", "update"),
                             flag("aggregate", "Values are added to aggregating columns"),
                             clear("no-aggregate", "aggregate"), text("lock_type")},
                            write_options()}),
       .run = run_insert,
       .example = "  echo '{k=1;v=a};{k=2;v=b}' | moraine insert-rows //tmp/t\n"
                  "  moraine insert-rows //tmp/t --format json < rows.json\n"},
      {.name = "delete-rows",
       .group = kRows,
       .help = "Delete rows by their keys",
       .command = "delete_rows",
       .arguments = joined({{path("table"), rows(), row_format}, write_options()}),
       .run = run_insert,
       .example = "  echo '{k=1}' | moraine delete-rows //tmp/t\n"},
      {.name = "lookup-rows",
       .group = kRows,
       .help = "Print the rows of keys",
       .command = "lookup_rows",
       .arguments = {path("table"),
                     rows(),
                     row_format,
                     integer("timestamp"),
                     flag("versioned", "All versions of the rows"),
                     replica,
                     {.name = "column-name",
                      .help = "Only this column",
                      .count = Count::kRepeated,
                      .parameter = "column_names"}},
       .run = run_lookup,
       .example = "  echo '{k=1}' | moraine lookup-rows //tmp/t\n"},
  };
}

std::vector<Verb> query_verbs() {
  const Argument query{.name = "query",
                       .help = "In the YT query language",
                       .place = Place::kEither,
                       .required = true};
  const Argument row_format = format("Of rows: yson, json, dsv, '<columns=[k;v]>schemaful_dsv'");
  const Argument replica = choice("replica-consistency", "none|sync");
  return {
      {.name = "select-rows",
       .group = kRows,
       .help = "Run a query",
       .command = "select_rows",
       .arguments = joined(
           {{query, flag("verbose-logging"), flag("enable-code-cache"),
             clear("disable-code-cache", "enable-code-cache"), replica,
             local_flag("print-statistics", "On standard error"), flag("merge-versioned-rows"),
             clear("do-not-merge-versioned-rows", "merge-versioned-rows")},
            select_options()}),
       .run = run_select,
       .example = "  moraine select-rows 'k, v from [//tmp/t] where k between 1 and 9'\n"},
      {.name = "explain-query",
       .group = kRows,
       .help = "Show how a query is run",
       .command = "explain_query",
       .arguments = joined({{query}, select_options()}),
       .prints = Prints::kDocument},
      {.name = "read-table",
       .group = kRows,
       .help = "Print the rows of a table",
       .command = "read_table",
       .arguments = {path("table"), row_format, yson("table-reader", "Settings"),
                     yson("control-attributes", "Settings"), flag("unordered"),
                     local_flag("as-json-list", "One JSON list instead of lines"),
                     flag("omit-inaccessible-columns"), flag("omit-inaccessible-rows")},
       .run = run_read_table,
       .example = "  moraine read-table '//tmp/t{k}[1:5]' --format json\n"},
      {.name = "write-table",
       .group = kRows,
       .help = "Write rows into a static table",
       .command = "write_table",
       .arguments = {path("table"), row_format, yson("table-writer", "Settings"),
                     local_flag("compressed", "The input is gzip already"),
                     local_flag("no-compression", "Send rows as they are")},
       .run = run_write_table,
       .example = "  moraine write-table '<append=%true>//tmp/t' --format json < rows.json\n"},
  };
}

std::vector<Verb> file_verbs() {
  return {
      {.name = "read-file",
       .group = kOther,
       .help = "Print a file of the tree",
       .command = "read_file",
       .arguments = {path(), yson("file-reader", "Settings"), integer("offset"), integer("length")},
       .run = run_read_file},
      {.name = "write-file",
       .group = kOther,
       .help = "Write a file of the tree",
       .command = "write_file",
       .arguments = {path("destination"), yson("file-writer", "Settings"), flag("compute-md5"),
                     local_flag("compressed", "The input is gzip already"),
                     local_flag("executable", "Jobs may run it"),
                     local_flag("no-compression", "Send it as it is")},
       .run = run_write_file},
      {.name = "generate-timestamp",
       .group = kOther,
       .help = "Print a new timestamp",
       .command = "generate_timestamp",
       .prints = Prints::kField,
       .field = "timestamp"},
      {.name = "whoami",
       .group = kOther,
       .help = "Print the user",
       .command = "get_current_user",
       .prints = Prints::kField,
       .field = "user"},
  };
}

std::vector<Verb> command_verbs() {
  return {
      {.name = "check-permission",
       .group = kOther,
       .help = "Check a permission",
       .command = "check_permission",
       .arguments = joined({{{.name = "user", .place = Place::kEither, .required = true},
                             {.name = "permission",
                              .help = "read, write, ...",
                              .place = Place::kEither,
                              .required = true},
                             path(),
                             yson("columns", "A list"),
                             document_format(),
                             local_flag("quiet", "Only the exit code tells", 'q')},
                            read_options()}),
       .prints = Prints::kDocument,
       .run = run_check_permission},
      {.name = "get-features",
       .group = kOther,
       .help = "Print what the cluster supports",
       .command = "get_supported_features",
       .arguments = {document_format()},
       .prints = Prints::kDocument},
      {.name = "execute",
       .group = kOther,
       .help = "Run any command of the HTTP API",
       .command = "",
       .arguments = {word("command-name", "select_rows, get, ..."),
                     {.name = "execute-params",
                      .kind = Kind::kYson,
                      .help = "A map in YSON",
                      .place = Place::kPositional,
                      .required = true,
                      .local = true}},
       .run = run_execute,
       .example = "  moraine execute get '{path=\"//tmp/@id\"}'\n"},
      {.name = "execute-batch",
       .group = kOther,
       .help = "Run several commands in one request",
       .command = "execute_batch",
       .arguments = {{.name = "requests",
                      .kind = Kind::kYson,
                      .help = "'{command=get;parameters={path=\"//tmp/@id\"}}'",
                      .place = Place::kPositional,
                      .count = Count::kSeveral,
                      .required = true}},
       .run = run_execute_batch},
  };
}

}  // namespace

std::vector<Verb> row_verbs() {
  std::vector<Verb> all;
  for (auto& part : {key_verbs(), query_verbs()}) all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::vector<Verb> other_verbs() {
  std::vector<Verb> all;
  for (auto& part : {file_verbs(), command_verbs()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace moraine::app
