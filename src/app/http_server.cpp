#include "app/http_server.h"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <optional>
#include <thread>
#include <unordered_map>

namespace moraine::app {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto kAcceptRetry = std::chrono::milliseconds(100);

class Session;

// What a session needs of its server.
class Sessions {
 public:
  virtual void handle(std::uint64_t session, std::string path) = 0;
  virtual void forget(std::uint64_t session) = 0;

 protected:
  ~Sessions() = default;
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Sessions& owner, std::uint64_t number, tcp::socket socket)
      : owner_(owner), number_(number), stream_(std::move(socket)) {}

  void read() {
    parser_.emplace();
    parser_->header_limit(kHttpHeaderBytesMax);
    stream_.expires_after(kHttpIdleTimeout);
    http::async_read(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](error_code error, std::size_t) { self->on_read(error); });
  }

  void write(HttpReply reply) {
    response_ = {};
    response_.version(11);
    response_.result(reply.status);
    response_.set(http::field::content_type, reply.content_type);
    response_.set(http::field::cache_control, "no-store");
    response_.keep_alive(keep_alive_);
    response_.content_length(reply.body.size());
    if (reply.status == 405) response_.set(http::field::allow, "GET, HEAD");
    if (!head_) response_.body() = std::move(reply.body);
    stream_.expires_after(kHttpIdleTimeout);
    http::async_write(
        stream_, response_,
        [self = shared_from_this()](error_code error, std::size_t) { self->on_written(error); });
  }

 private:
  void on_read(error_code error) {
    if (error) {
      refuse(error);
      return;
    }
    const auto& request = parser_->get();
    keep_alive_ = request.keep_alive();
    head_ = request.method() == http::verb::head;
    if (!head_ && request.method() != http::verb::get) {
      write({405, "text/plain; charset=utf-8", "only GET and HEAD\n"});
      return;
    }
    const std::string target(request.target());
    owner_.handle(number_, target.substr(0, target.find('?')));
  }

  // What is no HTTP is told so; a peer that is gone or silent is let go.
  void refuse(error_code error) {
    keep_alive_ = false;
    head_ = false;
    if (error == http::error::header_limit || error == http::error::buffer_overflow) {
      write({431, "text/plain; charset=utf-8", "the header is too long\n"});
    } else if (error == http::error::unexpected_body || error == http::error::body_limit) {
      write({400, "text/plain; charset=utf-8", "a body is not expected\n"});
    } else if (error.category() == http::make_error_code(http::error::bad_method).category() &&
               error != http::error::end_of_stream && error != http::error::partial_message) {
      write({400, "text/plain; charset=utf-8", "not a valid HTTP request\n"});
    } else {
      close();
    }
  }

  void on_written(error_code error) {
    if (error || response_.need_eof() || !keep_alive_) {
      close();
    } else {
      read();
    }
  }

  void close() {
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    owner_.forget(number_);
  }

  Sessions& owner_;
  const std::uint64_t number_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_{2 * kHttpHeaderBytesMax};
  std::optional<http::request_parser<http::empty_body>> parser_;
  http::response<http::string_body> response_;
  bool keep_alive_ = false;
  bool head_ = false;
};

}  // namespace

class HttpServer::Impl final : public Sessions, public std::enable_shared_from_this<Impl> {
 public:
  explicit Impl(HttpHandler handler) : handler_(std::move(handler)) {}

  Result<void> listen(const TcpAddress& address) {
    error_code error;
    tcp::resolver resolver(context_);
    const auto found = resolver.resolve(address.host, std::to_string(address.port), error);
    if (error) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("{}: {}", to_string(address), error.message()));
    }
    const tcp::endpoint endpoint = found.begin()->endpoint();
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (!error) port_ = acceptor_.local_endpoint(error).port();
    if (error) {
      return fail(Errc::kConflict,
                  fmt::format("cannot listen on {}: {}", to_string(address), error.message()));
    }
    return {};
  }

  void run() {
    accept();
    thread_ = std::thread([this] { context_.run(); });
  }

  void stop() {
    context_.stop();
    if (thread_.joinable()) thread_.join();
  }

  std::uint16_t port() const { return port_; }

 private:
  void accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      if (error) {
        retry_.expires_after(kAcceptRetry);
        retry_.async_wait([this](error_code) { accept(); });
        return;
      }
      add(std::move(socket));
      accept();
    });
  }

  // Past the bound a connection is closed at once: the peer tries again later.
  void add(tcp::socket socket) {
    if (sessions_.size() >= kHttpConnectionsMax) return;
    const std::uint64_t number = next_++;
    auto session = std::make_shared<Session>(*this, number, std::move(socket));
    sessions_[number] = session;
    session->read();
  }

  void forget(std::uint64_t session) override { sessions_.erase(session); }

  void handle(std::uint64_t session, std::string path) override {
    handler_(std::move(path), [weak = weak_from_this(), session](HttpReply reply) {
      const std::shared_ptr<Impl> self = weak.lock();
      if (!self) return;
      // Runs on the server's thread, which ends before the server does.
      asio::post(self->context_, [raw = self.get(), session, reply = std::move(reply)]() mutable {
        const auto found = raw->sessions_.find(session);
        if (found != raw->sessions_.end()) found->second->write(std::move(reply));
      });
    });
  }

  HttpHandler handler_;
  asio::io_context context_{1};
  tcp::acceptor acceptor_{context_};
  asio::steady_timer retry_{context_};
  std::uint16_t port_ = 0;
  std::uint64_t next_ = 1;
  std::unordered_map<std::uint64_t, std::shared_ptr<Session>> sessions_;
  std::thread thread_;
};

HttpServer::HttpServer(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

HttpServer::~HttpServer() {
  impl_->stop();
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(const TcpAddress& address,
                                                      HttpHandler handler) {
  auto impl = std::make_shared<Impl>(std::move(handler));
  TRY_VOID(impl->listen(address));
  impl->run();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

std::uint16_t HttpServer::port() const {
  return impl_->port();
}

}  // namespace moraine::app
