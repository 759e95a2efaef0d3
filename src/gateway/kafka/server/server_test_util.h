// Batches and requests, and a server on fakes with a client over simulated streams. For tests.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "gateway/kafka/server/connection.h"
#include "gateway/kafka/server/fakes_test_util.h"
#include "io/sim/held_executor.h"
#include "io/sim/sim_stream.h"
#include "io/sim/sim_world.h"
#include "queue/kafka/records.h"
#include "queue/kafka/test_bytes.h"

namespace moraine::kafka {

inline Slice batch_with(std::vector<std::string> values, BatchOptions options = {},
                        std::int64_t time = 1000) {
  BatchBuilder builder(options);
  for (const std::string& value : values) {
    Record record;
    record.timestamp = time++;
    record.value = as_bytes(value);
    EXPECT_TRUE(builder.append(record));
  }
  return std::move(builder).build();
}

inline ProduceRequest produce_of(const std::string& topic, Slice batch, std::int16_t acks = -1) {
  ProduceRequest request;
  request.acks = acks;
  request.timeout_ms = 30'000;
  ProduceRequest::Partition partition;
  partition.records.slices.push_back(std::move(batch));
  request.topics.push_back({topic, {}});
  request.topics[0].partitions.push_back(std::move(partition));
  return request;
}

inline FetchRequest fetch_of(const std::string& topic, std::int64_t offset,
                             std::int32_t wait_ms = 0) {
  FetchRequest request;
  request.max_wait_ms = wait_ms;
  request.min_bytes = 1;
  request.max_bytes = 50 << 20;
  FetchRequest::Partition partition;
  partition.fetch_offset = offset;
  partition.partition_max_bytes = 1 << 20;
  request.topics.push_back({topic, {}, {partition}});
  return request;
}

// Whether a line has the text.
inline bool logged(const ScopedLogCapture& log, std::string_view text) {
  return std::ranges::any_of(log.lines(),
                             [text](const std::string& line) { return line.contains(text); });
}

// A service on fakes, and one connection to it.
class KafkaServerTest : public testing::Test {
 protected:
  explicit KafkaServerTest(KafkaOptions options = {}, SimStreamOptions streams = {})
      : world_(7),
        node_(world_.add_node()),
        topics_(world_.executor()),
        groups_(world_.executor()),
        service_(KafkaParts{topics_, groups_, producer_ids_, world_.executor(), node_.world().clock,
                            registry_, nullptr, &background_},
                 std::move(options)),
        stream_options_(streams) {
    connect();
  }
  ~KafkaServerTest() override {
    client_->close();
    for (const auto& client : others_) client->close();
    world_.run(wait_for(connections_));
    world_.run(wait_for(sends_));
    world_.run(service_.stop());
    client_.reset();
    world_.shutdown();
  }

  // A new client; the one before stays.
  void connect() {
    if (client_) others_.push_back(client_);
    auto [client, server] = make_sim_streams(world_.executor(), stream_options_);
    client_ = std::move(client);
    connections_.spawn(serve_kafka(service_)(std::move(server)));
  }

  FakePartition& make_topic(const std::string& name, std::uint32_t partitions = 1,
                            std::map<std::string, std::string> config = {}) {
    TopicSpec spec;
    spec.partitions = partitions;
    spec.config = std::move(config);
    const auto made = world_.run(topics_.create(name, spec));
    return *topics_.fake((*made)->id, 0);
  }

  Task<Result<void>> write(std::vector<Slice> slices) { return client_->write(std::move(slices)); }
  void send_bytes(const Slice& bytes) {
    std::vector<Slice> slices;
    slices.push_back(bytes);
    world_.run(write(std::move(slices)));
  }
  // Sends a request without waiting for its answer.
  template <class Request>
  RequestHeader send(const Request& request, std::int16_t version) {
    const RequestHeader header{Request::kApi, version, ++correlation_, "tester"};
    world_.run(write(encode_request(header, request)));
    return header;
  }
  static Task<Result<Slice>> read_frame(std::shared_ptr<ByteStream> stream) {
    Buffer prefix(kSizePrefixBytes);
    CO_TRY_VOID(co_await read_full(stream, prefix.span()));
    Buffer body(load_big<std::uint32_t>(prefix.data()));
    CO_TRY_VOID(co_await read_full(stream, body.span()));
    co_return std::move(body).freeze();
  }
  static Task<Result<void>> read_full(std::shared_ptr<ByteStream> stream, MutableByteSpan into) {
    for (std::size_t have = 0; have < into.size();) {
      CO_TRY(const std::size_t got, co_await stream->read(into.subspan(have)));
      if (got == 0) co_return fail(Errc::kUnavailable, "the end");
      have += got;
    }
    co_return Result<void>();
  }
  // The next answer; it must be the one to `header`.
  template <class Response>
  Response receive(const RequestHeader& header) {
    const auto frame = world_.run(read_frame(client_));
    EXPECT_TRUE(frame) << "no answer";
    if (!frame) return {};
    const auto body = open_response(header, *frame);
    EXPECT_TRUE(body) << body.error().message();
    auto response = decode_body<Response>(*body, header.version);
    EXPECT_TRUE(response) << response.error().message();
    return response ? std::move(*response) : Response{};
  }
  template <class Request>
  typename Request::Response ask(const Request& request, std::int16_t version) {
    const RequestHeader header = send(request, version);
    return receive<typename Request::Response>(header);
  }
  bool closed() { return !world_.run(read_frame(client_)); }
  Duration now() { return world_.executor().now().since_start; }
  static Task<void> wait_for(TaskScope& scope) { co_await scope.join(); }
  static Task<void> send_and_receive(std::shared_ptr<ByteStream> client, Slice request,
                                     std::size_t& answered) {
    std::vector<Slice> slices;
    slices.push_back(std::move(request));
    if (!co_await client->write(std::move(slices))) co_return;
    const auto frame = co_await read_frame(client);
    answered += frame ? 1 : 0;
  }

  SimWorld world_;
  SimNode& node_;
  MetricRegistry registry_;
  FakeTopics topics_;
  FakeGroups groups_;
  FakeProducerIds producer_ids_;
  HeldExecutor background_executor_{world_.executor()};
  BackgroundWork background_{background_executor_};
  KafkaService service_;
  SimStreamOptions stream_options_;
  TaskScope connections_;
  TaskScope sends_;
  std::shared_ptr<ByteStream> client_;
  std::vector<std::shared_ptr<ByteStream>> others_;
  std::int32_t correlation_ = -3;
};

}  // namespace moraine::kafka
