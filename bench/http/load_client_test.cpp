#include "bench/http/load_client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "bench/http/http_side.h"
#include "bench/http/postgres_side.h"
#include "bench/http/redis_side.h"

namespace moraine::bench {
namespace {

// Answers each byte that arrives with what `answer` makes of it, until the client is gone.
class Echo {
 public:
  explicit Echo(std::size_t clients, std::string answer) : answer_(std::move(answer)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_, generic, size), 0);
    EXPECT_EQ(::listen(listener_, 16), 0);
    EXPECT_EQ(getsockname(listener_, generic, &size), 0);
    port_ = ntohs(address.sin_port);
    for (std::size_t i = 0; i < clients; ++i) threads_.emplace_back([this] { serve(); });
  }
  Echo(const Echo&) = delete;
  Echo& operator=(const Echo&) = delete;
  ~Echo() {
    for (std::thread& thread : threads_) thread.join();
    close(listener_);
  }
  TcpAddress address() const { return {"127.0.0.1", port_}; }

 private:
  void serve() const {
    const int client = ::accept(listener_, nullptr, nullptr);
    char byte = 0;
    while (::recv(client, &byte, 1, 0) == 1) {
      for (const char part : answer_) ::send(client, &part, 1, MSG_NOSIGNAL);
    }
    close(client);
  }

  const std::string answer_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::vector<std::thread> threads_;
};

Result<std::size_t> three_bytes(std::string_view received) {
  if (received.starts_with("-")) return fail(Errc::kCorrupt, "refused");
  return received.size() < 3 ? 0 : 3;
}

TEST(LoadClient, SendsEachRequestOnceAndCountsItsOperations) {
  const Echo server(2, "abc");
  auto client = LoadClient::connect(server.address(), 2, three_bytes);
  ASSERT_TRUE(client);
  const std::vector<std::string> requests(5, "x");
  const auto round = client->run({.requests = requests, .operations = 10});
  ASSERT_TRUE(round) << round.error().context;
  EXPECT_EQ(round->operations, 50u);
  EXPECT_EQ(round->latencies.size(), 5u);
  // The next round begins again.
  EXPECT_EQ(client->run({.requests = requests}).value().operations, 5u);
}

TEST(LoadClient, BeginsAgainUntilTheTimeIsOver) {
  const Echo server(1, "abc");
  auto client = LoadClient::connect(server.address(), 1, three_bytes);
  ASSERT_TRUE(client);
  const std::vector<std::string> requests(1, "x");
  const auto round = client->run({.requests = requests, .seconds = 0.02});
  ASSERT_TRUE(round);
  EXPECT_GE(round->seconds, 0.02);
  EXPECT_GE(round->operations, 1u);
}

TEST(LoadClient, AWrongAnswerEndsTheRun) {
  const Echo server(1, "-no");
  auto client = LoadClient::connect(server.address(), 1, three_bytes);
  ASSERT_TRUE(client);
  const std::vector<std::string> requests(1, "x");
  const auto round = client->run({.requests = requests});
  ASSERT_FALSE(round);
  EXPECT_EQ(round.error().context, "refused");
}

TEST(HttpAnswer, IsWholeWithItsBody) {
  const std::string head = "HTTP/1.1 200 OK\r\nX: 1\r\nContent-Length: 3\r\n\r\n";
  EXPECT_EQ(http_answer_size(head.substr(0, 20)).value(), 0u);
  EXPECT_EQ(http_answer_size(head + "ab").value(), 0u);
  EXPECT_EQ(http_answer_size(head + "abc").value(), head.size() + 3);
}

TEST(HttpAnswer, AnErrorAndAnUnknownLengthAreRefused) {
  EXPECT_FALSE(http_answer_size("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"));
  EXPECT_FALSE(http_answer_size("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"));
}

TEST(RedisAnswer, HasTheValue) {
  const std::string answer = "$100\r\n" + std::string(100, 'v') + "\r\n";
  EXPECT_EQ(redis_get_answer_size(answer.substr(0, 3)).value(), 0u);
  EXPECT_EQ(redis_get_answer_size(answer).value(), answer.size());
  EXPECT_FALSE(redis_get_answer_size("$-1\r\n\r\n\r\n"));
}

TEST(PostgresAnswer, EndsWhenTheServerIsReady) {
  const std::string complete(
      "C\0\0\0\x0b"
      "COPY 1\0",
      12);
  const std::string ready("Z\0\0\0\x05I", 6);
  EXPECT_EQ(postgres_answer_size(complete).value(), 0u);
  EXPECT_EQ(postgres_answer_size(complete + ready.substr(0, 4)).value(), 0u);
  EXPECT_EQ(postgres_answer_size(complete + ready).value(), complete.size() + ready.size());
}

TEST(PostgresAnswer, AnErrorOfTheServerIsRefused) {
  const std::string error(
      "E\0\0\0\x09"
      "oops\0",
      10);
  EXPECT_FALSE(postgres_answer_size(error));
}

}  // namespace
}  // namespace moraine::bench
