// moraine shell with scripts, against a server with scripted answers.
#include "app/yt_shell/shell.h"

#include <gtest/gtest.h>

#include "app/cli_test_util.h"
#include "app/yt_client/scripted_server.h"

namespace moraine::app {
namespace {

class ShellScripts : public Cli {
 protected:
  Outcome shell(ScriptedServer& server, std::vector<std::string> arguments,
                std::string_view input = "") {
    arguments.insert(arguments.begin(), "shell");
    arguments.insert(arguments.end(), {"--proxy", to_string(server.address())});
    return run(std::move(arguments), input);
  }
};

TEST_F(ShellScripts, RunQueriesAndVerbsInOrder) {
  ScriptedServer server({http_answer(200, R"({"node_id"="1-2-3-4";})"), http_answer(200, ""),
                         http_answer(200, "{\"k\"=1;};\n"), http_answer(200, "{\n}\n")});
  const Outcome done = shell(server, {},
                             "create table //t --attributes {dynamic=%true;schema=[]};\n"
                             "insert-rows //t {k=1} {k=2};\n"
                             "select k\nfrom [//t];\n"
                             "explain k from [//t]");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, "1-2-3-4\n{\"k\"=1;};\n{\n}\n");
  const auto requests = server.received();
  ASSERT_EQ(requests.size(), 4u);
  EXPECT_TRUE(requests[0].body.contains("\"schema\"=[]"));
  EXPECT_EQ(requests[1].body, "{k=1};\n{k=2};\n");
  EXPECT_TRUE(requests[2].head.contains("select k\\nfrom [//t]")) << requests[2].head;
  EXPECT_TRUE(requests[3].head.starts_with("GET /api/v4/explain_query "));
  for (const auto& request : requests) EXPECT_EQ(request.connection, 0u) << "one connection";
}

TEST_F(ShellScripts, StopAtTheFirstErrorWithItsExitCode) {
  ScriptedServer server({http_answer(400, R"({"code":500,"message":"no such node"})")});
  const Outcome failed = shell(server, {"--execute", "get //x; get //y"});
  EXPECT_EQ(failed.code, 1);
  EXPECT_EQ(failed.err, "moraine: no such node\n  (code 500)\n");
  EXPECT_EQ(server.received().size(), 1u);
  EXPECT_EQ(shell(server, {"-e", "dance"}).code, 2);
  EXPECT_EQ(shell(server, {"-e", "mount-table"}).code, 2);
}

TEST_F(ShellScripts, ReadRowsFromFilesAndPrintInTheFormatAskedFor) {
  ScriptedServer server({http_answer(200, ""), http_answer(200, "{\"k\":1}\n")});
  write_file(folder / "rows", "{\"k\":1}");
  const Outcome done =
      shell(server, {"--format", "json"},
            "insert-rows //t --format json < " + (folder / "rows") + "; k from [//t];");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, "{\"k\":1}\n");
  EXPECT_EQ(server.received()[0].body, "{\"k\":1}");
  EXPECT_TRUE(server.received()[1].head.contains("\"output_format\"=\"json\""));
  const Outcome missing = shell(server, {"-e", "insert-rows //t < /none"});
  EXPECT_EQ(missing.code, 2);
  EXPECT_TRUE(missing.err.contains("/none: No such file")) << missing.err;
}

TEST_F(ShellScripts, ShowHelpAndLeave) {
  ScriptedServer server({});
  const Outcome help = shell(server, {"-e", "help; quit; get //x"});
  EXPECT_EQ(help.code, 0) << help.err;
  EXPECT_TRUE(help.out.contains("mount-table")) << help.out;
  EXPECT_TRUE(server.received().empty());
}

TEST(QueryErrors, ShowThePlaceWithACaret) {
  YtError error;
  error.message = "Error while parsing query";
  error.attributes["position"] = YsonNode(10);
  EXPECT_EQ(describe_query_error(error, "select a\nfrm [//t]"),
            "Error while parsing query\n  (position: 10)\nat 2:2\n  frm [//t]\n   ^");
  error.attributes["position"] = YsonNode(1000);
  EXPECT_EQ(describe_query_error(error, "select"), "Error while parsing query\n  (position: 1000)");
  YtError drawn;
  drawn.message = "Error at 1:1\n  x\n  ^";
  drawn.attributes["position"] = YsonNode(0);
  EXPECT_TRUE(describe_query_error(drawn, "x").ends_with("(position: 0)")) << "once";
}

}  // namespace
}  // namespace moraine::app
