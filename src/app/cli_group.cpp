// Options of `moraine group ...`.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>

#include "app/cli.h"
#include "app/cli_topic.h"
#include "app/group_commands.h"

namespace moraine::app {
namespace {

// One subcommand with its options object; all but `list` name a group.
template <class Options>
std::shared_ptr<Options> add(CLI::App& parent, Action& action, CLI::App*& command, const char* name,
                             const char* what, int (*run)(const Options&)) {
  command = parent.add_subcommand(name, what);
  auto options = std::make_shared<Options>();
  command->callback([&action, options, run] { action = [options, run] { return run(*options); }; });
  add_topic_target(*command, options->target);
  command->add_flag("--json", options->target.json, "Answer as JSON");
  if constexpr (requires { options->group; }) {
    command->add_option("GROUP", options->group, "The consumer group")->required();
  }
  return options;
}

void add_reset(CLI::App& group, Action& action) {
  CLI::App* reset = nullptr;
  auto options =
      add(group, action, reset, "reset", "Set the committed offsets of a group", run_group_reset);
  reset
      ->add_option("--topic", options->topic,
                   "Which topic (default: all that the group has committed to)")
      ->type_name("NAME")
      ->check(topic_name());
  reset->add_option("--partition", options->partition, "Which partition (default: all)")
      ->type_name("N")
      ->check(whole_number(0, kPartitionMax));
  auto* offset = reset->add_option("--offset", options->offset,
                                   "The first offset that it has not read; needs --partition");
  offset->type_name("N")->check(whole_number(0));
  reset->add_option("--to", options->to, "start or end")
      ->type_name("PLACE")
      ->check(CLI::IsMember({"start", "end"}))
      ->excludes(offset);
  reset->footer(
      "The group must have no members: stop its consumers first, and moraine topic read --group, "
      "which\n"
      "is no member and would overwrite the reset. With --topic, a group that does not exist is\n"
      "created.\n\n"
      "Examples:\n"
      "  moraine group reset billing --to start\n"
      "  moraine group reset billing --topic orders --partition 0 --offset 17\n");
}

}  // namespace

void add_group_commands(CLI::App& root, Action& action) {
  CLI::App& group = *root.add_subcommand("group", "Consumer groups of a running server");
  group.require_subcommand(1);
  group.footer(
      "The server is found as by moraine topic: --kafka HOST:PORT or --data DIR.\n\n"
      "Examples:\n"
      "  moraine group list\n"
      "  moraine group describe billing\n");
  CLI::App* command = nullptr;
  add(group, action, command, "list", "All groups and their states", run_group_list);
  command->footer("Example:\n  moraine group list --json\n");
  add(group, action, command, "describe", "Members, committed offsets and lag of a group",
      run_group_describe);
  command->footer("Example:\n  moraine group describe billing\n");
  add_reset(group, action);
  auto removal =
      add(group, action, command, "delete", "Delete a group and its offsets", run_group_delete);
  command->add_flag("--yes", removal->yes,
                    "Delete it; without this only print what would be deleted");
  command->footer("Example:\n  moraine group delete billing --yes\n");
}

}  // namespace moraine::app
