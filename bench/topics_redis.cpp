#include "bench/topics_redis.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <thread>

#include "bench/redis_server.h"
#include "bench/topics_client.h"

namespace moraine::bench {
namespace {

using namespace std::chrono_literals;

constexpr int kConnections = 32;
constexpr std::uint64_t kPipeline = 64;       // Commands in one send.
constexpr std::uint64_t kPipelinesMax = 4;    // Sends without an answer yet.
constexpr std::uint64_t kLinesPerAnswer = 2;  // $15 and the id.
constexpr int kConnectAttempts = 1'000;

// kPipeline XADD commands, the streams in turn.
std::string commands(std::uint32_t streams) {
  std::mt19937_64 random(11);  // NOLINT(bugprone-random-generator-seed): the same every run.
  std::string out;
  for (std::uint64_t i = 0; i < kPipeline; ++i) {
    const std::string key = fmt::format("s{}", i % streams);
    std::string value(kMessageBytes, ' ');
    std::ranges::generate(value, [&] { return static_cast<char>('0' + random() % 64); });
    out += fmt::format("*5\r\n$4\r\nXADD\r\n${}\r\n{}\r\n$1\r\n*\r\n$1\r\nm\r\n${}\r\n{}\r\n",
                       key.size(), key, value.size(), value);
  }
  return out;
}

}  // namespace

Result<Redis> Redis::start(const std::string& folder) {
  TRY(RedisServer server,
      RedisServer::start(folder, {"--appendonly", "yes", "--appendfsync", "always"}));
  const int port = server.port;
  Redis redis(std::move(server.process));
  TRY_VOID(redis.connect(port));
  return redis;
}

Redis::Redis(Redis&& other) noexcept
    : child_(std::move(other.child_)), connections_(std::exchange(other.connections_, {})) {}

Redis::~Redis() {
  for (const Connection& connection : connections_) close(connection.socket);
}

Result<void> Redis::connect(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  for (int attempt = 0; connections_.size() < kConnections; ++attempt) {
    if (attempt == kConnectAttempts) {
      return fail(Errc::kUnavailable, "redis-server does not listen");
    }
    const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(made, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
      const int on = 1;
      setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      connections_.push_back({made, 0});
      continue;
    }
    close(made);
    std::this_thread::sleep_for(10ms);
  }
  return {};
}

Result<void> Redis::send(const Connection& to, const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t now = ::send(to.socket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (now <= 0) return fail(Errc::kUnavailable, std::strerror(errno));
    sent += static_cast<std::size_t>(now);
  }
  return {};
}

Result<void> Redis::receive_until(Connection& from, std::uint64_t lines) {
  char bytes[64 << 10];
  while (from.lines < lines) {
    const ssize_t got = ::recv(from.socket, bytes, sizeof bytes, 0);
    if (got <= 0) return fail(Errc::kUnavailable, "redis-server closed the connection");
    const std::string_view some(bytes, static_cast<std::size_t>(got));
    if (some.contains("-ERR")) return fail(Errc::kUnavailable, std::string(some.substr(0, 80)));
    from.lines += static_cast<std::uint64_t>(std::ranges::count(some, '\n'));
  }
  return {};
}

Result<Round> Redis::produce(std::uint32_t streams, double seconds) {
  const std::string some = commands(streams);
  constexpr std::uint64_t kLines = kPipeline * kLinesPerAnswer;
  std::vector<std::uint64_t> before;
  for (const Connection& connection : connections_) before.push_back(connection.lines);
  const Stopwatch watch;
  std::uint64_t sent = 0;  // By each connection.
  // The kernel's buffers hold all outstanding replies, so neither side blocks in send.
  while (watch.seconds() < seconds) {
    for (const Connection& connection : connections_) {
      TRY_VOID(send(connection, some));
    }
    ++sent;
    for (std::size_t i = 0; i < connections_.size() && sent >= kPipelinesMax; ++i) {
      const std::uint64_t answered = sent - kPipelinesMax + 1;
      TRY_VOID(receive_until(connections_[i], before[i] + answered * kLines));
    }
  }
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    TRY_VOID(receive_until(connections_[i], before[i] + sent * kLines));
  }
  Round round;
  round.operations = sent * kPipeline * connections_.size();
  round.bytes = round.operations * kMessageBytes;
  round.seconds = watch.seconds();
  return round;
}

}  // namespace moraine::bench
