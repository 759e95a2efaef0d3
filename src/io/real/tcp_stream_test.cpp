#include "io/real/tcp_stream.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "base/log.h"

namespace moraine {
namespace {

Slice pattern(std::size_t size) {
  Buffer buffer(size);
  for (std::size_t i = 0; i < size; ++i) buffer.data()[i] = static_cast<std::byte>(i * 7 + i / 251);
  return std::move(buffer).freeze();
}

// A blocking socket of a client.
class Peer {
 public:
  explicit Peer(std::uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer() { ::close(fd_); }

  bool connected() const { return connected_; }
  void send_all(ByteSpan bytes) {
    while (!bytes.empty()) {
      const ssize_t done = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      ASSERT_GT(done, 0);
      bytes = bytes.subspan(static_cast<std::size_t>(done));
    }
  }
  void end() { shutdown(fd_, SHUT_WR); }
  // Up to `size` bytes, fewer at the end.
  std::string receive(std::size_t size) {
    std::string got(size, '\0');
    std::size_t have = 0;
    while (have < size) {
      const ssize_t done = recv(fd_, got.data() + have, size - have, 0);
      if (done <= 0) break;
      have += static_cast<std::size_t>(done);
    }
    got.resize(have);
    return got;
  }

 private:
  int fd_;
  bool connected_ = false;
};

Task<void> echo(std::shared_ptr<ByteStream> stream) {
  while (true) {
    if (!co_await stream->readable()) co_return;
    Buffer buffer(1000);
    const auto read = co_await stream->read(buffer.span());
    if (!read || *read == 0) co_return;
    const Slice whole = std::move(buffer).freeze();
    std::vector<Slice> pieces;
    // Adjacent pieces and single bytes, to be joined again.
    for (std::size_t at = 0; at < *read; ++at) pieces.push_back(whole.sub(at, 1));
    if (!co_await stream->write(std::move(pieces))) co_return;
  }
}

Task<void> send_pattern(std::shared_ptr<ByteStream> stream) {
  std::vector<Slice> pieces;
  const Slice piece = pattern(100'000);
  for (int i = 0; i < 300; ++i) pieces.push_back(piece);
  co_await stream->write(std::move(pieces));
}

// As send_pattern(), in parts of any size.
Task<void> send_in_parts(std::shared_ptr<ByteStream> stream) {
  std::vector<Slice> pieces;
  const Slice piece = pattern(100'000);
  for (int i = 0; i < 300; ++i) pieces.push_back(piece);
  std::size_t at = 0;
  for (std::size_t bytes_max = 1; at < pieces.size(); bytes_max += 30'000) {
    const auto some = co_await stream->write_some(std::span(pieces).subspan(at), bytes_max);
    if (!some || *some == 0 || *some > bytes_max) co_return;
    std::size_t taken = *some;
    while (at < pieces.size() && pieces[at].size() <= taken) taken -= pieces[at++].size();
    if (taken > 0) pieces[at] = pieces[at].sub(taken, pieces[at].size() - taken);
  }
}

Task<void> wait_for_bytes(std::shared_ptr<ByteStream> stream) {
  std::byte byte;
  co_await stream->read(MutableByteSpan(&byte, 1));
}

Task<void> say_peer(std::shared_ptr<ByteStream> stream) {
  std::vector<Slice> pieces;
  pieces.push_back(Slice::copy_of(stream->peer()));
  co_await stream->write(std::move(pieces));
}

class TcpStreamTest : public testing::TestWithParam<IoMode> {
 protected:
  TcpStreamTest() : lane_(LaneOptions{"streams", GetParam(), {}}) {}
  ~TcpStreamTest() override { stop(); }

  void serve(StreamHandler handler, TcpListenerLimits limits = {}) {
    auto listener =
        TcpListener::open(lane_, TcpAddress{"127.0.0.1", 0}, std::move(handler), limits);
    ASSERT_TRUE(listener) << listener.error().message();
    listener_ = std::move(*listener);
    port_ = listener_->port();
    lane_.start();
  }
  void stop() {
    if (!listener_) return;
    lane_.post([this] { spawn(listener_->stop()); });
    lane_.stop();
    listener_.reset();
  }

  Lane lane_;
  std::unique_ptr<TcpListener> listener_;
  std::uint16_t port_ = 0;
};

TEST_P(TcpStreamTest, CarriesBytesBothWaysUntilTheClientEnds) {
  serve(echo);
  Peer peer(port_);
  const Slice sent = pattern(50'000);
  for (std::size_t at = 0; at < sent.size(); at += 5'000) {
    const ByteSpan part = sent.span().subspan(at, 5'000);
    peer.send_all(part);
    EXPECT_EQ(peer.receive(part.size()), as_text(part));
  }
  peer.end();
  EXPECT_EQ(peer.receive(1), "");
}

TEST_P(TcpStreamTest, WritesManyPiecesToAReaderThatIsSlow) {
  serve(send_pattern);
  Peer peer(port_);
  const Slice piece = pattern(100'000);
  for (int i = 0; i < 300; ++i) ASSERT_EQ(peer.receive(piece.size()), piece.text()) << i;
  EXPECT_EQ(peer.receive(1), "");
}

TEST_P(TcpStreamTest, WriteSomeReturnsHowFarItCame) {
  serve(send_in_parts);
  Peer peer(port_);
  const Slice piece = pattern(100'000);
  for (int i = 0; i < 300; ++i) ASSERT_EQ(peer.receive(piece.size()), piece.text()) << i;
  EXPECT_EQ(peer.receive(1), "");
}

TEST_P(TcpStreamTest, ClosesConnectionsPastTheLimit) {
  const ScopedLogCapture quiet;
  serve(echo, {.connections_max = 2});
  Peer first(port_);
  Peer second(port_);
  first.send_all(as_bytes("1"));
  EXPECT_EQ(first.receive(1), "1");
  second.send_all(as_bytes("2"));
  EXPECT_EQ(second.receive(1), "2");
  Peer third(port_);
  EXPECT_EQ(third.receive(1), "");
  first.send_all(as_bytes("x"));
  EXPECT_EQ(first.receive(1), "x");
}

TEST_P(TcpStreamTest, StopEndsWhatWaits) {
  serve(wait_for_bytes);
  std::vector<std::unique_ptr<Peer>> peers;
  for (int i = 0; i < 20; ++i) peers.push_back(std::make_unique<Peer>(port_));
  stop();
  for (const auto& peer : peers) EXPECT_EQ(peer->receive(1), "");
  EXPECT_FALSE(Peer(port_).connected());
}

TEST_P(TcpStreamTest, ReturnsTheAddressOfThePeer) {
  serve(say_peer);
  Peer peer(port_);
  EXPECT_TRUE(peer.receive(100).starts_with("127.0.0.1:"));
}

INSTANTIATE_TEST_SUITE_P(Modes, TcpStreamTest, testing::Values(IoMode::kAuto, IoMode::kThreads));

}  // namespace
}  // namespace moraine
