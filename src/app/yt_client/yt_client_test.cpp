#include "app/yt_client/yt_client.h"

#include <gtest/gtest.h>

#include "app/yt_client/deflate.h"
#include "app/yt_client/scripted_server.h"
#include "yson/yson.h"

namespace moraine::app {
namespace {

YtClientOptions quick(const ScriptedServer& server) {
  YtClientOptions options = options_for(server.address());
  options.light_timeout = options.heavy_timeout = 20s;
  return options;
}

YsonMap parameters(std::string_view text) {
  auto node = parse_yson(text);
  EXPECT_TRUE(node) << node.error().message();
  return std::move(*node->as<YsonMap>());
}

std::string error_text(std::int64_t code, const std::string& attributes = "{}") {
  return fmt::format(R"({{"code":{},"message":"m","attributes":{}}})", code, attributes);
}

// The value of a parameter in a request's header or body.
YsonNode parameter(const ScriptedServer::Received& request, std::string_view name) {
  std::string text = request.body;
  if (const std::size_t at = request.head.find("X-YT-Parameters: "); at != std::string::npos) {
    text = request.head.substr(at + 17, request.head.find("\r\n", at) - at - 17);
  }
  const auto node = parse_yson(text);
  const YsonNode* found = node ? node->find(name) : nullptr;
  return found == nullptr ? YsonNode() : *found;
}

TEST(YtProxies, AreGivenInSeveralForms) {
  for (const auto& [text, address] :
       std::vector<std::pair<std::string, std::string>>{{"127.0.0.1:8080", "127.0.0.1:8080"},
                                                        {"http://localhost:80/", "localhost:80"},
                                                        {"cluster.example", "cluster.example:80"},
                                                        {"[::1]:7", "[::1]:7"}}) {
    const auto parsed = parse_proxy(text);
    ASSERT_TRUE(parsed) << parsed.error().message();
    EXPECT_EQ(to_string(*parsed), address);
  }
  for (const char* text : {"", "https://a:1", "http://", "a/b", "8080", "a:99999"}) {
    EXPECT_FALSE(parse_proxy(text)) << text;
  }
}

TEST(YtClients, SendEachKindOfCommandAsItIsTyped) {
  ScriptedServer server({http_answer(200, R"({"value"=5;})"),
                         http_answer(200, R"({"node_id"="1-2";})"), http_answer(200, "")});
  YtClient client(quick(server));
  const auto value = client.get("get", parameters(R"({path="//tmp/x"})"));
  ASSERT_TRUE(value) << describe(value.error());
  EXPECT_EQ(*value, YsonNode(5)) << "the value inside `value`";
  ASSERT_TRUE(client.get("create", parameters(R"({path="//tmp/x";type=table})")));
  TextBody rows("{k=1};");
  ASSERT_TRUE(client.call(
      {.command = "insert_rows", .parameters = parameters(R"({path="//tmp/x"})"), .body = &rows}));
  const auto requests = server.received();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_TRUE(requests[0].head.starts_with("GET /api/v4/get HTTP/1.1\r\n")) << requests[0].head;
  EXPECT_EQ(parameter(requests[0], "path"), YsonNode("//tmp/x"));
  EXPECT_EQ(parameter(requests[0], "mutation_id"), YsonNode());
  EXPECT_TRUE(requests[1].head.starts_with("POST /api/v4/create ")) << requests[1].head;
  EXPECT_FALSE(requests[1].head.contains("X-YT-Parameters:")) << "they are the body";
  EXPECT_EQ(parameter(requests[1], "type"), YsonNode("table"));
  EXPECT_EQ(parameter(requests[1], "retry"), YsonNode(false));
  EXPECT_TRUE(requests[2].head.starts_with("PUT /api/v4/insert_rows ")) << requests[2].head;
  EXPECT_EQ(requests[2].body, "{k=1};");
  EXPECT_EQ(requests[2].connection, requests[0].connection) << "connections are kept";
}

TEST(YtClients, ReturnTheErrorOfTheServer) {
  ScriptedServer server(
      {http_answer(400, error_text(500)),
       http_answer(400, "", "X-YT-Error: {\"code\":501,\"message\":\"in the header\"}\r\n"),
       http_answer(404, "no such page")});
  YtClient client(quick(server));
  const auto first = client.get("get", {});
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().kind, Errc::kAborted);
  EXPECT_EQ(first.error().code, 500);
  const auto second = client.get("get", {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message, "in the header");
  const auto third = client.get("get", {});
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().message, "the proxy answered with HTTP status 404: no such page");
}

TEST(YtClients, RetryChangesOfTheTreeWithTheirMutationId) {
  ScriptedServer server({"", http_answer(503, ""), http_answer(200, R"({"node_id"="7";})")});
  YtClient client(quick(server));
  ASSERT_TRUE(client.get("create", parameters("{path=\"//a\"}")));
  const auto requests = server.received();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(parameter(requests[0], "retry"), YsonNode(false));
  EXPECT_EQ(parameter(requests[1], "retry"), YsonNode(true));
  EXPECT_EQ(parameter(requests[2], "retry"), YsonNode(true));
  EXPECT_EQ(parameter(requests[2], "mutation_id"), parameter(requests[0], "mutation_id"));
}

TEST(YtClients, RetryRowsWithTheirBodyWhileTabletsAreMounted) {
  ScriptedServer server({http_answer(400, error_text(1702)), http_answer(400, error_text(1700)),
                         http_answer(200, "")});
  YtClient client(quick(server));
  TextBody rows("rows");
  const auto result = client.call({.command = "insert_rows", .body = &rows});
  EXPECT_FALSE(result) << "a lost conflict is the caller's";
  EXPECT_TRUE(result.error().has_code({1700}));
  const auto requests = server.received();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[1].body, "rows");
}

TEST(YtClients, DoNotRepeatWhatMayCountTwice) {
  for (const char* text : {"{aggregate=%true}", "{transaction_id=\"1-2-3-4\"}"}) {
    ScriptedServer server({"", http_answer(200, "")});
    YtClient client(quick(server));
    TextBody rows("rows");
    const auto result =
        client.call({.command = "insert_rows", .parameters = parameters(text), .body = &rows});
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().kind, Errc::kUnavailable);
    EXPECT_EQ(server.received().size(), 1u) << text;
  }
}

TEST(YtClients, DoNotWaitForATabletThatIsUnmounted) {
  ScriptedServer server({http_answer(400, error_text(1702, R"({"is_tablet_unmounted":true})"))});
  YtClient client(quick(server));
  EXPECT_FALSE(client.call({.command = "select_rows"}));
  EXPECT_EQ(server.received().size(), 1u);
}

TEST(YtClients, PassAStreamOnAndReportTheErrorInItsTrailers) {
  ScriptedServer server(
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-YT-Error\r\n"
       "X-YT-Response-Parameters: "
       "{\"start_row_index\"=3;}\r\n\r\n5\r\nabcde\r\n2\r\nfg\r\n0\r\n\r\n",
       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-YT-Error\r\n\r\n"
       "5\r\nabcde\r\n0\r\nX-YT-Error: {\"code\":1702,\"message\":\"late\"}\r\n\r\n"});
  YtClient client(quick(server));
  const auto answer = client.call({.command = "read_table"});
  ASSERT_TRUE(answer) << describe(answer.error());
  EXPECT_EQ(answer->body, "abcdefg");
  ASSERT_NE(answer->parameters.find("start_row_index"), nullptr);
  std::string seen;
  const auto late =
      client.call({.command = "read_table"}, [&seen](std::string_view piece) -> Result<void> {
        seen += piece;
        return {};
      });
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().message, "late");
  EXPECT_EQ(seen, "abcde") << "once: what was passed on is not read again";
  EXPECT_EQ(server.received().size(), 2u);
}

TEST(YtClients, CompressForOtherMachines) {
  TextBody text(std::string(10'000, 'y'));
  GzipBody packed(text);
  std::string gzip;
  while (true) {
    const auto piece = packed.next();
    ASSERT_TRUE(piece);
    if (piece->empty()) break;
    gzip += *piece;
  }
  ScriptedServer server({http_answer(200, gzip, "Content-Encoding: gzip\r\n")});
  YtClientOptions options = quick(server);
  options.compress = true;
  YtClient client(options);
  TextBody keys("keys");
  const auto answer = client.call({.command = "lookup_rows", .body = &keys});
  ASSERT_TRUE(answer) << describe(answer.error());
  EXPECT_EQ(answer->body, std::string(10'000, 'y'));
  const auto requests = server.received();
  EXPECT_TRUE(requests[0].head.contains("Content-Encoding: gzip\r\n"));
  std::string sent;
  Gunzip unpacks;
  ASSERT_TRUE(unpacks.feed(requests[0].body, [&sent](std::string_view piece) -> Result<void> {
    sent += piece;
    return {};
  }));
  EXPECT_EQ(sent, "keys");
}

TEST(YtClients, SendRowCommandsToTheProxyThatIsNamed) {
  ScriptedServer heavy({http_answer(200, "rows")});
  ScriptedServer server(
      {http_answer(200, fmt::format("[\"{}\",\"other:1\"]", to_string(heavy.address())))});
  YtClientOptions options = quick(server);
  options.discover = true;
  YtClient client(options);
  const auto answer = client.call({.command = "select_rows"});
  ASSERT_TRUE(answer) << describe(answer.error());
  EXPECT_EQ(answer->body, "rows");
  EXPECT_TRUE(server.received()[0].head.starts_with("GET /hosts "));
}

TEST(YtClients, SendLongParametersInParts) {
  ScriptedServer server({http_answer(200, "")});
  YtClient client(quick(server));
  YsonMap map;
  map["query"] = YsonNode(std::string(40'000, 'q'));
  ASSERT_TRUE(client.call({.command = "select_rows", .parameters = map}));
  const auto requests = server.received();
  EXPECT_TRUE(requests[0].head.contains("\r\nX-YT-Parameters0: "));
  EXPECT_TRUE(requests[0].head.contains("\r\nX-YT-Parameters3: "));
  EXPECT_FALSE(requests[0].head.contains("\r\nX-YT-Parameters: "));
}

TEST(YtClients, AskForCommandsThatTheyDoNotKnow) {
  ScriptedServer server(
      {http_answer(200, R"([{"name":"start_query","input_type":"null","output_type":"structured",)"
                        R"("is_volatile":true,"is_heavy":false}])"),
       http_answer(200, "{}"), http_answer(200, "[]")});
  YtClient client(quick(server));
  ASSERT_TRUE(client.call({.command = "start_query"}));
  EXPECT_TRUE(server.received()[1].head.starts_with("POST /api/v4/start_query "));
  const auto unknown = client.call({.command = "dance"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message, "the proxy has no command 'dance'");
}

TEST(YtClients, AServerThatAnswersEarlyIsHeard) {
  ScriptedServer server({});
  // The head alone makes this one answer: it does not read the body.
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener, 1), 0);
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  std::thread refuses([listener] {
    const int fd = ::accept(listener, nullptr, nullptr);
    char buffer[100];
    std::ignore = ::recv(fd, buffer, sizeof buffer, 0);
    const std::string answer = http_answer(400, error_text(904), "Connection: close\r\n");
    ::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
    ::shutdown(fd, SHUT_WR);
    char rest[65536];
    while (::recv(fd, rest, sizeof rest, 0) > 0) {
    }
    ::close(fd);
  });
  YtClientOptions options = options_for({"127.0.0.1", ntohs(address.sin_port)});
  options.patience = Duration(0);
  YtClient client(options);
  TextBody rows(std::string(64 << 20, 'r'));
  const auto result = client.call({.command = "insert_rows", .body = &rows});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, 904);
  refuses.join();
  ::close(listener);
}

TEST(YtClients, AnUnreachableProxyFailsAtOnce) {
  std::uint16_t port = 0;
  {
    ScriptedServer gone({});
    port = gone.address().port;
  }
  YtClientOptions options = options_for({"127.0.0.1", port});
  options.patience = 3600s;
  YtClient client(options);
  const auto result = client.get("get", {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, Errc::kUnavailable);
  EXPECT_TRUE(result.error().message.contains(fmt::format("127.0.0.1:{}", port)));
}

TEST(YtClients, AnotherProtocolIsNamed) {
  ScriptedServer server({"\x01\x02 not http\r\n\r\n"});
  YtClientOptions options = quick(server);
  options.patience = Duration(0);
  YtClient client(options);
  const auto result = client.get("get", {});
  ASSERT_FALSE(result);
  EXPECT_TRUE(result.error().message.contains("no HTTP server answers there"))
      << result.error().message;
}

}  // namespace
}  // namespace moraine::app
