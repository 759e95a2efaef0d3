#include "bench/topics_bench.h"

#include <fmt/format.h>

#include <filesystem>

namespace moraine::bench {
namespace {

constexpr std::string_view kNoNats =
    "NATS JetStream: skipped: Debian's nats-server 2.9 cannot sync every write (sync_interval came "
    "with 2.10)";

enum class Peers : std::uint8_t { kKafka, kAll };

// Each part of the benchmark has brokers of its own, in folders of its own.
Result<Field> start_brokers(const Setting& setting, const std::string& part, Peers peers) {
  Field field{setting, nullptr, nullptr, nullptr, std::nullopt, {}, {}};
  const auto folder = [&](const char* name) { return setting.folder.file(part + "-" + name); };
  field.why_no_kafka = kafka_missing().value_or("");
  TRY(field.ours, Broker::start(BrokerKind::kMoraine, folder("moraine")));
  if (field.why_no_kafka.empty()) {
    TRY(field.kafka, Broker::start(BrokerKind::kKafka, folder("kafka")));
  }
  if (field.why_no_kafka.empty() && peers == Peers::kAll) {
    TRY(field.durable, Broker::start(BrokerKind::kKafkaDurable, folder("kafka-durable")));
  }
  if (peers == Peers::kAll) {
    auto redis = Redis::start(folder("redis"));
    if (redis) {
      field.redis.emplace(std::move(*redis));
    } else {
      field.why_no_redis = redis.error().context;
    }
  }
  TRY_VOID(field.ours->wait_for_address());
  return field;
}

}  // namespace

void add_ratio(Report& report, const std::string& name, double ours, const std::string& unit,
               const std::string& peer, const std::string& why_not, std::optional<double> peers,
               std::optional<double> goal) {
  Line line{"topics", name, ours, unit, peer, peers};
  if (!peers) line.peer = fmt::format("{}: skipped", peer);
  if (peers && goal) line.goal = Goal{Goal::Of::kRatioAtLeast, *goal};
  report.add(std::move(line));
  if (!peers) report.note(fmt::format("{}: skipped: {}", peer, why_not));
}

Result<void> bench_topics_load(const Setting& setting) {
  TRY(Field field, start_brokers(setting, "load", Peers::kAll));
  setting.report.note(
      "messages of 1 KiB, random text, no compression, acks=all, linger 1 ms, idempotence off, "
      "64 messages to each partition in turn; Kafka " +
      std::string(field.why_no_kafka.empty() ? "3.9.1, KRaft, 1 GiB heap" : "skipped"));
  setting.report.note(kNoNats);
  TRY(const FullLoad full, bench_throughput(field, 1));
  TRY_VOID(bench_throughput(field, 16));
  field.durable.reset();
  field.redis.reset();
  return bench_latency(field, full);
}

Result<void> bench_topics_codecs(const Setting& setting) {
  TRY(Field field, start_brokers(setting, "codecs", Peers::kKafka));
  return bench_codecs(field);
}

Result<void> bench_topics_cost(const Setting& setting) {
  TRY(Field field, start_brokers(setting, "cost", Peers::kKafka));
  TRY_VOID(bench_partitions(field));
  return bench_start(field);
}

}  // namespace moraine::bench
