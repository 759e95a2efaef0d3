// The benchmark of topics: Moraine against Apache Kafka and Redis Streams, with one client program
// on one machine in one run. A peer that is not available is reported as skipped; ours is still
// measured.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "bench/blob_bench.h"
#include "bench/topics_broker.h"
#include "bench/topics_client.h"
#include "bench/topics_redis.h"

namespace moraine::bench {

Result<void> bench_topics_load(const Setting& setting);
Result<void> bench_topics_codecs(const Setting& setting);
Result<void> bench_topics_cost(const Setting& setting);

// The running brokers.
struct Field {
  const Setting& setting;
  std::unique_ptr<Broker> ours;
  std::unique_ptr<Broker> kafka;
  std::unique_ptr<Broker> durable;
  std::optional<Redis> redis;
  std::string why_no_kafka;
  std::string why_no_redis;

  int rounds() const { return setting.quick ? 3 : 5; }
  double seconds() const { return setting.quick ? 1 : 2; }
  double warm_seconds() const { return setting.quick ? 3 : 8; }
  TopicLoad load(const Broker& broker, const std::string& topic, std::int32_t partitions) const {
    return {broker.address(), topic, partitions};
  }
};

// Messages a second at full load, for the latency lines.
struct FullLoad {
  double ours = 0;
  double kafka = 0;
};

// Adds a line of ours against a peer: skipped, with the reason, when the peer has no rounds.
void add_ratio(Report& report, const std::string& name, double ours, const std::string& unit,
               const std::string& peer, const std::string& why_not, std::optional<double> peers,
               std::optional<double> goal);

// Parts of the benchmark, each in its own file.
Result<FullLoad> bench_throughput(Field& field, std::int32_t partitions);
Result<void> bench_latency(Field& field, const FullLoad& full);
Result<void> bench_codecs(Field& field);
Result<void> bench_partitions(Field& field);
Result<void> bench_start(Field& field);

}  // namespace moraine::bench
