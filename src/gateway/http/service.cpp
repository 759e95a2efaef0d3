#include "gateway/http/service.h"

#include <fmt/format.h>

#include <algorithm>

#include "gateway/http/connection.h"

namespace moraine::http {

HttpService::HttpService(Executor& executor, MetricRegistry& registry, AnswerBudget& answers,
                         HttpHandler handler, HttpOptions options)
    : executor_(executor),
      answer_budget_(answers),
      handler_(std::move(handler)),
      options_(std::move(options)),
      open_(registry.gauge("moraine_http_connections", {}, "Connections of HTTP clients")) {
  for (std::size_t digit = 1; digit < answers_.size(); ++digit) {
    answers_[digit] =
        &registry.counter("moraine_http_answers_total", {{"status", fmt::format("{}xx", digit)}},
                          "Answers to HTTP requests by the kind of their status");
  }
}

StreamHandler HttpService::streams() {
  return [this](std::shared_ptr<ByteStream> stream) { return serve(std::move(stream)); };
}

bool HttpService::make_place() {
  if (!idle_.empty()) {
    idle_.front()->evict();
    return true;
  }
  const Instant now = executor_.now();
  const auto slow = std::ranges::find_if(
      arriving_, [now](const HttpConnection* one) { return one->is_slow(now); });
  if (slow == arriving_.end()) return false;
  (*slow)->evict();
  return true;
}

Task<void> HttpService::serve(std::shared_ptr<ByteStream> stream) {
  const bool room = connections_ < options_.connections_max || make_place();
  HttpConnection connection(*this, std::move(stream));
  ++connections_;
  open_.add(1);
  if (room) {
    co_await connection.run();
  } else {
    co_await connection.turn_away();
  }
  open_.add(-1);
  --connections_;
}

void HttpService::count(unsigned status) {
  const std::size_t digit = std::clamp<std::size_t>(status / 100, 1, answers_.size() - 1);
  answers_[digit]->add();
}

}  // namespace moraine::http
