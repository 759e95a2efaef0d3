#include "io/real/tcp_server.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>

#include "base/checksum.h"
#include "base/coding.h"
#include "base/log.h"
#include "io/real/frame.h"
#include "io/real/frame_reader.h"
#include "io/real/lane.h"
#include "io/real/tcp_network.h"

namespace moraine {
namespace {

constexpr NodeId kFirst{1};
constexpr NodeId kSecond{2};

Task<Slice> echo(NodeId, Slice request) {
  co_return request;
}

// A server on a lane of its own, spoken to by a plain blocking socket.
class TcpServerTest : public testing::Test {
 protected:
  TcpServerTest() {
    TcpNetworkOptions options;
    options.self = kSecond;
    options.cluster = "north";
    network_ = std::make_unique<TcpNetwork>(lane_, std::move(options));
    EXPECT_TRUE(network_->listen(TcpAddress{"127.0.0.1", 0}));
    network_->serve(echo);
    port_ = network_->port();
    lane_.start();
    reconnect();
  }
  ~TcpServerTest() override {
    close(socket_);
    lane_.post([this] { spawn(network_->stop()); });
    lane_.stop();
  }

  void reconnect() {
    if (socket_ >= 0) close(socket_);
    socket_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  void send_bytes(ByteSpan bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return;
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
  }
  void send_frame(FrameKind kind, std::uint64_t request, ByteSpan payload) {
    send_bytes(encode_frame_header(kind, request, payload));
    send_bytes(payload);
  }
  void greet() {
    send_frame(FrameKind::kHello, 0, encode_hello({kFirst, kSecond, "north"}));
    EXPECT_EQ(receive()->kind, FrameKind::kHello);
  }
  std::optional<std::string> receive_bytes(std::size_t count) {
    std::string bytes(count, '\0');
    for (std::size_t at = 0; at < count;) {
      const ssize_t got = recv(socket_, bytes.data() + at, count - at, 0);
      if (got <= 0) return std::nullopt;
      at += static_cast<std::size_t>(got);
    }
    return bytes;
  }
  // Nullopt at the end of the stream.
  std::optional<Frame> receive() {
    const auto header_bytes = receive_bytes(kFrameHeaderBytes);
    if (!header_bytes) return std::nullopt;
    const auto header = decode_frame_header(as_bytes(*header_bytes));
    if (!header) return std::nullopt;
    const auto payload = receive_bytes(header->length);
    if (!payload) return std::nullopt;
    return Frame{header->kind, header->request, Slice::copy_of(*payload)};
  }
  void expect_served() {
    send_frame(FrameKind::kRequest, 5, as_bytes("ping"));
    const auto reply = receive();
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->kind, FrameKind::kReply);
    EXPECT_EQ(reply->request, 5U);
    EXPECT_EQ(reply->payload.text(), "ping");
  }
  void expect_closed_because(std::string_view reason) {
    const auto frame = receive();
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->kind, FrameKind::kClose);
    EXPECT_NE(frame->payload.text().find(reason), std::string::npos) << frame->payload.text();
    EXPECT_FALSE(receive());
  }

  ScopedLogCapture log_;
  Lane lane_;
  std::unique_ptr<TcpNetwork> network_;
  std::uint16_t port_ = 0;
  int socket_ = -1;
};

TEST_F(TcpServerTest, AProperHelloAndRequestAreServed) {
  greet();
  expect_served();
}

TEST_F(TcpServerTest, GarbageIsRefusedAndClosed) {
  send_bytes(as_bytes("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  expect_closed_because("not frames");
}

TEST_F(TcpServerTest, ARequestBeforeTheHelloIsRefused) {
  send_frame(FrameKind::kRequest, 1, as_bytes("early"));
  expect_closed_because("before the hello");
}

TEST_F(TcpServerTest, ALargeFrameBeforeTheHelloIsRefused) {
  send_bytes(encode_frame_header(FrameKind::kRequest, 1, as_bytes(std::string(5000, 'x'))));
  expect_closed_because("at most 512");
}

TEST_F(TcpServerTest, AnOversizedFrameIsRefusedFromItsHeader) {
  greet();
  FrameHeaderBytes header = encode_frame_header(FrameKind::kRequest, 1, {});
  store(header.data() + 4, static_cast<std::uint32_t>(kFrameBytesMax + 1));
  store(header.data() + 20, crc32c(ByteSpan(header).first(20)));
  send_bytes(header);
  expect_closed_because("at most 33554432");
}

TEST_F(TcpServerTest, AWrongChecksumClosesTheConnection) {
  greet();
  send_bytes(encode_frame_header(FrameKind::kRequest, 1, as_bytes("right")));
  send_bytes(as_bytes("wrong"));
  expect_closed_because("payload checksum");
}

TEST_F(TcpServerTest, ASecondHelloIsRefused) {
  greet();
  send_frame(FrameKind::kHello, 0, encode_hello({kFirst, kSecond, "north"}));
  expect_closed_because("unexpected hello");
}

TEST_F(TcpServerTest, ARequestFollowedByTheEndOfTheStreamDoesNotHurtTheServer) {
  greet();
  send_frame(FrameKind::kRequest, 1, as_bytes("bye"));
  shutdown(socket_, SHUT_WR);
  // The server may answer what it has read before it closes, and nothing else.
  if (const auto reply = receive()) {
    EXPECT_EQ(reply->kind, FrameKind::kReply);
    EXPECT_EQ(reply->request, 1U);
    EXPECT_FALSE(receive());
  }
  reconnect();
  greet();
  expect_served();
}

}  // namespace
}  // namespace moraine
