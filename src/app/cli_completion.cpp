// moraine completion: a script that completes commands and options in a shell, generated from the
// parser's commands.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdio>
#include <iterator>
#include <memory>

#include "app/cli.h"
#include "app/exit_code.h"

namespace moraine::app {
namespace {

// Visits every command with its path: "", "blob", "blob put".
template <class Visit>
void each_command(const CLI::App& command, const std::string& path, const Visit& visit) {
  visit(command, path);
  for (const CLI::App* below : command.get_subcommands([](const CLI::App*) { return true; })) {
    each_command(*below, path.empty() ? below->get_name() : path + " " + below->get_name(), visit);
  }
}

std::string words_of(const CLI::App& command) {
  std::string words;
  for (const CLI::App* below : command.get_subcommands([](const CLI::App*) { return true; })) {
    words += below->get_name() + " ";
  }
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) words += "--" + name + " ";
  }
  if (!words.empty()) words.pop_back();
  return words;
}

std::string script(const CLI::App& root) {
  std::string steps;
  std::string words;
  each_command(root, "", [&](const CLI::App& command, const std::string& path) {
    const std::size_t space = path.rfind(' ');
    if (!path.empty()) {
      fmt::format_to(std::back_inserter(steps), "{}\"{}\"", steps.empty() ? "" : "|",
                     space == std::string::npos ? " " + path : path);
    }
    fmt::format_to(std::back_inserter(words), "    \"{}\") words=\"{}\" ;;\n", path,
                   words_of(command));
  });
  return fmt::format(
      "_moraine() {{\n"
      "  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}\n"
      "  local path= words= word\n"
      "  for word in \"${{COMP_WORDS[@]:1:COMP_CWORD-1}}\"; do\n"
      "    case \"$path $word\" in\n"
      "      {}) path=${{path:+$path }}$word ;;\n"
      "    esac\n"
      "  done\n"
      "  case \"$before\" in\n"
      "    --data|--config|--file|--output) COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n"
      "  esac\n"
      "  if [[ $current == //* ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$(\"${{COMP_WORDS[0]}}\" list \"${{current%/*}}\" --absolute"
      " 2>/dev/null)\" -- \"$current\"))\n"
      "    compopt -o nospace 2>/dev/null\n"
      "    return\n"
      "  fi\n"
      "  case \"$path\" in\n"
      "{}"
      "  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "}}\n"
      "complete -o default -F _moraine moraine\n",
      steps, words);
}

}  // namespace

void add_completion_command(CLI::App& root, Action& action) {
  CLI::App& completion =
      *root.add_subcommand("completion", "A script that completes commands in your shell");
  auto shell = std::make_shared<std::string>();
  completion.add_option("SHELL", *shell, "bash or zsh")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh"}));
  completion.footer(
      "Examples:\n"
      "  source <(moraine completion bash)\n"
      "  moraine completion zsh > ~/.zfunc/_moraine     # a folder of your fpath\n");
  completion.callback([&root, &action, shell] {
    action = [&root, shell] {
      if (*shell == "zsh") {
        fmt::print("#compdef moraine\nautoload -U +X bashcompinit && bashcompinit\n");
      }
      fmt::print("{}", script(root));
      return static_cast<int>(kExitOk);
    };
  });
}

}  // namespace moraine::app
