#include "gateway/yt/api_request.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/coding.h"
#include "gateway/yt/door_lane.h"
#include "gateway/yt/wall_time.h"
#include "io/sync.h"
#include "yson/yson.h"

namespace moraine::yt {
namespace {

constexpr std::string_view kTrailers = "X-YT-Error, X-YT-Response-Code, X-YT-Response-Message";
constexpr std::string_view kErrorField = "X-YT-Error";
constexpr std::size_t kMessageHeaderBytesMax = 1'000;
// Parameters of shorter texts are not counted: most requests change no counter that lanes share.
constexpr std::size_t kParameterTextFree = std::size_t{1} << 10;
constexpr char kDataFrame = 1;
// Of data that one request has before others of its lane continue.
constexpr std::size_t kTurnBytes = std::size_t{512} << 10;
constexpr std::size_t kFieldsExpected = 12;

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kMessageHeaderBytesMax)) {
    if (c == '\n')
      out += "\\n";
    else if (c >= ' ' && c < 0x7f)
      out += c;
    else
      out += '?';
  }
  return out;
}

std::string frame(std::string_view bytes) {
  std::string out(1, kDataFrame);
  const auto size = static_cast<std::uint32_t>(bytes.size());
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(size >> shift));
  out += bytes;
  return out;
}

std::string request_id(Random& random) {
  const std::uint64_t high = random.next();
  const std::uint64_t low = random.next();
  return fmt::format("{:x}-{:x}-{:x}-{:x}", high >> 32, high & 0xffffffff, low >> 32,
                     low & 0xffffffff);
}

}  // namespace

std::string host_of(const http::Request& request, std::string_view otherwise) {
  const std::string* const host = request.fields.find("Host");
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_' || c == ':' || c == '[' || c == ']';
  };
  if (host == nullptr || host->empty() || !std::ranges::all_of(*host, allowed)) {
    return std::string(otherwise);
  }
  return *host;
}

YtResult<void> check_credentials(const http::Request& request) {
  if (user_of(request).size() > kUserNameBytesMax) {
    return refuse(Code::kNoCredentials,
                  fmt::format("X-YT-User-Name has more than {} bytes", kUserNameBytesMax));
  }
  const std::string* const given = request.fields.find("Authorization");
  if (given == nullptr || given->starts_with("OAuth ") || given->starts_with("Bearer ")) return {};
  if (*given == "OAuth" || *given == "Bearer" || given->empty()) return {};  // An empty token.
  return refuse(Code::kNoCredentials, "Malformed Authorization header");
}

std::string user_of(const http::Request& request) {
  const std::string* const user = request.fields.find("X-YT-User-Name");
  return user == nullptr || user->empty() ? "root" : *user;
}

ApiRequest::ApiRequest(DoorLane& lane, http::Exchange& exchange, std::string address)
    : lane_(lane),
      exchange_(exchange),
      address_(host_of(exchange.request(), address)),
      header_format_(default_format(DataType::kStructured)),
      error_format_(default_format(DataType::kStructured)),
      coding_room_(lane.inputs()) {}

const std::string* ApiRequest::field(std::string_view name) const {
  return exchange_.request().fields.find(name);
}

Task<void> ApiRequest::run(unsigned version, std::string name) {
  const Command* const command = find_command(name, version);
  if (auto allowed = check_credentials(exchange_.request()); !allowed) {
    co_return co_await refuse_with(401, std::move(allowed).error());
  }
  if (command == nullptr) {
    co_return co_await refuse_with(
        404, YtError(Code::kGeneric,
                     fmt::format("Command \"{}\" is not registered", name.substr(0, 100))));
  }
  Call call(lane_, *command, version);
  call_ = &call;
  call.user = user_of(exchange_.request());
  call.host = address_;
  if (auto head = read_head(call); !head) {
    co_return co_await fail(call, std::move(head).error());
  }
  if (auto codings = read_codings(call); !codings) {
    co_return co_await fail(call, std::move(codings).error());
  }
  if (exchange_.request().method == "POST") {
    if (auto read = co_await read_body_parameters(call); !read) {
      co_return co_await fail(call, std::move(read).error());
    }
  }
  if (auto taken = take_parameter_room(call); !taken) {
    co_return co_await fail(call, std::move(taken).error());
  }
  const DataType output = command->output(version);
  if (command->input != DataType::kNull) call.input = this;
  if (output == DataType::kTabular || output == DataType::kBinary) call.output = this;
  if (command->handler == nullptr) {
    co_return co_await fail(call,
                            not_supported(fmt::format("Command \"{}\"", command->name)).error());
  }
  if (auto done = co_await command->handler(call); !done) {
    co_return co_await fail(call, std::move(done).error());
  }
  co_await finish(call);
}

YtResult<void> ApiRequest::read_head(Call& call) {
  const http::Request& request = exchange_.request();
  RequestHeads& known = lane_.heads();
  auto key = RequestHeads::key_of(request, call.command, call.version);
  if (const RequestHead* head = key ? known.find(*key) : nullptr) {
    take_head(*head, call);
    return {};
  }
  RequestHead head;
  auto read = read_head_formats(request, call.command, call.version, head);
  take_head(head, call);
  if (read) read = read_head_parameters(request, head);
  if (!read) return read;
  take_head(head, call);
  if (key) known.add(std::move(*key), head);
  return {};
}

void ApiRequest::take_head(const RequestHead& head, Call& call) {
  header_format_ = head.header_format;
  error_format_ = head.error_format;
  call.input_format = head.input_format;
  call.output_format = head.output_format;
  call.parameters = Parameters(head.parameters);
  parameter_bytes_ = head.parameter_bytes;
}

// The text of a body is gone by now.
YtResult<void> ApiRequest::take_parameter_room(Call& call) const {
  if (parameter_bytes_ > kParameterTextFree) {
    return take_room(call.room, memory_of(call.parameters.map()));
  }
  call.room.set(0);
  return {};
}

YtResult<void> ApiRequest::read_codings(Call& call) {
  if (const std::string* given = field("Content-Encoding")) {
    const auto coding = parse_coding(*given);
    if (!coding) {
      status_ = 415;
      return refuse(Code::kGeneric,
                    fmt::format("Unsupported Content-Encoding \"{}\"", given->substr(0, 100)));
    }
    input_coding_ = *coding;
  }
  if (input_coding_ != Coding::kIdentity) {
    decoder_ = make_decoder(input_coding_, lane_.inputs());
  }
  const DataType output = call.command.output(call.version);
  const bool streams = output == DataType::kTabular || output == DataType::kBinary;
  const std::string* const accepted = field("Accept-Encoding");
  if (accepted != nullptr) {
    const auto coding = choose_coding(*accepted);
    if (!coding) {
      status_ = 415;
      return refuse(Code::kGeneric, fmt::format("No coding of Accept-Encoding \"{}\" is supported",
                                                accepted->substr(0, 100)));
    }
    if (streams) output_coding_ = *coding;
  }
  framed_ = streams && field("X-YT-Accept-Framing") != nullptr;
  if (framed_) output_coding_ = Coding::kIdentity;
  // Without memory for it the answer is not compressed.
  if (!coding_room_.try_set(encoder_bytes(output_coding_))) output_coding_ = Coding::kIdentity;
  if (output_coding_ != Coding::kIdentity) encoder_ = make_encoder(output_coding_);
  return {};
}

Task<YtResult<void>> ApiRequest::read_body_parameters(Call& call) {
  YT_CO_TRY(const std::string body, co_await read_all(*this, call.room));
  if (!body.empty()) {
    YT_CO_TRY(YsonMap map, read_map(body, call.input_format, "the body"));
    call.parameters.merge(std::move(map));
  }
  parameter_bytes_ += body.size();
  co_return override_formats(call.parameters, call.input_format, call.output_format);
}

Task<YtResult<Slice>> ApiRequest::read() {
  if (turn_bytes_ >= kTurnBytes) {
    turn_bytes_ = 0;
    co_await yield(lane_.world().executor);
  }
  YT_CO_TRY(Slice part, co_await read_part());
  turn_bytes_ += part.size();
  co_return part;
}

Task<YtResult<Slice>> ApiRequest::read_part() {
  for (;;) {
    if (!raw_.empty()) {
      YT_CO_TRY(const std::string piece, decoder_->pull());
      if (!piece.empty()) co_return Slice::copy_of(piece);
      raw_ = Slice();
    }
    if (input_ended_) co_return Slice();
    YT_CO_TRY(Slice bytes, co_await exchange_.read());
    input_ended_ = bytes.empty();
    if (!decoder_) co_return bytes;
    if (input_ended_) {
      YT_CO_TRY_VOID(decoder_->finish());
      co_return Slice();
    }
    raw_ = std::move(bytes);
    decoder_->feed(raw_);
  }
}

http::Head ApiRequest::head(unsigned status) const {
  http::Head head;
  head.status = status;
  head.fields.reserve(kFieldsExpected);
  head.fields.add("X-YT-Request-Id", request_id(lane_.world().random));
  head.fields.add("X-YT-Proxy", address_);
  head.fields.add("Cache-Control", "no-store");
  if (const std::string* id = field("X-YT-Correlation-Id")) {
    head.fields.add("X-YT-Correlation-Id", id->substr(0, 100));
  }
  return head;
}

void ApiRequest::stamp(YtError& error) const {
  error.attributes.set("host", address_);
  error.attributes.set("datetime", wall_time(lane_.world().clock.since_epoch()));
}

void ApiRequest::add_error(http::Fields& fields, const YtError& error) const {
  fields.add(std::string(kErrorField), error_text(error, error_format_, kErrorHeaderBytesMax));
  fields.add("X-YT-Response-Code", std::to_string(static_cast<int>(error.code)));
  fields.add("X-YT-Response-Message", printable(error.message));
}

namespace {

// The head of an answer with data.
void add_data_fields(const Call& call, const DataFormat& header_format, http::Head& head) {
  const DataType output = call.command.output(call.version);
  if (output == DataType::kBinary) {
    head.content_type = "application/octet-stream";
  } else if (output != DataType::kNull) {
    head.content_type = mime_of(call.output_format);
  }
  if (call.command.is_heavy) head.fields.add("Content-Disposition", "attachment");
  std::string text;
  DataFormat format = header_format;
  if (auto* yson = std::get_if<YsonOptions>(&format.options)) yson->format = YsonFormat::kText;
  if (auto sink = make_sink(text, format, YsonDocument::kNode);
      !sink || !emit(call.response_parameters, **sink)) {
    text = "{}";
  }
  head.fields.add("X-YT-Response-Parameters", std::move(text));
}

}  // namespace

Task<YtResult<void>> ApiRequest::write(std::string bytes) {
  if (held_.empty())
    held_ = std::move(bytes);
  else
    held_ += bytes;
  if (held_.size() < kAnswerBytesHeld) co_return YtResult<void>();
  if (!std::exchange(begun_, true)) {
    http::Head made = head(200);
    add_data_fields(*call_, header_format_, made);
    made.fields.add("Vary", "Content-Encoding");
    if (framed_) made.fields.add("X-YT-Framing", "1");
    if (output_coding_ != Coding::kIdentity) {
      made.fields.add("Content-Encoding", std::string(to_string(output_coding_)));
    }
    if (field("X-YT-Omit-Trailers") == nullptr) {
      made.fields.add("Trailer", std::string(kTrailers));
    }
    YT_CO_TRY_VOID(co_await exchange_.begin(std::move(made)));
  }
  co_return co_await send(std::exchange(held_, std::string()), false);
}

Task<YtResult<void>> ApiRequest::send(std::string bytes, bool last) {
  std::string coded =
      output_coding_ == Coding::kIdentity ? std::move(bytes) : encoder_->encode(bytes, last);
  if (coded.empty()) co_return YtResult<void>();
  if (framed_) coded = frame(coded);
  YT_CO_TRY_VOID(co_await exchange_.write(Slice::copy_of(coded)));
  co_return YtResult<void>();
}

Task<void> ApiRequest::finish(Call& call) {
  if (call.output != nullptr) co_return co_await finish_streamed();
  co_await finish_structured(call);
}

Task<void> ApiRequest::finish_streamed() {
  if (begun_) {
    const auto sent = co_await send(std::exchange(held_, std::string()), true);
    if (sent) std::ignore = co_await exchange_.end(http::Fields());
    co_return;
  }
  http::Reply reply;
  reply.head = head(200);
  add_data_fields(*call_, header_format_, reply.head);
  reply.head.fields.add("Vary", "Content-Encoding");
  std::string body = std::exchange(held_, std::string());
  if (output_coding_ != Coding::kIdentity) {
    body = encoder_->encode(body, true);
    reply.head.fields.add("Content-Encoding", std::string(to_string(output_coding_)));
  }
  if (framed_) {
    reply.head.fields.add("X-YT-Framing", "1");
    if (!body.empty()) body = frame(body);
  }
  reply.body = Slice::copy_of(body);
  std::ignore = co_await exchange_.reply(std::move(reply));
}

Task<void> ApiRequest::finish_structured(Call& call) {
  http::Reply reply;
  reply.head = head(200);
  add_data_fields(call, header_format_, reply.head);
  std::string body;
  const bool has_output = call.command.output(call.version) == DataType::kStructured;
  if (has_output && call.result) {
    auto sink = make_sink(body, call.output_format, YsonDocument::kNode);
    if (!sink) co_return co_await fail(call, sink.error());
    if (!emit(*call.result, **sink)) co_return co_await fail(call, (*sink)->error());
    call.result.reset();  // Now the room is that of the body.
    if (body.size() > kAnswerBytesHeld) {
      auto taken = take_room(call.room, body.size());
      if (!taken) co_return co_await fail(call, std::move(taken).error());
    }
  }
  reply.body = Slice::copy_of(body);
  body = std::string();  // While it is sent there is one copy.
  std::ignore = co_await exchange_.reply(std::move(reply));
}

Task<void> ApiRequest::fail(Call& call, YtError error) {
  if (const YsonNode* path = call.parameters.find("path"); path != nullptr) {
    if (error.attributes.find("path") == nullptr) error.attributes.set("path", *path);
  }
  if (!begun_) co_return co_await refuse_with(status_, std::move(error));
  // A client that gets no trailers must see that the answer is not whole.
  if (field("X-YT-Omit-Trailers") != nullptr) co_return;
  if (!co_await send(std::exchange(held_, std::string()), true)) co_return;
  stamp(error);
  http::Fields trailers;
  add_error(trailers, error);
  std::ignore = co_await exchange_.end(std::move(trailers));
}

Task<void> ApiRequest::refuse_with(unsigned status, YtError error) {
  stamp(error);
  http::Reply reply;
  reply.head = head(status);
  reply.head.content_type = mime_of(error_format_);
  add_error(reply.head.fields, error);
  reply.head.fields.add("X-YT-Error-Content-Type", std::string(mime_of(error_format_)));
  if (status == 503) reply.head.fields.add("Retry-After", "1");
  reply.body = Slice::copy_of(error_text(error, error_format_, std::string::npos));
  std::ignore = co_await exchange_.reply(std::move(reply));
}

}  // namespace moraine::yt
