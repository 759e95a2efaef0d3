// Clients of the HTTP API that send without end, ask for much and read nothing, or vanish, beside
// others, on a running server.
#include <fmt/format.h>

#include "app/http_pages.h"
#include "app/socket.h"
#include "app/test_memory.h"
#include "cluster/local/cluster_file.h"
#include "gateway/yt/door.h"

namespace moraine::app {
namespace {

class YtAttackCli : public Cli {
 protected:
  void serve() {
    server.emplace(
        std::vector<std::string>{"--data", data(), "--size", "512MiB", "--http", "127.0.0.1:0"},
        folder / "log");
    const auto parsed = parse_address(server->address("http"));
    ASSERT_TRUE(parsed);
    address = *parsed;
    ASSERT_EQ(yt({"create", "table", "//tmp/t", "--attributes",
                  "{dynamic=%true;schema=[{name=key;type=int64;sort_order=ascending}; "
                  "{name=value;type=string}]}"})
                  .code,
              0);
    ASSERT_EQ(yt({"mount-table", "//tmp/t", "--sync"}).code, 0);
  }
  Outcome yt(std::vector<std::string> arguments, std::string_view input = "") {
    arguments.insert(arguments.end(), {"--proxy", server->address("http")});
    return run(std::move(arguments), input);
  }
  // A connection on which these bytes were sent, as far as the server takes them.
  Socket sent(std::string_view head, std::string_view body) {
    auto socket = Socket::connect(address, std::chrono::seconds(60));
    EXPECT_TRUE(socket) << socket.error().message();
    if (!socket) return {};
    std::ignore = socket->send(as_bytes(head));
    std::ignore = socket->send(as_bytes(body));
    return std::move(*socket);
  }
  void expect_served(int round) {
    const std::string value = std::to_string(round);
    EXPECT_EQ(yt({"set", "//tmp/round", value}).code, 0);
    EXPECT_EQ(yt({"get", "//tmp/round"}).out, value + "\n");
    const Outcome inserted = yt({"insert-rows", "//tmp/t"}, "{key=" + value + ";value=v}");
    EXPECT_EQ(inserted.code, 0) << inserted.err;
    EXPECT_NE(yt({"lookup-rows", "//tmp/t"}, "{key=" + value + "}").out, "");
  }

  std::optional<RunningServer> server;
  TcpAddress address;
};

TEST_F(YtAttackCli, WhatClientsSendAndDoNotReadIsBoundedAndOthersAreServed) {
  serve();
  const std::string document = "\"" + std::string(1'000'000, 'x') + "\"";
  for (int i = 0; i < 48; ++i) {
    ASSERT_EQ(yt({"set", "//tmp/d" + std::to_string(i)}, document).code, 0);
  }
  expect_served(0);

  std::vector<Socket> clients;
  const std::string part(8 * kMebibyte, 'x');
  for (int i = 0; i < 90; ++i) {
    clients.push_back(
        sent("PUT /api/v4/insert_rows?path=//tmp/t HTTP/1.1\r\nHost: h\r\nContent-Length: "
             "100000000\r\n\r\n{value=\"",
             part));
  }
  expect_served(1);
  for (int i = 0; i < 100; ++i) {
    clients.push_back(sent("GET /api/v4/get?path=//tmp HTTP/1.1\r\nHost: h\r\n\r\n", ""));
  }
  expect_served(2);
  // They vanish.
  clients.clear();
  expect_served(3);
  if (kMemoryIsOurs) {
    EXPECT_LT(most_memory(server->child().id()),
              yt::kRequestBytesMax + kHttpAnswerBytesMax + 1'024 * kMebibyte);
  }
  EXPECT_EQ(server->stop(), 0);
}

TEST_F(YtAttackCli, AValueWithoutEndIsRefused) {
  serve();
  Socket client = sent(
      "PUT /api/v4/insert_rows?path=//tmp/t HTTP/1.1\r\nHost: h\r\nContent-Length: 536870912\r\n\r\n{value=\"",
      std::string(140 * kMebibyte, 'x'));
  std::string answer(4'096, '\0');
  const auto got =
      client.receive_some({reinterpret_cast<std::byte*>(answer.data()), answer.size()});
  // The server may close the connection while the client still sends.
  if (got) EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << answer.substr(0, 200);
  expect_served(1);
  EXPECT_EQ(server->stop(), 0);
}

}  // namespace
}  // namespace moraine::app
