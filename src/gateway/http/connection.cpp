#include "gateway/http/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/beast/http/status.hpp>
#include <cstring>
#include <span>
#include <utility>

#include "base/log.h"
#include "base/node_bug.h"

namespace moraine::http {
namespace {

constexpr std::size_t kFirstReadBytes = std::size_t{4} << 10;
// A client that is still sending does not read the answer: a short rest of the body is dropped, for
// a longer one the connection is closed.
constexpr std::size_t kDrainedBytesMax = std::size_t{256} << 10;
// Bytes written between two checks that the client reads.
constexpr std::size_t kProgressBytes = std::size_t{256} << 10;
constexpr std::size_t kHeadBytes = 512;  // Most heads of answers are shorter.
constexpr std::string_view kBytesAhead = "a line of the request is too long";

Slice text(std::string_view bytes) {
  return Slice::copy_of(bytes);
}

// A line break would end the field.
void append_plain(std::string& out, std::string_view text) {
  const std::size_t begin = out.size();
  out += text;
  for (char& one : std::span(out).subspan(begin)) {
    if (one == '\r' || one == '\n' || one == '\0') one = ' ';
  }
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
  append_plain(out, name);
  out += ": ";
  append_plain(out, value);
  out += "\r\n";
}

// Cuts at most kProgressBytes off the front.
std::vector<Slice> cut_part(std::vector<Slice>& slices, std::size_t& at) {
  std::vector<Slice> part;
  for (std::size_t room = kProgressBytes; at < slices.size() && room > 0;) {
    Slice& slice = slices[at];
    const std::size_t size = std::min(room, slice.size());
    part.push_back(slice.sub(0, size));
    slice = slice.sub(size, slice.size() - size);
    room -= size;
    if (slice.empty()) ++at;
  }
  return part;
}

}  // namespace

HttpConnection::HttpConnection(HttpService& service, std::shared_ptr<ByteStream> stream)
    : service_(service),
      stream_(std::move(stream)),
      watchdog_(service.executor_, [this](auto) { close(); }),
      room_(service.answer_budget_),
      list_(&service.busy_),
      place_(list_->insert(list_->end(), this)) {}

HttpConnection::~HttpConnection() {
  list_->erase(place_);
}

void HttpConnection::move_to(HttpService::Connections& list) {
  list.splice(list.end(), *list_, place_);
  list_ = &list;
}

Task<void> HttpConnection::run() {
  while (!closed_) {
    const bool arrived = co_await read_header();
    if (!arrived || closed_) break;
    answer_ = Answer::kNone;
    co_await handle();
    co_await finish();
  }
  close();
}

Task<void> HttpConnection::handle() {
  const auto& room = service_.options_.answer_room;
  if (room_.try_set(room ? room(request_) : kAnswerRoom)) {
    co_await service_.handler_(*this);
  } else {
    Reply busy =
        text_reply(503, "answers to other clients take all the memory for them; try again later\n");
    busy.head.fields.add("Retry-After", "1");
    std::ignore = co_await reply(std::move(busy));
  }
  room_.set(0);
}

Task<void> HttpConnection::turn_away() {
  keep_alive_ = false;
  Reply busy = text_reply(503, "too many connections; try again later\n");
  busy.head.fields.add("Retry-After", "1");
  std::ignore = co_await reply(std::move(busy));
  close();
}

bool HttpConnection::is_slow(Instant now) const {
  return awaits_bytes_ && now >= arrival_ + kArrivalGrace;
}

void HttpConnection::evict() {
  log_debug("idle or slow http client closed for a new one", {{"peer", stream_->peer()}});
  close();
}

void HttpConnection::close() {
  closed_ = true;
  stream_->close();
  move_to(service_.busy_);  // It is not evicted twice.
}

// Without a buffer; the connection may be evicted meanwhile.
Task<bool> HttpConnection::wait_for_request() {
  request_ = Request();
  watchdog_.reading(service_.options_.idle_timeout, "idle");
  move_to(service_.idle_);
  const auto ready = co_await stream_->readable();
  move_to(service_.busy_);
  co_return ready.has_value() && !closed_;
}

Task<Result<bool>> HttpConnection::read_more(std::size_t at_least, bool ready) {
  if (!ready) {
    awaits_bytes_ = true;
    const Result<void> arrived = co_await stream_->readable();
    awaits_bytes_ = false;
    if (!arrived) co_return std::unexpected(arrived.error());
  }
  const std::size_t have = ahead_.size();
  Buffer buffer(have + std::max(at_least, have));
  if (have > 0) std::memcpy(buffer.data(), ahead_.data(), have);
  CO_TRY(const std::size_t got, co_await stream_->read(buffer.span().subspan(have)));
  ahead_ = std::move(buffer).freeze().sub(0, have + got);
  co_return got > 0;
}

Task<bool> HttpConnection::read_header() {
  parser_ = std::make_unique<RequestParser>();
  bool ready = ahead_.empty();
  if (ready && !co_await wait_for_request()) co_return false;
  arrival_ = service_.executor_.now();
  move_to(service_.arriving_);
  watchdog_.reading(service_.options_.header_timeout, "the header");
  bool needs_more = ahead_.empty();
  bool begun = false;  // A part of the header was parsed.
  const bool pipelined = !ahead_.empty();
  while (!parser_->header_done()) {
    if (needs_more) {
      const Result<bool> more = co_await read_more(kFirstReadBytes, std::exchange(ready, false));
      if (!more || !*more || closed_) co_return false;
    }
    // Some clients send an extra line break after a body. Inside a header it is the header's end.
    while (!begun && ahead_.text().starts_with("\r\n")) {
      ahead_ = ahead_.sub(2, ahead_.size() - 2);
    }
    const bool partial = ahead_.empty() || ahead_.text() == "\r";
    const auto taken =
        partial ? std::expected<std::size_t, Refusal>(0) : parser_->feed(ahead_.span());
    if (!taken) {
      co_await refuse(taken.error());
      co_return false;
    }
    begun = begun || *taken > 0;
    ahead_ = ahead_.sub(*taken, ahead_.size() - *taken);
    needs_more = true;
  }
  watchdog_.not_reading();
  Request arrived = parser_->take_request();
  // The one before it is answered once more.
  const bool mixed = pipelined && has_bug(NodeBug::kMixPipelined);
  if (!mixed) request_ = std::move(arrived);
  request_.peer = stream_->peer();
  if (parser_->done()) move_to(service_.busy_);
  keep_alive_ = parser_->keep_alive();
  awaits_continue_ = request_.fields.has_word("Expect", "100-continue") && !parser_->done();
  co_return true;
}

Task<void> HttpConnection::refuse(Refusal refusal) {
  log_debug("http request refused", {{"peer", stream_->peer()}, {"why", refusal.reason}});
  keep_alive_ = false;
  request_ = Request();
  answer_ = Answer::kNone;
  Reply answer = text_reply(refusal.status, refusal.reason + "\n");
  std::ignore = co_await reply(std::move(answer));
}

Task<Result<Slice>> HttpConnection::read() {
  if (std::exchange(awaits_continue_, false) && answer_ == Answer::kNone) {
    std::vector<Slice> line;
    line.push_back(text("HTTP/1.1 100 Continue\r\n\r\n"));
    CO_TRY_VOID(co_await send(std::move(line)));
  }
  bool needs_more = false;
  while (!parser_->done()) {
    if (needs_more || ahead_.empty()) {
      if (ahead_.size() > kInputBytes) {
        keep_alive_ = false;
        co_return fail(Errc::kInvalidArgument, std::string(kBytesAhead));
      }
      watchdog_.reading(service_.options_.stalled_timeout, "the body");
      const Result<bool> more = co_await read_more(kInputBytes, false);
      watchdog_.not_reading();
      if (!more) co_return std::unexpected(more.error());
      if (!*more) {
        keep_alive_ = false;
        co_return fail(Errc::kUnavailable, "the client ended the connection inside the body");
      }
    }
    const auto taken = parser_->feed(ahead_.span());
    if (!taken) {
      keep_alive_ = false;
      co_return fail(Errc::kInvalidArgument, taken.error().reason);
    }
    const ByteSpan body = parser_->body();
    const std::size_t from =
        body.empty() ? 0 : static_cast<std::size_t>(body.data() - ahead_.data());
    Slice slice = ahead_.sub(from, body.size());
    ahead_ = ahead_.sub(*taken, ahead_.size() - *taken);
    needs_more = *taken == 0;
    if (parser_->done()) move_to(service_.busy_);
    if (!slice.empty()) co_return slice;
  }
  co_return Slice();
}

Task<bool> HttpConnection::drain() {
  std::size_t dropped = 0;
  const Instant until = service_.executor_.now() + service_.options_.stalled_timeout;
  while (!parser_->done()) {
    const Result<Slice> slice = co_await read();
    if (!slice) co_return false;
    dropped += slice->size();
    if (dropped > kDrainedBytesMax || service_.executor_.now() >= until) co_return false;
  }
  co_return true;
}

// After the handler has returned.
Task<void> HttpConnection::finish() {
  if (answer_ == Answer::kNone && !closed_) {
    Reply nothing = text_reply(500, "the server sent no answer\n");
    std::ignore = co_await reply(std::move(nothing));
  }
  // A client that waits for "100 Continue" sends no body to be dropped.
  const bool clean = answer_ == Answer::kWhole && keep_alive_ && !awaits_continue_;
  if (!clean || closed_ || !co_await drain()) close();
  move_to(service_.busy_);
}

bool HttpConnection::has_body(const Head& head) const {
  return request_.method != "HEAD" && head.status != 204 && head.status != 304;
}

std::string HttpConnection::head_text(const Head& head, std::optional<std::uint64_t> length) {
  service_.count(head.status);
  const auto reason =
      boost::beast::http::obsolete_reason(boost::beast::http::int_to_status(head.status));
  std::string out;
  out.reserve(kHeadBytes);
  fmt::format_to(std::back_inserter(out), "HTTP/1.1 {} {}\r\n", head.status,
                 std::string_view(reason.data(), reason.size()));
  const bool empty = head.status == 204 || head.status == 304;
  if (!empty) append_field(out, "Content-Type", head.content_type);
  if (length && !empty) append_field(out, "Content-Length", std::to_string(*length));
  if (chunked_) append_field(out, "Transfer-Encoding", "chunked");
  for (const auto& [name, value] : head.fields.all()) append_field(out, name, value);
  const bool old = parser_ && parser_->is_http_1_0();
  if (!keep_alive_ || old) append_field(out, "Connection", keep_alive_ ? "keep-alive" : "close");
  out += "\r\n";
  return out;
}

Task<Result<void>> HttpConnection::reply(Reply reply) {
  if (answer_ != Answer::kNone) co_return fail(Errc::kInvalidArgument, "answered twice");
  answer_ = Answer::kBegun;
  chunked_ = false;
  std::vector<Slice> slices;
  slices.push_back(text(head_text(reply.head, reply.body.size())));
  Slice body = std::move(reply.body);
  if (!has_body(reply.head)) body = Slice();  // Not kept while the head is sent.
  room_.set(body.size());
  if (!body.empty()) slices.push_back(std::move(body));
  const Result<void> sent = co_await send(std::move(slices));
  room_.set(0);
  if (sent) answer_ = Answer::kWhole;
  co_return sent;
}

Task<Result<void>> HttpConnection::begin(Head head) {
  if (answer_ != Answer::kNone) co_return fail(Errc::kInvalidArgument, "answered twice");
  answer_ = Answer::kBegun;
  const bool body = has_body(head);
  chunked_ = body && !parser_->is_http_1_0();
  if (body && !chunked_) keep_alive_ = false;
  std::vector<Slice> slices;
  slices.push_back(text(head_text(head, std::nullopt)));
  co_return co_await send(std::move(slices));
}

Task<Result<void>> HttpConnection::write(Slice bytes) {
  if (answer_ != Answer::kBegun) co_return fail(Errc::kInvalidArgument, "the answer was not begun");
  // An empty chunk would end the body.
  if (bytes.empty() || request_.method == "HEAD") co_return Result<void>();
  const std::size_t taken = room_.bytes();
  room_.set(std::max(taken, bytes.size()));
  std::vector<Slice> slices;
  if (chunked_) slices.push_back(text(fmt::format("{:x}\r\n", bytes.size())));
  slices.push_back(std::move(bytes));
  if (chunked_) slices.push_back(text("\r\n"));
  const Result<void> sent = co_await send(std::move(slices));
  room_.set(taken);
  co_return sent;
}

Task<Result<void>> HttpConnection::end(Fields trailers) {
  if (answer_ != Answer::kBegun) co_return fail(Errc::kInvalidArgument, "the answer was not begun");
  if (chunked_) {
    std::string last = "0\r\n";
    for (const auto& [name, value] : trailers.all()) append_field(last, name, value);
    last += "\r\n";
    std::vector<Slice> slices;
    slices.push_back(text(last));
    CO_TRY_VOID(co_await send(std::move(slices)));
  }
  answer_ = Answer::kWhole;
  co_return Result<void>();
}

Task<Result<void>> HttpConnection::send(std::vector<Slice> slices) {
  for (std::size_t at = 0; at < slices.size();) {
    watchdog_.writing(service_.options_.stalled_timeout, "the answer");
    const auto sent = co_await stream_->write(cut_part(slices, at));
    watchdog_.not_writing();
    if (!sent) {
      close();
      co_return std::unexpected(sent.error());
    }
  }
  co_return Result<void>();
}

}  // namespace moraine::http
