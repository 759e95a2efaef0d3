// Options of `moraine topic ...`.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <string>

#include "app/cli_topic.h"

#include "app/cli.h"
#include "app/commands.h"
#include "app/topic_arguments.h"
#include "app/topic_commands.h"
#include "scheme/topic_config.h"

namespace moraine::app {
namespace {

constexpr const char* kNameHelp = "The topic, as orders or team/orders";
// Every config with its default and meaning, a line each.
std::string config_help() {
  std::string text = "Configs, with their defaults:\n";
  for (const ConfigInfo& config : topic_configs()) {
    text += fmt::format("  {}={}\n      {}\n", config.name, config.default_value, config.meaning);
  }
  return text + "\n";
}

// One subcommand with its options object.
template <class Options>
std::shared_ptr<Options> add(CLI::App& parent, Action& action, CLI::App*& command, const char* name,
                             const char* what, const char* json_help, int (*run)(const Options&)) {
  command = parent.add_subcommand(name, what);
  auto options = std::make_shared<Options>();
  command->callback([&action, options, run] { action = [options, run] { return run(*options); }; });
  add_topic_target(*command, options->target);
  command->add_flag("--json", options->target.json, json_help);
  if constexpr (requires { options->name; }) {
    command->add_option("NAME", options->name, kNameHelp)->required()->check(topic_name());
  }
  return options;
}

constexpr const char* kJsonHelp = "Answer as JSON";

void add_partition(CLI::App& command, std::optional<std::int32_t>& partition, const char* what) {
  command.add_option("--partition", partition, what)
      ->type_name("N")
      ->check(whole_number(0, kPartitionMax));
}

void add_create_and_alter(CLI::App& topic, Action& action) {
  CLI::App* create = nullptr;
  auto fresh = add(topic, action, create, "create", "Create a topic", kJsonHelp, run_topic_create);
  create
      ->add_option("--partitions", fresh->partitions,
                   fmt::format("How many partitions it has; at most {}", kPartitionsPerTopicMax))
      ->type_name("N")
      ->check(whole_number(1, kPartitionsPerTopicMax))
      ->capture_default_str();
  create
      ->add_option("--config", fresh->configs,
                   "A config that differs from the default, e.g. retention.ms=3600000; again for "
                   "more")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  create
      ->add_option("--consumer", fresh->consumers,
                   "A consumer group that begins at the start; what an important one has not read "
                   "is not removed; again for more")
      ->type_name("NAME[:important]")
      ->allow_extra_args(false);
  create->footer(config_help() +
                 "Examples:\n"
                 "  moraine topic create orders --partitions 3 --config retention.ms=3600000\n"
                 "  moraine topic create payments --consumer billing:important\n");

  CLI::App* alter = nullptr;
  auto change =
      add(topic, action, alter, "alter", "Change a topic's settings", kJsonHelp, run_topic_alter);
  alter->add_option("--partitions", change->partitions, "The new total; more than now")
      ->type_name("N")
      ->check(whole_number(1, kPartitionsPerTopicMax));
  alter->add_option("--config", change->configs, "Set a config; again for more")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  alter->add_option("--unset", change->unset, "Back to the default; again for more")
      ->type_name("NAME")
      ->allow_extra_args(false);
  alter->footer(config_help() +
                "Example:\n"
                "  moraine topic alter orders --partitions 6 --config retention.bytes=1000000 "
                "--unset retention.ms\n");
}

void add_list_describe_remove(CLI::App& topic, Action& action) {
  CLI::App* list = nullptr;
  add(topic, action, list, "list", "All topics, with partitions and messages", kJsonHelp,
      run_topic_list);
  list->footer("Example:\n  moraine topic list --json\n");

  CLI::App* describe = nullptr;
  add(topic, action, describe, "describe",
      "A topic's partitions, configs that were set, and how far groups have read", kJsonHelp,
      run_topic_describe);
  describe->footer("Example:\n  moraine topic describe orders\n");

  CLI::App* remove = nullptr;
  auto removal = add(topic, action, remove, "remove", "Remove a topic with all its messages",
                     kJsonHelp, run_topic_remove);
  remove->add_flag("--yes", removal->yes,
                   "Remove it; without this only print what would be removed");
  remove->footer("Example:\n  moraine topic remove orders --yes\n");
}

void add_write(CLI::App& topic, Action& action) {
  CLI::App* write = nullptr;
  auto options = add(topic, action, write, "write",
                     "Write messages, one a line; they are durable when the command succeeds",
                     kJsonHelp, run_topic_write);
  add_partition(*write, options->partition,
                "Write there (default: by the key as Kafka's clients do; without keys in turn)");
  auto* key = write->add_option("--key", options->key, "The key of every message");
  key->type_name("KEY");
  write->add_option("--file", options->file, "Where messages come from; - is standard input")
      ->type_name("FILE")
      ->capture_default_str();
  auto* whole = write->add_flag("--whole", options->whole, "The input is one message, not lines");
  auto* separator = write->add_option("--key-separator", options->key_separator,
                                      "Each line is a key, this text and a value; \\t is a tab");
  separator->type_name("TEXT")->excludes(key)->excludes(whole);
  write
      ->add_flag("--null-key", options->null_key,
                 "A line without separator, or with an empty key, is a message without a key")
      ->needs(separator);
  write->add_option("--codec", options->codec, "none, gzip, snappy, lz4 or zstd")
      ->type_name("NAME")
      ->capture_default_str();
  write->add_flag("--idempotent", options->idempotent,
                  "Send again when an answer is lost; each message is written once");
  write->footer(
      "A topic that does not exist is created with the server's defaults, where the server allows "
      "it.\n\n"
      "Examples:\n"
      "  echo hello | moraine topic write orders\n"
      "  moraine topic write orders --file orders.txt --key-separator : --codec zstd\n"
      "  moraine topic write pictures --whole --key cat --file cat.jpg\n");
}

void add_read(CLI::App& topic, Action& action) {
  CLI::App* read = nullptr;
  auto options = add(topic, action, read, "read", "Print messages",
                     "One JSON object a line, as --format json", run_topic_read);
  add_partition(*read, options->partition, "Only this partition (default: all)");
  read->add_option("--from", options->from,
                   "start, end, an offset as 17, or a time as 2024-05-01T10:00:00Z or "
                   "1714557600000ms; with --group only where it has committed nothing")
      ->type_name("POSITION")
      ->capture_default_str();
  read->add_option("--count", options->count, "At most so many messages; 0: all")
      ->type_name("N")
      ->check(whole_number(0));
  read->add_flag("--follow,-f", options->follow, "Wait for more, until SIGINT or SIGTERM");
  read->add_option("--group", options->group,
                   "Begin where this consumer group has committed, and commit what was printed, "
                   "every second and at the end; not as a member: it gets all partitions")
      ->type_name("NAME");
  read->add_option("--format", options->format, "value, key-value or json")
      ->type_name("NAME")
      ->capture_default_str();
  read->add_option("--key-separator", options->key_separator,
                   "Between key and value with --format key-value")
      ->type_name("TEXT")
      ->capture_default_str();
  read->footer(
      "Without --follow it ends at the messages that were the last when it began.\n\n"
      "Examples:\n"
      "  moraine topic read orders\n"
      "  moraine topic read orders -f --group billing --format key-value\n"
      "  moraine topic read orders --from 2024-05-01T10:00:00Z --count 10 --json\n");
}

void add_commit(CLI::App& topic, Action& action) {
  CLI::App* commit = nullptr;
  auto options = add(topic, action, commit, "commit", "Set how far a consumer group has read",
                     kJsonHelp, run_topic_commit);
  commit->add_option("--group", options->group, "The consumer group")
      ->type_name("NAME")
      ->required();
  add_partition(*commit, options->partition, "Which partition (with --to the default is all)");
  auto* offset = commit->add_option("--offset", options->offset,
                                    "The first offset that it has not read; needs --partition");
  offset->type_name("N")->check(whole_number(0));
  commit->add_option("--to", options->to, "start or end")
      ->type_name("PLACE")
      ->check(CLI::IsMember({"start", "end"}))
      ->excludes(offset);
  commit->footer(
      "Examples:\n"
      "  moraine topic commit orders --group billing --partition 0 --offset 17\n"
      "  moraine topic commit orders --group billing --to start\n");
}

}  // namespace

// Replaces the error texts of CLI11's own checks, which name C++ types and ranges.
CLI::Validator whole_number(std::int64_t min, std::int64_t max) {
  return {[min, max](std::string& word) {
            const auto number = parse_whole(word, min, max);
            return number ? std::string() : number.error().context;
          },
          ""};
}

CLI::Validator topic_name() {
  return {[](std::string& word) {
            const auto checked = check_name_word(word);
            return checked ? std::string() : checked.error().context;
          },
          ""};
}

void add_topic_target(CLI::App& command, TopicTarget& target) {
  auto* data =
      command.add_option("--data", target.data, "Data folder: use the server that serves it");
  data->type_name("DIR");
  command
      .add_option("--kafka", target.kafka,
                  "The kafka= address of a running server (default 127.0.0.1:9092)")
      ->type_name("HOST:PORT")
      ->excludes(data);
  command.add_option("--timeout", target.timeout_seconds, "Seconds to wait for an answer")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.001, kTimeoutSecondsMax))
      ->capture_default_str();
}

void add_topic_commands(CLI::App& root, Action& action) {
  CLI::App& topic = *root.add_subcommand("topic", "Topics of a running server");
  topic.require_subcommand(1);
  topic.footer(
      "The server is that of --kafka HOST:PORT, or the one that has the folder --data DIR;\n"
      "moraine serve starts one.\n\n"
      "Examples:\n"
      "  moraine topic create orders --partitions 3\n"
      "  echo hello | moraine topic write orders\n"
      "  moraine topic read orders\n");
  add_create_and_alter(topic, action);
  add_list_describe_remove(topic, action);
  add_write(topic, action);
  add_read(topic, action);
  add_commit(topic, action);
}

}  // namespace moraine::app
