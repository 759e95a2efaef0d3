// The verbs of `yt` against a node of this program.
#include <regex>

#include "app/cli_test_util.h"

namespace moraine::app {
namespace {

class YtCli : public Cli {
 protected:
  void serve() {
    server.emplace(
        std::vector<std::string>{"--data", data(), "--size", "256MiB", "--http", "127.0.0.1:0"},
        folder / "log");
  }
  Outcome yt(std::vector<std::string> arguments, std::string_view input = "") {
    arguments.insert(arguments.end(), {"--proxy", server->address("http")});
    return run(std::move(arguments), input);
  }

  std::optional<RunningServer> server;
};

TEST_F(YtCli, AsksForWhatTheServerIs) {
  serve();
  const Outcome timestamp = yt({"generate-timestamp"});
  EXPECT_EQ(timestamp.code, 0) << timestamp.err;
  EXPECT_TRUE(std::regex_match(timestamp.out, std::regex("[0-9]{15,}\n"))) << timestamp.out;
}

}  // namespace
}  // namespace moraine::app
