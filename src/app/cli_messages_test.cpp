// Error texts of the program: which command, what was found, what to do.
#include "app/cli_test_util.h"
#include "cluster/local/cluster_file.h"
#include "cluster/local/http_get.h"

namespace moraine::app {
namespace {

constexpr const char* kHello = "[1:1:1:0:0:6:0]";

class Messages : public Cli {
 protected:
  static void expect_says(const Outcome& outcome, int code, const std::string& words) {
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_TRUE(outcome.err.starts_with("moraine: ")) << outcome.err;
    EXPECT_NE(outcome.err.find(words), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find("corrupt"), std::string::npos) << outcome.err;
  }
};

TEST_F(Messages, WrongArgumentsNameTheirCommand) {
  expect_says(run({}), 2, "a command is missing: serve, init, blob, device");
  expect_says(run({"nonsense"}), 2, "'nonsense' is none of serve, init, blob, device");
  expect_says(run({"blob", "nonsense"}), 2, "blob: 'nonsense' is none of put, get");
  expect_says(run({"blob", "get"}), 2, "blob get: ID is required");
  expect_says(run({"blob", "get"}), 2, "See 'moraine blob get --help'");
  expect_says(run({"init", "--bogus"}), 2, "init: ");
}

TEST_F(Messages, ErrorsAreJsonTooWithTheJsonOption) {
  const std::string head = "{\"status\":\"ERROR\",\"reason\":\"";
  for (const Outcome& outcome :
       {run({"blob", "get", "x", "--json"}), run({"blob", "status", "--bogus", "--json"}),
        run({"blob", "check", "--data", folder / "nowhere", "--json"}),
        run({"device", "info", folder / "nowhere", "--json"}),
        run({"init", "--data", folder / "new", "--size", "1KiB", "--json"})}) {
    EXPECT_TRUE(outcome.code == 2 || outcome.code == 3) << outcome.code;
    EXPECT_TRUE(outcome.out.starts_with(head)) << outcome.out << outcome.err;
    EXPECT_TRUE(outcome.out.ends_with("\"}\n")) << outcome.out;
  }
}

TEST_F(Messages, AnOutputThatCannotBeWrittenIsWrongUsage) {
  make_folder("32MiB");
  ASSERT_EQ(blob({"put", kHello, "-"}, "hello\n").code, 0);
  expect_says(blob({"get", kHello, "--output", folder / "no/such/file"}), 2, "cannot write");
  expect_says(blob({"get", kHello, "--output", folder.path()}), 2, "it is a folder");
  expect_says(blob({"discover", "1", "--body", "--output", folder.path()}), 2, "it is a folder");
}

TEST_F(Messages, ForeignFilesAreReportedAsForeignAndNotCorrupt) {
  std::filesystem::create_directory(data());
  write_file(data() + "/thesis.txt", "years of work");
  expect_says(blob({"status"}), 3, "it holds 'thesis.txt', which is not of moraine");
  std::filesystem::remove_all(data());
  make_folder("32MiB");
  const std::string config = read_file(data() + "/cluster.yaml");
  std::string typo = config;
  typo.replace(typo.find("generation"), 10, "genration");
  write_file(data() + "/cluster.yaml", typo);
  expect_says(blob({"status"}), 3, "\"genration\" is unknown; known here are id, generation,");
  write_file(data() + "/cluster.yaml", config);
  write_file(data() + "/VERSION", "hi\n");
  expect_says(blob({"status"}), 3, "begins with \"hi\" where");
}

TEST_F(Messages, NumbersAreThoseThatWereGiven) {
  expect_says(run({"init", "--data", folder / "new", "--size", "1KiB"}), 2,
              "1024 bytes are too few");
  expect_says(run({"init", "--data", folder / "new", "--size", "0"}), 2, "--size 0");
  expect_says(run({"device", "format", folder / "disk", "--size", "1KiB"}), 2,
              "1024 bytes are too few");
  write_file(folder / "tiny", "abc");
  const Outcome info = run({"device", "info", folder / "tiny"});
  EXPECT_EQ(info.code, 3);
  EXPECT_NE(info.err.find("fewer than 65536 bytes"), std::string::npos) << info.err;
}

TEST_F(Messages, ArgumentsOfTopicCommandsAreCheckedBeforeAnyRequest) {
  expect_says(run({"topic", "read", "t", "--count", "abc"}), 2,
              "--count: 'abc' is no whole number");
  expect_says(run({"topic", "read", "t", "--count", "-1"}), 2, "--count: -1 is not 0 or more");
  expect_says(run({"topic", "create", "t", "--partitions", "x"}), 2,
              "--partitions: 'x' is no whole number");
  expect_says(run({"topic", "create", "t", "--partitions", "20001"}), 2,
              "20001 is not from 1 to 20000");
  expect_says(run({"topic", "create", ""}), 2, "a topic's name is empty");
  expect_says(run({"topic", "write", "bad name"}), 2, "letters, digits");
  for (const char* command : {"create", "alter"}) {
    expect_says(run({"topic", command, "t", "--config", "foo=1"}), 2,
                "no config 'foo'; moraine topic create --help lists them");
    const Outcome help = run({"topic", command, "--help"});
    EXPECT_NE(help.out.find("retention.ms=604800000"), std::string::npos) << help.out;
  }
}

TEST_F(Messages, ArgumentsOfServeAreCheckedBeforeAnythingIsCreated) {
  const auto serve = [this](std::vector<std::string> more) {
    std::vector<std::string> arguments{"serve", "--http", "off", "--kafka", "off"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(std::move(arguments));
  };
  expect_says(serve({"--data", ""}), 2, "--data is empty");
  expect_says(run({"init", "--data", ""}), 2, "the path of the data folder is empty");
  expect_says(serve({"--data", data(), "--size", "900TiB"}), 2, "--size 900TiB: at most 64TiB");
  for (const char* option : {"--http", "--kafka", "--grpc"}) {
    expect_says(
        run({"serve", "--data", data(), option, "8080"}), 2,
        std::string(option) + ": address '8080' has no host; write HOST:PORT, e.g. 127.0.0.1:8080");
  }
  const std::string port = "127.0.0.1:" + std::to_string(20'000 + getpid() % 10'000);
  expect_says(run({"serve", "--data", data(), "--http", port, "--kafka", port}), 2,
              "--http and --kafka are both " + port);
  EXPECT_FALSE(std::filesystem::exists(data()));
}

TEST_F(Messages, AHostWithoutAnAddressIsNotReportedAsAStoppedServer) {
  const Outcome unknown = run({"topic", "list", "--kafka", "host.invalid:9092"});
  expect_says(unknown, 5, "host.invalid:9092");
  EXPECT_EQ(unknown.err.find("no server is running"), std::string::npos) << unknown.err;
}

TEST_F(Messages, AStatusIsPrintedOnce) {
  make_folder("32MiB");
  ASSERT_EQ(blob({"block", "1", "5"}).code, 0);
  EXPECT_EQ(blob({"put", kHello, "-"}, "hello\n").err,
            "moraine: BLOCKED: disk 0: tablet 1 is blocked up to generation 4\n");
  EXPECT_EQ(blob({"block", "1", "4"}).err,
            "moraine: ALREADY: generation 3 of tablet 1 or a higher one is already blocked\n");
}

TEST_F(Messages, AServedFolderIsReportedAsServed) {
  make_folder("32MiB");
  RunningServer server({"--data", data(), "--http", "off", "--kafka", "off"}, folder / "log");
  for (const Outcome& outcome : {blob({"check"}), run({"device", "info", device()}),
                                 run({"device", "format", device(), "--force"})}) {
    expect_says(outcome, 3, "process " + std::to_string(server.child().id()));
    expect_says(outcome, 3, "serves it (node " + server.address("node") + ")");
    expect_says(outcome, 3, "moraine blob status --data " + data());
  }
  EXPECT_EQ(server.stop(), 0);
}

TEST_F(Messages, ARecoveringServerReportsItAndAnswers) {
  make_folder("32MiB", "block-4-2");
  ASSERT_EQ(blob({"put", kHello, "-"}, "hello\n").code, 0);
  std::filesystem::remove(device(3));
  ASSERT_EQ(run({"device", "format", device(3), "--size", "32MiB"}).code, 0);
  // A fixed port, since the line with a free one is printed only when all is ready.
  const TcpAddress http{"127.0.0.1", static_cast<std::uint16_t>(10'000 + getpid() % 10'000)};
  ChildOptions options;
  options.arguments = {moraine_binary(), "serve",         "--data",  data(),
                       "--http",         to_string(http), "--kafka", "off"};
  options.errors = folder / "log";
  auto server = ChildProcess::start(options);
  ASSERT_TRUE(server);
  std::string status;
  while (!status.contains("recovering") && server->running()) {
    status = http_get(http, "/status", std::chrono::seconds(5)).value_or("");
  }
  EXPECT_TRUE(status.contains("\"phase\":\"recovering\"")) << status << read_file(folder / "log");
  const auto line = server->read_line(std::chrono::seconds(60));
  ASSERT_TRUE(line) << read_file(folder / "log");
  EXPECT_TRUE(line->starts_with("listening ")) << *line;
  server->send(SIGTERM);
  EXPECT_EQ(server->wait(), 0);
  const std::string log = read_file(folder / "log");
  EXPECT_NE(log.find("VDisks are recovering"), std::string::npos) << log;
}

}  // namespace
}  // namespace moraine::app
