// Latency at half load on a quiet disk, the cost of a message as partitions grow, and the resources
// of a node at rest.

#include <fmt/format.h>

#include <thread>

#include "bench/page_cache.h"
#include "bench/topics_bench.h"

namespace moraine::bench {
namespace {

using namespace std::chrono_literals;

constexpr double kStartSecondsMax = 0.3;
constexpr double kMiB = 1'048'576;
constexpr double kRestMemoryMax = 64;
constexpr double kLoadShare = 0.5;
constexpr std::array<std::int32_t, 4> kPartitionCounts{1, 16, 256, 1'000};
// Until the page cache's writer has pages to write back.
constexpr auto kFillTime = 500ms;

double half_load(const FullLoad& full) {
  return kLoadShare * (full.kafka > 0 ? std::min(full.ours, full.kafka) : full.ours);
}

using Measure = Result<Round> (*)(const TopicLoad&, double, double);

struct LatencyLine {
  std::string name;
  double quantile = 0.99;
  Measure measure = produce;
  std::string codec = "none";
  bool busy_disk = false;  // Beside a writer that fills the page cache. No goal then.
};

TopicLoad load_of(const Field& field, const Broker& broker, const LatencyLine& line) {
  TopicLoad load = field.load(broker, line.name, 1);
  load.codec = line.codec;
  return load;
}

// Without what the rounds before have left in the page cache, unless that is the load.
Result<Round> latency_round(Field& field, const Broker& broker, const LatencyLine& line,
                            double rate) {
  const bool quiet = wait_for_quiet_disk();
  if (!quiet) field.setting.report.note("the disk is busy: another program is writing");
  std::unique_ptr<PageCacheWriter> writer;
  if (line.busy_disk) {
    TRY(writer, PageCacheWriter::start(field.setting.folder.file("page-cache")));
    std::this_thread::sleep_for(kFillTime);
  }
  return line.measure(load_of(field, broker, line), field.seconds(), rate);
}

void add_latency(Field& field, const LatencyLine& line, double rate, const Rounds& ours,
                 const Rounds& kafka) {
  Line made{"topics", line.name, ours.latency(line.quantile) / 1e3, "ms"};
  made.peer = field.kafka ? "Kafka, defaults" : "Kafka, defaults: skipped";
  if (field.kafka) {
    made.peer_value = kafka.latency(line.quantile) / 1e3;
    if (!line.busy_disk) made.goal = Goal{Goal::Of::kValueAtMost, *made.peer_value};
  }
  Report& report = field.setting.report;
  report.add(std::move(made));
  if (!field.kafka) report.note("Kafka, defaults: skipped: " + field.why_no_kafka);
  report.note(fmt::format("{:.0f} messages a second to each", rate));
  report.note("ours", ours);
  if (field.kafka) report.note("Kafka, defaults", kafka);
}

Result<void> latency_line(Field& field, const LatencyLine& line, double rate) {
  Rounds ours;
  Rounds kafka;
  TRY_VOID(create_topic(load_of(field, *field.ours, line)));
  if (field.kafka) {
    TRY_VOID(create_topic(load_of(field, *field.kafka, line)));
  }
  for (int i = 0; i < field.rounds(); ++i) {
    TRY(Round round, latency_round(field, *field.ours, line, rate));
    ours.add(std::move(round));
    if (!field.kafka) continue;
    TRY(Round peer, latency_round(field, *field.kafka, line, rate));
    kafka.add(std::move(peer));
  }
  add_latency(field, line, rate, ours, kafka);
  return {};
}

// Messages a second with this codec at full load.
Result<double> full_rate(Field& field, const Broker& broker, const std::string& codec) {
  TopicLoad load = field.load(broker, "full_" + codec, 1);
  load.codec = codec;
  TRY_VOID(create_topic(load));
  TRY(const Round warm, produce(load, field.warm_seconds()));
  (void)warm;
  Rounds rounds;
  for (int i = 0; i < field.rounds(); ++i) {
    TRY(Round round, produce(load, field.seconds()));
    rounds.add(std::move(round));
  }
  TRY_VOID(delete_topic(load));
  return rounds.operations_per_second();
}

// At half the rate that both sustain with this codec.
Result<void> codec_line(Field& field, const std::string& codec) {
  FullLoad full;
  TRY(full.ours, full_rate(field, *field.ours, codec));
  if (field.kafka) {
    TRY(full.kafka, full_rate(field, *field.kafka, codec));
  }
  LatencyLine line;
  line.name = fmt::format("produce_{}_p95_half_load", codec);
  line.quantile = 0.95;
  line.codec = codec;
  return latency_line(field, line, half_load(full));
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
  const double rate = half_load(full);
  LatencyLine line;
  line.name = "produce_p99_half_load";
  TRY_VOID(latency_line(field, line, rate));
  line.name = "produce_p99_busy_disk";
  line.busy_disk = true;
  TRY_VOID(latency_line(field, line, rate));
  line.name = "tail_read_p99_half_load";
  line.busy_disk = false;
  line.measure = tail;
  return latency_line(field, line, rate);
}

Result<void> bench_codecs(Field& field) {
  TRY_VOID(codec_line(field, "zstd"));
  return codec_line(field, "gzip");
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
