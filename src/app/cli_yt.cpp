// The verbs of `yt` in the help and in the completion of words; they parse their words themselves.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "app/cli.h"
#include "app/yt_shell/shell.h"
#include "app/yt_verbs/verb.h"

namespace moraine::app {
namespace {

void add_option(CLI::App& command, const VerbArgument& argument) {
  if (argument.place == VerbArgument::Place::kPositional) return;
  command.add_option_function<std::string>(
      "--" + std::string(argument.name), [](const std::string&) {}, std::string(argument.help));
}

void add_verb(CLI::App& root, const Verb& verb) {
  CLI::App& command = *root.add_subcommand(std::string(verb.name), std::string(verb.help));
  if (!verb.group.empty()) command.group(std::string(verb.group));
  for (const VerbArgument& argument : verb.arguments) add_option(command, argument);
  for (const VerbArgument& argument : common_arguments()) add_option(command, argument);
}

}  // namespace

void add_yt_commands(CLI::App& root) {
  add_verb(root, shell_verb());
  for (const Verb& verb : yt_verbs()) {
    if (!verb.group.empty()) add_verb(root, verb);
  }
}

}  // namespace moraine::app
