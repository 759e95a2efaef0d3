// Verbs as commands of the program, against a server with scripted answers.
#include "app/yt_verbs/program.h"

#include <gtest/gtest.h>

#include "app/cli_test_util.h"
#include "app/yt_client/scripted_server.h"

namespace moraine::app {
namespace {

class Verbs : public Cli {
 protected:
  Outcome run_on(ScriptedServer& server, std::vector<std::string> arguments,
                 std::string_view input = "") {
    arguments.insert(arguments.end(), {"--proxy", to_string(server.address())});
    return run(std::move(arguments), input);
  }
};

bool carries(const ScriptedServer::Received& request, std::string_view text) {
  return request.head.contains(text) || request.body.contains(text);
}

TEST(VerbWords, AreFoundBehindOptionsOfAllVerbs) {
  const auto found = [](std::vector<std::string> words) {
    const auto at = find_verb_word(words);
    return at ? static_cast<int>(*at) : -1;
  };
  EXPECT_EQ(found({"get", "//a"}), 0);
  EXPECT_EQ(found({"--proxy", "a:1", "--tx=1-2-3-4", "get", "//a"}), 3);
  EXPECT_EQ(found({"--ping-ancestor-txs", "list", "/"}), 1);
  EXPECT_EQ(found({"topic", "list"}), -1);
  EXPECT_EQ(found({"blob", "get"}), -1);
  EXPECT_EQ(found({"--version", "get"}), -1);
  EXPECT_EQ(found({"--help"}), -1);
  EXPECT_EQ(found({}), -1);
}

TEST_F(Verbs, PrintWhatYtPrints) {
  ScriptedServer server(
      {http_answer(200, R"({"node_id"="1-2-3-4";})"), http_answer(200, R"({"value"=%true;})"),
       http_answer(200, R"({"value"=["b";"a";];})"), http_answer(200, "{\n    \"x\" = 1;\n}"),
       http_answer(200, R"({"timestamp"=1234567890123u;})"), http_answer(200, "{}"),
       http_answer(200, R"({"lock_id"="9-9-9-9";"node_id"="1-2-3-4";})")});
  EXPECT_EQ(run_on(server, {"create", "table", "//tmp/t"}).out, "1-2-3-4\n");
  EXPECT_EQ(run_on(server, {"exists", "//tmp/t"}).out, "true\n");
  EXPECT_EQ(run_on(server, {"list", "//tmp"}).out, "b\na\n");
  EXPECT_EQ(run_on(server, {"get", "//tmp/t/@x"}).out, "{\n    \"x\" = 1;\n}\n");
  EXPECT_EQ(run_on(server, {"generate-timestamp"}).out, "1234567890123\n");
  const Outcome removed = run_on(server, {"remove", "//tmp/t", "-r"});
  EXPECT_EQ(removed.out, "");
  EXPECT_EQ(removed.code, 0) << removed.err;
  EXPECT_EQ(run_on(server, {"--tx", "1-1-1-1", "lock", "//tmp", "--mode", "shared"}).out,
            "9-9-9-9\n");
  const auto requests = server.received();
  ASSERT_EQ(requests.size(), 7u);
  EXPECT_TRUE(carries(requests[3], "\"output_format\"=<\"format\"=\"pretty\";>\"yson\""));
  EXPECT_TRUE(carries(requests[3], "\"return_only_value\"=%true"));
  EXPECT_TRUE(carries(requests[5], "\"recursive\"=%true"));
  EXPECT_TRUE(carries(requests[6], "\"transaction_id\"=\"1-1-1-1\""));
}

TEST_F(Verbs, SendRowsAndPrintRows) {
  const std::string rows = "{\"k\"=1;\"v\"=\"a\";};\n";
  ScriptedServer server({http_answer(200, ""), http_answer(200, ""), http_answer(200, rows),
                         http_answer(200, "{\"k\":1}\n{\"k\":2}\n"),
                         http_answer(200, "{\"k\":1}\n{\"k\":2}\n")});
  EXPECT_EQ(
      run_on(server, {"insert-rows", "//tmp/t", "--format", "json", "--update"}, "{\"k\":1}").code,
      0);
  EXPECT_EQ(run_on(server, {"delete-rows", "//tmp/t", "{k=1}", "{k=2};"}).code, 0);
  EXPECT_EQ(run_on(server, {"lookup-rows", "//tmp/t"}, "{k=1}").out, rows);
  EXPECT_EQ(run_on(server, {"select-rows", "k from [//tmp/t]", "--format", "json"}).out,
            "{\"k\":1}\n{\"k\":2}\n");
  EXPECT_EQ(run_on(server, {"read", "//tmp/t", "--format", "json", "--as-json-list"}).out,
            "[\n{\"k\":1},\n{\"k\":2}\n]\n");
  const auto requests = server.received();
  ASSERT_EQ(requests.size(), 5u);
  EXPECT_EQ(requests[0].body, "{\"k\":1}");
  EXPECT_TRUE(carries(requests[0], "\"input_format\"=\"json\""));
  EXPECT_TRUE(carries(requests[0], "\"update\"=%true"));
  EXPECT_EQ(requests[1].body, "{k=1};\n{k=2};\n");
  EXPECT_TRUE(carries(requests[2], "\"output_format\"=<\"format\"=\"text\";>\"yson\""));
}

TEST_F(Verbs, WritingCreatesWhatIsMissing) {
  ScriptedServer server({http_answer(200, "{}"), http_answer(200, "{}"), http_answer(200, "{}"),
                         http_answer(200, "{}"), http_answer(200, "{}")});
  EXPECT_EQ(run_on(server, {"write-table", "<append=%true>//t{a}", "--compressed"}, "gzip").code,
            0);
  EXPECT_EQ(run_on(server, {"upload", "//f", "--executable"}, "script").code, 0);
  const auto requests = server.received();
  ASSERT_EQ(requests.size(), 5u);
  EXPECT_TRUE(carries(requests[0], "\"path\"=\"//t\"")) << requests[0].body;
  EXPECT_TRUE(carries(requests[0], "\"ignore_existing\"=%true"));
  EXPECT_TRUE(carries(requests[1], "\"path\"=\"<append=%true>//t{a}\"")) << requests[1].head;
  EXPECT_TRUE(carries(requests[1], "Content-Encoding: gzip\r\n"));
  EXPECT_EQ(requests[1].body, "gzip");
  EXPECT_TRUE(carries(requests[2], "\"type\"=\"file\""));
  EXPECT_EQ(requests[3].body, "script");
  EXPECT_TRUE(carries(requests[4], "//f/@executable"));
}

TEST_F(Verbs, SetChecksItsValueBeforeItIsSent) {
  ScriptedServer server({http_answer(200, "{}"), http_answer(200, "{}")});
  EXPECT_EQ(run_on(server, {"set", "//t/@a", "{b=1}"}).code, 0);
  EXPECT_EQ(run_on(server, {"set", "//t/@a"}, "[1;2]").code, 0);
  const Outcome wrong = run_on(server, {"set", "//t/@a", "{b="});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_TRUE(wrong.err.contains("the value is no YSON")) << wrong.err;
  const auto requests = server.received();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].body, "{b=1}");
  EXPECT_EQ(requests[1].body, "[1;2]");
}

TEST_F(Verbs, SyncWaitsForTheTablets) {
  ScriptedServer server(
      {http_answer(200, "{}"), http_answer(200, R"({"value"="transient";})"),
       http_answer(200, R"({"value"="mounted";})"), http_answer(200, "{}"),
       http_answer(200,
                   R"({"value"=[{"state"="frozen"};{"state"="freezing"};{"state"="mounted"}];})"),
       http_answer(200,
                   R"({"value"=[{"state"="frozen"};{"state"="frozen"};{"state"="mounted"}];})")});
  EXPECT_EQ(run_on(server, {"mount-table", "//t", "--sync"}).code, 0);
  EXPECT_EQ(run_on(server, {"freeze-table", "//t", "--last-tablet-index", "1", "--sync"}).code, 0);
  const auto requests = server.received();
  ASSERT_EQ(requests.size(), 6u);
  EXPECT_TRUE(carries(requests[2], "//t/@tablet_state"));
  EXPECT_TRUE(carries(requests[5], "//t/@tablets"));
}

TEST_F(Verbs, FindWalksATreeWithItsAttributes) {
  const std::string tree = R"({"value"=<"type"="map_node">{"b"=<"type"="table";"owner"="me">#;)"
                           R"("a"=<"type"="map_node">{"x/y"=<"type"="table";"owner"="you">#}};})";
  ScriptedServer server({http_answer(200, tree), http_answer(200, tree), http_answer(200, tree)});
  EXPECT_EQ(run_on(server, {"find", "//tmp"}).out, "//tmp\n//tmp/a\n//tmp/a/x\\/y\n//tmp/b\n");
  EXPECT_EQ(run_on(server, {"find", "//tmp", "--type", "table", "--owner", "me"}).out, "//tmp/b\n");
  EXPECT_EQ(run_on(server, {"find", "//tmp", "--name", "[ab]", "--depth", "1"}).out,
            "//tmp/a\n//tmp/b\n");
}

TEST_F(Verbs, ExecuteSendsAnyCommand) {
  ScriptedServer server({http_answer(200, "\"1-2\""), http_answer(200, "")});
  EXPECT_EQ(run_on(server, {"execute", "get", "{path=\"//t/@id\"}"}).out, "\"1-2\"\n");
  EXPECT_EQ(
      run_on(server, {"execute", "insert_rows", "{path=\"//t\";input_format=json}"}, "{}").code, 0);
  EXPECT_EQ(server.received()[1].body, "{}");
}

TEST_F(Verbs, ErrorsOfTheClusterArePrintedWithTheirCauses) {
  ScriptedServer server({http_answer(
      400, R"({"code":500,"message":"Error resolving path //x","attributes":{"host":"h"},)"
           R"("inner_errors":[{"code":500,"message":"Node // has no child with key \"x\""}]})")});
  const Outcome failed = run_on(server, {"get", "//x"});
  EXPECT_EQ(failed.code, 1);
  EXPECT_EQ(failed.out, "");
  EXPECT_EQ(failed.err,
            "moraine: Error resolving path //x\n  (code 500)\n"
            "  because: Node // has no child with key \"x\"\n    (code 500)\n");
}

TEST_F(Verbs, WrongArgumentsAndNoClusterAreToldApart) {
  const Outcome wrong = run({"get"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_EQ(wrong.err, "moraine: get: PATH is missing\nSee 'moraine get --help'.\n");
  const Outcome https = run({"get", "//a", "--proxy", "https://a"});
  EXPECT_EQ(https.code, 2);
  EXPECT_TRUE(https.err.contains("https is not supported")) << https.err;
  const Outcome none = run({"get", "//a", "--proxy", "127.0.0.1:1"});
  EXPECT_EQ(none.code, 5);
  EXPECT_TRUE(none.err.contains("127.0.0.1:1: Connection refused")) << none.err;
}

TEST_F(Verbs, AReaderThatIsGoneIsNoFailure) {
  for (const std::size_t size : {std::size_t{10}, std::size_t{2'000'000}}) {
    ScriptedServer server({http_answer(200, std::string(size, 'x'))});
    write_file(folder / "gone", "set -o pipefail\n" + moraine_binary() + " read-file //f --proxy " +
                                    to_string(server.address()) + " | true\necho $?\n");
    ChildOptions options;
    options.arguments = {"/bin/bash", folder / "gone"};
    auto child = ChildProcess::start(options);
    ASSERT_TRUE(child);
    EXPECT_EQ(child->read_line(std::chrono::seconds(60)).value_or("-"), "0") << size;
  }
}

TEST_F(Verbs, HelpAndCompletionKnowThem) {
  EXPECT_TRUE(run({"mount-table", "--help"}).out.contains("--first-tablet-index"));
  EXPECT_TRUE(run({"--help"}).out.contains("select-rows"));
  EXPECT_TRUE(run({"completion", "bash"}).out.contains("--first-tablet-index"));
}

}  // namespace
}  // namespace moraine::app
