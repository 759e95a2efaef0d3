// The tables of verbs about tables and their tablets.
#include "app/yt_verbs/verb_runs.h"
#include "app/yt_verbs/verb_shorthand.h"

namespace moraine::app {

using namespace shorthand;

namespace {

Arguments tablet_range() {
  return {path(), integer("first-tablet-index", "Of a range of tablets"),
          integer("last-tablet-index", "Inclusive")};
}

Argument sync() {
  return local_flag("sync", "Wait until the tablets are there");
}

std::vector<Verb> tablet_verbs() {
  const auto with = [](Arguments more) { return joined({tablet_range(), std::move(more)}); };
  return {
      {.name = "mount-table",
       .group = kTables,
       .help = "Mount a table: its rows can be used",
       .command = "mount_table",
       .arguments = with({flag("freeze", "Mount it frozen"),
                          sync(),
                          text("cell-id", "Of the cell that serves it"),
                          {.name = "target-cell-ids",
                           .help = "A cell for each tablet",
                           .count = Count::kSeveral}}),
       .run = run_tablets,
       .example = "  moraine mount-table //tmp/t --sync\n"},
      {.name = "unmount-table",
       .group = kTables,
       .help = "Unmount a table; rows are flushed",
       .command = "unmount_table",
       .arguments = with({flag("force", "Without a flush: rows are lost"), sync()}),
       .run = run_tablets},
      {.name = "remount-table",
       .group = kTables,
       .help = "Apply changed settings",
       .command = "remount_table",
       .arguments = with({}),
       .run = run_tablets},
      {.name = "freeze-table",
       .group = kTables,
       .help = "Make a table read-only; rows are flushed",
       .command = "freeze_table",
       .arguments = with({sync()}),
       .run = run_tablets},
      {.name = "unfreeze-table",
       .group = kTables,
       .help = "Make a table writable again",
       .command = "unfreeze_table",
       .arguments = with({sync()}),
       .run = run_tablets},
      {.name = "reshard-table",
       .group = kTables,
       .help = "Change where its tablets begin",
       .command = "reshard_table",
       .arguments = with(
           {{.name = "pivot-keys",
             .kind = Kind::kYson,
             .help = "First keys: '[]' '[10]' '[20]'",
             .place = Place::kPositional,
             .count = Count::kSeveral},
            integer("tablet-count", "Instead of pivot keys"),
            sync(),
            flag("uniform", "Pivots split the range of the first key column evenly"),
            {.name = "slicing-accuracy", .kind = Kind::kNumber},
            {.name = "trimmed-row-counts", .kind = Kind::kInteger, .count = Count::kSeveral},
            {.name = "cumulative-data-weights", .kind = Kind::kInteger, .count = Count::kSeveral},
            flag("enable-slicing"),
            clear("no-enable-slicing", "enable-slicing")}),
       .run = run_tablets,
       .example = "  moraine reshard-table //tmp/t '[]' '[10]' '[20]' --sync\n"},
      {.name = "reshard-table-automatic",
       .group = kTables,
       .help = "Let the balancer reshard",
       .command = "reshard_table_automatic",
       .arguments = {path(), sync()},
       .run = run_tablets},
  };
}

std::vector<Verb> whole_table_verbs() {
  return {
      {.name = "alter-table",
       .group = kTables,
       .help = "Change the schema, or make it dynamic",
       .command = "alter_table",
       .arguments = {path(), yson("schema", "The new schema: a list of columns"),
                     flag("dynamic", "Make a static table dynamic"), clear("static", "dynamic"),
                     text("upstream-replica-id")}},
      {.name = "trim-rows",
       .group = kTables,
       .help = "Drop the first rows of an ordered table",
       .command = "trim_rows",
       .arguments = {path(),
                     {.name = "tablet-index",
                      .kind = Kind::kInteger,
                      .place = Place::kPositional,
                      .required = true},
                     {.name = "trimmed-row-count",
                      .kind = Kind::kInteger,
                      .place = Place::kPositional,
                      .required = true}}},
      {.name = "get-tablet-infos",
       .group = kTables,
       .help = "Row counts and times of tablets",
       .command = "get_tablet_infos",
       .arguments = {path(),
                     {.name = "tablet-indexes",
                      .kind = Kind::kInteger,
                      .help = "Which tablets",
                      .count = Count::kSeveral},
                     document_format()},
       .prints = Prints::kDocument},
      {.name = "get-tablet-errors",
       .group = kTables,
       .help = "Errors of background work",
       .command = "get_tablet_errors",
       .arguments = {path(), integer("limit", "Of tablets"), document_format()},
       .prints = Prints::kDocument},
      {.name = "create-temp-table",
       .group = kTables,
       .help = "Create a table that expires; prints its path",
       .command = "create",
       .arguments = {{.name = "path", .kind = Kind::kPath, .help = "Its folder", .local = true},
                     {.name = "name-prefix", .local = true},
                     {.name = "expiration-timeout",
                      .kind = Kind::kInteger,
                      .help = "Milliseconds without use (default: 7 days)",
                      .local = true},
                     yson("attributes", "Of the table")},
       .run = run_create_temp_table},
  };
}

}  // namespace

std::vector<Verb> table_verbs() {
  std::vector<Verb> all;
  for (auto& part : {tablet_verbs(), whole_table_verbs()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace moraine::app
