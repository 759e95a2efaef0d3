// moraine topic: every command against a running server.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "app/cli_test_util.h"

namespace moraine::app {
namespace {

class TopicCli : public Cli {
 protected:
  RunningServer serve(const std::string& kafka = "127.0.0.1:0") {
    return RunningServer(
        {"--data", data(), "--size", "256MiB", "--http", "127.0.0.1:0", "--kafka", kafka},
        folder / "log");
  }
  Outcome topic(std::vector<std::string> arguments, std::string_view input = "") {
    arguments.insert(arguments.begin(), "topic");
    arguments.insert(arguments.end(), {"--data", data()});
    return run(std::move(arguments), input);
  }
  ChildProcess start_topic(std::vector<std::string> arguments, const std::string& input = "") {
    ChildOptions options;
    options.arguments = std::move(arguments);
    options.arguments.insert(options.arguments.begin(), {moraine_binary(), "topic"});
    if (!input.empty()) options.input = input;
    options.errors = folder / "errors";
    auto child = ChildProcess::start(options);
    EXPECT_TRUE(child);
    return std::move(*child);
  }
};

std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::ranges::sort(lines);
  return lines;
}

using Lines = std::vector<std::string>;

TEST_F(TopicCli, ATopicIsCreatedShownAlteredAndRemoved) {
  RunningServer server = serve();
  ASSERT_EQ(topic({"create", "team/orders", "--partitions", "2", "--config", "retention.ms=1000000",
                   "--consumer", "billing:important", "--consumer", "audit"})
                .code,
            0);
  const Outcome again = topic({"create", "team/orders"});
  EXPECT_EQ(again.code, 1) << again.err;
  EXPECT_TRUE(again.err.contains("TOPIC_ALREADY_EXISTS")) << again.err;
  EXPECT_EQ(topic({"list", "--json"}).out,
            "{\"status\":\"OK\",\"topics\":[{\"name\":\"team/orders\",\"partitions\":2,"
            "\"messages\":0,\"complete\":true}]}\n");
  const std::string described = topic({"describe", "team/orders", "--json"}).out;
  EXPECT_TRUE(
      described.contains("\"configs\":{\"moraine.consumers.important\":\"billing\","
                         "\"retention.ms\":\"1000000\"}"))
      << described;
  EXPECT_TRUE(
      described.contains("{\"group\":\"audit\",\"partitions\":[{\"partition\":0,"
                         "\"committed\":0,\"lag\":0}"))
      << described;

  EXPECT_EQ(topic({"alter", "team/orders", "--partitions", "3", "--config", "retention.bytes=5",
                   "--unset", "retention.ms"})
                .code,
            0);
  const Outcome half =
      topic({"alter", "team/orders", "--config", "retention.bytes=6", "--partitions", "1"});
  EXPECT_EQ(half.code, 2) << "fewer partitions than before";
  EXPECT_TRUE(half.err.contains("team/orders has 3 partitions; the new total must be more"))
      << half.err;
  for (const Outcome& clash : {topic({"create", "team"}), topic({"write", "team"}, "x\n")}) {
    EXPECT_EQ(clash.code, 1) << clash.err;
    EXPECT_TRUE(clash.err.contains("team is a folder: team/orders exists below it")) << clash.err;
  }
  for (const char* command : {"read", "describe"}) {
    const Outcome folder_read = topic({command, "team"});
    EXPECT_EQ(folder_read.code, 1) << folder_read.err;
    EXPECT_TRUE(folder_read.err.contains("team is a folder, not a topic: team/orders exists"))
        << folder_read.err;
  }
  const Outcome below = topic({"create", "team/orders/late"});
  EXPECT_EQ(below.code, 1) << below.err;
  EXPECT_TRUE(below.err.contains("team/orders is a topic")) << below.err;
  const std::string altered = topic({"describe", "team/orders", "--json"}).out;
  EXPECT_TRUE(altered.contains("\"retention.bytes\":\"5\"}")) << "all or nothing\n" << altered;
  EXPECT_FALSE(altered.contains("retention.ms")) << altered;
  EXPECT_TRUE(topic({"describe", "team/orders"}).out.contains("        2      0    0         0\n"));

  const Outcome unsure = topic({"remove", "team/orders"});
  EXPECT_EQ(unsure.code, 2);
  EXPECT_TRUE(unsure.err.contains("with 3 partitions and 0 messages")) << unsure.err;
  EXPECT_EQ(topic({"remove", "team/orders", "--yes"}).code, 0);
  EXPECT_EQ(topic({"describe", "team/orders"}).code, 1);
  EXPECT_EQ(topic({"list"}).out, "0 topics\n");
  EXPECT_EQ(server.stop(), 0) << server.log();
}

TEST_F(TopicCli, ADamagedMessageEndsTheReadWithItsOffset) {
  const auto text = [](char letter) { return std::string(20'000, letter); };
  {
    RunningServer server = serve();
    ASSERT_EQ(topic({"create", "t", "--partitions", "1"}).code, 0);
    for (const char letter : {'a', 'b', 'c'}) {
      ASSERT_EQ(topic({"write", "t"}, text(letter) + "\n").code, 0);
    }
    EXPECT_EQ(server.stop(), 0) << server.log();
  }
  const std::size_t at = read_file(device()).find(text('b'));
  ASSERT_NE(at, std::string::npos);
  overwrite(device(), at, "x");
  RunningServer server = serve();
  for (const bool follow : {false, true}) {
    std::vector<std::string> arguments{"read", "t"};
    if (follow) arguments.emplace_back("--follow");
    const Outcome broken = topic(std::move(arguments));
    EXPECT_EQ(broken.code, 1) << broken.err;
    EXPECT_EQ(broken.out, text('a') + "\n");
    EXPECT_TRUE(broken.err.contains("t, partition 0: offset 1 cannot be read: its blob is damaged"))
        << broken.err;
  }
  EXPECT_TRUE(server.log().contains("messages cannot be read topic=t partition=0 offset=1"))
      << server.log();
  EXPECT_TRUE(server.log().contains("reading can continue at 2")) << server.log();
  EXPECT_EQ(topic({"read", "t", "--from", "2"}).out, text('c') + "\n");
  EXPECT_EQ(server.stop(), 0) << server.log();
}

TEST_F(TopicCli, WhatIsWrittenIsRead) {
  RunningServer server = serve();
  ASSERT_EQ(topic({"create", "t", "--partitions", "3"}).code, 0);
  const Outcome wrote = topic({"write", "t", "--key-separator", ":"},
                              "abc:one\na-little-bit-long-string:two\nabc:three");
  EXPECT_TRUE(wrote.out.starts_with("wrote 3 messages to t\n")) << wrote.out << wrote.err;
  EXPECT_EQ(sorted_lines(topic({"read", "t"}).out), (Lines{"one", "three", "two"}));
  // The hash of the longer key is 1161502112 without its sign, that of the other 479470107.
  EXPECT_EQ(
      topic({"read", "t", "--partition", "2", "--format", "key-value", "--key-separator", "="}).out,
      "a-little-bit-long-string=two\n");
  EXPECT_EQ(topic({"read", "t", "--count", "1", "--from", "1"}).out, "three\n");

  const std::string bytes = some_bytes(100'000, 7) + "\n\n" + some_bytes(10, 8);
  for (const std::string codec : {"none", "gzip", "snappy", "lz4", "zstd"}) {
    ASSERT_EQ(topic({"create", codec}).code, 0);
    EXPECT_EQ(topic({"write", codec, "--whole", "--codec", codec}, bytes).code, 0);
    EXPECT_EQ(topic({"read", codec}).out, bytes + "\n") << codec;
  }
  EXPECT_EQ(topic({"read", "t", "--from", "2099-01-01T00:00:00Z"}).out, "");
  EXPECT_EQ(topic({"read", "t", "--from", "1ms", "--count", "3", "--json"}).out.find("{\"part"),
            0u);
  EXPECT_EQ(topic({"read", "t", "--from", "yesterday"}).code, 2);
  EXPECT_EQ(topic({"read", "nothing"}).code, 1);
  const Outcome past = topic({"read", "t", "--from", "99"});
  EXPECT_EQ(past.code, 1);
  EXPECT_TRUE(past.err.contains("t, partition 0 has no offset 99: it ends at ")) << past.err;
  EXPECT_EQ(topic({"read", "t", "--partition", "9"}).code, 1);
  EXPECT_EQ(topic({"write", "t", "--file", folder / "nothing"}).code, 2);
  EXPECT_EQ(topic({"write", "t", "--file", folder.path()}).code, 2);
  const Outcome wrong =
      topic({"write", "t", "--partition", "1", "--key-separator", ":"}, "good:1\nbad\ngood:2\n");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_TRUE(wrong.err.contains("line 2") && wrong.err.contains("1 message was acknowledged"))
      << wrong.err;
  EXPECT_EQ(server.stop(), 0) << server.log();
}

TEST_F(TopicCli, BatchesFitWhatTheTopicTakes) {
  RunningServer server = serve();
  ASSERT_EQ(topic({"create", "t", "--config", "max.message.bytes=2000"}).code, 0);
  std::string lines;
  for (int i = 0; i < 1000; ++i) lines += "message " + std::to_string(i) + "\n";
  EXPECT_EQ(topic({"write", "t"}, lines).code, 0);
  EXPECT_EQ(topic({"read", "t"}).out, lines);
  const Outcome long_one = topic({"write", "t"}, std::string(3000, 'x'));
  EXPECT_EQ(long_one.code, 2) << long_one.err;
  EXPECT_TRUE(long_one.err.contains("MESSAGE_TOO_LARGE")) << long_one.err;
  EXPECT_EQ(server.stop(), 0) << server.log();
}

TEST_F(TopicCli, AGroupContinuesAtItsCommittedOffset) {
  RunningServer server = serve();
  ASSERT_EQ(topic({"write", "made.by.writing"}, "a\nb\nc\n").code, 0);
  const Lines read_it{"read", "made.by.writing", "--group", "g"};
  Lines two = read_it;
  two.insert(two.end(), {"--count", "2"});
  EXPECT_EQ(topic(two).out, "a\nb\n");
  EXPECT_EQ(topic(read_it).out, "c\n");
  EXPECT_EQ(topic(read_it).out, "");
  const Lines commit{"commit", "made.by.writing", "--group", "g"};
  const auto with = [](Lines words, const Lines& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  EXPECT_EQ(topic(with(commit, {"--partition", "0", "--offset", "1"})).code, 0);
  EXPECT_EQ(topic(read_it).out, "b\nc\n");
  EXPECT_EQ(topic(with(commit, {"--to", "start"})).code, 0);
  EXPECT_EQ(topic(read_it).out, "a\nb\nc\n");
  EXPECT_EQ(topic(with(commit, {"--partition", "0", "--offset", "4"})).code, 1) << "past the end";
  EXPECT_EQ(topic(with(commit, {"--partition", "1", "--to", "end"})).code, 1) << "no partition";
  EXPECT_EQ(topic(with(commit, {"--offset", "1"})).code, 2);
  EXPECT_EQ(topic(commit).code, 2);
  EXPECT_EQ(server.stop(), 0) << server.log();
}

TEST_F(TopicCli, FollowingPrintsNewMessagesAndCommitsAtTheEnd) {
  RunningServer server = serve();
  ASSERT_EQ(topic({"write", "t"}, "a\n").code, 0);
  ChildProcess follower = start_topic({"read", "t", "-f", "--group", "g", "--data", data()});
  EXPECT_EQ(follower.read_line(std::chrono::seconds(60)).value_or("-"), "a");
  ASSERT_EQ(topic({"write", "t"}, "b\nc\n").code, 0);
  EXPECT_EQ(follower.read_line(std::chrono::seconds(60)).value_or("-"), "b");
  EXPECT_EQ(follower.read_line(std::chrono::seconds(60)).value_or("-"), "c");
  follower.send(SIGINT);
  EXPECT_EQ(follower.wait(), 0) << read_file(folder / "errors");
  EXPECT_EQ(topic({"read", "t", "--group", "g"}).out, "");
  EXPECT_EQ(server.stop(), 0) << server.log();
}

TEST_F(TopicCli, AFollowerContinuesAtItsOffsetAfterAServerRestart) {
  std::optional<RunningServer> server;
  server.emplace(serve());
  ASSERT_EQ(topic({"write", "t"}, "a\nb\n").code, 0);
  // By folder: the next server has another address.
  ChildProcess follower = start_topic({"read", "t", "-f", "--group", "g", "--data", data()});
  EXPECT_EQ(follower.read_line(std::chrono::seconds(60)).value_or("-"), "a");
  EXPECT_EQ(follower.read_line(std::chrono::seconds(60)).value_or("-"), "b");
  for (const int signal : {SIGKILL, SIGTERM}) {
    server->stop(signal);
    server.emplace(serve());
    const std::string line = "after " + std::to_string(signal);
    ASSERT_EQ(topic({"write", "t"}, line + "\n").code, 0);
    EXPECT_EQ(follower.read_line(std::chrono::seconds(60)).value_or("-"), line)
        << read_file(folder / "errors");
  }
  follower.send(SIGINT);
  EXPECT_EQ(follower.wait(), 0) << read_file(folder / "errors");
  EXPECT_TRUE(read_file(folder / "errors").contains("connected again"));
  EXPECT_EQ(topic({"read", "t", "--group", "g"}).out, "") << "it has committed";
  EXPECT_EQ(server->stop(), 0) << server->log();
}

TEST_F(TopicCli, AnIdempotentWriterSurvivesAServerRestart) {
  std::optional<RunningServer> server;
  server.emplace(serve());
  const std::string kafka = server->address("kafka");
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  ASSERT_EQ(topic({"create", "t"}).code, 0);
  ChildProcess writer = start_topic({"write", "t", "--idempotent", "--kafka", kafka}, pipe);
  // Not for the children to inherit: the writer waits for its end.
  const int lines = ::open(pipe.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_GE(lines, 0);
  std::string expected;
  for (int part = 0; part < 2; ++part) {
    std::string text;
    for (int i = 0; i < 500; ++i) text += std::to_string(part * 500 + i) + "\n";
    expected += text;
    EXPECT_EQ(::write(lines, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    if (part == 1) break;
    // The writer has started.
    EXPECT_EQ(topic({"read", "t", "-f", "--count", "1"}).out, "0\n");
    server->stop(SIGKILL);
    server.emplace(serve(kafka));
  }
  ::close(lines);
  EXPECT_TRUE(writer.read_line(std::chrono::seconds(60)).value_or("").starts_with("wrote 1000 mes"))
      << read_file(folder / "errors");
  EXPECT_EQ(writer.wait(), 0) << read_file(folder / "errors");
  EXPECT_EQ(topic({"read", "t"}).out, expected) << "each once, in order";
  EXPECT_EQ(server->stop(), 0) << server->log();
}

TEST_F(TopicCli, WithoutAServerTheErrorSaysHowToStartOne) {
  const Outcome nobody = run({"topic", "list", "--kafka", "127.0.0.1:1"});
  EXPECT_EQ(nobody.code, 5);
  EXPECT_TRUE(nobody.err.contains("moraine serve")) << nobody.err;
  EXPECT_EQ(run({"topic", "list", "--data", folder / "nowhere"}).code, 3);
  make_folder("32MiB");
  const Outcome idle = topic({"list", "--json"});
  EXPECT_EQ(idle.code, 5);
  EXPECT_TRUE(idle.err.contains("moraine serve --data")) << idle.err;
  EXPECT_TRUE(idle.out.starts_with("{\"status\":\"ERROR\"")) << idle.out;
}

TEST_F(TopicCli, AnotherServerIsNoKafkaServer) {
  RunningServer server = serve();
  const Outcome http = run({"topic", "list", "--timeout", "10", "--kafka", server.address("http")});
  EXPECT_EQ(http.code, 5) << http.err;
  EXPECT_TRUE(http.err.contains("no Kafka server")) << http.err;
  EXPECT_EQ(server.stop(), 0) << server.log();
}

}  // namespace
}  // namespace moraine::app
