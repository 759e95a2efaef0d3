// Clients that request much and read nothing, beside others, on a running server.
#include <gtest/gtest.h>

#include "app/cli_test_util.h"
#include "app/socket.h"
#include "app/test_memory.h"
#include "base/block_pool.h"
#include "cluster/local/cluster_file.h"
#include "gateway/kafka/protocol/messages.h"
#include "gateway/kafka/server/options.h"
#include "queue/blob_cache.h"

namespace moraine::app {
namespace {

constexpr int kLines = 64 * 1024;
constexpr std::size_t kLineBytes = 1'000;
constexpr int kStalledClients = 120;
constexpr int kRequestsEach = 8;

class SlowReadersCli : public Cli {
 protected:
  Outcome topic(std::vector<std::string> arguments, std::string_view input = "") {
    arguments.insert(arguments.begin(), "topic");
    arguments.insert(arguments.end(), {"--data", data()});
    return run(std::move(arguments), input);
  }
  static std::string many_lines() {
    std::string lines;
    for (int i = 0; i < kLines; ++i) {
      std::string line = std::to_string(i);
      line.resize(kLineBytes, 'x');
      lines += line + '\n';
    }
    return lines;
  }
};

// Fetches the whole topic from some offset on, many times.
Socket stalled_client(const TcpAddress& address, int number) {
  auto socket = Socket::connect(address, std::chrono::seconds(60));
  EXPECT_TRUE(socket) << socket.error().message();
  if (!socket) return {};
  for (int i = 0; i < kRequestsEach; ++i) {
    kafka::FetchRequest request;
    request.max_wait_ms = 500;
    request.min_bytes = 1;
    request.max_bytes = 50 << 20;
    kafka::FetchRequest::Partition partition;
    partition.fetch_offset = (number * 977 + i * 331) % (kLines / 4);
    partition.partition_max_bytes = 50 << 20;
    request.topics.push_back({"big", {}, {partition}});
    const kafka::RequestHeader header{kafka::ApiKey::kFetch, 11, i, "stalled"};
    for (const Slice& slice : kafka::encode_request(header, request)) {
      EXPECT_TRUE(socket->send(slice));
    }
  }
  return std::move(*socket);
}

TEST_F(SlowReadersCli, ClientsThatReadNothingAreClosedAndOthersAreServedMeanwhile) {
  RunningServer server(
      {"--data", data(), "--size", "512MiB", "--http", "127.0.0.1:0", "--topic-cache", "16MiB"},
      folder / "log");
  ASSERT_EQ(topic({"write", "big"}, many_lines()).code, 0);
  const auto address = parse_address(server.address("kafka"));
  ASSERT_TRUE(address);
  std::vector<Socket> stalled;
  for (int i = 0; i < kStalledClients; ++i) stalled.push_back(stalled_client(*address, i));
  // Each command times out long before those are closed as stalled.
  static_assert(kafka::kStalledWriteTimeout > std::chrono::seconds(30));
  int rounds = 0;
  bool closed = false;
  while (!closed && rounds < 1'000) {
    closed = server.log().contains("the client does not read its answers");
    const std::string line = "round " + std::to_string(rounds) + "\n";
    const Outcome written = topic({"write", "small"}, line);
    ASSERT_EQ(written.code, 0) << written.err;
    const Outcome small = topic({"read", "small", "--from", std::to_string(rounds++)});
    ASSERT_EQ(small.out, line) << small.err;
    const Outcome big = topic({"read", "big", "--from", "40000", "--count", "5000"});
    ASSERT_EQ(big.code, 0) << big.err;
    ASSERT_EQ(big.out.size(), 5'000 * (kLineBytes + 1));
  }
  EXPECT_TRUE(closed);
  const kafka::KafkaOptions options;
  const std::size_t bound = options.request_bytes_max + options.response_bytes_max +
                            16 * kMebibyte + queue::kLoadingBytesMax + detail::kIdleBlockBytesMax +
                            128 * kMebibyte;  // All else.
  if (kMemoryIsOurs) {
    EXPECT_LT(most_memory(server.child().id()), bound);
  }
  stalled.clear();
  EXPECT_EQ(server.stop(), 0);
}

}  // namespace
}  // namespace moraine::app
