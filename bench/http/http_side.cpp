#include "bench/http/http_side.h"

#include <fmt/format.h>

#include <charconv>
#include <thread>

#include "app/yt_client/yt_client.h"
#include "yson/yson.h"

namespace moraine::bench {
namespace {

constexpr std::string_view kOk = "HTTP/1.1 200 ";
constexpr std::string_view kEndOfHead = "\r\n\r\n";
constexpr std::string_view kLength = "\r\nContent-Length: ";
constexpr std::size_t kShownBytes = 300;
constexpr auto kPollPause = std::chrono::milliseconds(10);
constexpr int kPolls = 3'000;

}  // namespace

Result<std::unique_ptr<HttpSide>> HttpSide::start(const Setting& setting, const std::string& name) {
  std::unique_ptr<HttpSide> side(new HttpSide(setting.folder.file(name)));
  TRY(side->broker_, Broker::start(BrokerKind::kMoraine, side->folder_));
  TRY_VOID(side->broker_->wait_for_address());
  TRY(side->address_, app::parse_proxy(side->broker_->http_address()));
  return side;
}

HttpSide::~HttpSide() {
  broker_.reset();
  discard(folder_);
}

Result<void> HttpSide::call(std::string_view command, std::string_view parameters) const {
  TRY(const YsonNode map, parse_yson(parameters));
  app::YtClient client(app::options_for(address_));
  auto done = client.call({.command = std::string(command), .parameters = *map.as<YsonMap>()});
  if (done) return {};
  return fail(Errc::kUnavailable, fmt::format("{}: {}", command, done.error().message));
}

Result<void> HttpSide::wait_for_state(std::string_view state) const {
  app::YtClient client(app::options_for(address_));
  YsonMap parameters;
  parameters.set("path", fmt::format("{}/@tablet_state", kBenchTable));
  for (int i = 0; i < kPolls; ++i) {
    const auto value = client.get("get", parameters);
    if (value && value->as<std::string>() && *value->as<std::string>() == state) return {};
    std::this_thread::sleep_for(kPollPause);
  }
  return fail(Errc::kTimeout, fmt::format("{} is not {}", kBenchTable, state));
}

Result<void> HttpSide::create_table() const {
  TRY_VOID(call("remove", fmt::format("{{path=\"{}\";force=%true}}", kBenchTable)));
  TRY_VOID(call("create",
                fmt::format("{{path=\"{}\";type=table;attributes={{dynamic=%true;schema=["
                            "{{name=k;type=string;sort_order=ascending}};{{name=v;type=string}}"
                            "]}}}}",
                            kBenchTable)));
  TRY_VOID(call("mount_table", fmt::format("{{path=\"{}\"}}", kBenchTable)));
  return wait_for_state("mounted");
}

Result<void> HttpSide::flush_table() const {
  TRY_VOID(call("freeze_table", fmt::format("{{path=\"{}\"}}", kBenchTable)));
  TRY_VOID(wait_for_state("frozen"));
  TRY_VOID(call("unfreeze_table", fmt::format("{{path=\"{}\"}}", kBenchTable)));
  return wait_for_state("mounted");
}

std::string http_request(std::string_view command, std::string_view parameters,
                         std::string_view body) {
  return fmt::format(
      "PUT /api/v4/{} HTTP/1.1\r\n"
      "Host: 127.0.0.1\r\n"
      "User-Agent: Python wrapper 0.13.55\r\n"
      "Accept: */*\r\n"
      "Accept-Encoding: identity\r\n"
      "Connection: keep-alive\r\n"
      "Authorization: OAuth benchmark\r\n"
      "X-YT-Correlation-Id: 1-2-3-4\r\n"
      "X-YT-Header-Format: <format=text>yson\r\n"
      "X-YT-Parameters: {}\r\n"
      "Content-Length: {}\r\n\r\n{}",
      command, parameters, body.size(), body);
}

Result<std::size_t> http_answer_size(std::string_view received) {
  const std::size_t head = received.find(kEndOfHead);
  if (head == received.npos) return 0;
  const std::size_t begin = head + kEndOfHead.size();
  const std::size_t at = received.substr(0, head).find(kLength);
  std::size_t length = 0;
  const char* const from = received.data() + at + kLength.size();
  const bool told = at != received.npos &&
                    std::from_chars(from, received.data() + head, length).ec == std::errc();
  if (!received.starts_with(kOk) || !told) {
    return fail(Errc::kCorrupt, std::string(received.substr(0, kShownBytes)));
  }
  return received.size() - begin < length ? 0 : begin + length;
}

}  // namespace moraine::bench
