#include "bench/event_text.h"

#include <fmt/format.h>

#include <array>

namespace moraine::bench {
namespace {

constexpr std::uint64_t kFirstMs = 1'700'000'000'000;
constexpr std::array<std::string_view, 4> kMethods{"GET", "POST", "PUT", "DELETE"};
constexpr std::array<int, 6> kStatuses{200, 200, 200, 204, 404, 500};
constexpr std::array<std::string_view, 32> kWords{
    "request",  "session", "cart",     "checkout", "order",   "payment", "declined", "accepted",
    "customer", "item",    "shipping", "address",  "invoice", "refund",  "timeout",  "retry",
    "upstream", "cache",   "miss",     "hit",      "search",  "query",   "result",   "page",
    "profile",  "update",  "token",    "expired",  "login",   "logout",  "feature",  "enabled"};

}  // namespace

std::string EventText::next() {
  const std::size_t size = kEventBytesMin + dice_.below(kEventBytesMax - kEventBytesMin + 1);
  const auto word = [&] { return kWords[dice_.below(kWords.size())]; };
  std::string text = fmt::format(
      R"({{"time":{},"host":"web-{:02}.example.com","user":{},"method":"{}","path":"/api/v1/{}/{}",)"
      R"("status":{},"bytes":{},"trace":"{:016x}","text":")",
      kFirstMs + events_++ * 3 + dice_.below(3), dice_.below(24), dice_.below(1'000'000),
      kMethods[dice_.below(kMethods.size())], word(), dice_.below(100'000),
      kStatuses[dice_.below(kStatuses.size())], dice_.below(50'000), dice_.next());
  while (text.size() < size) {
    text += word();
    text += ' ';
  }
  text.resize(size);
  return text;
}

}  // namespace moraine::bench
