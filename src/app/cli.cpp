#include "app/cli.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <csignal>
#include <cstdio>
#include <memory>

#include "app/commands.h"
#include "app/exit_code.h"
#include "base/log.h"

namespace moraine::app {
namespace {

constexpr const char* kVersionText = "moraine 0.1 (data folder 1, device format 1)";
constexpr const char* kExitCodes =
    "Exit codes: 0 done, 1 negative answer or damage, 2 wrong usage, 3 data folder or config,\n"
    "            4 disk failure or no space, 5 node not reachable.\n\n"
    "Examples:\n"
    "  moraine serve --data ./data\n"
    "  echo hello | moraine blob put '[1:1:1:0:0:6:0]' -\n"
    "  moraine blob get '[1:1:1:0:0:6:0]'\n"
    "  moraine blob check --data ./data\n";

template <class Options>
std::shared_ptr<Options> on_run(CLI::App& command, Action& action, int (*run)(const Options&)) {
  auto options = std::make_shared<Options>();
  command.callback([&action, options, run] { action = [options, run] { return run(*options); }; });
  return options;
}

}  // namespace

void add_serve_commands(CLI::App& root, Action& action) {
  CLI::App& serve = *root.add_subcommand("serve", "Run a node on a data folder or from a config");
  auto options = on_run(serve, action, run_serve);
  auto* data = serve.add_option("--data", options->data, "Data folder; made when it is not there")
                   ->type_name("DIR")
                   ->capture_default_str();
  serve.add_option("--size", options->size,
                   "Size of a folder made now, e.g. 10GiB (default: 80 % "
                   "of the free space, at most 64GiB)");
  auto* config = serve.add_option("--config", options->config, "Be a node of this cluster")
                     ->type_name("cluster.yaml")
                     ->excludes(data);
  serve.add_option("--node", options->node, "Which node of the config")
      ->type_name("N")
      ->needs(config);
  serve
      .add_option("--http", options->http,
                  "Address of /ping, /status, /metrics; port 0: a free one")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  serve.add_option("--grpc", options->grpc, "Not served yet")->capture_default_str();
  serve.add_option("--kafka", options->kafka, "Not served yet")->capture_default_str();
  serve.footer(
      "Prints one line on standard output when it is ready:\n"
      "  listening http=127.0.0.1:8080 grpc=off kafka=off node=127.0.0.1:40123\n"
      "SIGTERM and SIGINT end it cleanly.\n\n"
      "Examples:\n"
      "  moraine serve --data /var/lib/moraine --size 100GiB\n"
      "  moraine serve --config cluster.yaml --node 2 --http 127.0.0.1:8082\n");

  CLI::App& init = *root.add_subcommand("init", "Make a data folder without serving it");
  auto fresh = on_run(init, action, run_init);
  init.add_option("--data", fresh->data, "Data folder")->type_name("DIR")->capture_default_str();
  init.add_option("--size", fresh->size, "Size of each device, e.g. 10GiB");
  init.add_option("--segment-size", fresh->segment_size, "Chosen by the size when left out");
  init.add_option("--prefill", fresh->prefill, "Segments to write once now: quicker first writes");
  init.add_option("--erasure", fresh->erasure, "none, block-4-2 (8 devices), mirror-3-dc (9)")
      ->capture_default_str();
  init.add_flag("--json", fresh->json, "Answer as JSON");
  init.footer("Example:\n  moraine init --data ./data --size 1GiB --erasure block-4-2\n");
}

void add_device_commands(CLI::App& root, Action& action) {
  CLI::App& device = *root.add_subcommand("device", "Single devices: files or block devices");
  device.require_subcommand(1);

  CLI::App& format = *device.add_subcommand("format", "Make an empty device");
  auto options = on_run(format, action, run_device_format);
  format.add_option("PATH", options->path, "File or block device")->required();
  format.add_option("--size", options->size, "e.g. 10GiB; an existing file or device has its own");
  format.add_option("--segment-size", options->segment_size, "Chosen by the size when left out");
  format.add_option("--prefill", options->prefill, "Segments to write once now");
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
  // A reader that goes away is an error of the write, not the end of the program.
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App root("moraine: fault-tolerant blob storage", "moraine");
  root.require_subcommand(1);
  root.fallthrough();
  root.set_version_flag("--version", kVersionText);
  std::string level;
  root.add_option("--log-level", level,
                  "debug, info, warning, error, off (default: info for serve, warning else)");
  root.footer(kExitCodes);
  Action action;
  add_serve_commands(root, action);
  add_blob_commands(root, action);
  add_device_commands(root, action);
  try {
    root.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return root.exit(error) == 0 ? kExitOk : kExitUsage;
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
