#include "bench/http/load_client.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

namespace moraine::bench {
namespace {

constexpr auto kSilence = std::chrono::seconds(30);
constexpr std::size_t kReceiveBytes = std::size_t{64} << 10;
constexpr std::size_t kEvents = 64;

std::unexpected<Error> broken(std::string_view what) {
  return fail(Errc::kUnavailable, fmt::format("{}: {}", what, std::strerror(errno)));
}

bool would_block() {
  return errno == EAGAIN || errno == EINTR;
}

}  // namespace

Result<LoadClient> LoadClient::connect(const TcpAddress& address, std::size_t connections,
                                       AnswerSize answer_size) {
  const int poll = epoll_create1(EPOLL_CLOEXEC);
  if (poll < 0) return broken("epoll_create1");
  LoadClient client(poll, answer_size);
  for (std::size_t i = 0; i < connections; ++i) {
    TRY(app::Socket socket, app::Socket::connect(address, kSilence));
    client.connections_.emplace_back().socket = std::move(socket);
  }
  for (std::size_t i = 0; i < connections; ++i) {
    epoll_event event{.events = EPOLLIN, .data = {.u64 = i}};
    if (epoll_ctl(poll, EPOLL_CTL_ADD, client.connections_[i].socket.fd(), &event) != 0) {
      return broken("epoll_ctl");
    }
  }
  return client;
}

LoadClient::LoadClient(LoadClient&& other) noexcept
    : poll_(std::exchange(other.poll_, -1)),
      answer_size_(other.answer_size_),
      connections_(std::move(other.connections_)) {}

LoadClient::~LoadClient() {
  if (poll_ >= 0) close(poll_);
}

Result<void> LoadClient::send_some(Connection& to) {
  while (!to.unsent.empty()) {
    const ssize_t done =
        ::send(to.socket.fd(), to.unsent.data(), to.unsent.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (done < 0 && !would_block()) return broken("send");
    if (done > 0) to.unsent.remove_prefix(static_cast<std::size_t>(done));
    if (done < 0) break;
  }
  if (to.watched_out != !to.unsent.empty()) {
    to.watched_out = !to.unsent.empty();
    const auto number = static_cast<std::uint64_t>(&to - connections_.data());
    epoll_event event{.events = EPOLLIN, .data = {.u64 = number}};
    if (to.watched_out) event.events |= EPOLLOUT;
    if (epoll_ctl(poll_, EPOLL_CTL_MOD, to.socket.fd(), &event) != 0) return broken("epoll_ctl");
  }
  return {};
}

Result<bool> LoadClient::receive_some(Connection& from) {
  const std::size_t have = from.received.size();
  from.received.resize_and_overwrite(have + kReceiveBytes, [&](char* bytes, std::size_t) {
    const ssize_t done = ::recv(from.socket.fd(), bytes + have, kReceiveBytes, MSG_DONTWAIT);
    if (done == 0) errno = ECONNRESET;
    return done > 0 ? have + static_cast<std::size_t>(done) : have;
  });
  if (from.received.size() == have) {
    if (would_block()) return false;
    return broken("receive");
  }
  TRY(const std::size_t size, answer_size_(from.received));
  if (size == 0) return false;
  if (size != from.received.size() || !from.unsent.empty()) {
    return fail(Errc::kCorrupt, "the server sent more than the answer to one request");
  }
  from.received.clear();
  return true;
}

Result<void> LoadClient::next(Connection& connection, const LoadPlan& plan,
                              const Stopwatch& watch) {
  const bool timed = plan.seconds > 0;
  const bool over = timed ? watch.seconds() >= plan.seconds : next_request_ >= plan.requests.size();
  if (over) return {};
  connection.unsent = plan.requests[next_request_++ % plan.requests.size()];
  connection.sent_at = watch.nanoseconds();
  connection.waits = true;
  ++waiting_;
  return send_some(connection);
}

Result<Round> LoadClient::run(const LoadPlan& plan) {
  if (plan.seconds <= 0) next_request_ = 0;
  Round round;
  const Stopwatch watch;
  for (Connection& connection : connections_) {
    TRY_VOID(next(connection, plan, watch));
  }
  while (waiting_ > 0) {
    TRY_VOID(serve(plan, watch, round));
  }
  round.seconds = watch.seconds();
  return round;
}

Result<void> LoadClient::serve(const LoadPlan& plan, const Stopwatch& watch, Round& round) {
  std::array<epoll_event, kEvents> events;
  constexpr auto kMilliseconds = std::chrono::milliseconds(kSilence).count();
  const int count = epoll_wait(poll_, events.data(), kEvents, static_cast<int>(kMilliseconds));
  if (count < 0 && errno != EINTR) return broken("epoll_wait");
  if (count == 0) return fail(Errc::kTimeout, "the server does not answer");
  for (int i = 0; i < count; ++i) {
    Connection& connection = connections_[events[static_cast<std::size_t>(i)].data.u64];
    if ((events[static_cast<std::size_t>(i)].events & EPOLLOUT) != 0) {
      TRY_VOID(send_some(connection));
    }
    TRY(const bool answered, receive_some(connection));
    if (!answered) continue;
    if (!std::exchange(connection.waits, false)) {
      return fail(Errc::kCorrupt, "the server sent an answer without a request");
    }
    --waiting_;
    round.operations += plan.operations;
    round.latencies.push_back(watch.nanoseconds() - connection.sent_at);
    TRY_VOID(next(connection, plan, watch));
  }
  return {};
}

Result<std::string> LoadClient::exchange(Connection& with, std::string_view request,
                                         AnswerSize answer_size) {
  TRY_VOID(with.socket.send(as_bytes(request)));
  std::string answer;
  std::array<std::byte, 4'096> part;
  for (;;) {
    TRY(const std::size_t got, with.socket.receive_some(part));
    if (got == 0) return fail(Errc::kUnavailable, "the server closed the connection");
    answer.append(reinterpret_cast<const char*>(part.data()), got);
    TRY(const std::size_t size, answer_size(answer));
    if (size > 0) return answer;
  }
}

Result<std::string> LoadClient::exchange(std::string_view request) {
  std::string answer;
  for (Connection& connection : connections_) {
    TRY(answer, exchange(connection, request, answer_size_));
  }
  return answer;
}

}  // namespace moraine::bench
