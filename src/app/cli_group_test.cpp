// moraine group, moraine completion.
#include "app/cli_test_util.h"

namespace moraine::app {
namespace {

class GroupCli : public Cli {
 protected:
  RunningServer serve() {
    return RunningServer({"--data", data(), "--size", "256MiB", "--http", "off"}, folder / "log");
  }
  Outcome on(std::vector<std::string> arguments, std::string_view input = "") {
    arguments.insert(arguments.end(), {"--data", data()});
    return run(std::move(arguments), input);
  }
};

TEST_F(GroupCli, GroupsAreListedDescribedResetAndDeleted) {
  RunningServer server = serve();
  EXPECT_EQ(on({"group", "list"}).out, "0 groups\n");
  ASSERT_EQ(on({"topic", "write", "t"}, "a\nb\nc\n").code, 0);
  ASSERT_EQ(on({"topic", "write", "u"}, "x\n").code, 0);
  ASSERT_EQ(on({"topic", "read", "t", "--group", "g", "--count", "2"}).out, "a\nb\n");
  ASSERT_EQ(on({"topic", "read", "u", "--group", "g"}).out, "x\n");
  EXPECT_EQ(on({"group", "list", "--json"}).out,
            "{\"status\":\"OK\",\"groups\":[{\"group\":\"g\",\"state\":\"Empty\","
            "\"protocol_type\":\"\"}]}\n");
  const Outcome described = on({"group", "describe", "g"});
  EXPECT_EQ(described.code, 0) << described.err;
  EXPECT_TRUE(described.out.starts_with("group g, Empty\n")) << described.out;
  EXPECT_TRUE(on({"group", "describe", "g", "--json"})
                  .out.contains("{\"topic\":\"t\",\"partition\":0,\"committed\":2,\"lag\":1}"));
  EXPECT_EQ(on({"group", "describe", "nobody"}).code, 1);

  EXPECT_EQ(on({"group", "reset", "g", "--to", "start"}).code, 0);
  EXPECT_EQ(on({"topic", "read", "t", "--group", "g"}).out, "a\nb\nc\n");
  EXPECT_EQ(on({"topic", "read", "u", "--group", "g"}).out, "x\n");
  EXPECT_EQ(on({"group", "reset", "g", "--topic", "t", "--partition", "0", "--offset", "2"}).code,
            0);
  EXPECT_EQ(on({"topic", "read", "t", "--group", "g"}).out, "c\n");
  EXPECT_EQ(on({"group", "reset", "g", "--topic", "t", "--partition", "0", "--offset", "9"}).code,
            1)
      << "past the end";
  EXPECT_EQ(on({"group", "reset", "g"}).code, 2);
  EXPECT_EQ(on({"group", "reset", "nobody", "--to", "end"}).code, 1);

  const Outcome unsure = on({"group", "delete", "g"});
  EXPECT_EQ(unsure.code, 2);
  EXPECT_TRUE(unsure.err.contains("offsets of 2 topics")) << unsure.err;
  EXPECT_EQ(on({"group", "delete", "g", "--yes"}).code, 0);
  EXPECT_EQ(on({"group", "delete", "g", "--yes"}).code, 1);
  EXPECT_EQ(on({"group", "list"}).out, "0 groups\n");
  EXPECT_EQ(server.stop(), 0) << server.log();
}

TEST_F(GroupCli, CompletionsAreThoseOfTheCommandLine) {
  const Outcome made = run({"completion", "bash"});
  ASSERT_EQ(made.code, 0) << made.err;
  const std::string path = folder / "complete";
  const auto complete = [&](const std::string& words) {
    write_file(path, made.out + "COMP_WORDS=(" + words +
                         ")\nCOMP_CWORD=$((${#COMP_WORDS[@]}-1))\n_moraine\n"
                         "echo \"${COMPREPLY[*]}\"\n");
    ChildOptions options;
    options.arguments = {"/bin/bash", path};
    auto child = ChildProcess::start(options);
    EXPECT_TRUE(child);
    return child->read_line(std::chrono::seconds(60)).value_or("-");
  };
  EXPECT_EQ(complete("moraine se"), "serve set set-attribute select-rows");
  EXPECT_EQ(complete("moraine mount-table //t --fi"), "--first-tablet-index");
  EXPECT_EQ(complete("moraine blob col"), "collect");
  EXPECT_EQ(complete("moraine group de"), "describe delete");
  EXPECT_EQ(complete("moraine topic --kafka h:1 read --fol"), "--follow") << "an option between";
  EXPECT_EQ(complete("moraine completion --hel"), "--help");
  EXPECT_TRUE(run({"completion", "zsh"}).out.starts_with("#compdef moraine\n"));
  EXPECT_EQ(run({"completion", "fish"}).code, 2);
}

}  // namespace
}  // namespace moraine::app
