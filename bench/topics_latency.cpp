// Latency at half load, the cost of a message as partitions grow, and the resources of a node at
// rest.

#include <fmt/format.h>

#include <thread>

#include "bench/topics_bench.h"

namespace moraine::bench {
namespace {

using namespace std::chrono_literals;

constexpr double kStartSecondsMax = 0.3;
constexpr double kMiB = 1'048'576;
constexpr double kRestMemoryMax = 64;
constexpr double kLoadShare = 0.5;
constexpr std::array<std::int32_t, 4> kPartitionCounts{1, 16, 256, 1'000};

using Measure = Result<Round> (*)(const TopicLoad&, double, double);

Result<void> latency_line(Field& field, const std::string& name, double rate, Measure measure) {
  Rounds ours;
  Rounds kafka;
  const TopicLoad own = field.load(*field.ours, name, 1);
  TRY_VOID(create_topic(own));
  if (field.kafka) {
    TRY_VOID(create_topic(field.load(*field.kafka, name, 1)));
  }
  for (int i = 0; i < field.rounds(); ++i) {
    TRY(Round round, measure(own, field.seconds(), rate));
    ours.add(std::move(round));
    if (!field.kafka) continue;
    TRY(Round peer, measure(field.load(*field.kafka, name, 1), field.seconds(), rate));
    kafka.add(std::move(peer));
  }
  Line line{"topics", name + "_p99_half_load", ours.latency(0.99) / 1e3, "ms"};
  if (field.kafka) {
    line.peer = "Kafka, defaults";
    line.peer_value = kafka.latency(0.99) / 1e3;
    line.goal = Goal{Goal::Of::kValueAtMost, *line.peer_value};
  } else {
    line.peer = "Kafka, defaults: skipped";
  }
  field.setting.report.add(std::move(line));
  field.setting.report.note(fmt::format("{:.0f} messages a second to each", rate));
  field.setting.report.note("ours", ours);
  if (field.kafka) field.setting.report.note("Kafka, defaults", kafka);
  return {};
}

struct Cost {
  double cpu_us = 0;  // Of the server, per message.
  double rate = 0;
};

Result<Cost> cost_of(const Field& field, Broker& broker, std::int32_t partitions) {
  const TopicLoad load = field.load(broker, fmt::format("grown_p{}", partitions), partitions);
  TRY_VOID(create_topic(load));
  TRY_VOID(touch(load));
  TRY(const Round warm, produce(load, field.seconds() / 2));
  (void)warm;
  const Usage before = broker.usage();
  TRY(const Round round, produce(load, field.seconds()));
  const double cpu = broker.usage().cpu_seconds - before.cpu_seconds;
  TRY_VOID(delete_topic(load));
  return Cost{cpu / static_cast<double>(round.operations) * 1e6, round.operations_per_second()};
}

Result<double> start_seconds(Field& field, Broker& broker) {
  const TopicLoad load = field.load(broker, "start", 1);
  TRY_VOID(create_topic(load));
  TRY_VOID(first_message(load));
  std::vector<double> seconds;
  for (int i = 0; i < (field.setting.quick ? 1 : 3); ++i) {
    broker.stop();
    const Stopwatch watch;
    TRY_VOID(broker.start_again());
    TRY_VOID(broker.wait_for_port());
    TRY_VOID(first_message(load));
    seconds.push_back(watch.seconds());
  }
  return median(seconds);
}

}  // namespace

Result<void> bench_latency(Field& field, const FullLoad& full) {
  const double least = full.kafka > 0 ? std::min(full.ours, full.kafka) : full.ours;
  TRY_VOID(latency_line(field, "produce", least * kLoadShare, produce));
  return latency_line(field, "tail_read", least * kLoadShare, tail);
}

Result<void> bench_partitions(Field& field) {
  for (const std::int32_t partitions : kPartitionCounts) {
    TRY(const Cost ours, cost_of(field, *field.ours, partitions));
    std::optional<Cost> kafka;
    if (field.kafka) {
      TRY(kafka, cost_of(field, *field.kafka, partitions));
    }
    const std::optional<double> peer = kafka ? std::optional(kafka->cpu_us) : std::nullopt;
    add_ratio(field.setting.report, fmt::format("cost_p{}", partitions), ours.cpu_us, "us CPU/msg",
              "Kafka, defaults", field.why_no_kafka, peer, std::nullopt);
    field.setting.report.note(
        fmt::format("{:.0f} messages a second, Kafka {:.0f}", ours.rate, kafka ? kafka->rate : 0));
  }
  return {};
}

Result<void> bench_start(Field& field) {
  Report& report = field.setting.report;
  const double after_load = field.ours->usage().resident_bytes / kMiB;
  TRY(const double ours, start_seconds(field, *field.ours));
  std::this_thread::sleep_for(1s);
  Line memory{"topics", "memory_at_rest", field.ours->usage().resident_bytes / kMiB, "MiB"};
  memory.goal = Goal{Goal::Of::kValueAtMost, kRestMemoryMax};
  Line line{"topics", "start_to_first_message", ours, "s"};
  line.goal = Goal{Goal::Of::kValueAtMost, kStartSecondsMax};
  if (field.kafka) {
    TRY(const double kafka, start_seconds(field, *field.kafka));
    line.peer = memory.peer = "Kafka, defaults";
    line.peer_value = kafka;
    std::this_thread::sleep_for(1s);
    memory.peer_value = field.kafka->usage().resident_bytes / kMiB;
  }
  report.add(std::move(line));
  report.add(std::move(memory));
  report.note(fmt::format("moraine after all loads: {:.0f} MiB", after_load));
  return {};
}

}  // namespace moraine::bench
