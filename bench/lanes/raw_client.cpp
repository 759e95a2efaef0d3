#include "bench/lanes/raw_client.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "queue/kafka/reader.h"

namespace moraine::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kScratchBytes = std::size_t{1} << 20;
// An answer of so many bytes is dropped by the kernel without a copy, except its size.
constexpr std::size_t kLargeBytesMin = std::size_t{16} << 10;
// Between two turns over the connections: answers that come together cost one wake-up.
constexpr auto kPause = 100us;

bool would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

}  // namespace

Result<RawConnection> RawConnection::connect(const TcpAddress& address, Recording recording,
                                             std::size_t depth) {
  TRY(app::Socket socket, app::Socket::connect(address, std::chrono::milliseconds(kSilenceMs)));
  return RawConnection(std::move(socket), std::move(recording), depth);
}

Result<Slice> RawConnection::exchange() {
  const std::size_t size = recording_.end(next()) - at_;
  TRY_VOID(socket_.send(recording_.bytes().subspan(at_, size)));
  advance(size);
  std::array<std::byte, kafka::kSizePrefixBytes> prefix;
  TRY_VOID(socket_.receive(prefix));
  Buffer answer(kafka::load_big<std::uint32_t>(prefix.data()));
  TRY_VOID(socket_.receive(answer.span()));
  ++answered_;
  return std::move(answer).freeze();
}

Result<void> RawConnection::send(bool finishing) {
  blocked_ = false;
  const std::size_t requests = recording_.requests();
  for (;;) {
    const std::uint64_t rest = in_the_middle() ? 1 : 0;
    const std::uint64_t limit = finishing ? sent_ + rest : answered_ + depth_;
    if (sent_ >= limit) return {};
    const std::size_t last = std::min<std::uint64_t>(requests, next() + (limit - sent_)) - 1;
    const ByteSpan part = recording_.bytes().subspan(at_, recording_.end(last) - at_);
    const ssize_t count = ::send(fd(), part.data(), part.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && !would_block()) return fail(Errc::kUnavailable, std::strerror(errno));
    if (count > 0) advance(static_cast<std::size_t>(count));
    if (count >= 0 && static_cast<std::size_t>(count) == part.size()) continue;
    blocked_ = true;
    return {};
  }
}

void RawConnection::advance(std::size_t bytes) {
  at_ += bytes;
  while (at_ >= recording_.end(next())) {
    ++sent_;
    if (next() != 0) continue;
    at_ = 0;
    return;
  }
}

Result<void> RawConnection::receive(MutableByteSpan scratch) {
  const auto done = [this](std::size_t bytes) { answered(bytes); };
  for (;;) {
    const bool drop = large_ && answers_.left() > 0;
    const std::size_t size = drop     ? std::min(answers_.left(), scratch.size())
                             : large_ ? answers_.prefix_left()
                                      : scratch.size();
    const int flags = MSG_DONTWAIT | (drop ? MSG_TRUNC : 0);
    const ssize_t count = ::recv(fd(), scratch.data(), size, flags);
    if (count == 0) return fail(Errc::kUnavailable, "the server closed the connection");
    if (count < 0 && would_block()) return {};
    if (count < 0) return fail(Errc::kUnavailable, std::strerror(errno));
    const auto got = static_cast<std::size_t>(count);
    if (drop) {
      answers_.skip(got, done);
    } else {
      answers_.add(scratch.first(got), done);
    }
    if (!wrong_.empty()) return fail(Errc::kUnavailable, wrong_);
    if (got < size) return {};
  }
}

void RawConnection::answered(std::size_t bytes) {
  const std::size_t request = answered_++ % recording_.requests();
  large_ = bytes >= kLargeBytesMin;
  if (const AnswerSize* const size = recording_.match(request, bytes)) [[likely]] {
    messages_ += size->messages;
    record_bytes_ += size->record_bytes;
  } else if (wrong_.empty()) {
    wrong_ = fmt::format(
        "an answer of {} bytes to recorded request {}: that is an error, or an "
        "answer without records",
        bytes, request);
  }
}

Result<RawClient> RawClient::connect(const TcpAddress& address, std::vector<Recording> recordings,
                                     std::size_t depth) {
  RawClient client;
  client.scratch_.resize(kScratchBytes);
  for (Recording& recording : recordings) {
    TRY(RawConnection made, RawConnection::connect(address, std::move(recording), depth));
    client.connections_.push_back(std::move(made));
  }
  return client;
}

Result<Round> RawClient::run(double seconds) {
  Round round;
  for (const RawConnection& one : connections_) {
    round.operations -= one.messages();
    round.bytes -= one.record_bytes();
  }
  const Stopwatch watch;
  for (;;) {
    const bool finishing = watch.seconds() >= seconds;
    bool idle = true;
    for (RawConnection& one : connections_) {
      TRY_VOID(one.receive(scratch_));
      TRY_VOID(one.send(finishing));
      idle &= one.idle();
    }
    if (finishing && idle) break;
    TRY_VOID(wait());
  }
  round.seconds = watch.seconds();
  for (const RawConnection& one : connections_) {
    round.operations += one.messages();
    round.bytes += one.record_bytes();
  }
  return round;
}

Result<void> RawClient::wait() {
  std::vector<pollfd> waiting;
  waiting.reserve(connections_.size());
  for (const RawConnection& one : connections_) {
    const int events = POLLIN | (one.blocked() ? POLLOUT : 0);
    waiting.push_back({one.fd(), static_cast<short>(events), 0});
  }
  const int ready = poll(waiting.data(), waiting.size(), kSilenceMs);
  if (ready == 0) return fail(Errc::kTimeout, "the server does not answer");
  std::this_thread::sleep_for(kPause);
  return {};
}

}  // namespace moraine::bench
