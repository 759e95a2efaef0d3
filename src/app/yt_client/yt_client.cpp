#include "app/yt_client/yt_client.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cmath>
#include <iterator>
#include <thread>

#include "app/version.h"
#include "app/yt_client/deflate.h"
#include "base/json.h"
#include "cluster/local/cluster_file.h"
#include "io/real/os_random.h"
#include "yson/yson.h"

namespace moraine::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kErrorBytesMax = std::size_t{1} << 20;
constexpr Duration kPauseMin = 100ms;
constexpr Duration kPauseMax = 5s;
constexpr std::uint16_t kHttpPort = 80;

// Errors after which the same call may succeed, wherever it was answered.
constexpr std::initializer_list<std::int64_t> kOverloadCodes{3, 100, 105, 108, 116, 904, 2100};
// The tablet is not ready, or another transaction was quicker: nothing was changed.
constexpr std::initializer_list<std::int64_t> kTabletCodes{1701, 1702, 1704, 1707, 1712, 1713, 1721,
                                                           1735, 1736, 1744, 1745, 1746, 1747};
constexpr std::array<std::string_view, 3> kRowReads{"lookup_rows", "select_rows", "read_table"};
constexpr std::array<std::string_view, 2> kRowWrites{"insert_rows", "delete_rows"};

std::string new_id() {
  OsRandom random;
  const std::uint64_t high = random.next();
  const std::uint64_t low = random.next();
  return fmt::format("{:x}-{:x}-{:x}-{:x}", static_cast<std::uint32_t>(high >> 32),
                     static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(low >> 32),
                     static_cast<std::uint32_t>(low));
}

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool flag_of(const YsonMap& parameters, std::string_view name) {
  const YsonNode* node = parameters.find(name);
  const bool* flag = node == nullptr ? nullptr : node->as<bool>();
  return flag != nullptr && *flag;
}

void add_parameters(HttpCall& http, const YtCommand& command, const YsonMap& parameters) {
  std::string text = write_yson(YsonNode(parameters), YsonFormat::kText);
  http.fields.push_back({"X-YT-Header-Format", "<format=text>yson"});
  if (http.method == "POST") {
    http.fields.push_back({"Content-Type", "application/x-yt-yson-text"});
    http.text = std::move(text);
    return;
  }
  if (command.input == DataType::kStructured || command.input == DataType::kTabular) {
    http.fields.push_back({"Content-Type", "application/octet-stream"});
  }
  if (text.size() <= kParametersFieldBytesMax) {
    http.fields.push_back({"X-YT-Parameters", std::move(text)});
    return;
  }
  const std::string encoded = base64(as_bytes(text));
  for (std::size_t at = 0, part = 0; at < encoded.size(); at += kParametersFieldBytesMax, ++part) {
    http.fields.push_back(
        {fmt::format("X-YT-Parameters{}", part), encoded.substr(at, kParametersFieldBytesMax)});
  }
}

// The error of an answer that is not 2xx, or of its trailers.
YtError error_of(const HttpAnswer& answer, std::string_view body) {
  auto parsed = parse_yt_error(body);
  if (!parsed) {
    const std::string* field = answer.trailer("X-YT-Error");
    if (field == nullptr) field = answer.field("X-YT-Error");
    if (field != nullptr) parsed = parse_yt_error(*field);
  }
  if (parsed) return std::move(*parsed);
  YtError error;
  error.message = fmt::format("the proxy answered with HTTP status {}", answer.status);
  if (!body.empty() && body.size() < 200) error.message += fmt::format(": {}", body);
  return error;
}

YsonMap parameters_of(const HttpAnswer& answer) {
  const std::string* text = answer.field("X-YT-Response-Parameters");
  if (text == nullptr) return {};
  auto node = parse_yson(*text);
  auto* map = node ? node->as<YsonMap>() : nullptr;
  return map == nullptr ? YsonMap() : std::move(*map);
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace

// What is known of the tries of one call.
struct YtClient::Attempt {
  std::string mutation_id;
  bool is_retry = false;
  bool passed_on = false;  // The sink was called.
  bool not_ready = false;  // HTTP 500 or 503.
  Duration spent{};
};

Result<TcpAddress> parse_proxy(std::string_view text) {
  std::string_view rest = text;
  if (rest.starts_with("https://")) {
    return fail(Errc::kInvalidArgument,
                fmt::format("proxy '{}': https is not supported, give an http address", text));
  }
  if (rest.starts_with("http://")) rest.remove_prefix(7);
  while (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.empty() || rest.contains('/')) {
    return fail(Errc::kInvalidArgument,
                fmt::format("proxy '{}' is no address; write HOST:PORT", text));
  }
  const bool has_port = rest.rfind(':') != rest.npos && rest.back() != ']';
  if (!has_port && rest.find_first_not_of("0123456789") != rest.npos) {
    return parse_address(fmt::format("{}:{}", rest, kHttpPort));
  }
  return parse_address(rest);
}

YtClientOptions options_for(TcpAddress proxy) {
  YtClientOptions options;
  const bool remote = !is_loopback(proxy.host);
  options.compress = remote;
  options.discover = remote;
  options.proxy = std::move(proxy);
  return options;
}

YtClient::YtClient(YtClientOptions options) : options_(std::move(options)) {}

Result<HttpConnection*> YtClient::connection(const TcpAddress& address) {
  const std::string name = to_string(address);
  const auto found = connections_.find(name);
  if (found != connections_.end()) {
    if (found->second.usable()) return &found->second;
    connections_.erase(found);
  }
  TRY(HttpConnection made, HttpConnection::connect(address, options_.connect_timeout));
  connected_ = true;
  if (connections_.size() >= 2) connections_.clear();
  return &connections_.emplace(name, std::move(made)).first->second;
}

YtResult<HttpAnswer> YtClient::exchange(const TcpAddress& address, const HttpCall& call,
                                        const HttpConnection::Begin& begin, Duration timeout) {
  TRY_YT(HttpConnection * connection, this->connection(address));
  connection->watch(options_.interrupted);
  auto answer = connection->call(call, begin, timeout);
  if (!connection->usable()) connections_.erase(to_string(address));
  if (!answer) return std::unexpected(local_error(std::move(answer).error()));
  return std::move(*answer);
}

YtResult<std::string> YtClient::page(std::string target) {
  HttpCall call{.method = "GET", .target = std::move(target)};
  std::string body;
  const BodySink gather = [&body](std::string_view piece) -> Result<void> {
    if (body.size() + piece.size() > kErrorBytesMax) {
      return fail(Errc::kOverloaded, "the answer is too long");
    }
    body += piece;
    return {};
  };
  TRY_YT(
      const HttpAnswer answer,
      exchange(
          options_.proxy, call, [&](const HttpAnswer&) { return gather; }, options_.light_timeout));
  if (answer.status / 100 != 2) return std::unexpected(error_of(answer, body));
  return body;
}

TcpAddress YtClient::address_of(const YtCommand& command) {
  if (!command.is_heavy || !options_.discover) return options_.proxy;
  if (!heavy_proxy_) {
    heavy_proxy_ = options_.proxy;
    const auto text = page("/hosts");
    const auto list = text ? parse_json(*text) : fail(Errc::kNotFound, "");
    const auto* hosts = list ? list->as<YsonList>() : nullptr;
    const auto* first =
        hosts != nullptr && !hosts->empty() ? (*hosts)[0].as<std::string>() : nullptr;
    if (first != nullptr) {
      if (auto address = parse_proxy(*first)) heavy_proxy_ = std::move(*address);
    }
  }
  return *heavy_proxy_;
}

YtResult<YtCommand> YtClient::command(const std::string& name) {
  if (const YtCommand* known = find_command(name)) return *known;
  const auto learned = commands_.find(name);
  if (learned != commands_.end()) return learned->second;
  TRY_YT(const std::string text, page("/api/v4"));
  TRY_YT(const YsonNode list, parse_json(text));
  TRY_YT(YtCommand command, parse_command(list, name));
  commands_.emplace(name, command);
  return command;
}

bool YtClient::may_repeat(const YtCommand& command, const YtCall& call) const {
  if (!command.is_volatile || !command.is_heavy) return true;
  if (call.parameters.find("transaction_id") != nullptr) return false;
  return is_one_of(kRowWrites, command.name) && !flag_of(call.parameters, "aggregate");
}

Duration YtClient::pause(const YtError& error, const YtCommand& command, const YtCall& call,
                         const Attempt& state) const {
  constexpr Duration kNever = Duration(-1);
  if (state.passed_on || (options_.interrupted && options_.interrupted())) return kNever;
  const Duration next = std::clamp<Duration>(state.spent / 2, kPauseMin, kPauseMax);
  const bool broke = error.kind == Errc::kUnavailable || error.kind == Errc::kTimeout;
  if (broke && !connected_) return kNever;
  const bool overloaded =
      error.kind == Errc::kAborted && (state.not_ready || error.has_code(kOverloadCodes));
  if (broke || overloaded) {
    return may_repeat(command, call) && state.spent + next <= options_.patience ? next : kNever;
  }
  const bool of_rows = is_one_of(kRowReads, command.name) || is_one_of(kRowWrites, command.name);
  const YsonNode* unmounted = error.attribute("is_tablet_unmounted");
  const bool stays = unmounted != nullptr && unmounted->as<bool>() && *unmounted->as<bool>();
  const bool waits = of_rows && call.parameters.find("transaction_id") == nullptr && !stays &&
                     error.kind == Errc::kAborted && error.has_code(kTabletCodes);
  return waits && state.spent + next <= options_.tablet_patience ? next : kNever;
}

YtResult<YsonMap> YtClient::attempt(const YtCommand& command, const YtCall& call,
                                    YsonMap parameters, Attempt& state, const BodySink& sink) {
  if (!state.mutation_id.empty()) {
    parameters["mutation_id"] = YsonNode(state.mutation_id);
    parameters["retry"] = YsonNode(state.is_retry);
  }
  HttpCall http{.method = std::string(http_method(command)), .target = "/api/v4/" + command.name};
  http.fields = {{"User-Agent", std::string("moraine ") + kVersionText}, {"Accept", "*/*"}};
  if (!options_.token.empty()) {
    http.fields.push_back({"Authorization", "OAuth " + options_.token});
  }
  const bool packs = options_.compress && call.body != nullptr && call.compress && !call.is_gzip &&
                     (command.input == DataType::kTabular || command.input == DataType::kBinary);
  http.fields.push_back({"Accept-Encoding", options_.compress ? "gzip, identity" : "identity"});
  if (packs || call.is_gzip) http.fields.push_back({"Content-Encoding", "gzip"});
  add_parameters(http, command, parameters);
  std::optional<GzipBody> packed;
  if (packs) packed.emplace(*call.body);
  http.body = packs ? &*packed : call.body;

  std::string refusal;
  std::optional<Gunzip> unpacks;
  const BodySink keep_refusal = [&refusal](std::string_view piece) -> Result<void> {
    refusal += piece.substr(0, kErrorBytesMax - std::min(refusal.size(), kErrorBytesMax));
    return {};
  };
  const BodySink pass_on = [&](std::string_view piece) -> Result<void> {
    state.passed_on = state.passed_on || !piece.empty();
    return sink(piece);
  };
  const auto begin = [&](const HttpAnswer& answer) -> BodySink {
    const BodySink& wanted = answer.status / 100 == 2 ? pass_on : keep_refusal;
    const std::string* coding = answer.field("Content-Encoding");
    if (coding == nullptr || *coding == "identity") return wanted;
    unpacks.emplace();
    return [&unpacks, &wanted](std::string_view piece) { return unpacks->feed(piece, wanted); };
  };
  const Duration timeout = command.is_heavy ? options_.heavy_timeout : options_.light_timeout;
  TRY_YT(const HttpAnswer answer, exchange(address_of(command), http, begin, timeout));
  state.not_ready = answer.status == 500 || answer.status == 503;
  if (answer.status / 100 != 2 || answer.trailer("X-YT-Error") != nullptr) {
    return std::unexpected(error_of(answer, refusal));
  }
  if (unpacks) {
    TRY_YT_VOID(unpacks->finish());
  }
  return parameters_of(answer);
}

YtResult<YsonMap> YtClient::call(const YtCall& call, const BodySink& sink) {
  TRY_YT(const YtCommand command, this->command(call.command));
  Attempt state;
  if (command.is_volatile && !command.is_heavy) state.mutation_id = new_id();
  const auto begun = Clock::now();
  for (;;) {
    auto result = attempt(command, call, call.parameters, state, sink);
    if (result) return result;
    state.spent = std::chrono::duration_cast<Duration>(Clock::now() - begun);
    const Duration wait = pause(result.error(), command, call, state);
    if (wait < Duration(0)) return result;
    if (call.body != nullptr && !call.body->rewind()) return result;
    if (command.is_heavy) heavy_proxy_.reset();
    std::this_thread::sleep_for(wait);
    state.is_retry = true;
  }
}

YtResult<YtAnswer> YtClient::call(const YtCall& call) {
  YtAnswer answer;
  const BodySink gather = [&answer](std::string_view piece) -> Result<void> {
    if (answer.body.size() + piece.size() > kYtAnswerBytesMax) {
      return fail(Errc::kOverloaded,
                  fmt::format("the answer is longer than {} MiB", kYtAnswerBytesMax >> 20));
    }
    answer.body += piece;
    return {};
  };
  TRY_YT(answer.parameters, this->call(call, gather));
  return answer;
}

YtResult<YsonNode> YtClient::get(std::string command, YsonMap parameters) {
  parameters["output_format"] = YsonNode("yson");
  TRY_YT(const YtAnswer answer,
         call({.command = std::move(command), .parameters = std::move(parameters)}));
  if (answer.body.empty()) return YsonNode();
  TRY_YT(YsonNode node, parse_yson(answer.body));
  auto* map = node.as<YsonMap>();
  YsonNode* value = map != nullptr && map->size() == 1 ? map->find("value") : nullptr;
  if (value == nullptr) return node;
  return YsonNode(std::move(*value));
}

}  // namespace moraine::app
