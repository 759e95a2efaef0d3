// Several processes on loopback as one block-4-2 cluster.
#include <fmt/format.h>

#include <map>

#include "app/cli_test_util.h"
#include "io/real/os_random.h"
#include "io/real/tcp_socket.h"

namespace moraine::app {
namespace {

constexpr int kNodes = 4;
constexpr int kDevices = 2;

// Below the range that the system hands out by itself.
int free_port() {
  OsRandom random;
  for (;;) {
    const auto port = static_cast<std::uint16_t>(20'000 + random.below(10'000));
    const auto address = resolve_numeric({"127.0.0.1", port});
    if (!address) continue;
    const auto listener = open_listener(*address);
    if (!listener) continue;
    close(*listener);
    return port;
  }
}

class Cluster : public Cli {
 protected:
  void write_config() {
    std::string nodes;
    std::string disks;
    for (int node = 1; node <= kNodes; ++node) {
      nodes += fmt::format("  - id: {}\n    host: 127.0.0.1\n    port: {}\n    devices:\n", node,
                           free_port());
      for (int device = 1; device <= kDevices; ++device) {
        nodes += fmt::format("      - {{id: {1}, path: n{0}d{1}, size: 256MiB}}\n", node, device);
        disks += fmt::format("      - {{node: {}, device: {}, slot: 0}}\n", node, device);
      }
    }
    write_file(config(), "cluster:\n  name: test\nnodes:\n" + nodes +
                             "groups:\n  - id: 0x82000000\n    generation: 1\n"
                             "    erasure: block-4-2\n    disks:\n" +
                             disks);
  }
  std::string config() const { return folder / "cluster.yaml"; }
  void start(int node) {
    servers.erase(node);
    servers.emplace(
        node, RunningServer({"--config", config(), "--node", std::to_string(node), "--http", "off"},
                            folder / fmt::format("log-{}", node)));
  }
  Outcome cluster_blob(std::vector<std::string> arguments, std::string_view input = "") {
    arguments.insert(arguments.begin(), "blob");
    arguments.insert(arguments.end(), {"--config", config()});
    return run(std::move(arguments), input);
  }
  static std::string id(int step, std::size_t size) {
    return fmt::format("[1:1:{}:0:0:{}:0]", step, size);
  }
  std::string bytes(int step) const {
    return some_bytes(1 + static_cast<std::size_t>(step) * 37'123,
                      static_cast<std::uint64_t>(step));
  }
  void put(int step) {
    const std::string data = bytes(step);
    const Outcome done = cluster_blob({"put", id(step, data.size()), "-"}, data);
    ASSERT_EQ(done.code, 0) << done.err;
  }
  void expect_all(int steps) {
    for (int step = 1; step <= steps; ++step) {
      const std::string data = bytes(step);
      const Outcome got = cluster_blob({"get", id(step, data.size())});
      EXPECT_EQ(got.code, 0) << got.err;
      EXPECT_EQ(got.out, data) << step;
    }
  }
  void wait_until_replicated() {
    const Outcome status = cluster_blob({"status", "--wait", "--timeout", "120"});
    ASSERT_EQ(status.code, 0) << status.out << status.err;
  }

  std::map<int, RunningServer> servers;
};

TEST_F(Cluster, SurvivesTheLossOfAnyProcessInTurn) {
  write_config();
  for (int node = 1; node <= kNodes; ++node) start(node);
  wait_until_replicated();
  for (int step = 1; step <= 10; ++step) put(step);
  expect_all(10);

  EXPECT_EQ(servers.at(2).stop(SIGKILL), 128 + SIGKILL);
  expect_all(10);
  for (int step = 11; step <= 15; ++step) put(step);
  expect_all(15);

  start(2);
  wait_until_replicated();
  EXPECT_EQ(servers.at(3).stop(SIGKILL), 128 + SIGKILL);
  expect_all(15);

  start(3);
  wait_until_replicated();
  for (auto& [node, server] : servers) EXPECT_EQ(server.stop(SIGTERM), 0) << server.log();
  const Outcome checked = run({"blob", "check", "--config", config()});
  EXPECT_EQ(checked.code, 0) << checked.out;
}

TEST_F(Cluster, AWipedProcessIsReplicatedAndThenCarriesTheGroup) {
  write_config();
  for (int node = 1; node <= kNodes; ++node) start(node);
  wait_until_replicated();
  for (int step = 1; step <= 8; ++step) put(step);
  EXPECT_EQ(servers.at(1).stop(SIGKILL), 128 + SIGKILL);
  for (int device = 1; device <= kDevices; ++device) {
    std::filesystem::remove(folder / fmt::format("n1d{}", device));
  }
  start(1);
  expect_all(8);
  wait_until_replicated();
  EXPECT_EQ(servers.at(4).stop(SIGKILL), 128 + SIGKILL);
  expect_all(8);
}

TEST_F(Cluster, SaysWhichNodeIsMeant) {
  write_config();
  const Outcome none = run({"serve", "--config", config(), "--http", "off"});
  EXPECT_EQ(none.code, 2) << none.err;
  EXPECT_NE(none.err.find("--node"), std::string::npos);
  EXPECT_EQ(run({"serve", "--config", config(), "--node", "9", "--http", "off"}).code, 2);
  EXPECT_EQ(cluster_blob({"status"}).code, 5) << "nobody runs";
}

}  // namespace
}  // namespace moraine::app
