#include "gateway/yt/door.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "gateway/yt/api_request.h"
#include "gateway/yt/command.h"
#include "gateway/yt/wall_time.h"
#include "yson/yson.h"

namespace moraine::yt {
namespace {

constexpr std::array<std::string_view, 9> kPages = {
    "/api",   "/hosts", "/hosts/all", "/auth/whoami", "/version", "/service", "/cluster_connection",
    "/ping/", "/hosts/"};

std::string_view without_slash(std::string_view path) {
  if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path;
}

std::string to_json(const YsonNode& node) {
  std::string text;
  DataFormat json;
  json.options = JsonOptions{};
  const auto sink = make_sink(text, json, YsonDocument::kNode);
  if (!sink || !emit(node, **sink)) return "null";
  return text;
}

http::Reply json_reply(const YsonNode& node) {
  http::Reply reply = http::text_reply(200, to_json(node));
  reply.head.content_type = "application/json";
  return reply;
}

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  });
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

}  // namespace

Door::Door(const std::vector<World>& lanes, DoorServices services, DoorOptions options)
    : options_(std::move(options)), started_(lanes.front().clock.since_epoch()) {
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    lanes_.push_back(std::make_unique<DoorLane>(lanes[i], i, services, inputs_, lanes_));
  }
}

bool Door::has(std::string_view path) {
  // "/ping" is the process's own.
  if (path == "/ping/") return true;
  if (path.starts_with("/api/") || path.starts_with("/cluster_connection/")) return true;
  return std::ranges::find(kPages, without_slash(path)) != kPages.end();
}

http::Reply Door::not_ready() {
  const YtError error(Code::kUnavailable, "the node is starting; retry later");
  DataFormat json;
  json.options = JsonOptions{};
  http::Reply reply = http::text_reply(503, error_text(error, json, std::string::npos));
  reply.head.content_type = "application/json";
  reply.head.fields.add("X-YT-Error", error_text(error, json, kErrorHeaderBytesMax));
  reply.head.fields.add("X-YT-Response-Code", "105");
  reply.head.fields.add("Retry-After", "1");
  return reply;
}

Task<void> Door::answer(std::size_t lane, http::Exchange& exchange) {
  const std::string& path = exchange.request().target.path;
  if (path.starts_with("/api/v")) {
    co_return co_await serve_api(*lanes_[lane], exchange, std::string_view(path).substr(6));
  }
  std::optional<http::Reply> made = page(exchange.request());
  if (without_slash(path) == "/cluster_connection")
    made = co_await cluster_connection(*lanes_[lane]);
  if (!made) made = http::text_reply(404, "no such page\n");
  made->head.fields.add("Cache-Control", "no-store");
  std::ignore = co_await exchange.reply(std::move(*made));
}

// `rest`: what follows "/api/v".
Task<void> Door::serve_api(DoorLane& lane, http::Exchange& exchange, std::string_view rest) {
  ApiRequest request(lane, exchange, options_.address);
  const std::string_view number = rest.substr(0, rest.find('/'));
  if (number != "3" && number != "4") {
    co_return co_await request.refuse_with(
        404, YtError(Code::kGeneric,
                     fmt::format("Unsupported API version \"v{}\"", number.substr(0, 20))));
  }
  const unsigned version = number == "3" ? 3 : 4;
  const std::string_view name =
      without_slash(rest.substr(std::min(number.size() + 1, rest.size())));
  if (name.empty()) {
    http::Reply reply = json_reply(describe_commands(version));
    reply.head.fields.add("Cache-Control", "no-store");
    std::ignore = co_await exchange.reply(std::move(reply));
    co_return;
  }
  if (!is_name(name)) {
    co_return co_await request.refuse_with(404, YtError(Code::kGeneric, "Malformed command name"));
  }
  co_await request.run(version, lower(name));
}

Task<http::Reply> Door::cluster_connection(DoorLane& lane) {
  if (client::Tree* const tree = lane.tree()) {
    const client::TreeScope scope;
    const client::TreeGet options;
    const Result<YsonNode> value = co_await tree->get(scope, "//sys/@cluster_connection", options);
    if (value) co_return json_reply(*value);
  }
  co_return json_reply(YsonMap());
}

std::optional<http::Reply> Door::page(const http::Request& request) const {
  const std::string_view path = without_slash(request.target.path);
  if (path == "/api") return json_reply(YsonList{YsonNode("v3"), YsonNode("v4")});
  if (path == "/hosts") return hosts(request, false);
  if (path == "/hosts/all") return hosts(request, true);
  if (path == "/ping") return http::text_reply(200, "");
  if (path == "/version") return http::text_reply(200, options_.version);
  if (path == "/service") {
    YsonMap map;
    map.set("start_time", wall_time(started_));
    map.set("version", options_.version);
    return json_reply(map);
  }
  if (path == "/auth/whoami") {
    YsonMap map;
    map.set("login", user_of(request));
    map.set("realm", "moraine");
    map.set("real_login", "root");
    map.set("csrf_token", "");
    return json_reply(map);
  }
  return std::nullopt;
}

http::Reply Door::hosts(const http::Request& request, bool all) const {
  const std::string host = host_of(request, options_.address);
  const std::string* const role = request.target.parameter("role");
  YsonList list;
  if (all) {
    YsonMap entry;
    entry.set("host", host);
    entry.set("name", host);
    entry.set("role", "data");
    entry.set("banned", false);
    entry.set("ban_message", "");
    entry.set("dead", false);
    entry.set("liveness", YsonMap());
    list.emplace_back(std::move(entry));
  } else if (role == nullptr || *role == "data") {
    list.emplace_back(host);
  }
  const std::string* const accept = request.fields.find("Accept");
  if (!all && accept != nullptr && *accept == "text/plain") {
    return http::text_reply(200, list.empty() ? "" : host + "\n");
  }
  return json_reply(std::move(list));
}

}  // namespace moraine::yt
