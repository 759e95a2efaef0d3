// The verbs of `yt` and the shell against a node of this program.
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
  // What it prints; its error if it fails.
  std::string said(std::vector<std::string> arguments, std::string_view input = "") {
    const Outcome outcome = yt(std::move(arguments), input);
    return outcome.code == 0 ? outcome.out : outcome.err;
  }
  void make_table(const std::string& path) {
    const Outcome made = yt({"create", "table", path, "--attributes",
                             "{dynamic=%true;schema=[{name=key;type=string;sort_order=ascending}; "
                             "{name=value;type=string}]}"});
    ASSERT_EQ(made.code, 0) << made.err;
    EXPECT_TRUE(std::regex_match(made.out, std::regex("[0-9a-f]+(-[0-9a-f]+){3}\n"))) << made.out;
    EXPECT_EQ(said({"mount-table", path, "--sync"}), "");
  }

  std::optional<RunningServer> server;
};

TEST_F(YtCli, AsksForWhatTheServerIs) {
  serve();
  const Outcome timestamp = yt({"generate-timestamp"});
  EXPECT_EQ(timestamp.code, 0) << timestamp.err;
  EXPECT_TRUE(std::regex_match(timestamp.out, std::regex("[0-9]{15,}\n"))) << timestamp.out;
  EXPECT_EQ(said({"whoami"}), "root\n");
}

TEST_F(YtCli, TheCommandsOfTheSpecificationWorkAsTheyArePrinted) {
  serve();
  EXPECT_NE(said({"create", "map_node", "//path/to", "-r"}), "");
  make_table("//path/to/table");
  EXPECT_EQ(said({"insert-rows", "//path/to/table"}, "{key=a;value=b};{key=c;value=d};"), "");
  EXPECT_EQ(said({"set", "//path/to/table/@forced_compaction_revision", "1"}), "");
  EXPECT_EQ(said({"remount-table", "//path/to/table"}), "");
  EXPECT_TRUE(std::regex_match(said({"get", "//path/to/table/@forced_compaction_revision"}),
                               std::regex("[0-9]+\n")));
  EXPECT_EQ(said({"lookup-rows", "//path/to/table"}, "{key=a};{key=b}"),
            "{\"key\"=\"a\";\"value\"=\"b\";};\n");
}

TEST_F(YtCli, TheTreeIsCreatedReadAndRemoved) {
  serve();
  EXPECT_EQ(said({"exists", "//tmp/a"}), "false\n");
  EXPECT_NE(said({"create", "map_node", "//tmp/a/b", "--recursive"}), "");
  EXPECT_EQ(said({"set", "//tmp/a/b/number", "42"}), "");
  EXPECT_EQ(said({"set", "//tmp/a/@note"}, "{x=[1;two]}"), "");
  EXPECT_EQ(said({"get", "//tmp/a/b/number", "--format", "json"}), "42\n");
  EXPECT_EQ(said({"get", "//tmp/a/@note", "--format", "json"}), "{\"x\":[1,\"two\"]}\n");
  EXPECT_EQ(said({"list", "//tmp/a"}), "b\n");
  EXPECT_EQ(said({"find", "//tmp/a"}), "//tmp/a\n//tmp/a/b\n//tmp/a/b/number\n");
  EXPECT_EQ(said({"copy", "//tmp/a", "//tmp/c"}), "");
  EXPECT_EQ(said({"move", "//tmp/c", "//tmp/d"}), "");
  EXPECT_EQ(said({"get", "//tmp/d/b/number"}), "42\n");
  EXPECT_EQ(said({"remove", "//tmp/a", "-r"}), "");
  const Outcome gone = yt({"get", "//tmp/a"});
  EXPECT_EQ(gone.code, 1);
  EXPECT_TRUE(gone.err.contains("has no child with key")) << gone.err;
  EXPECT_EQ(said({"remove", "//tmp/a", "-f"}), "");
}

TEST_F(YtCli, RowsAreWrittenUpdatedDeletedAndRead) {
  serve();
  make_table("//tmp/t");
  EXPECT_EQ(said({"insert-rows", "//tmp/t", "--format", "json"},
                 "{\"key\":\"a\",\"value\":\"1\"}\n{\"key\":\"b\",\"value\":\"2\"}\n"),
            "");
  EXPECT_EQ(said({"insert-rows", "//tmp/t", "--update", "{key=c}", "{key=a;value=x}"}),
            "moraine: At least one non-key column must be specified\n  (path: //tmp/t)\n")
      << "one request is one transaction";
  EXPECT_EQ(said({"delete-rows", "//tmp/t"}, "{key=b}"), "");
  EXPECT_EQ(said({"lookup-rows", "//tmp/t", "--format", "json"}, "{\"key\":\"b\"}{\"key\":\"a\"}"),
            "{\"key\":\"a\",\"value\":\"1\"}\n");
  EXPECT_EQ(said({"unmount-table", "//tmp/t", "--sync"}), "");
  const Outcome unmounted = yt({"lookup-rows", "//tmp/t"}, "{key=a}");
  EXPECT_EQ(unmounted.code, 1);
  EXPECT_TRUE(unmounted.err.contains("code 1702")) << unmounted.err;
}

TEST_F(YtCli, TheShellRunsVerbsOnOneConnection) {
  serve();
  const Outcome shell =
      yt({"shell", "-e",
          "create table //tmp/t --attributes {dynamic=%true;schema=[{name=k;type=int64;"
          "sort_order=ascending};{name=v;type=string}]}; mount-table //tmp/t --sync;"
          "insert-rows //tmp/t {k=1;v=a} {k=2;v=b}; lookup-rows //tmp/t {\"k\":2} --format json;"
          "list //tmp; get //none; list /"});
  EXPECT_EQ(shell.code, 1) << shell.err;
  EXPECT_TRUE(shell.out.ends_with("\n{\"k\":2,\"v\":\"b\"}\nt\n")) << shell.out;
  EXPECT_TRUE(shell.err.contains("has no child with key")) << shell.err;
}

TEST_F(YtCli, QueriesAreRunExplainedAndRefusedWithTheirPlace) {
  serve();
  make_table("//tmp/t");
  EXPECT_EQ(said({"insert-rows", "//tmp/t"}, "{key=a;value=b};{key=c;value=d};"), "");
  EXPECT_EQ(said({"select-rows", "value from [//tmp/t] where key = 'c'", "--format", "json"}),
            "{\"value\":\"d\"}\n");
  EXPECT_NE(said({"explain-query", "value from [//tmp/t] where key = 'c'"}), "");
  const Outcome wrong = yt({"select-rows", "value frm [//tmp/t]"});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_TRUE(wrong.err.contains("^")) << wrong.err;
  const Outcome shell = yt({"shell", "-e", "key, value from [//tmp/t] limit 10; list //tmp;"});
  EXPECT_EQ(shell.code, 0) << shell.err;
  EXPECT_EQ(shell.out, "{\"key\"=\"a\";\"value\"=\"b\";};\n{\"key\"=\"c\";\"value\"=\"d\";};\nt\n");
}

TEST_F(YtCli, ATransactionOfTheTreeHidesWhatItCreatesUntilItCommits) {
  serve();
  std::string id = said({"start-tx", "--timeout", "60000"});
  ASSERT_TRUE(id.ends_with('\n')) << id;
  id.pop_back();
  EXPECT_NE(said({"--tx", id, "create", "map_node", "//tmp/inside"}), "");
  EXPECT_EQ(said({"exists", "//tmp/inside"}), "false\n");
  EXPECT_EQ(said({"exists", "//tmp/inside", "--tx", id}), "true\n");
  EXPECT_NE(said({"lock", "//tmp", "--mode", "shared", "--tx", id}), "");
  EXPECT_EQ(said({"ping-tx", id}), "");
  EXPECT_EQ(said({"commit-tx", id}), "");
  EXPECT_EQ(said({"exists", "//tmp/inside"}), "true\n");
  EXPECT_EQ(yt({"abort-tx", id}).code, 1);
}

}  // namespace
}  // namespace moraine::app
