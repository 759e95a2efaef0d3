#include "app/cli.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>

#include "app/commands.h"
#include "app/exit_code.h"
#include "app/version.h"
#include "app/yt_verbs/program.h"
#include "base/log.h"
#include "io/real/real_lanes.h"

namespace moraine::app {
namespace {

constexpr const char* kExitCodes =
    "Exit codes: 0 done, 1 negative answer or damage, 2 wrong usage, 3 data folder or config,\n"
    "            4 disk failure or no space, 5 node not reachable.\n";
constexpr const char* kExamples =
    "\nExamples:\n"
    "  moraine serve --data ./data\n"
    "  echo hello | moraine blob put '[1:1:1:0:0:6:0]' -\n"
    "  moraine blob get '[1:1:1:0:0:6:0]'\n"
    "  moraine blob check --data ./data\n"
    "  moraine topic create orders --partitions 3\n"
    "  echo hello | moraine topic write orders\n"
    "  moraine list //tmp\n"
    "  moraine select-rows 'k, v from [//tmp/t] where k > 1'\n";

constexpr std::uint32_t kHttpPort = 8080;

template <class Options>
std::shared_ptr<Options> on_run(CLI::App& command, Action& action, int (*run)(const Options&)) {
  auto options = std::make_shared<Options>();
  command.callback([&action, options, run] { action = [options, run] { return run(*options); }; });
  return options;
}

// The command that was parsed before an argument was wrong.
const CLI::App& innermost(const CLI::App& root) {
  const CLI::App* found = &root;
  while (!found->get_subcommands().empty()) found = found->get_subcommands().back();
  return *found;
}

std::string name_of(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent ? name_of(*parent) + " " + command.get_name() : command.get_name();
}

// The error of the arguments, with their command.
std::string explain(const CLI::App& root, const CLI::ParseError& error) {
  const CLI::App& command = innermost(root);
  const std::string name = name_of(command);
  const auto below = command.get_subcommands([](const CLI::App*) { return true; });
  std::string why = error.what();
  if (!below.empty()) {
    std::string known;
    for (const CLI::App* one : below) known += (known.empty() ? "" : ", ") + one->get_name();
    const std::vector<std::string> unknown = root.remaining(true);
    why = unknown.empty() ? fmt::format("a command is missing: {}", known)
                          : fmt::format("'{}' is none of {}", unknown.front(), known);
  }
  const std::size_t own = root.get_name().size() + 1;
  return fmt::format("{}{}{}\nSee '{} --help'.", name.size() > own ? name.substr(own) : "",
                     name.size() > own ? ": " : "", why, name);
}

bool asks_for_json(int argc, char** argv) {
  return std::any_of(argv, argv + argc,
                     [](const char* word) { return !std::strcmp(word, "--json"); });
}

void add_init_command(CLI::App& root, Action& action) {
  CLI::App& init = *root.add_subcommand("init", "Create a data folder without serving it");
  auto fresh = on_run(init, action, run_init);
  init.add_option("--data", fresh->data, "Data folder")->type_name("DIR")->capture_default_str();
  init.add_option(
          "--size", fresh->size,
          "Size of each device, e.g. 10GiB (default: their share of 80 % of the free space, "
          "at most 64GiB)")
      ->type_name("SIZE");
  init.add_option("--segment-size", fresh->segment_size,
                  "Unit of the device's log, e.g. 16MiB (default: chosen by the size)")
      ->type_name("SIZE");
  init.add_option("--prefill", fresh->prefill, "Segments to write once now: quicker first writes")
      ->type_name("COUNT");
  init.add_option("--erasure", fresh->erasure, "none, block-4-2 (8 devices), mirror-3-dc (9)")
      ->type_name("NAME")
      ->capture_default_str();
  init.add_flag("--json", fresh->json, "Answer as JSON");
  init.footer("Example:\n  moraine init --data ./data --size 1GiB --erasure block-4-2\n");
}

}  // namespace

void add_topic_options(CLI::App& serve, ServeOptions& options) {
  serve.add_flag("--no-auto-create-topics", options.no_auto_create,
                 "Do not create topics that Kafka clients name");
  serve
      .add_option("--default-partitions", options.default_partitions,
                  "Partitions of a topic that is created without a number")
      ->type_name("N")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  serve
      .add_option("--topic-cache", options.cache,
                  "Memory for blobs of topics, e.g. 512MiB (default: its part of --memory)")
      ->type_name("SIZE");
}

void add_serve_commands(CLI::App& root, Action& action, const std::string& program) {
  CLI::App& serve = *root.add_subcommand("serve", "Run a node on a data folder or from a config");
  auto options = std::make_shared<ServeOptions>();
  options->program = program;
  auto* data =
      serve.add_option("--data", options->data, "Data folder; created if it does not exist")
          ->type_name("DIR")
          ->capture_default_str();
  serve
      .add_option("--size", options->size,
                  "Size of a folder created now, e.g. 10GiB (default: 80 % "
                  "of the free space, at most 64GiB)")
      ->type_name("SIZE");
  serve
      .add_option("--memory", options->memory,
                  "Memory to share out to rows that are not flushed, caches, requests and answers, "
                  "e.g. 8GiB (default: up to 3/4 of the machine's, at most 8.8GiB)")
      ->type_name("SIZE");
  auto* config = serve.add_option("--config", options->config, "Be a node of this cluster")
                     ->type_name("cluster.yaml")
                     ->excludes(data);
  serve.add_option("--node", options->node, "Which node of the config")
      ->type_name("N")
      ->needs(config);
  auto* http = serve
                   .add_option("--http", options->http,
                               "Address of /ping, /status, /metrics; port 0: a free one; off: none "
                               "(with --config and --node N: port 8079 + N)")
                   ->type_name("HOST:PORT")
                   ->capture_default_str();
  serve.add_option("--grpc", options->grpc, "Accepted and ignored for now: gRPC is not served")
      ->capture_default_str();
  auto* kafka = serve
                    .add_option("--kafka", options->kafka,
                                "Address of the Kafka protocol; port 0: a free one; off: none "
                                "(with --config: off unless given; one node serves topics)")
                    ->type_name("HOST:PORT")
                    ->capture_default_str();
  serve
      .add_option("--kafka-host", options->advertise,
                  "Host that is advertised to Kafka clients (default: that of --kafka)")
      ->type_name("HOST");
  serve
      .add_flag("--take-over", options->take_over,
                "Take the topics over from the node of the config that serves them")
      ->needs(config);
  add_topic_options(serve, *options);
  serve
      .add_option("--lanes", options->lanes,
                  "Threads that serve requests (default: one for each processor)")
      ->type_name("N")
      ->check(CLI::Range(1, static_cast<int>(kLanesMax)));
  // Different default ports for nodes of one config on one machine.
  serve.callback([&action, options, config, http, kafka] {
    if (config->count() > 0 && kafka->count() == 0) options->kafka = "off";
    if (config->count() > 0 && http->count() == 0 && options->node > 0) {
      options->http = fmt::format("127.0.0.1:{}", (kHttpPort - 1 + options->node) & 0xffff);
    }
    action = [options] { return run_serve(*options); };
  });
  serve.footer(
      "Prints one line on standard output when it is ready:\n"
      "  listening http=127.0.0.1:8080 grpc=off kafka=127.0.0.1:9092 node=127.0.0.1:40123\n"
      "SIGTERM and SIGINT end it cleanly.\n\n"
      "Examples:\n"
      "  moraine serve --data /var/lib/moraine --size 100GiB\n"
      "  moraine serve --config cluster.yaml --node 2 --http 127.0.0.1:8082\n");
  add_init_command(root, action);
}

void add_device_commands(CLI::App& root, Action& action) {
  CLI::App& device = *root.add_subcommand("device", "Single devices: files or block devices");
  device.require_subcommand(1);
  device.footer("Example:\n  moraine device info ./data/device-1\n");

  CLI::App& format = *device.add_subcommand("format", "Create an empty device");
  auto options = on_run(format, action, run_device_format);
  format.add_option("PATH", options->path, "File or block device")->required();
  format
      .add_option("--size", options->size,
                  "Of a new file, e.g. 10GiB; an existing file or device has its own")
      ->type_name("SIZE");
  format
      .add_option("--segment-size", options->segment_size,
                  "Unit of the device's log, e.g. 16MiB (default: chosen by the size)")
      ->type_name("SIZE");
  format
      .add_option("--prefill", options->prefill, "Segments to write once now: quicker first writes")
      ->type_name("COUNT");
  format.add_flag("--force", options->force, "Format over whatever is there");
  format.add_flag("--json", options->json, "Answer as JSON");
  format.footer("Example:\n  moraine device format /data/device-1 --size 10GiB\n");

  CLI::App& info = *device.add_subcommand("info", "Show what a device holds; reads only");
  auto shown = on_run(info, action, run_device_info);
  info.add_option("PATH", shown->path, "File or block device")->required();
  info.add_flag("--json", shown->json, "Answer as JSON");
  info.footer("Example:\n  moraine device info ./data/device-1 --json\n");
}

int run_cli(int argc, char** argv) {
  // A closed pipe is an error of the write, and does not end the program.
  std::signal(SIGPIPE, SIG_IGN);
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (const auto verb = find_verb_word(words)) return run_verb_words(words, *verb);
  CLI::App root("moraine: fault-tolerant storage of tables, topics and blobs", "moraine");
  root.require_subcommand(1);
  root.fallthrough();
  root.set_version_flag("--version", kVersionText);
  std::string level;
  root.add_option("--log-level", level,
                  "debug, info, warning, error, off (default: info for serve, warning else)");
  root.footer(std::string(kExitCodes) + kExamples);
  if (asks_for_json(argc, argv)) report_as_json();
  Action action;
  add_serve_commands(root, action, argc > 0 ? argv[0] : root.get_name());
  add_blob_commands(root, action);
  add_device_commands(root, action);
  add_topic_commands(root, action);
  add_group_commands(root, action);
  add_yt_commands(root);
  add_completion_command(root, action);
  try {
    root.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return root.exit(error);  // Help, and the version.
    return report(kExitUsage, explain(root, error));
  }
  set_log_level(root.got_subcommand("serve") ? LogLevel::kInfo : LogLevel::kWarning);
  if (!level.empty()) {
    const auto wanted = parse_log_level(level);
    if (!wanted) return report(kExitUsage, wanted.error());
    set_log_level(*wanted);
  }
  const int code = action();
  if (std::fflush(stdout) != 0) return report(kExitIo, "standard output cannot be written");
  return code;
}

}  // namespace moraine::app
