// The command line: options and help of every command. Only cli*.cpp use the parser library.
#pragma once

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace moraine::app {

// The action of the parsed command line.
using Action = std::function<int()>;

// Parses, runs and returns the exit code.
int run_cli(int argc, char** argv);

void add_blob_commands(CLI::App& root, Action& action);
void add_device_commands(CLI::App& root, Action& action);
// `program` is the name that the program was called by.
void add_serve_commands(CLI::App& root, Action& action, const std::string& program);
void add_topic_commands(CLI::App& root, Action& action);
void add_group_commands(CLI::App& root, Action& action);
// Verbs of `yt`: help and completion only; run_cli() runs them without this parser.
void add_yt_commands(CLI::App& root);
void add_completion_command(CLI::App& root, Action& action);

}  // namespace moraine::app
