#include "sim/node/http_stage.h"

#include <fmt/format.h>

#include <algorithm>

namespace moraine::sim {

namespace {

constexpr Duration kPauseMax = 400ms;
constexpr Duration kPatience = 120s;        // Longer than any trouble.
constexpr std::uint64_t kLostAnswers = 14;  // Attempts for each one whose client vanishes.
constexpr std::uint64_t kRepeats = 6;       // Changes for each one that is repeated later.
constexpr std::size_t kDoneMax = 8;

// Errors after which nothing is known, or that pass.
bool is_open(const HttpAnswer& answer) {
  constexpr int kCodes[] = {3, 100, 105, 108, 1744};
  return answer.status == 503 || std::ranges::find(kCodes, answer.code) != std::end(kCodes);
}

}  // namespace

void HttpStage::note_clocks() {
  const auto virtual_now = std::chrono::duration_cast<std::chrono::milliseconds>(now().since_start);
  for (std::size_t i = 0; i < Machines::kMachines; ++i) {
    const auto ahead = machines.machine(i).clock().since_epoch() - SimClock::kEpoch - virtual_now;
    clocks.least = std::min(clocks.least, ahead - 1ms);
    clocks.most = std::max(clocks.most, ahead + 1ms);
  }
}

void HttpStage::count(TreeCommand command, const std::optional<HttpAnswer>& answer) {
  const bool conflict = answer && answer->code >= 400 && answer->code <= 403;
  history.tally.add(command, !answer            ? TreeAnswer::kUnknown
                             : answer->ok()     ? TreeAnswer::kOk
                             : is_open(*answer) ? TreeAnswer::kUnknown
                             : conflict         ? TreeAnswer::kConflict
                                                : TreeAnswer::kRefused);
}

std::string path_is(const std::string& path) {
  return fmt::format("path=\"{}\";", path);
}

std::string in_transaction(const std::optional<PathId>& transaction) {
  return transaction ? fmt::format("transaction_id=\"{}\";", to_text(*transaction)) : "";
}

HttpClient::HttpClient(HttpStage& stage, std::string name)
    : stage_(stage),
      name_(std::move(name)),
      random_(stage.world.stream("http " + name_)),
      link_(stage.world, stage.machines, stage.history, name_) {}

Task<void> HttpClient::pause() {
  const auto most = static_cast<std::uint64_t>(kPauseMax.count());
  co_await sleep_for(stage_.world.executor(), Duration(1 + random_.below(most)));
}

std::string HttpClient::new_mutation() {
  ++mutations_;
  return fmt::format("{:x}-{:x}-{:x}-{:x}", 1 + random_.below(0xffff'ffff),
                     random_.below(0xffff'ffff), random_.below(0xffff'ffff), mutations_);
}

Task<std::optional<HttpAnswer>> HttpClient::attempt(HttpRequest request, bool may_be_lost) {
  if (!link_.open(random_)) co_return std::nullopt;
  if (may_be_lost && random_.one_in(kLostAnswers)) {
    if (random_.one_in(2)) {
      co_await link_.send_part(std::move(request), random_);
    } else {
      const bool sent = co_await link_.send(std::move(request));
      if (sent && random_.one_in(2)) co_await pause();
      link_.close();
    }
    co_return std::nullopt;
  }
  co_return co_await link_.ask(std::move(request));
}

Task<std::optional<HttpAnswer>> HttpClient::read(HttpRequest request) {
  const Instant end = stage_.now() + kPatience;
  while (!stage_.history.failed() && stage_.now() < end) {
    auto answer = co_await attempt(request, false);
    if (answer && answer->newest && !is_open(*answer)) co_return answer;
    if (answer && !answer->newest) link_.close();
    co_await pause();
  }
  co_return std::nullopt;
}

Task<std::optional<HttpAnswer>> HttpClient::change(TreeCommand command, HttpRequest request) {
  if (random_.one_in(kRepeats)) co_await repeat_one();
  const Instant end = stage_.now() + kPatience;
  const HttpRequest plain = request;
  const std::string mutation = new_mutation();
  const auto with_id = [&](bool retry) {
    HttpRequest made = plain;
    made.parameters += fmt::format("mutation_id=\"{}\";retry=%{};", mutation, retry);
    return made;
  };
  bool retry = false;
  while (!stage_.history.failed() && stage_.now() < end) {
    auto answer = co_await attempt(with_id(retry), true);
    stage_.count(command, answer);
    retry = true;
    // A replaced server may refuse what the present one would do.
    if (answer && !is_open(*answer) && (answer->ok() || answer->newest)) {
      if (answer->ok() && random_.one_in(2)) {
        done_.push_back({with_id(true), *answer});
        if (done_.size() > kDoneMax) done_.erase(done_.begin());
      }
      co_return answer;
    }
    if (answer && !answer->newest) link_.close();
    co_await pause();
  }
  co_return std::nullopt;
}

Task<std::optional<HttpAnswer>> HttpClient::must_change(TreeCommand command, HttpRequest request) {
  const std::string what = fmt::format("{} {}", request.command, request.parameters);
  auto answer = co_await change(command, std::move(request));
  if (!answer || answer->ok()) co_return answer;
  fail(fmt::format("{}: {}", what, answer->to_string()));
  co_return std::nullopt;
}

// As a client does whose request was delayed for long.
Task<void> HttpClient::repeat_one() {
  if (done_.empty()) co_return;
  const Done done = done_[random_.below(done_.size())];
  const auto answer = co_await attempt(done.request, false);
  stage_.count(TreeCommand::kRepeat, answer);
  if (!answer || is_open(*answer) || !answer->newest) co_return;
  if (answer->ok() && answer->body == done.answer.body) co_return;
  fail(fmt::format("{} {} was answered with {}, and when it was repeated with {}",
                   done.request.command, done.request.parameters, done.answer.to_string(),
                   answer->to_string()));
}

Task<std::optional<PathId>> HttpClient::begin(Duration timeout, std::optional<PathId> parent) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count();
  const auto answer = co_await must_change(
      TreeCommand::kBegin,
      {"start_transaction", fmt::format("timeout={};{}", ms, in_transaction(parent))});
  if (!answer) co_return std::nullopt;
  const auto id = parse_object_id(answer->id());
  if (id) co_return *id;
  fail("no id of a transaction: " + answer->body);
  co_return std::nullopt;
}

Task<std::optional<std::int64_t>> HttpClient::get_number(const std::string& path,
                                                         std::optional<PathId> transaction) {
  const auto answer = co_await read({"get", path_is(path) + in_transaction(transaction)});
  stage_.count(TreeCommand::kGet, answer);
  if (!answer) co_return std::nullopt;
  const YsonNode value = answer->value();
  if (const auto* const number = value.as<std::int64_t>()) co_return *number;
  fail(fmt::format("get {}: {}", path, answer->to_string()));
  co_return std::nullopt;
}

}  // namespace moraine::sim
