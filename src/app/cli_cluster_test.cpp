// Several processes on loopback as one block-4-2 cluster.
#include <fmt/format.h>

#include <map>

#include "app/cli_test_util.h"
#include "cluster/local/cluster_file.h"
#include "cluster/local/http_get.h"
#include "io/real/os_random.h"
#include "io/real/tcp_socket.h"

namespace moraine::app {
namespace {

constexpr int kNodes = 4;
constexpr int kDevices = 2;

// Below the system's range of ephemeral ports.
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
    servers.emplace(node, RunningServer({"--config", config(), "--node", std::to_string(node),
                                         "--http", "127.0.0.1:0"},
                                        log_file(node)));
  }
  std::string log_file(int node) const { return folder / fmt::format("log-{}", node); }
  // A page of the node's HTTP server.
  std::string page(int node, const std::string& path) {
    const auto address = parse_address(servers.at(node).address("http"));
    EXPECT_TRUE(address);
    return http_get(*address, path, std::chrono::seconds(30)).value_or("");
  }
  // Waits until the log of the node has the text; the test runner bounds the time.
  void wait_for_log(int node, const std::string& words) {
    while (!read_file(log_file(node)).contains(words)) usleep(20'000);
  }
  void wait_for_page(int node, const std::string& path, const std::string& words) {
    while (!page(node, path).contains(words)) usleep(20'000);
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

TEST_F(Cluster, StatusWaitsForNodesThatDoNotServeYet) {
  write_config();
  ChildOptions options;
  options.arguments = {moraine_binary(), "blob",   "status",    "--config",
                       config(),         "--wait", "--timeout", "120"};
  options.output = folder / "waited";
  options.errors = folder / "waited-errors";
  auto waiting = ChildProcess::start(options);
  ASSERT_TRUE(waiting);
  for (int node = 1; node <= kNodes; ++node) start(node);
  EXPECT_EQ(waiting->wait(), 0) << read_file(options.errors);
  const std::string out = read_file(options.output);
  EXPECT_TRUE(
      out.contains("health: whole: all 8 disks ready and replicated; any 2 disks or any 1 "
                   "node may fail"))
      << out;
  const std::string http = servers.at(1).address("http");
  EXPECT_EQ(run({"blob", "status", "--node", http, "--wait"}).code, 0);
}

TEST_F(Cluster, StatusShowsTheLastStateAfterATimeout) {
  write_config();
  const auto began = std::chrono::steady_clock::now();
  const Outcome nobody = cluster_blob({"status", "--wait", "--timeout", "1"});
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(900));
  EXPECT_EQ(nobody.code, 5) << nobody.err;
  EXPECT_TRUE(nobody.out.contains("space unknown")) << nobody.out;
  EXPECT_FALSE(nobody.out.contains("% free")) << nobody.out;
  EXPECT_TRUE(nobody.out.contains("health: not available: 8 of 8 disks are not ready"))
      << nobody.out;
  EXPECT_TRUE(nobody.out.contains("on node 4 device 2 is unreachable: ")) << nobody.out;
  EXPECT_EQ(run({"blob", "status", "--node", "127.0.0.1:1", "--wait", "--timeout", "0.5"}).code, 5);

  start(1);
  const Outcome alone = cluster_blob({"status", "--wait", "--timeout", "1"});
  EXPECT_EQ(alone.code, 1) << alone.err;
  EXPECT_TRUE(alone.out.contains("recovering")) << alone.out;
  EXPECT_TRUE(alone.out.contains("unreachable")) << alone.out;

  // Every group is shown when none is named.
  write_file(config(), read_file(config()) +
                           "  - id: 0x82000001\n    generation: 1\n    erasure: none\n"
                           "    disks:\n      - {node: 1, device: 1, slot: 1}\n");
  const Outcome both = cluster_blob({"status"});
  EXPECT_NE(both.code, 0) << both.out;
  EXPECT_TRUE(both.out.contains("group 82000000 generation 1, block-4-2")) << both.out;
  EXPECT_TRUE(both.out.contains("group 82000001 generation 1, none")) << both.out;
}

TEST_F(Cluster, AKilledNodeIsSeenInStatusMetricsAndLogs) {
  write_config();
  for (int node = 1; node <= kNodes; ++node) start(node);
  wait_until_replicated();
  put(1);
  wait_for_page(1, "/metrics", "moraine_group_condition{group=\"82000000\"} 0\n");
  EXPECT_EQ(servers.at(2).stop(SIGKILL), 128 + SIGKILL);
  const Outcome status = cluster_blob({"status"});
  EXPECT_EQ(status.code, 1) << status.out;
  const std::string words =
      "no redundancy left: 2 of 8 disks are not whole; the next failure may make data unreadable";
  EXPECT_TRUE(status.out.contains("health: " + words)) << status.out;
  EXPECT_TRUE(status.out.contains("on node 2 device 1 is unreachable: ")) << status.out;
  EXPECT_TRUE(status.err.contains(words)) << status.err;
  wait_for_log(1, words);
  wait_for_page(1, "/metrics", "moraine_group_condition{group=\"82000000\"} 2\n");
  const std::string metrics = page(1, "/metrics");
  for (const char* line : {"moraine_group_disk_failures_survived{group=\"82000000\"} 0\n",
                           "moraine_group_node_failures_survived{group=\"82000000\"} 0\n",
                           "moraine_group_disks_not_whole{group=\"82000000\"} 2\n",
                           "moraine_peer_up{peer=\"2\"} 0\n", "moraine_peer_up{peer=\"3\"} 1\n"}) {
    EXPECT_TRUE(metrics.contains(line)) << line << metrics;
  }
  const std::string json = page(1, "/status");
  EXPECT_TRUE(json.contains("\"condition\":\"no redundancy left\"")) << json;
  EXPECT_TRUE(json.contains("\"state\":\"down\"")) << json;
  const std::string log = read_file(log_file(1));
  EXPECT_TRUE(log.contains("peer down peer=\"node 2 at ")) << log;
  EXPECT_FALSE(log.contains("peer=0")) << log;

  start(2);
  wait_until_replicated();
  wait_for_log(1, "peer up peer=\"node 2 at ");
  wait_for_page(1, "/metrics", "moraine_group_condition{group=\"82000000\"} 0\n");
}

TEST_F(Cluster, CheckKeepsWhatItFoundWhenOtherDisksAreInUse) {
  write_config();
  for (int node = 1; node <= kNodes; ++node) start(node);
  wait_until_replicated();
  for (auto& [node, server] : servers) {
    if (node != 2) EXPECT_EQ(server.stop(SIGTERM), 0) << server.log();
  }
  const Outcome checked = run({"blob", "check", "--config", config()});
  EXPECT_EQ(checked.code, 3) << checked.out << checked.err;
  for (const char* device : {"n1d1", "n1d2", "n3d1", "n4d2"}) {
    EXPECT_TRUE(checked.out.contains(folder / device + ": sound")) << checked.out;
  }
  for (const char* device : {"n2d1", "n2d2"}) {
    EXPECT_TRUE(checked.out.contains(folder / device + ": NOT CHECKED: process ")) << checked.out;
  }
  EXPECT_TRUE(checked.err.contains("not checked: " + folder / "n2d1" + " (and 1 more)"))
      << checked.err;
  const Outcome json = run({"blob", "check", "--config", config(), "--json"});
  EXPECT_EQ(json.code, 3);
  EXPECT_TRUE(json.out.contains("\"sound\":false")) << json.out;
  EXPECT_TRUE(json.out.contains("n2d1\",\"checked\":false")) << json.out;
  EXPECT_TRUE(json.out.contains("n4d2\",\"checked\":true,\"sound\":true")) << json.out;
}

TEST_F(Cluster, AsksWhichNodeIsMeant) {
  write_config();
  const Outcome none = run({"serve", "--config", config(), "--http", "off"});
  EXPECT_EQ(none.code, 2) << none.err;
  EXPECT_NE(none.err.find("--node"), std::string::npos);
  EXPECT_EQ(run({"serve", "--config", config(), "--node", "9", "--http", "off"}).code, 2);
  EXPECT_EQ(cluster_blob({"status"}).code, 5) << "nobody runs";
}

}  // namespace
}  // namespace moraine::app
