#include "sim/node/tree_lives.h"

#include <fmt/format.h>

#include <algorithm>

namespace moraine::sim {
namespace {

using std::chrono::milliseconds;

constexpr const char* kLeaseNode = "//tmp/lease";
constexpr const char* kExpiring = "//tmp/expiring";
constexpr int kEndPolls = 10;
constexpr Duration kEndPoll = 400ms;
constexpr std::size_t kNodesMax = 5;
constexpr milliseconds kClockRangeMax{6'000};

milliseconds virtual_time(Instant at) {
  return std::chrono::duration_cast<milliseconds>(at.since_start);
}

}  // namespace

TreeLeases::TreeLeases(HttpStage& stage) : stage_(stage), client_(stage, "leases") {}

Task<void> TreeLeases::run() {
  const auto made =
      co_await client_.must_change(TreeCommand::kMake, {"set", path_is(kLeaseNode), "0"});
  while (made && stage_.keep_running()) {
    co_await stage_.think(client_.random());
    co_await live_once();
  }
  client_.link().close();
}

Task<std::optional<bool>> TreeLeases::there(PathId transaction) {
  // Without a transaction, so that it is no ping.
  const auto answer = co_await client_.read({"exists", path_is("#" + to_text(transaction))});
  if (!answer || !answer->ok()) co_return std::nullopt;
  const YsonNode value = answer->value();
  co_return value.as<bool>() != nullptr && *value.as<bool>();
}

Task<void> TreeLeases::live_once() {
  const Duration timeout = 2s + Duration(1ms) * client_.random().below(2'000);
  const Instant began = stage_.now();
  const auto transaction = co_await client_.begin(timeout);
  if (!transaction) co_return;
  left_.push_back(*transaction);
  const auto kept = co_await keep(*transaction, timeout, began + timeout);
  if (!kept) co_return;
  // A change, unless it is over already.
  const Instant sent = stage_.now();
  const auto changed = co_await client_.change(
      TreeCommand::kSet,
      {"set", path_is(kLeaseNode) + in_transaction(*transaction), fmt::format("{}", value_ + 1)});
  if (!changed) co_return;
  // One that was left alone may still have its lock.
  const bool conflict = changed->code >= 400 && changed->code <= 403;
  if (conflict && left_.size() > 1) co_return;
  if (!changed->ok() && changed->code != 11000) {
    co_return client_.fail("a change in a transaction: " + changed->to_string());
  }
  if (!changed->ok() && stage_.now() < *kept) {
    co_return client_.fail(fmt::format("{} is over before its timeout", to_text(*transaction)));
  }
  co_await watch_end(*transaction, changed->ok() ? std::max(*kept, sent + timeout) : *kept);
}

Task<std::optional<Instant>> TreeLeases::keep(PathId transaction, Duration timeout,
                                              Instant open_until) {
  for (std::uint64_t pings = client_.random().below(5); pings > 0; --pings) {
    co_await sleep_for(stage_.world.executor(), timeout / 2);
    if (!client_.link().open(client_.random())) continue;
    const Instant sent = stage_.now();
    const auto answer =
        co_await client_.link().ask({"ping_transaction", in_transaction(transaction)});
    stage_.count(TreeCommand::kPing, answer);
    if (!answer || !answer->newest) {
      client_.link().close();
      continue;
    }
    if (answer->ok()) open_until = std::max(open_until, sent + timeout);
    if (answer->code != 11000) continue;
    if (stage_.now() < open_until) {
      client_.fail(fmt::format("{} is over before its timeout", to_text(transaction)));
    }
    std::erase(left_, transaction);
    co_return std::nullopt;
  }
  co_return open_until;
}

Task<void> TreeLeases::watch_end(PathId transaction, Instant open_until) {
  for (int i = 0; i < kEndPolls; ++i) {
    const auto open = co_await there(transaction);
    if (!open) co_return;
    ++stage_.history.tally.trees_checked;
    if (!*open) {
      if (stage_.now() < open_until) {
        client_.fail(fmt::format("{} is over before its timeout", to_text(transaction)));
      }
      std::erase(left_, transaction);
      co_return co_await check_undone();
    }
    co_await sleep_for(stage_.world.executor(), kEndPoll);
  }
}

// Nothing is left of transactions that are over: the node can be changed when none is open.
Task<void> TreeLeases::check_undone() {
  const auto value = co_await client_.get_number(kLeaseNode);
  if (value && *value != value_) {
    client_.fail(fmt::format("{} is {} after a transaction that was not committed, not {}",
                             kLeaseNode, *value, value_));
  }
  if (!left_.empty()) co_return;
  const auto set = co_await client_.must_change(
      TreeCommand::kSet, {"set", path_is(kLeaseNode), fmt::format("{}", value_ + 10)});
  if (set) value_ += 10;
}

Task<bool> TreeLeases::check(HttpLink& link) {
  while (!left_.empty()) {
    const auto answer = co_await link.ask({"exists", path_is("#" + to_text(left_.back()))});
    if (!answer || !answer->ok()) co_return false;
    const YsonNode value = answer->value();
    if (value.as<bool>() == nullptr || *value.as<bool>()) co_return false;
    left_.pop_back();
  }
  const auto answer = co_await link.ask({"get", path_is(kLeaseNode)});
  if (!answer || !answer->ok()) co_return false;
  const YsonNode value = answer->value();
  const auto* const number = value.as<std::int64_t>();
  if (number == nullptr || *number != value_) {
    client_.fail(
        fmt::format("after all faults {} is {}, not {}", kLeaseNode, answer->body, value_));
  }
  co_return true;
}

TreeExpiry::TreeExpiry(HttpStage& stage) : stage_(stage), client_(stage, "expiry") {}

Task<void> TreeExpiry::run() {
  const auto made = co_await client_.must_change(TreeCommand::kMake,
                                                 {"create", "type=map_node;" + path_is(kExpiring)});
  while (made && stage_.keep_running()) {
    co_await stage_.think(client_.random());
    const auto left = std::ranges::count_if(nodes_, [](const Node& node) { return !node.gone; });
    if (static_cast<std::size_t>(left) < kNodesMax) co_await make();
    if (client_.random().one_in(2)) co_await use_one();
    co_await watch();
  }
  client_.link().close();
}

Task<void> TreeExpiry::make() {
  stage_.note_clocks();
  SeededRandom& random = client_.random();
  Node node;
  node.name = fmt::format("n{}", ++made_);
  const milliseconds life(1'500 + random.below(5'000));
  std::string attribute;
  if (random.one_in(2)) {
    node.time = SimClock::kEpoch + virtual_time(stage_.now()) + life;
    attribute = fmt::format("expiration_time={}", node.time.count());
  } else {
    node.timeout = life;
    attribute = fmt::format("expiration_timeout={}", life.count());
  }
  node.used = stage_.now();
  const auto made = co_await client_.must_change(
      TreeCommand::kExpiring,
      {"create", fmt::format("type=map_node;attributes={{{}}};{}", attribute,
                             path_is(fmt::format("{}/{}", kExpiring, node.name)))});
  if (made) nodes_.push_back(std::move(node));
}

// An access: its life by timeout begins again.
Task<void> TreeExpiry::use_one() {
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i].gone && nodes_[i].timeout > milliseconds(0)) left.push_back(i);
  }
  if (left.empty()) co_return;
  Node& node = nodes_[left[client_.random().below(left.size())]];
  const Instant sent = stage_.now();
  const auto answer =
      co_await client_.read({"get", path_is(fmt::format("{}/{}", kExpiring, node.name))});
  // Of a node whose life may be over, the removal may have begun before the answer was made.
  stage_.note_clocks();
  if (answer && answer->ok() && !may_be_gone(node)) node.used = sent;
}

bool TreeExpiry::may_be_gone(const Node& node) const {
  const milliseconds most = SimClock::kEpoch + virtual_time(stage_.now()) + stage_.clocks.most;
  if (node.time > milliseconds(0)) return most >= node.time;
  const milliseconds used = SimClock::kEpoch + virtual_time(node.used) + stage_.clocks.least;
  return most >= used + node.timeout;
}

Task<void> TreeExpiry::watch() {
  // Not an access of the nodes themselves.
  const auto answer = co_await client_.read({"list", path_is(kExpiring)});
  stage_.count(TreeCommand::kExpiring, answer);
  if (!answer || !answer->ok()) co_return;
  stage_.note_clocks();
  const YsonNode value = answer->value();
  const auto* const list = value.as<YsonList>();
  if (list == nullptr) co_return;
  for (Node& node : nodes_) {
    const bool listed = std::ranges::find(*list, YsonNode(node.name)) != list->end();
    ++stage_.history.tally.trees_checked;
    if (node.gone && listed) client_.fail(node.name + " is there again");
    if (listed || node.gone) continue;
    node.gone = true;
    if (may_be_gone(node)) continue;
    client_.fail(fmt::format(
        "{} has expired too early: time {}, timeout {}, used at {}, clocks are {} to {} ms ahead",
        node.name, node.time.count(), node.timeout.count(), virtual_time(node.used).count(),
        stage_.clocks.least.count(), stage_.clocks.most.count()));
  }
}

Task<bool> TreeExpiry::check(HttpLink& link) {
  // A clock that is far behind keeps nodes for longer than this waits.
  if (stage_.clocks.most - stage_.clocks.least > kClockRangeMax) co_return true;
  const auto answer = co_await link.ask({"list", path_is(kExpiring)});
  if (!answer || !answer->ok()) co_return false;
  const YsonNode value = answer->value();
  const auto* const list = value.as<YsonList>();
  co_return list != nullptr && list->empty();
}

}  // namespace moraine::sim
