// Options of `moraine blob ...`.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>

#include "app/cli.h"
#include "app/commands.h"

namespace moraine::app {
namespace {

constexpr const char* kTabletHelp = "The tablet's number, as in the ids of its blobs";
constexpr const char* kYesHelp = "Also on a tablet of the system, a topic or a table";
constexpr const char* kIdHelp = "[tablet:generation:step:channel:cookie:size:0], or 50 hex digits";

void add_target(CLI::App& command, TargetOptions& target) {
  auto* data = command.add_option("--data", target.data,
                                  "Data folder (default ./data); when a server has it open, the "
                                  "command is sent to that server");
  data->type_name("DIR");
  auto* node = command.add_option("--node", target.node, "The http= address of a running node");
  node->type_name("HOST:PORT")->excludes(data);
  command.add_option("--config", target.config, "Ask the nodes of this cluster")
      ->type_name("cluster.yaml")
      ->excludes(data)
      ->excludes(node);
  command.add_option("--group", target.group, "Group in hex (default: the only one)")
      ->type_name("ID");
  command.add_option("--timeout", target.timeout_seconds, "Seconds until the answer is DEADLINE")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.001, kTimeoutSecondsMax))
      ->capture_default_str();
  command.add_flag("--json", target.json, "Answer as JSON");
}

// One subcommand with its options object; `Options` has a TargetOptions target.
template <class Options>
std::shared_ptr<Options> add(CLI::App& parent, Action& action, CLI::App*& command, const char* name,
                             const char* what, int (*run)(const Options&)) {
  command = parent.add_subcommand(name, what);
  auto options = std::make_shared<Options>();
  command->callback([&action, options, run] { action = [options, run] { return run(*options); }; });
  if constexpr (requires { options->target; }) add_target(*command, options->target);
  return options;
}

void add_put_and_get(CLI::App& blob, Action& action) {
  CLI::App* put = nullptr;
  auto fresh =
      add(blob, action, put, "put", "Store a blob; OK means that it is durable", run_blob_put);
  put->add_option("ID", fresh->id, kIdHelp)->required();
  put->add_option("FILE", fresh->file, "Its bytes; - is standard input")->required();
  put->add_flag("--auto", fresh->auto_size, "Take the size in the id from the file");
  put->add_flag("--yes", fresh->yes, kYesHelp);
  put->footer(
      "Examples:\n"
      "  echo hello | moraine blob put '[1:1:1:0:0:6:0]' -\n"
      "  moraine blob put --auto 1:1:2:0:0:0:0 picture.jpg\n");

  CLI::App* get = nullptr;
  auto wanted = add(blob, action, get, "get", "Read a blob or a part of it", run_blob_get);
  get->add_option("ID", wanted->id, kIdHelp)->required();
  get->add_option("--offset", wanted->offset, "First byte")->type_name("BYTES");
  get->add_option("--size", wanted->size, "Bytes; 0: to the end")->type_name("BYTES");
  get->add_option("--output", wanted->output, "File to write; - is standard output")
      ->type_name("FILE")
      ->capture_default_str();
  get->add_flag("--must-restore", wanted->must_restore,
                "Restore missing parts of the blob before returning OK");
  get->footer("Example:\n  moraine blob get '[1:1:1:0:0:6:0]' --offset 1 --size 3\n");
}

void add_range_and_discover(CLI::App& blob, Action& action) {
  CLI::App* range = nullptr;
  auto asked = add(blob, action, range, "range", "List the blobs of a tablet", run_blob_range);
  range->add_option("FROM", asked->from, std::string("First id: ") + kIdHelp);
  range->add_option("TO", asked->to, "Last id; below FROM: descending");
  range->add_option("--tablet", asked->tablet, "All blobs of this tablet's channel");
  range->add_option("--channel", asked->channel, "With --tablet: which channel (default 0)")
      ->check(CLI::Range(0, 255));
  range->add_option("--limit", asked->limit, "At most so many; 0: all");
  range->add_flag("--reverse", asked->reverse, "Newest first");
  range->add_flag("--must-restore", asked->must_restore,
                  "Leave out blobs that were never confirmed, restore the others");
  range->footer("Example:\n  moraine blob range --tablet 1 --channel 0\n");

  CLI::App* discover = nullptr;
  auto newest = add(blob, action, discover, "discover",
                    "Find the newest blob of channel 0, or list all", run_blob_discover);
  discover->add_option("TABLET", newest->tablet, kTabletHelp)->required();
  discover->add_option("--min-generation", newest->min_generation, "Older blobs do not count");
  discover->add_option("--force-block", newest->force_block,
                       "Block the tablet up to this generation before reading");
  discover->add_flag("--yes", newest->yes, kYesHelp);
  discover->add_flag("--list", newest->list, "All confirmed blobs of channel 0, newest first");
  discover->add_flag("--body", newest->body,
                     "Print the blob's bytes; of several (--list) with --json only");
  discover->add_option("--output", newest->output, "File for --body; - is standard output")
      ->type_name("FILE")
      ->capture_default_str();
  discover->footer(
      "Examples:\n  moraine blob discover 1 --body\n  moraine blob discover 1 --list --body "
      "--json\n");
}

void add_block_and_collect(CLI::App& blob, Action& action) {
  CLI::App* block = nullptr;
  auto fence =
      add(blob, action, block, "block", "Reject a tablet's old generations", run_blob_block);
  block->add_option("TABLET", fence->tablet, kTabletHelp)->required();
  block->add_option("GENERATION", fence->generation,
                    "Generation of the starting tablet; every lower one is refused from now on");
  block->add_flag("--show", fence->show, "Only show what is blocked");
  block->add_flag("--yes", fence->yes, kYesHelp);
  block->footer("Examples:\n  moraine blob block 1 5\n  moraine blob block 1 --show\n");

  CLI::App* collect = nullptr;
  auto garbage = add(blob, action, collect, "collect", "Delete blobs that are no longer needed",
                     run_blob_collect);
  collect->add_option("TABLET", garbage->tablet, kTabletHelp)->required();
  collect->add_option("CHANNEL", garbage->channel, "Channel whose blobs are meant")
      ->required()
      ->check(CLI::Range(0, 255));
  collect->add_option("--generation", garbage->generation, "Generation of the tablet that collects")
      ->required();
  collect->add_option("--counter", garbage->counter, "Rises with every collect of a generation");
  collect->add_option("--barrier", garbage->barrier, "Delete everything up to here, unless kept")
      ->type_name("GENERATION:STEP");
  collect->add_flag("--hard", garbage->hard, "Ignore keep flags");
  collect->add_flag("--yes", garbage->yes, kYesHelp);
  collect->add_option("--keep", garbage->keep, "Ids that a barrier spares")->type_name("ID");
  collect->add_option("--do-not-keep", garbage->do_not_keep, "Ids that are spared no longer")
      ->type_name("ID");
  collect->footer(
      "Example:\n"
      "  moraine blob collect 1 0 --generation 2 --counter 1 --barrier 1:7 --keep 1:1:3:0:0:6:0\n");
}

void add_status_and_check(CLI::App& blob, Action& action) {
  CLI::App* status = nullptr;
  auto asked = add(blob, action, status, "status", "Show the state of a group and its disks",
                   run_blob_status);
  status->add_flag(
      "--wait", asked->wait,
      "Wait until all disks are ready and replicated, or the timeout; nodes may still be starting");
  status->footer(
      "Without --group every group is shown.\n"
      "Exit codes: 0 the group survives another failure, 1 no redundancy is left or it does not\n"
      "            serve (with --wait: not whole in time), 5 no disk answered.\n"
      "Example:\n  moraine blob status --node 127.0.0.1:8080 --json\n");

  CLI::App* check = nullptr;
  auto checked = add(blob, action, check, "check",
                     "Verify every checksum and index of a folder that is not served; reads only",
                     run_blob_check);
  auto* data = check->add_option("--data", checked->data, "Data folder (default ./data)");
  data->type_name("DIR");
  auto* config = check->add_option("--config", checked->config, "Check the devices of a cluster");
  config->type_name("cluster.yaml")->excludes(data);
  check->add_option("--node", checked->node, "Only those of this node of the config")
      ->type_name("N")
      ->needs(config);
  check->add_flag("--json", checked->json, "Answer as JSON");
  check->footer("Example:\n  moraine blob check --data ./data\n");
}

}  // namespace

void add_blob_commands(CLI::App& root, Action& action) {
  CLI::App& blob = *root.add_subcommand("blob", "Blobs of a data folder, a node or a cluster");
  blob.require_subcommand(1);
  blob.footer(
      "Examples:\n"
      "  echo hello | moraine blob put '[1:1:1:0:0:6:0]' -\n"
      "  moraine blob get '[1:1:1:0:0:6:0]'\n"
      "  moraine blob range --tablet 1\n");
  add_put_and_get(blob, action);
  add_range_and_discover(blob, action);
  add_block_and_collect(blob, action);
  add_status_and_check(blob, action);
}

}  // namespace moraine::app
