#include "bench/http/postgres_side.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "bench/http/load_client.h"
#include "bench/topics_broker.h"

namespace moraine::bench {
namespace {

constexpr std::uint32_t kProtocol = 3 << 16;
constexpr std::size_t kLengthBytes = 4;
constexpr auto kPollPause = std::chrono::milliseconds(50);
constexpr int kPolls = 1'200;
// As ours: sorted by bytes, one row a key.
constexpr std::string_view kCreate =
    "create table bench (k text collate \"C\" primary key, v text not null)";

std::string script() {
  const auto own = std::filesystem::canonical("/proc/self/exe").parent_path();
  return (own.parent_path() / "bench/http/postgres").string();
}

std::optional<std::string> missing() {
  if (!std::filesystem::exists(script())) return "no " + script();
  return complaint_of(script() + " fetch");
}

std::string big_endian(std::uint32_t number) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(number >> shift);
  return out;
}

std::uint32_t load_length(std::string_view bytes) {
  std::uint32_t number = 0;
  for (const char byte : bytes.substr(0, kLengthBytes)) {
    number = (number << 8) | static_cast<std::uint8_t>(byte);
  }
  return number;
}

// The length counts itself.
std::string message(char type, std::string_view body) {
  std::string out(1, type);
  out += big_endian(static_cast<std::uint32_t>(body.size() + kLengthBytes));
  out += body;
  return out;
}

}  // namespace

Result<PostgresSide> PostgresSide::start(const Setting& setting) {
  if (auto why = missing()) return fail(Errc::kUnsupported, *why);
  const std::string folder = setting.folder.file("postgres");
  std::filesystem::create_directories(folder);
  TRY(const int port, free_port());
  app::ChildOptions options;
  options.arguments = {script(), "serve", folder, std::to_string(port)};
  options.output = "/dev/null";
  options.errors = folder + "/errors.log";
  TRY(auto process, app::ChildProcess::start(options));
  PostgresSide side(std::move(process), {"127.0.0.1", static_cast<std::uint16_t>(port)}, folder);
  Error last;
  for (int i = 0; i < kPolls && side.process_.running(); ++i) {
    std::this_thread::sleep_for(kPollPause);
    auto client = LoadClient::connect(side.address_, 1, postgres_answer_size);
    Result<std::string> done =
        client ? client->exchange(postgres_startup()) : std::unexpected(std::move(client).error());
    if (done) done = client->exchange(postgres_query(kCreate));
    if (done) return side;
    last = std::move(done).error();
  }
  return fail(Errc::kUnsupported, fmt::format("PostgreSQL does not start: {}", last.context));
}

PostgresSide::~PostgresSide() {
  if (folder_.empty()) return;
  process_.send(SIGINT);  // Its own processes end with it.
  process_.wait();
  discard(folder_);
}

std::string postgres_startup() {
  std::string body = big_endian(kProtocol);
  for (const std::string_view text : {"user", "bench", "database", "postgres"}) {
    body += text;
    body += '\0';
  }
  body += '\0';
  return big_endian(static_cast<std::uint32_t>(body.size() + kLengthBytes)) + body;
}

std::string postgres_query(std::string_view sql) {
  std::string body(sql);
  body += '\0';
  return message('Q', body);
}

std::string postgres_copy(std::uint64_t first, std::uint64_t count) {
  std::string rows;
  for (std::uint64_t i = first; i < first + count; ++i) {
    const BenchRow row(i);
    rows += fmt::format("{}\t{}\n", row.key(), row.value());
  }
  return postgres_query("copy bench from stdin") + message('d', rows) + message('c', {});
}

Result<std::size_t> postgres_answer_size(std::string_view received) {
  for (std::size_t at = 0; received.size() - at > kLengthBytes;) {
    const std::size_t size = 1 + load_length(received.substr(at + 1));
    if (received.size() - at < size) return 0;
    const char type = received[at];
    if (type == 'E') {
      std::string text(received.substr(at + 1 + kLengthBytes, size - 1 - kLengthBytes));
      std::ranges::replace(text, '\0', ' ');
      return fail(Errc::kUnavailable, text);
    }
    at += size;
    if (type == 'Z') return at;
  }
  return 0;
}

}  // namespace moraine::bench
