#include "gateway/http/request_parser.h"

#include <fmt/format.h>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <utility>

namespace moraine::http {
namespace {

namespace beast_http = boost::beast::http;
using beast_http::error;
using boost::beast::string_view;
using boost::system::error_code;

constexpr std::size_t kFieldsExpected = 16;

std::string text_of(string_view text) {
  return std::string(text.data(), text.size());
}

}  // namespace

class RequestParser::Impl final : public beast_http::basic_parser<true> {
 public:
  Impl() {
    header_limit(static_cast<std::uint32_t>(kHeaderBytesMax));
    request.fields.reserve(kFieldsExpected);
    body_limit(boost::none);  // The handler of the request bounds it.
  }

  Request request;
  std::optional<Refusal> refusal;  // For what Beast does not check.
  ByteSpan piece;
  std::size_t header_bytes = 0;  // Parsed so far.
  std::size_t fields = 0;
  std::size_t hosts = 0;
  bool is_1_0 = false;

 private:
  void on_request_impl(beast_http::verb, string_view method, string_view target, int version,
                       error_code& failed) override {
    is_1_0 = version == 10;
    request.method = text_of(method);
    auto parsed = http::parse_target({target.data(), target.size()});
    if (!parsed) {
      refusal = Refusal{400, parsed.error().context};
      failed = error::bad_target;
      return;
    }
    request.target = std::move(*parsed);
  }
  void on_field_impl(beast_http::field field, string_view name, string_view value,
                     error_code& failed) override {
    if (++fields > kFieldsMax) {
      refusal = Refusal{431, fmt::format("the request has more than {} fields", kFieldsMax)};
      failed = error::bad_field;
      return;
    }
    // Trailers are not kept.
    if (is_header_done()) return;
    if (field == beast_http::field::host) ++hosts;
    request.fields.add(text_of(name), text_of(value));
  }
  void on_header_impl(error_code& failed) override {
    if (hosts == 1 || (hosts == 0 && is_1_0)) return;
    refusal = Refusal{400, hosts == 0 ? "a request of HTTP/1.1 needs the field Host"
                                      : "the field Host is given more than once"};
    failed = error::bad_field;
  }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(string_view body, error_code&) override { return take(body); }
  void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, string_view body, error_code&) override {
    return take(body);
  }
  void on_finish_impl(error_code&) override {}
  void on_response_impl(int, string_view, int, error_code&) override {}

  std::size_t take(string_view body) {
    piece = {reinterpret_cast<const std::byte*>(body.data()), body.size()};
    return body.size();
  }
};

RequestParser::RequestParser() : impl_(std::make_unique<Impl>()) {}
RequestParser::~RequestParser() = default;

std::expected<std::size_t, Refusal> RequestParser::feed(ByteSpan bytes) {
  impl_->piece = {};
  const bool in_header = !header_done();
  error_code failed;
  const std::size_t taken =
      impl_->put(boost::asio::const_buffer(bytes.data(), bytes.size()), failed);
  // Beast's own limit covers only the bytes that are not parsed yet.
  if (in_header) impl_->header_bytes += taken;
  const bool too_long = impl_->header_bytes > kHeaderBytesMax;
  if ((!failed || failed == error::need_more) && !too_long) return taken;
  if (impl_->refusal) return std::unexpected(std::move(*impl_->refusal));
  if (failed == error::header_limit || too_long) {
    return std::unexpected(
        Refusal{431, fmt::format("the request's header has more than {} bytes", kHeaderBytesMax)});
  }
  if (failed == error::bad_version) {
    return std::unexpected(Refusal{505, "HTTP/1.0 and HTTP/1.1 are served"});
  }
  return std::unexpected(
      Refusal{400, fmt::format("not a valid HTTP request: {}", failed.message())});
}

bool RequestParser::header_done() const {
  return impl_->is_header_done();
}

bool RequestParser::done() const {
  return impl_->is_done();
}

Request RequestParser::take_request() {
  return std::move(impl_->request);
}

bool RequestParser::keep_alive() const {
  return impl_->keep_alive();
}

bool RequestParser::is_http_1_0() const {
  return impl_->is_1_0;
}

std::optional<std::uint64_t> RequestParser::content_length() const {
  const auto length = impl_->content_length();
  if (!length) return std::nullopt;
  return *length;
}

ByteSpan RequestParser::body() const {
  return impl_->piece;
}

}  // namespace moraine::http
