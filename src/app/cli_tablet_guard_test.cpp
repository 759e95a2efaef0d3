// Commands of operators on the tablets of the system and of topics.
#include "app/cli_test_util.h"
#include "cluster/tablet_ids.h"

namespace moraine::app {
namespace {

constexpr const char* kGenerationForEver = "4294967295";

class TabletGuard : public Cli {
 protected:
  RunningServer serve() {
    return RunningServer({"--data", data(), "--size", "256MiB", "--http", "127.0.0.1:0"},
                         folder / "log");
  }
  Outcome topic(std::vector<std::string> arguments, std::string_view input = "") {
    arguments.insert(arguments.begin(), "topic");
    arguments.insert(arguments.end(), {"--data", data()});
    return run(std::move(arguments), input);
  }
};

TEST_F(TabletGuard, CommandsThatDestroyASystemTabletNeedYes) {
  RunningServer server = serve();
  ASSERT_EQ(topic({"write", "t"}, "kept\n").code, 0);
  const std::string scheme = std::to_string(kSchemeTabletId.value);
  const std::string queue = std::to_string(kFirstTopicTabletId.value);
  struct Case {
    std::vector<std::string> command;
    std::string words;
  };
  const std::vector<Case> cases{
      {{"block", scheme, "9"}, "the tree of all topics and tables"},
      {{"block", queue, kGenerationForEver}, "partitions of a topic"},
      {{"collect", queue, "0", "--generation", "9", "--barrier", "9:9", "--hard"}, "is lost"},
      {{"collect", scheme, "0", "--generation", "9", "--barrier", "9:9"}, "is lost"},
      {{"discover", scheme, "--force-block", "9"}, "fences its running leader"},
      {{"put", "--auto", scheme + ":9:1:0:0:0:0", "-"}, "its leader did not write"},
  };
  for (const Case& one : cases) {
    const Outcome refused = blob(one.command, "x");
    EXPECT_EQ(refused.code, 2) << one.command.front() << refused.err;
    EXPECT_TRUE(refused.err.contains(one.words)) << refused.err;
    EXPECT_TRUE(refused.err.contains("--yes")) << refused.err;
  }
  EXPECT_EQ(blob({"block", scheme, "--show"}).code, 0) << "looking is free";
  EXPECT_EQ(topic({"read", "t"}).out, "kept\n");
  EXPECT_EQ(server.stop(), 0) << server.log();
}

TEST_F(TabletGuard, ATabletThatIsFencedForEverIsAnErrorForClientsAndALineInTheLog) {
  RunningServer server = serve();
  ASSERT_EQ(topic({"write", "t"}, "a\n").code, 0);
  const std::string queue = std::to_string(kFirstTopicTabletId.value);
  ASSERT_EQ(blob({"block", queue, kGenerationForEver, "--yes"}).code, 0);
  Outcome wrote;
  do {
    wrote = topic({"write", "t", "--timeout", "600"}, "b\n");
    ASSERT_NE(wrote.code, 0);
  } while (wrote.err.contains("REQUEST_TIMED_OUT"));
  EXPECT_EQ(wrote.code, 1) << wrote.err;
  EXPECT_TRUE(wrote.err.contains("cannot be started any more")) << wrote.err;
  const Outcome read = topic({"read", "t", "--timeout", "600"});
  EXPECT_EQ(read.code, 1) << read.err;
  const std::string log = server.log();
  EXPECT_TRUE(log.contains("tablet is fenced by another writer")) << log;
  const std::size_t line = log.find("blocked by hand");
  EXPECT_NE(line, std::string::npos) << log;
  EXPECT_EQ(log.find("blocked by hand", line + 1), std::string::npos) << "once\n" << log;
  EXPECT_EQ(server.stop(), 0) << server.log();
}

}  // namespace
}  // namespace moraine::app
