// Topics of a cluster: one node serves them, and they stay in their group.
#include <fmt/format.h>
#include <unistd.h>

#include "app/cli_test_util.h"
#include "io/real/os_random.h"
#include "io/real/tcp_socket.h"

namespace moraine::app {
namespace {

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

class ClusterTopics : public Cli {
 protected:
  // Two nodes with a device each; `groups` are lines of the config.
  void write_config(const std::string& groups) {
    std::string nodes;
    for (const int node : {1, 2}) {
      nodes += fmt::format(
          "  - {{id: {0}, host: 127.0.0.1, port: {1}, devices: [{{id: 1, path: disk-{0}, size: "
          "256MiB}}]}}\n",
          node, ports_[node - 1]);
    }
    write_file(config(), "cluster:\n  name: topics\nnodes:\n" + nodes + "groups:\n" + groups);
  }
  static std::string group(int number, int node) {
    return fmt::format(
        "  - {{id: {}, generation: 1, erasure: none, disks: [{{node: {}, device: 1, slot: 0}}]}}\n",
        number, node);
  }
  std::string config() const { return folder / "cluster.yaml"; }
  std::string log(int node) const { return folder / fmt::format("log-{}", node); }
  RunningServer serve(int node, std::vector<std::string> more) {
    std::vector<std::string> arguments{"--config",           config(), "--node",
                                       std::to_string(node), "--http", "off"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunningServer(std::move(arguments), log(node));
  }
  Outcome topic(const RunningServer& server, std::vector<std::string> arguments,
                std::string_view input = "") {
    arguments.insert(arguments.begin(), "topic");
    arguments.insert(arguments.end(), {"--kafka", server.address("kafka")});
    return run(std::move(arguments), input);
  }

 private:
  int ports_[2] = {free_port(), free_port()};
};

TEST_F(ClusterTopics, ASecondNodeSaysWhichOneServesThemAndTakesOverOnRequest) {
  write_config(group(1, 1));
  RunningServer first = serve(1, {"--kafka", "127.0.0.1:0"});
  ASSERT_EQ(topic(first, {"write", "t"}, "a\n").code, 0);
  {
    RunningServer second = serve(2, {"--kafka", "127.0.0.1:0"});
    EXPECT_EQ(second.address("kafka"), "off") << second.line();
    EXPECT_TRUE(second.log().contains("node 1 serves the topics of this cluster (kafka " +
                                      first.address("kafka")))
        << second.log();
    EXPECT_TRUE(second.log().contains("--take-over")) << second.log();
    EXPECT_EQ(second.stop(), 0) << second.log();
  }
  ASSERT_EQ(topic(first, {"write", "t"}, "b\n").code, 0) << "nobody fenced it";
  EXPECT_FALSE(first.log().contains("fenced")) << first.log();

  RunningServer second = serve(2, {"--kafka", "127.0.0.1:0", "--take-over"});
  EXPECT_NE(second.address("kafka"), "off") << second.log();
  EXPECT_EQ(topic(second, {"read", "t"}).out, "a\nb\n");
  EXPECT_TRUE(first.log().contains("another node has taken the topics over")) << first.log();
  EXPECT_TRUE(first.child().running()) << "its disk is needed";
  EXPECT_EQ(topic(first, {"list", "--timeout", "1"}).code, 5);
  EXPECT_EQ(second.stop(), 0) << second.log();
  EXPECT_EQ(first.stop(), 0) << first.log();
}

TEST_F(ClusterTopics, ANewFirstGroupInTheConfigDoesNotHideThem) {
  write_config(group(1, 1));
  {
    RunningServer server = serve(1, {"--kafka", "127.0.0.1:0"});
    ASSERT_EQ(topic(server, {"write", "t"}, "kept\n").code, 0);
    EXPECT_EQ(server.stop(), 0) << server.log();
  }
  write_config(group(2, 2) + group(1, 1));
  {
    RunningServer other = serve(2, {});
    RunningServer server = serve(1, {"--kafka", "127.0.0.1:0"});
    EXPECT_EQ(topic(server, {"read", "t"}).out, "kept\n");
    EXPECT_EQ(server.stop(), 0) << server.log();
    EXPECT_EQ(other.stop(), 0) << other.log();
  }
  write_config(group(2, 2));
  RunningServer other = serve(2, {});
  const Outcome refused = run(
      {"serve", "--config", config(), "--node", "1", "--http", "off", "--kafka", "127.0.0.1:0"});
  EXPECT_EQ(refused.code, 3) << refused.err;
  EXPECT_TRUE(refused.err.contains("the config has no group 0x1")) << refused.err;
  EXPECT_EQ(other.stop(), 0) << other.log();
}

}  // namespace
}  // namespace moraine::app
