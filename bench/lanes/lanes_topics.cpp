// Topics on one lane and on two: durable produce of compressed batches, and consume of cached ones.

#include <fmt/format.h>

#include "bench/lanes/lane_contest.h"
#include "bench/lanes/lane_server.h"
#include "bench/lanes/lanes_bench.h"
#include "bench/lanes/raw_client.h"
#include "bench/lanes/recorded_topic.h"

namespace moraine::bench {
namespace {

constexpr double kGoalProduce = 1.5;
constexpr double kGoalConsume = 1.5;
constexpr std::uint32_t kManyPartitions = 16;
constexpr std::uint32_t kConnections = 8;
// Requests of a connection in flight. A server handles the Fetches of one in their order.
constexpr std::size_t kProduceDepth = 32;
constexpr std::size_t kFetchDepth = 4;
// A dozen megabytes: in every cache of a server.
constexpr std::uint64_t kBatchesCached = 1'024;  // Of all partitions.
constexpr std::uint64_t kBatchesPerFetch = 16;
constexpr std::uint32_t kFetchBytes = 192u << 10;
constexpr std::uint64_t kFetches = kBatchesCached / kBatchesPerFetch;

struct Servers {
  std::unique_ptr<LaneServer> one;
  std::unique_ptr<LaneServer> many;
};

Result<Servers> start_servers(const Setting& setting) {
  Servers servers;
  TRY(servers.one, LaneServer::start(setting, 1));
  TRY(servers.many, LaneServer::start(setting, kManyLanes));
  return servers;
}

// A connection's partitions in turn, batch after batch.
struct Spot {
  std::uint32_t partition = 0;
  std::uint64_t number = 0;
};
std::vector<Spot> produce_spots(std::uint32_t partitions, std::uint32_t connection,
                                std::uint32_t connections) {
  std::vector<Spot> spots;
  for (std::uint64_t number = 0; number < kBatchesRecorded; ++number) {
    for (std::uint32_t i = connection % partitions; i < partitions; i += connections) {
      spots.push_back({i, number});
    }
  }
  return spots;
}

// Connections that produce, each request sent once and its answer checked.
Result<RawClient> open_producer(const LaneServer& server, const RecordedTopic& topic,
                                std::uint32_t connections) {
  std::vector<Recording> recordings(connections);
  for (std::uint32_t c = 0; c < connections; ++c) {
    for (const Spot& spot : produce_spots(topic.partitions(), c, connections)) {
      recordings[c].add(topic.produce(spot.partition, spot.number));
    }
  }
  TRY(RawClient client, RawClient::connect(server.address(), std::move(recordings), kProduceDepth));
  for (std::uint32_t c = 0; c < connections; ++c) {
    RawConnection& connection = client.connections()[c];
    for (const Spot& spot : produce_spots(topic.partitions(), c, connections)) {
      const std::size_t request = connection.next();
      TRY(const Slice answer, connection.exchange());
      TRY(const AnswerSize size, topic.check_produced(answer, spot.partition, spot.number));
      connection.recording().expect(request, {size});
    }
  }
  return client;
}

// What was acknowledged must be in the topic, and nothing else.
Result<Round> produce_round(const Setting& setting, LaneServer& server, const RecordedTopic& topic,
                            RawClient& client) {
  TRY(const std::uint64_t before, server.end_offsets(topic.name(), topic.partitions()));
  const double cpu_before = server.cpu_seconds();
  TRY(Round round, client.run(lane_seconds(setting)));
  round.cpu_seconds = server.cpu_seconds() - cpu_before;
  TRY(const std::uint64_t after, server.end_offsets(topic.name(), topic.partitions()));
  if (after - before == round.operations) return round;
  return fail(Errc::kCorrupt, fmt::format("{} messages were acknowledged, but the end offsets grew "
                                          "by {}",
                                          round.operations, after - before));
}

Result<void> produce_line(const Setting& setting, const Servers& servers, kafka::Compression codec,
                          std::uint32_t partitions) {
  LaneLine line;
  line.name = fmt::format("produce_{}_p{}", to_string(codec), partitions);
  line.unit = "msg/s";
  line.client = true;
  line.goal = partitions == 1 ? kGoalOneTablet : kGoalProduce;
  TRY(const RecordedTopic topic, RecordedTopic::make(line.name, partitions, codec));
  std::vector<RawClient> clients;
  for (LaneServer* server : {servers.one.get(), servers.many.get()}) {
    TRY_VOID(create_topic(server->load(topic.name(), partitions)));
    TRY(RawClient client, open_producer(*server, topic, kConnections));
    clients.push_back(std::move(client));
  }
  const auto side = [&](LaneServer& server, RawClient& client) {
    return LaneSide{[&] { return produce_round(setting, server, topic, client); },
                    [&] { return server.metrics(); }};
  };
  TRY_VOID(compare_lanes(setting, line, side(*servers.one, clients[0]),
                         side(*servers.many, clients[1])));
  setting.report.note(
      fmt::format("{} connections, {} in flight on each, batches of {} messages, "
                  "compressed {:.1f} times",
                  kConnections, kProduceDepth, kMessagesPerBatch, topic.compression()));
  for (LaneServer* server : {servers.one.get(), servers.many.get()}) {
    TRY_VOID(delete_topic(server->load(topic.name(), partitions)));
  }
  return {};
}

// kBatchesCached batches, one after the other, so that their places are known.
Result<void> fill(LaneServer& server, const RecordedTopic& topic) {
  TRY_VOID(create_topic(server.load(topic.name(), topic.partitions())));
  TRY(RawClient client, open_producer(server, topic, 1));
  RawConnection& connection = client.connections().front();
  const std::vector<Spot> spots = produce_spots(topic.partitions(), 0, 1);
  for (std::uint64_t i = spots.size(); i < kBatchesCached; ++i) {
    const Spot& spot = spots[connection.next()];
    TRY(const Slice answer, connection.exchange());
    TRY(const AnswerSize size, topic.check_produced(answer, spot.partition, spot.number));
    (void)size;
  }
  TRY(const std::uint64_t stored, server.end_offsets(topic.name(), topic.partitions()));
  if (stored == kBatchesCached * kMessagesPerBatch) return {};
  return fail(Errc::kCorrupt, fmt::format("{} messages are stored, {} were acknowledged", stored,
                                          kBatchesCached * kMessagesPerBatch));
}

// Every connection fetches everything, the partitions in turn, from another one on than the others.
std::vector<Spot> fetch_spots(std::uint32_t partitions, std::uint32_t connection) {
  std::vector<Spot> spots;
  for (std::uint64_t i = 0; i < kFetches; ++i) {
    const std::uint64_t at = (i + connection * (kFetches / kConnections + 1)) % kFetches;
    spots.push_back(
        {static_cast<std::uint32_t>(at % partitions), at / partitions * kBatchesPerFetch});
  }
  return spots;
}

// Each request is sent once, its records are compared with what was written, and are cached then.
Result<RawClient> open_consumer(const LaneServer& server, const RecordedTopic& topic) {
  const std::uint64_t stored = kBatchesCached / topic.partitions();
  std::vector<Recording> recordings(kConnections);
  for (std::uint32_t c = 0; c < kConnections; ++c) {
    for (const Spot& spot : fetch_spots(topic.partitions(), c)) {
      recordings[c].add(topic.fetch(spot.partition, spot.number, kFetchBytes));
    }
  }
  TRY(RawClient client, RawClient::connect(server.address(), std::move(recordings), kFetchDepth));
  for (std::uint32_t c = 0; c < kConnections; ++c) {
    RawConnection& connection = client.connections()[c];
    for (const Spot& spot : fetch_spots(topic.partitions(), c)) {
      const std::size_t request = connection.next();
      TRY(const Slice answer, connection.exchange());
      TRY(std::vector<AnswerSize> sizes,
          topic.check_fetched(answer, spot.partition, spot.number, kFetchBytes, stored));
      connection.recording().expect(request, std::move(sizes));
    }
  }
  return client;
}

Result<Round> consume_round(const Setting& setting, const LaneServer& server, RawClient& client) {
  const double cpu_before = server.cpu_seconds();
  TRY(Round round, client.run(lane_seconds(setting)));
  round.cpu_seconds = server.cpu_seconds() - cpu_before;
  return round;
}

Result<void> consume_line(const Setting& setting, const Servers& servers,
                          std::uint32_t partitions) {
  LaneLine line;
  line.name = fmt::format("consume_p{}", partitions);
  line.unit = "msg/s";
  line.client = true;
  line.goal = partitions == 1 ? kGoalOneTablet : kGoalConsume;
  TRY(const RecordedTopic topic,
      RecordedTopic::make(line.name, partitions, kafka::Compression::kZstd));
  std::vector<RawClient> clients;
  for (LaneServer* server : {servers.one.get(), servers.many.get()}) {
    TRY_VOID(fill(*server, topic));
    TRY(RawClient client, open_consumer(*server, topic));
    clients.push_back(std::move(client));
  }
  const auto side = [&](const LaneServer& server, RawClient& client) {
    return LaneSide{[&] { return consume_round(setting, server, client); },
                    [&] { return server.metrics(); }};
  };
  TRY_VOID(compare_lanes(setting, line, side(*servers.one, clients[0]),
                         side(*servers.many, clients[1])));
  setting.report.note(
      fmt::format("{} connections, {} fetches in flight on each, about {} batches "
                  "in each answer",
                  kConnections, kFetchDepth, kBatchesPerFetch));
  return {};
}

}  // namespace

Result<void> bench_lanes_produce(const Setting& setting) {
  TRY(const Servers servers, start_servers(setting));
  for (const kafka::Compression codec : {kafka::Compression::kGzip, kafka::Compression::kZstd}) {
    for (const std::uint32_t partitions : {kManyPartitions, 1u}) {
      TRY_VOID(produce_line(setting, servers, codec, partitions));
    }
  }
  return {};
}

Result<void> bench_lanes_consume(const Setting& setting) {
  TRY(const Servers servers, start_servers(setting));
  TRY_VOID(consume_line(setting, servers, kManyPartitions));
  return consume_line(setting, servers, 1);
}

}  // namespace moraine::bench
