// moraine serve: start, stop, HTTP, and commands that go to a running node.
#include <unistd.h>

#include <thread>

#include "app/cli_test_util.h"
#include "cluster/local/cluster_file.h"
#include "cluster/local/http_get.h"

namespace moraine::app {
namespace {

constexpr const char* kHello = "[1:1:1:0:0:6:0]";

class Serve : public Cli {
 protected:
  RunningServer serve() {
    return RunningServer({"--data", data(), "--size", "256MiB", "--http", "127.0.0.1:0"},
                         folder / "log");
  }
  static Result<std::string> get(const RunningServer& server, const std::string& path) {
    TRY(const TcpAddress address, parse_address(server.address("http")));
    return http_get(address, path, std::chrono::seconds(10));
  }
};

TEST_F(Serve, CreatesAFolderListensAndEndsCleanly) {
  RunningServer server = serve();
  EXPECT_TRUE(server.line().starts_with("listening http=127.0.0.1:")) << server.line();
  EXPECT_EQ(server.address("grpc"), "off");
  EXPECT_TRUE(server.address("kafka").starts_with("127.0.0.1:")) << server.line();
  EXPECT_NE(server.address("node"), "");
  EXPECT_TRUE(std::filesystem::exists(data() + "/VERSION"));
  EXPECT_EQ(server.stop(SIGTERM), 0) << server.log();
  EXPECT_NE(server.log().find("not served yet"), std::string::npos) << server.log();
  EXPECT_FALSE(std::filesystem::exists(data() + "/node.port"));
  const Outcome info = run({"device", "info", device()});
  EXPECT_NE(info.out.find("closed cleanly"), std::string::npos) << info.out;
}

TEST_F(Serve, EndsOnInterruptToo) {
  RunningServer server = serve();
  EXPECT_EQ(server.stop(SIGINT), 0) << server.log();
}

TEST_F(Serve, ContinuesAfterSighup) {
  RunningServer server = serve();
  server.child().send(SIGHUP);
  EXPECT_EQ(get(server, "/ping").value_or("-"), "ok\n");
  EXPECT_EQ(server.stop(), 0) << server.log();
  EXPECT_TRUE(server.log().contains("SIGHUP has no effect")) << server.log();
}

TEST_F(Serve, ReportsItsVersionAndItsProcess) {
  RunningServer server = serve();
  EXPECT_TRUE(get(server, "/status").value_or("-").starts_with("{\"version\":\"0.1\""));
  const std::string metrics = get(server, "/metrics").value_or("-");
  for (const char* name : {"moraine_build_info{version=\"0.1\"", "\nmoraine_uptime_seconds ",
                           "\nprocess_start_time_seconds ", "\nprocess_cpu_seconds_total ",
                           "\nprocess_resident_memory_bytes ", "\nprocess_open_fds "}) {
    EXPECT_TRUE(metrics.contains(name)) << name << "\n" << metrics;
  }
  EXPECT_EQ(server.stop(), 0) << server.log();
}

TEST_F(Serve, AnswersOverHttp) {
  RunningServer server = serve();
  EXPECT_EQ(get(server, "/ping").value_or("-"), "ok\n");
  EXPECT_TRUE(get(server, "/status").value_or("-").contains("\"phase\":\"ready\""));
  EXPECT_TRUE(
      get(server, "/metrics").value_or("-").contains("moraine_device_live_bytes{device=\"1\"}"));
  EXPECT_TRUE(get(server, "/ping?query").value_or("-").contains("ok"));
  const auto missing = get(server, "/nothing");
  ASSERT_FALSE(missing);
  EXPECT_TRUE(missing.error().context.contains("404")) << missing.error().context;
  EXPECT_FALSE(get(server, "/" + std::string(20'000, 'x')));
  EXPECT_FALSE(get(server, "/ping HTTP/9.9\r\nX"));
  EXPECT_EQ(get(server, "/ping").value_or("-"), "ok\n") << "still well";
  EXPECT_EQ(server.stop(), 0);
}

TEST_F(Serve, CommandsReachARunningNodeByFolderAndByAddress) {
  RunningServer server = serve();
  const std::string http = server.address("http");
  ASSERT_EQ(blob({"put", kHello, "-"}, "hello\n").code, 0);
  const Outcome got = run({"blob", "get", kHello, "--node", http});
  EXPECT_EQ(got.out, "hello\n") << got.err;
  EXPECT_EQ(run({"blob", "discover", "1", "--node", http}).out, "[1:1:1:0:0:6:0]\n");
  EXPECT_EQ(run({"blob", "status", "--node", http}).code, 0);
  EXPECT_EQ(run({"blob", "range", "--tablet", "1", "--node", http}).code, 0);
  EXPECT_EQ(run({"blob", "block", "1", "2", "--node", http}).code, 0);
  EXPECT_EQ(run({"blob", "put", "[1:1:2:0:0:1:0]", "-", "--node", http}, "x").code, 1);
  const Outcome wrong_port = run({"blob", "status", "--node", server.address("node")});
  EXPECT_EQ(wrong_port.code, 5) << "the transport's port is no HTTP server";
  EXPECT_EQ(server.stop(), 0);
  EXPECT_EQ(blob({"get", kHello}).out, "hello\n") << "from the folder itself";
}

TEST_F(Serve, AKilledServerLeavesWhatItAcknowledged) {
  for (int round = 1; round <= 3; ++round) {
    RunningServer server = serve();
    const std::string id = "[1:1:" + std::to_string(round) + ":0:0:6:0]";
    ASSERT_EQ(blob({"put", id, "-"}, "hello\n").code, 0);
    EXPECT_EQ(server.stop(SIGKILL), 128 + SIGKILL);
  }
  for (int round = 1; round <= 3; ++round) {
    EXPECT_EQ(blob({"get", "[1:1:" + std::to_string(round) + ":0:0:6:0]"}).out, "hello\n");
  }
  EXPECT_EQ(blob({"check"}).code, 0);
}

TEST_F(Serve, AnIncompleteFolderIsCreatedAgain) {
  std::filesystem::create_directory(data());
  write_file(data() + "/VERSION.making", "");
  write_file(data() + "/device-1", "half");
  RunningServer server = serve();
  EXPECT_EQ(server.stop(), 0);
  EXPECT_EQ(blob({"status"}).code, 0);
}

TEST_F(Serve, ASizeThatIsEditedInTheConfigIsReported) {
  const auto replace = [this](const std::string& from, const std::string& to) {
    std::string config = read_file(data() + "/cluster.yaml");
    const std::size_t at = config.find(from);
    ASSERT_NE(at, std::string::npos) << config;
    write_file(data() + "/cluster.yaml", config.replace(at, from.size(), to));
  };
  make_folder("256MiB");
  {
    RunningServer server = serve();
    EXPECT_EQ(server.stop(), 0) << server.log();
    EXPECT_FALSE(server.log().contains("in the config is for")) << server.log();
  }
  replace("size: 256MiB", "size: 5GiB");
  replace("segment_size: 16MiB", "segment_size: 1MiB");
  RunningServer server = serve();
  EXPECT_EQ(server.stop(), 0) << server.log();
  EXPECT_TRUE(
      server.log().contains("warning size in the config is for a device that is created "
                            "now; this one keeps its own"))
      << server.log();
  EXPECT_TRUE(server.log().contains("config=5GiB device=256MiB")) << server.log();
  EXPECT_TRUE(server.log().contains("warning segment_size in the config")) << server.log();
  EXPECT_TRUE(server.log().contains("config=1MiB device=16MiB")) << server.log();
}

TEST_F(Serve, ADeviceLargerThanTheFreeSpaceIsReported) {
  const std::uint64_t free = std::filesystem::space(folder.path()).available;
  const std::string size = std::to_string((free >> 30) + 10) + "GiB";
  for (const std::string& asked : {size, std::string("256MiB")}) {
    const std::string path = folder / asked;
    const Outcome made = run({"init", "--data", path, "--size", asked});
    EXPECT_EQ(made.code, 0) << made.err;
    EXPECT_EQ(made.err.contains("larger than the free space"), asked == size) << made.err;
  }
}

TEST_F(Serve, ADestroyedSuperblockCopyIsReportedAndRepaired) {
  make_folder("256MiB");
  overwrite(device(), 0, std::string(50, 'x'));
  const Outcome info = run({"device", "info", device()});
  EXPECT_EQ(info.code, 1) << info.err;
  EXPECT_TRUE(info.out.contains("superblock copy 0")) << info.out;
  const Outcome checked = blob({"check"});
  EXPECT_EQ(checked.code, 1) << checked.err;
  EXPECT_TRUE(checked.out.contains("DAMAGED superblock copy 0")) << checked.out;
  RunningServer server = serve();
  EXPECT_TRUE(get(server, "/status").value_or("-").contains("\"damage\":[\"superblock copy 0"));
  EXPECT_EQ(server.stop(), 0) << server.log();
  EXPECT_TRUE(server.log().contains("warning device damaged")) << server.log();
  EXPECT_EQ(blob({"check"}).code, 0);
  EXPECT_EQ(run({"device", "info", device()}).code, 0);
}

TEST_F(Serve, TheHintsNameTheProgramAsItWasCalled) {
  RunningServer server = serve();
  EXPECT_EQ(server.stop(), 0) << server.log();
  EXPECT_TRUE(server.log().contains("try: echo hello | " + moraine_binary() + " topic write"))
      << server.log();
}

TEST_F(Serve, ATakenAddressIsAnError) {
  RunningServer server = serve();
  const Outcome second = run(
      {"serve", "--data", folder / "other", "--size", "256MiB", "--http", server.address("http")});
  EXPECT_EQ(second.code, 3) << second.err;
  EXPECT_NE(second.err.find("cannot listen"), std::string::npos) << second.err;
  EXPECT_FALSE(std::filesystem::exists(folder / "other")) << "nothing was made";
  const Outcome third = run({"serve", "--data", folder / "other", "--size", "256MiB", "--http",
                             "off", "--kafka", server.address("kafka")});
  EXPECT_EQ(third.code, 3) << third.err;
  EXPECT_TRUE(third.err.contains("--kafka")) << third.err;
  EXPECT_FALSE(std::filesystem::exists(folder / "other")) << "nothing was made";
  EXPECT_EQ(server.stop(), 0);
}

TEST_F(Serve, AnAddressThatAnotherReleasesSoonIsWaitedFor) {
  const int other = open_listener(*resolve_numeric({"127.0.0.1", 0})).value_or(-1);
  const std::string http = "127.0.0.1:" + std::to_string(local_port(other).value_or(0));
  std::thread release([other] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    ::close(other);
  });
  RunningServer server({"--data", data(), "--size", "256MiB", "--http", http}, folder / "log");
  release.join();
  EXPECT_EQ(server.address("http"), http);
  EXPECT_EQ(server.stop(), 0) << server.log();
}

TEST_F(Serve, TheSecondServerOfAFolderNamesTheFirst) {
  RunningServer server = serve();
  // With the same addresses: what is wrong is the folder.
  const Outcome second = run({"serve", "--data", data(), "--http", server.address("http"),
                              "--kafka", server.address("kafka")});
  EXPECT_EQ(second.code, 3) << second.err;
  for (const std::string& word :
       {"process " + std::to_string(server.child().id()), "node " + server.address("node"),
        "kafka " + server.address("kafka")}) {
    EXPECT_TRUE(second.err.contains(word)) << word << "\n" << second.err;
  }
  EXPECT_EQ(server.stop(), 0);
}

}  // namespace
}  // namespace moraine::app
