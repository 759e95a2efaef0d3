// Full load: durable produce, consume, and the bytes that produce writes to the disk.

#include <fmt/format.h>

#include "bench/topics_bench.h"

namespace moraine::bench {
namespace {

constexpr double kGoalDurable = 3;
constexpr double kGoalDefault = 1;
constexpr double kGoalConsume = 1;
constexpr double kWriteAmplificationMax = 1.3;
constexpr std::uint64_t kConsumeMax = 500'000;

// One broker and its measurements.
struct Contender {
  Broker* broker = nullptr;
  std::string name;
  TopicLoad load;
  std::uint64_t stored = 0;
  double written = 0;  // Bytes to the disk while producing in rounds.
  double produced = 0;
  Rounds produce;
  Rounds idempotent;
  Rounds consume;

  std::optional<double> rate(const Rounds& rounds) const {
    if (rounds.empty()) return std::nullopt;
    return rounds.operations_per_second();
  }
};

Result<void> produce_round(Contender& contender, double seconds, bool idempotent) {
  TopicLoad load = contender.load;
  load.idempotent = idempotent;
  const Usage before = contender.broker->usage();
  auto round = produce(load, seconds);
  if (!round) return std::unexpected(std::move(round.error()).within(contender.name));
  const Usage after = contender.broker->usage();
  contender.stored += round->operations;
  round->cpu_seconds = after.cpu_seconds - before.cpu_seconds;
  if (idempotent) {
    contender.idempotent.add(std::move(*round));
    return {};
  }
  contender.written += after.written_bytes - before.written_bytes;
  contender.produced += static_cast<double>(round->bytes);
  contender.produce.add(std::move(*round));
  return {};
}

Result<void> consume_round(Contender& contender, bool warming) {
  auto round = consume(contender.load, std::min(contender.stored, kConsumeMax));
  if (!round) return std::unexpected(std::move(round.error()).within(contender.name));
  if (!warming) contender.consume.add(std::move(*round));
  return {};
}

// Long enough for a Java program to be compiled.
Result<void> warm_up(Contender& contender, double seconds) {
  TRY_VOID(create_topic(contender.load));
  auto round = produce(contender.load, seconds);
  if (!round) return std::unexpected(std::move(round.error()).within(contender.name));
  contender.stored = round->operations;
  return consume_round(contender, true);
}

void add_lines(Field& field, const std::string& suffix, const Contender& ours,
               const Contender* kafka, const Contender* durable, const Rounds& redis) {
  Report& report = field.setting.report;
  const double rate = ours.produce.operations_per_second();
  const auto of = [](const Contender* peer, const Rounds Contender::* rounds) {
    return peer == nullptr ? std::nullopt : peer->rate(peer->*rounds);
  };
  add_ratio(report, "produce_vs_durable" + suffix, rate, "msg/s", "Kafka, flush each",
            field.why_no_kafka, of(durable, &Contender::produce), kGoalDurable);
  add_ratio(report, "produce_vs_default" + suffix, rate, "msg/s", "Kafka, defaults",
            field.why_no_kafka, of(kafka, &Contender::produce), kGoalDefault);
  add_ratio(
      report, "produce_vs_redis" + suffix, rate, "msg/s", "Redis, fsync always", field.why_no_redis,
      redis.empty() ? std::nullopt : std::optional(redis.operations_per_second()), std::nullopt);
  add_ratio(report, "produce_idempotent" + suffix, ours.idempotent.operations_per_second(), "msg/s",
            "Kafka, defaults", field.why_no_kafka, of(kafka, &Contender::idempotent), std::nullopt);
  add_ratio(report, "consume" + suffix, ours.consume.operations_per_second(), "msg/s",
            "Kafka, defaults", field.why_no_kafka, of(kafka, &Contender::consume), kGoalConsume);
  Line amplification{"topics", "write_amplification" + suffix, ours.written / ours.produced, "x"};
  if (kafka != nullptr) {
    amplification.peer = "Kafka, defaults";
    amplification.peer_value = kafka->written / kafka->produced;
  }
  amplification.goal = Goal{Goal::Of::kValueAtMost, kWriteAmplificationMax};
  report.add(std::move(amplification));
  const auto note = [&](const std::string& name, const Rounds& rounds) {
    report.note(fmt::format("{}: {:.0f} MB/s, server CPU {:.1f} us a message", name,
                            rounds.megabytes_per_second(), rounds.cpu_microseconds()));
  };
  note("ours", ours.produce);
  if (kafka != nullptr) note("Kafka, defaults", kafka->produce);
  if (durable != nullptr) note("Kafka, flush each", durable->produce);
}

Result<void> run_rounds(Field& field, std::vector<Contender>& contenders, std::uint32_t streams,
                        Rounds& redis) {
  for (int i = 0; i < field.rounds(); ++i) {
    for (Contender& one : contenders) {
      TRY_VOID(produce_round(one, field.seconds(), false));
    }
    if (!field.redis) continue;
    TRY(Round round, field.redis->produce(streams, field.seconds()));
    redis.add(std::move(round));
  }
  for (int i = 0; i < field.rounds(); ++i) {
    for (Contender& one : contenders) {
      if (one.broker == field.durable.get()) continue;
      TRY_VOID(produce_round(one, field.seconds() / 2, true));
      TRY_VOID(consume_round(one, false));
    }
  }
  return {};
}

}  // namespace

Result<FullLoad> bench_throughput(Field& field, std::int32_t partitions) {
  const std::string suffix = fmt::format("_p{}", partitions);
  std::vector<Contender> contenders;
  const auto add = [&](const std::unique_ptr<Broker>& broker, const std::string& name) {
    if (!broker) return;
    Contender one;
    one.broker = broker.get();
    one.name = name;
    one.load = field.load(*broker, "load" + suffix, partitions);
    contenders.push_back(std::move(one));
  };
  add(field.ours, "moraine");
  add(field.kafka, "Kafka, defaults");
  add(field.durable, "Kafka, flush each");
  for (Contender& one : contenders) {
    TRY_VOID(warm_up(one, field.warm_seconds()));
  }
  Rounds redis;
  TRY_VOID(run_rounds(field, contenders, static_cast<std::uint32_t>(partitions), redis));
  const bool peers = contenders.size() == 3;
  add_lines(field, suffix, contenders[0], peers ? &contenders[1] : nullptr,
            peers ? &contenders[2] : nullptr, redis);
  for (Contender& one : contenders) {
    TRY_VOID(delete_topic(one.load));
  }
  return FullLoad{contenders[0].produce.operations_per_second(),
                  peers ? contenders[1].produce.operations_per_second() : 0};
}

}  // namespace moraine::bench
