#include "app/yt_client/http_connection.h"

#include <fmt/format.h>
#include <poll.h>

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <optional>

namespace moraine::app {
namespace {

namespace beast_http = boost::beast::http;
using boost::beast::string_view;
using boost::system::error_code;

constexpr std::size_t kReceiveBytes = std::size_t{64} << 10;

bool same_name(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(a, b, [&](char x, char y) { return lower(x) == lower(y); });
}

const std::string* find(const std::vector<HttpField>& fields, std::string_view name) {
  for (const HttpField& field : fields) {
    if (same_name(field.name, name)) return &field.value;
  }
  return nullptr;
}

std::string header_of(const HttpCall& call, const std::string& host) {
  std::string text = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", call.method, call.target, host);
  const auto add = [&text](std::string_view name, std::string_view value) {
    fmt::format_to(std::back_inserter(text), "{}: {}\r\n", name, value);
  };
  for (const HttpField& field : call.fields) add(field.name, field.value);
  if (call.body != nullptr) {
    add("Transfer-Encoding", "chunked");
  } else if (!call.text.empty() || call.method != "GET") {
    add("Content-Length", std::to_string(call.text.size()));
  }
  return text + "\r\n" + (call.body == nullptr ? call.text : std::string());
}

// Whether there is something to read: bytes, or the end of the connection.
bool readable(int fd) {
  pollfd waits{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&waits, 1, 0) > 0;
}

std::unexpected<Error> no_http(std::string_view why) {
  return fail(Errc::kUnavailable, fmt::format("no HTTP server answers there: {}", why));
}

}  // namespace

const std::string* HttpAnswer::field(std::string_view name) const {
  return find(fields, name);
}

const std::string* HttpAnswer::trailer(std::string_view name) const {
  return find(trailers, name);
}

class HttpConnection::Parser final : public beast_http::basic_parser<false> {
 public:
  Parser() {
    header_limit(static_cast<std::uint32_t>(kAnswerHeaderBytesMax));
    body_limit(boost::none);  // The sink bounds it.
  }

  HttpAnswer answer;
  BodySink sink;
  std::optional<Error> refused;  // By the sink.

 private:
  void on_request_impl(beast_http::verb, string_view, string_view, int, error_code&) override {}
  void on_response_impl(int status, string_view, int, error_code&) override {
    answer.status = status;
  }
  void on_field_impl(beast_http::field, string_view name, string_view value, error_code&) override {
    auto& fields = is_header_done() ? answer.trailers : answer.fields;
    fields.push_back({std::string(name), std::string(value)});
  }
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(string_view body, error_code& failed) override {
    return take(body, failed);
  }
  void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, string_view body, error_code& failed) override {
    return take(body, failed);
  }
  void on_finish_impl(error_code&) override {}

  std::size_t take(string_view body, error_code& failed) {
    const auto taken = sink({body.data(), body.size()});
    if (!taken) {
      refused = taken.error();
      failed = beast_http::error::body_limit;
    }
    return body.size();
  }
};

HttpConnection::HttpConnection(HttpConnection&&) noexcept = default;
HttpConnection& HttpConnection::operator=(HttpConnection&&) noexcept = default;
HttpConnection::~HttpConnection() = default;

Result<HttpConnection> HttpConnection::connect(const TcpAddress& address, Duration timeout) {
  auto socket = Socket::connect(address, timeout);
  if (!socket) return std::unexpected(std::move(socket).error().within(to_string(address)));
  return HttpConnection(std::move(*socket), to_string(address));
}

bool HttpConnection::usable() const {
  return socket_.open() && keeps_ && !readable(socket_.fd());
}

Result<bool> HttpConnection::send(const HttpCall& call) {
  TRY_VOID(socket_.send(as_bytes(header_of(call, host_))));
  if (call.body == nullptr) return true;
  for (;;) {
    TRY(const std::string_view piece, call.body->next());
    if (readable(socket_.fd())) return false;
    if (piece.empty()) break;
    const std::string head = fmt::format("{:x}\r\n", piece.size());
    TRY_VOID(socket_.send(as_bytes(head)));
    TRY_VOID(socket_.send(as_bytes(piece)));
    TRY_VOID(socket_.send(as_bytes("\r\n")));
  }
  TRY_VOID(socket_.send(as_bytes("0\r\n\r\n")));
  return true;
}

Result<void> HttpConnection::wait_readable(Duration timeout) const {
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count();
  for (;;) {
    pollfd waits{.fd = socket_.fd(), .events = POLLIN, .revents = 0};
    const int ready = ::poll(&waits, 1, static_cast<int>(std::min<std::int64_t>(millis, 1 << 30)));
    if (ready > 0) return {};
    if (ready == 0) return fail(Errc::kTimeout, "no answer in time");
    if (errno != EINTR) return fail(Errc::kUnavailable, std::strerror(errno));
    if (interrupted_ && interrupted_()) return fail(Errc::kAborted, "interrupted");
  }
}

Result<void> HttpConnection::receive(Parser& parser, const Begin& begin, Duration timeout) {
  std::string buffer(kReceiveBytes, '\0');
  std::string unread;  // Bytes that the parser did not take yet.
  bool begun = false;
  parser.eager(false);  // The sink is known after the header.
  while (!parser.is_done()) {
    error_code failed;
    if (!unread.empty()) {
      const std::size_t taken =
          parser.put(boost::asio::const_buffer(unread.data(), unread.size()), failed);
      if (parser.refused) return std::unexpected(std::move(*parser.refused));
      if (failed && failed != beast_http::error::need_more) return no_http(failed.message());
      unread.erase(0, taken);
      if (parser.is_header_done() && !begun) {
        begun = true;
        parser.sink = begin(parser.answer);
        if (!parser.is_done()) continue;
      }
      if (parser.is_done()) break;
      if (taken > 0 && !unread.empty()) continue;
    }
    TRY_VOID(wait_readable(timeout));
    TRY(const std::size_t count,
        socket_.receive_some({reinterpret_cast<std::byte*>(buffer.data()), buffer.size()}));
    if (count > 0) {
      unread.append(buffer.data(), count);
      continue;
    }
    if (parser.got_some()) parser.put_eof(failed);
    if (!parser.got_some() || failed || !parser.is_done()) {
      return fail(Errc::kUnavailable, "the connection was closed before the answer was complete");
    }
  }
  keeps_ = keeps_ && parser.keep_alive() && unread.empty();
  return {};
}

Result<HttpAnswer> HttpConnection::call(const HttpCall& call, const Begin& begin,
                                        Duration timeout) {
  socket_.set_timeout(timeout);
  const auto sent = send(call);
  if (sent) {
    keeps_ = *sent;
  } else {
    keeps_ = false;
    // A server that closes the connection early may have said why.
    const bool broken = sent.error().code == Errc::kUnavailable;
    if (!broken || !readable(socket_.fd())) return std::unexpected(sent.error());
  }
  Parser parser;
  const auto received = receive(parser, begin, timeout);
  if (!received) {
    keeps_ = false;
    return std::unexpected(received.error());
  }
  return std::move(parser.answer);
}

}  // namespace moraine::app
