// moraine topic write
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <filesystem>
#include <optional>
#include <random>

#include "app/exit_code.h"
#include "app/interrupt.h"
#include "app/message_input.h"
#include "app/partitioner.h"
#include "app/table.h"
#include "app/topic_arguments.h"
#include "app/topic_client.h"
#include "app/topic_producer.h"
#include "app/transfer_progress.h"
#include "base/json.h"

namespace moraine::app {
namespace {

// How long messages wait for more, to be sent in one batch.
constexpr Duration kLinger = 20ms;

struct WritePlan {
  InputRules rules;
  ProducerOptions producer;
};

Result<WritePlan> plan_write(const TopicWriteOptions& options) {
  WritePlan plan;
  TRY(plan.producer.codec, parse_codec(options.codec));
  plan.producer.idempotent = options.idempotent;
  plan.rules.key = options.key;
  plan.rules.null_key = options.null_key;
  if (!options.key_separator.empty()) {
    TRY(plan.rules.key_separator, parse_separator(options.key_separator));
  }
  return plan;
}

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// A batch must not exceed the topic's limit, or short messages would be refused with it.
std::size_t batch_bytes_of(TopicClient& client, const std::string& topic) {
  const auto text = client.config(topic, "max.message.bytes");
  std::size_t bytes = kBatchBytesDefault;
  if (text) std::from_chars(text->data(), text->data() + text->size(), bytes);
  return std::min(bytes, kBatchBytesDefault);
}

Partitioner make_partitioner(std::int32_t count, std::optional<std::int32_t> fixed) {
  // Many short runs are spread over the partitions too.
  const auto first =
      static_cast<std::int32_t>(std::random_device()() % static_cast<std::uint32_t>(count));
  return Partitioner(count, fixed, first);
}

// One run of the command.
class Writing {
 public:
  Writing(const TopicWriteOptions& options, const InputRules& rules, Partitioner partitioner,
          TopicProducer& producer)
      : options_(options),
        rules_(rules),
        partitioner_(partitioner),
        producer_(producer),
        progress_("wrote", std::nullopt, !options.target.json) {}

  Result<void> run(LineInput& input) {
    if (options_.whole) {
      TRY(const std::string message, input.rest());
      TRY_VOID(add({rules_.key, message}));
      return producer_.flush();
    }
    while (true) {
      if (!input.ready_within(kLinger)) {
        TRY_VOID(producer_.flush());
      }
      TRY(const std::optional<std::string> line, input.next());
      if (!line) return producer_.flush();
      TRY(const InputMessage message, to_message(*line, rules_, ++lines_));
      TRY_VOID(add(message));
      progress_.at_message(producer_.messages(), producer_.bytes());
    }
  }

 private:
  Result<void> add(const InputMessage& message) {
    kafka::Record record;
    record.timestamp = now_ms();
    if (message.key) record.key = as_bytes(*message.key);
    record.value = as_bytes(message.value);
    return producer_.add(partitioner_.choose(record.key), record);
  }

  const TopicWriteOptions& options_;
  const InputRules& rules_;
  Partitioner partitioner_;
  TopicProducer& producer_;
  TransferProgress progress_;
  std::uint64_t lines_ = 0;
};

void show_json(const std::string& topic, const TopicProducer& producer) {
  Json json;
  json.object().field("status", "OK").field("topic", topic);
  json.field("messages", producer.messages()).key("partitions").array();
  for (const auto& [partition, range] : producer.written()) {
    json.object().field("partition", partition).field("messages", range.messages);
    json.field("first", range.first).field("last", range.last).end();
  }
  json.end().end();
  fmt::print("{}\n", json.take());
}

void show(const std::string& topic, const TopicProducer& producer) {
  fmt::print("wrote {} to {}\n", counted(producer.messages(), "message"), topic);
  if (producer.written().empty()) return;
  Table table({"PARTITION", "MESSAGES", "FIRST", "LAST"});
  for (const auto& [partition, range] : producer.written()) {
    table.add({std::to_string(partition), std::to_string(range.messages),
               range.first < 0 ? "?" : std::to_string(range.first),
               range.last < 0 ? "?" : std::to_string(range.last)});
  }
  fmt::print("{}", table.text());
}

Result<int> write(TopicClient& client, const TopicWriteOptions& options, WritePlan plan,
                  LineInput& input, std::optional<InterruptWatch>& watch) {
  TRY(const std::int32_t count, client.partition_count_or_create(options.name));
  TRY_VOID(client.partitions(options.name, options.partition));
  plan.producer.batch_bytes = batch_bytes_of(client, options.name);
  TopicProducer producer(client, options.name, plan.producer);
  TRY_VOID(producer.start());
  watch.emplace();
  Result<void> done;
  {
    Writing writing(options, plan.rules, make_partitioner(count, options.partition), producer);
    done = writing.run(input);
    // The lines before a wrong one are written.
    if (!done && done.error().code == Errc::kInvalidArgument) (void)producer.flush();
  }
  if (!done) {
    Error error = std::move(done).error();
    error.context += fmt::format("; {} acknowledged",
                                 producer.messages() == 1
                                     ? "1 message was"
                                     : fmt::format("{} messages were", producer.messages()));
    return std::unexpected(std::move(error));
  }
  options.target.json ? show_json(options.name, producer) : show(options.name, producer);
  return kExitOk;
}

}  // namespace

int run_topic_write(const TopicWriteOptions& options) {
  const auto plan = plan_write(options);
  if (!plan) return report(plan.error());
  if (std::filesystem::is_directory(options.file)) {
    return report(kExitUsage, fmt::format("{} is a folder, not a file", options.file));
  }
  // Before any request to the server: signals are handled only while messages are written.
  std::optional<InterruptWatch> watch;
  auto input = LineInput::open(options.file, [&watch] { return watch && watch->interrupted(); });
  if (!input) return report(kExitUsage, input.error());
  return run_on_server(options.target, [&](TopicClient& client) {
    return write(client, options, *plan, *input, watch);
  });
}

}  // namespace moraine::app
