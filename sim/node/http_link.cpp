#include "sim/node/http_link.h"

#include <fmt/format.h>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "yson/yson.h"

namespace moraine::sim {

namespace beast_http = boost::beast::http;

namespace {

constexpr std::uint64_t kBodyBytesMax = std::uint64_t{64} << 20;

Slice text(std::string_view bytes) {
  return Slice::copy_of(bytes);
}

}  // namespace

std::string HttpAnswer::to_string() const {
  if (ok()) return body.substr(0, 200);
  return fmt::format("status {}, error {}: {}", status, code, message);
}

YsonNode HttpAnswer::whole() const {
  if (!ok()) return YsonNode();
  return parse_yson(body).value_or(YsonNode());
}

YsonNode HttpAnswer::value() const {
  YsonNode parsed = whole();
  for (const char* name : {"value", "node_id", "transaction_id"}) {
    if (const YsonNode* found = parsed.find(name)) return *found;
  }
  return parsed;
}

std::string HttpAnswer::id() const {
  const YsonNode found = value();
  const auto* const known = found.as<std::string>();
  return known == nullptr ? "" : *known;
}

YsonList HttpAnswer::rows() const {
  auto parsed = parse_yson(body, YsonDocument::kListFragment);
  if (!ok() || !parsed || parsed->as<YsonList>() == nullptr) return {};
  return std::move(*parsed->as<YsonList>());
}

class HttpLink::Parser {
 public:
  Parser() {
    parser_.body_limit(kBodyBytesMax);
    parser_.eager(true);
  }
  bool done() const { return parser_.is_done(); }
  bool failed() const { return failed_; }
  // How much of it was taken.
  std::size_t feed(std::string_view bytes) {
    boost::beast::error_code error;
    const std::size_t taken =
        parser_.put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
    failed_ = error && error != beast_http::error::need_more;
    return taken;
  }
  std::string field(std::string_view name) const { return std::string(parser_.get()[name]); }
  HttpAnswer take() {
    HttpAnswer answer;
    answer.status = parser_.get().result_int();
    answer.code = std::atoi(field("X-YT-Response-Code").c_str());
    answer.message = field("X-YT-Response-Message");
    answer.body = std::move(parser_.get().body());
    return answer;
  }

 private:
  beast_http::response_parser<beast_http::string_body> parser_;
  bool failed_ = false;
};

bool HttpLink::open(SeededRandom& random) {
  if (connected()) return true;
  expected_.clear();
  ahead_.clear();
  return ClientLink::open(random);
}

bool HttpLink::open_lane(std::size_t lane) {
  expected_.clear();
  ahead_.clear();
  return ClientLink::open_lane(lane);
}

std::string HttpLink::bytes_of(const HttpRequest& request) {
  const std::string correlation = fmt::format("{}-{}", client_id_, ++sent_);
  expected_.push_back(correlation);
  return fmt::format(
      "PUT /api/v4/{} HTTP/1.1\r\nHost: sim\r\nX-YT-Header-Format: yson\r\n"
      "X-YT-Input-Format: yson\r\nX-YT-Output-Format: <format=text>yson\r\nX-YT-Correlation-Id: "
      "{}\r\nX-YT-Parameters: "
      "{{{}}}\r\n"
      "Content-Length: {}\r\n\r\n{}",
      request.command, correlation, request.parameters, request.input.size(), request.input);
}

Task<bool> HttpLink::send(HttpRequest request) {
  if (!connected()) co_return false;
  std::vector<Slice> bytes;
  bytes.push_back(text(bytes_of(request)));
  const auto written = co_await write(std::move(bytes));
  if (!written) close();
  co_return written.has_value();
}

Task<void> HttpLink::send_part(HttpRequest request, SeededRandom& random) {
  if (!connected()) co_return;
  const std::string whole = bytes_of(request);
  std::vector<Slice> bytes;
  bytes.push_back(text(std::string_view(whole).substr(0, 1 + random.below(whole.size()))));
  std::ignore = co_await write(std::move(bytes));
  close();
}

Task<bool> HttpLink::read_answer(Parser& parser, Pace pace) {
  const std::shared_ptr<ByteStream> stream = connection_.stream;
  Buffer buffer(pace.bytes);
  for (;;) {
    while (!ahead_.empty() && !parser.done() && !parser.failed()) {
      const std::size_t taken = parser.feed(ahead_);
      ahead_.erase(0, taken);
      if (taken == 0) break;
    }
    if (parser.done()) co_return true;
    if (parser.failed()) {
      history_.fail(client_id_ + ": an answer that is none: " + ahead_.substr(0, 200));
      co_return false;
    }
    if (pace.pause > Duration(0)) co_await sleep_for(world_.executor(), pace.pause);
    const Result<std::size_t> got = co_await stream->read(buffer.span());
    if (!got || *got == 0) co_return false;
    ahead_ += as_text(ByteSpan(buffer.data(), *got));
  }
}

Task<std::optional<HttpAnswer>> HttpLink::receive(Pace pace) {
  if (!connected() || expected_.empty()) co_return std::nullopt;
  const auto done = std::make_shared<bool>(false);
  if (pace.pause == Duration(0)) watch(connection_.stream, done);
  Parser parser;
  const bool whole = co_await read_answer(parser, pace);
  *done = true;
  if (!whole) {
    close();
    co_return std::nullopt;
  }
  const std::string correlation = std::exchange(expected_.front(), "");
  expected_.pop_front();
  if (const std::string got = parser.field("X-YT-Correlation-Id"); got != correlation) {
    history_.fail(fmt::format("{}: the answer to request {} is that of request {}", client_id_,
                              correlation, got));
    co_return std::nullopt;
  }
  HttpAnswer answer = parser.take();
  answer.newest = to_newest();
  co_return answer;
}

Task<std::optional<HttpAnswer>> HttpLink::ask(HttpRequest request) {
  if (!co_await send(std::move(request))) co_return std::nullopt;
  co_return co_await receive();
}

}  // namespace moraine::sim
