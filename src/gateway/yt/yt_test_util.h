// A whole node with its YTsaurus API, and a client over simulated connections. For tests.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/lane_tables.h"
#include "client/table_changes.h"
#include "client/table_client.h"
#include "gateway/http/service.h"
#include "gateway/yt/door.h"
#include "io/sim/sim_stream.h"
#include "node/test_node.h"
#include "scheme/test_schema.h"

namespace moraine::yt {

struct Response {
  unsigned status = 0;                        // 0: no whole answer.
  std::map<std::string, std::string> fields;  // Names in lower case; trailers too.
  std::string body;

  std::string field(const std::string& name) const {
    const auto found = fields.find(name);
    return found == fields.end() ? "" : found->second;
  }
};

inline std::string lower_case(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return text;
}

// The lines up to an empty one, from `at` on, which moves behind it.
inline bool parse_fields(const std::string& text, std::size_t& at,
                         std::map<std::string, std::string>& fields) {
  for (;;) {
    const std::size_t end = text.find("\r\n", at);
    if (end == text.npos) return false;
    const std::string line = text.substr(at, end - at);
    at = end + 2;
    if (line.empty()) return true;
    const std::size_t colon = line.find(": ");
    if (colon != line.npos) fields[lower_case(line.substr(0, colon))] = line.substr(colon + 2);
  }
}

inline Response parse_response(const std::string& text) {
  Response made;
  std::size_t at = text.find("\r\n");
  if (at == text.npos) return made;
  const unsigned status = static_cast<unsigned>(std::stoul("0" + text.substr(9, 3)));
  at += 2;
  if (!parse_fields(text, at, made.fields)) return made;
  if (made.field("transfer-encoding") != "chunked") {
    made.body = text.substr(at);
    if (made.body.size() == std::stoul("0" + made.field("content-length"))) made.status = status;
    return made;
  }
  for (;;) {
    const std::size_t end = text.find("\r\n", at);
    if (end == text.npos) return made;
    const std::size_t size = std::stoul(text.substr(at, end - at), nullptr, 16);
    at = end + 2;
    if (size == 0) break;
    if (text.size() < at + size + 2) return made;
    made.body += text.substr(at, size);
    at += size + 2;
  }
  if (parse_fields(text, at, made.fields)) made.status = status;
  return made;
}

class YtTest : public testing::Test {
 protected:
  using Headers = std::vector<std::pair<std::string, std::string>>;

  explicit YtTest(std::size_t lanes = 2) : node_(lanes) { open(); }
  ~YtTest() override { close(); }

  void open() {
    std::vector<World> worlds;
    for (std::size_t i = 0; i < node_.node().lanes(); ++i) worlds.push_back(node_.node().lane(i));
    tables_ = std::make_unique<LaneTables>(node_.node().tables().tables(), node_.lane(0));
    client_ = std::make_unique<client::TableClient>(node_.lane(0), *tables_, node_.node().tables());
    door_ = std::make_unique<Door>(worlds, DoorServices{*client_, tree()}, DoorOptions{});
    for (std::size_t i = 0; i < worlds.size(); ++i) {
      services_.push_back(std::make_unique<http::HttpService>(
          worlds[i].executor, registry_, answers_,
          [this, i](http::Exchange& exchange) { return door_->answer(i, exchange); }));
    }
  }
  void close() {
    node_.world().run(wait_for(connections_));
    services_.clear();
    door_.reset();
    client_.reset();
    tables_.reset();
  }
  client::Tree* tree() { return &node_.node().tree(); }

  // One request on a connection of its own. `lane`: the one that serves it.
  Response send(std::string method, std::string target, Headers headers = {}, std::string body = {},
                std::size_t lane = 0) {
    std::string text =
        fmt::format("{} {} HTTP/1.1\r\nHost: yt.test:80\r\nConnection: close\r\n", method, target);
    for (const auto& [name, value] : headers) text += fmt::format("{}: {}\r\n", name, value);
    if (!body.empty() || method != "GET")
      text += fmt::format("Content-Length: {}\r\n", body.size());
    return parse_response(exchange(text + "\r\n" + body, lane));
  }
  // All bytes that come back for these until the server closes.
  std::string exchange(std::string bytes, std::size_t lane = 0) {
    auto [client, server] = make_sim_streams(node_.world().executor(), node_.lane(lane));
    std::string got;
    connections_.spawn(serve(lane, std::move(server)));
    node_.world().run(talk(client, std::move(bytes), got));
    return got;
  }
  // A command with its parameters as JSON.
  Response call(const std::string& name, const std::string& json, std::string body = {},
                std::size_t lane = 0) {
    return send("PUT", "/api/v4/" + name, {{"X-YT-Parameters", json}}, std::move(body), lane);
  }
  // Requires a result.
  std::string result(const std::string& name, const std::string& json, std::string body = {},
                     std::size_t lane = 0) {
    const Response response = call(name, json, std::move(body), lane);
    EXPECT_EQ(response.status, 200u) << name << " " << json << ": " << response.body;
    EXPECT_EQ(response.field("x-yt-error"), "");
    return response.body;
  }
  // The number and the whole text of the error. Requires one.
  std::string error(const std::string& name, const std::string& json, std::string body = {},
                    std::size_t lane = 0) {
    const Response response = call(name, json, std::move(body), lane);
    EXPECT_EQ(response.status, 400u) << name << " " << json << ": " << response.body;
    return response.body;
  }

  void create_table(const std::string& path, TableSchema schema,
                    std::vector<std::vector<Value>> pivots = {}, TableOptions options = {}) {
    const auto made = node_.on_lane<Result<void>>(0, [&] {
      NewTable table;
      table.schema = std::move(schema);
      table.options = std::move(options);
      return client::create_table(*tables_, path, std::move(table), std::move(pivots));
    });
    ASSERT_TRUE(made) << made.error().message();
  }
  Result<void> on_tables(std::function<Task<Result<void>>(Tables&)> body) {
    return node_.on_lane<Result<void>>(0, [&] { return body(*tables_); });
  }

  TestNode node_;
  MetricRegistry registry_;
  http::AnswerBudget answers_{std::numeric_limits<std::size_t>::max()};
  std::unique_ptr<LaneTables> tables_;
  std::unique_ptr<client::TableClient> client_;
  std::unique_ptr<Door> door_;
  std::vector<std::unique_ptr<http::HttpService>> services_;
  TaskScope connections_;

  // Of connections that a test drives by itself.
  Task<void> serve(std::size_t lane, std::shared_ptr<ByteStream> stream) {
    co_await yield(node_.lane(lane));
    co_await services_[lane]->streams()(std::move(stream));
    co_await yield(node_.world().executor());
  }
  static Task<void> write(std::shared_ptr<ByteStream> stream, std::string bytes) {
    std::vector<Slice> slices;
    slices.push_back(Slice::copy_of(bytes));
    std::ignore = co_await stream->write(std::move(slices));
  }

 private:
  static Task<void> wait_for(TaskScope& scope) { co_await scope.join(); }
  static Task<void> read(std::shared_ptr<ByteStream> stream, std::string& into) {
    Buffer buffer(std::size_t{64} << 10);
    for (;;) {
      const Result<std::size_t> got = co_await stream->read(buffer.span());
      if (!got || *got == 0) co_return;
      into += as_text(ByteSpan(buffer.data(), *got));
    }
  }
  static Task<void> talk(std::shared_ptr<ByteStream> stream, std::string bytes, std::string& got) {
    TaskScope tasks;
    tasks.spawn(write(stream, std::move(bytes)));
    tasks.spawn(read(stream, got));
    co_await tasks.join();
    stream->close();
  }
};

}  // namespace moraine::yt
