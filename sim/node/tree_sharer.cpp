#include "sim/node/tree_sharer.h"

#include <fmt/format.h>

#include <vector>

#include "yson/yson.h"

namespace moraine::sim {
namespace {

constexpr Duration kLongTimeout = 600s;  // Never over in a run.
constexpr int kLockPolls = 12;
constexpr Duration kLockPoll = 150ms;

}  // namespace

TreeSharer::TreeSharer(HttpStage& stage, SharedNodes& nodes, std::size_t number)
    : stage_(stage),
      nodes_(nodes),
      number_(static_cast<std::int64_t>(number)),
      client_(stage, fmt::format("sharer{}", number)) {}

Task<void> TreeSharer::run() {
  if (number_ == 0 && !co_await make_nodes()) co_return;
  while (stage_.keep_running()) {
    co_await stage_.think(client_.random());
    if (!nodes_.made) continue;
    switch (client_.random().below(8)) {
      case 0: co_await watch_shared(); break;
      case 1: co_await watch_snapshot(); break;
      case 2:
      case 3: co_await append(); break;
      default: co_await increment();
    }
  }
  client_.link().close();
}

Task<bool> TreeSharer::make_nodes() {
  std::string values;
  for (std::size_t i = 0; i < nodes_.numbers.size(); ++i) values += fmt::format("number{}=0;", i);
  if (!co_await client_.must_change(TreeCommand::kMake,
                                    {"set", path_is("//tmp/shared"), "{" + values + "}"})) {
    co_return false;
  }
  const auto list = co_await client_.must_change(
      TreeCommand::kMake,
      {"create", "type=document;attributes={value=[]};" + path_is(SharedNodes::kList)});
  nodes_.made = list.has_value();
  co_return nodes_.made;
}

void TreeSharer::check_value(std::size_t at, std::int64_t value, std::int64_t least,
                             const char* where) {
  const SharedNodes::Number& known = nodes_.numbers[at];
  ++stage_.history.tally.trees_checked;
  if (value >= least && value <= known.committed + known.committing) return;
  client_.fail(fmt::format("{} is {} {}: at least {} and at most {} were committed",
                           SharedNodes::path_of(at), value, where, least,
                           known.committed + known.committing));
}

Task<std::optional<TreeSharer::Held>> TreeSharer::acquire(PathId transaction, std::size_t at,
                                                          bool exclusive) {
  const bool waits = client_.random().one_in(2);
  const auto answer = co_await client_.change(
      TreeCommand::kLock,
      {"lock", fmt::format("mode={};waitable=%{};{}{}", exclusive ? "exclusive" : "shared", waits,
                           path_is(SharedNodes::path_of(at)), in_transaction(transaction))});
  if (!answer) co_return std::nullopt;
  const bool conflict = answer->code >= 400 && answer->code <= 403;
  if (!answer->ok()) {
    if (!conflict) client_.fail("a lock: " + answer->to_string());
    co_return std::nullopt;
  }
  const YsonNode made = answer->whole();
  const YsonNode* const id = made.find("lock_id");
  if (id == nullptr || id->as<std::string>() == nullptr) {
    client_.fail("no id of a lock: " + answer->body);
    co_return std::nullopt;
  }
  if (waits && !co_await wait_for(transaction, *id->as<std::string>())) co_return std::nullopt;
  SharedNodes::Number& known = nodes_.numbers[at];
  if (known.exclusive || (exclusive && known.shared > 0)) {
    client_.fail(fmt::format("{} has a lock for {}, while others have {} shared and {} exclusive",
                             SharedNodes::path_of(at), exclusive ? "itself" : "reads", known.shared,
                             known.exclusive ? 1 : 0));
    co_return std::nullopt;
  }
  if (exclusive) {
    known.exclusive = true;
  } else {
    ++known.shared;
  }
  co_return Held{transaction, at, exclusive};
}

// A lock that waits for others. False: it was not granted for long.
Task<bool> TreeSharer::wait_for(PathId transaction, const std::string& lock) {
  for (int i = 0; i < kLockPolls; ++i) {
    const auto answer = co_await client_.read(
        {"get", path_is("#" + lock + "/@state") + in_transaction(transaction)});
    if (!answer) co_return false;
    const std::string state = answer->id();
    if (state == "acquired") co_return true;
    if (state != "pending") {
      client_.fail(fmt::format("lock {} is {}", lock, answer->to_string()));
      co_return false;
    }
    co_await sleep_for(stage_.world.executor(), kLockPoll);
  }
  co_return false;
}

// Call before what may end the lock is sent.
void TreeSharer::release(const Held& held) {
  SharedNodes::Number& known = nodes_.numbers[held.at];
  if (held.exclusive) {
    known.exclusive = false;
  } else {
    --known.shared;
  }
}

Task<bool> TreeSharer::end(PathId transaction, bool commits) {
  const auto answer = co_await client_.must_change(
      commits ? TreeCommand::kCommit : TreeCommand::kAbort,
      {commits ? "commit_transaction" : "abort_transaction", in_transaction(transaction)});
  co_return answer.has_value();
}

Task<void> TreeSharer::increment() {
  const std::size_t at = client_.random().below(nodes_.numbers.size());
  const auto transaction = co_await client_.begin(kLongTimeout);
  if (!transaction) co_return;
  const auto held = co_await acquire(*transaction, at, true);
  if (!held) {
    co_await end(*transaction, false);
    co_return;
  }
  const auto changed = co_await change_in(*transaction, at);
  if (!changed) co_return;
  const bool commits = !client_.random().one_in(4);
  SharedNodes::Number& known = nodes_.numbers[at];
  const bool counts = commits && *changed;
  release(*held);
  if (counts) ++known.committing;
  if (!co_await end(*transaction, commits)) co_return;
  if (!counts) co_return;
  --known.committing;
  ++known.committed;
}

Task<std::optional<bool>> TreeSharer::change_in(PathId transaction, std::size_t at) {
  SeededRandom& random = client_.random();
  const std::string path = SharedNodes::path_of(at);
  const std::int64_t least = nodes_.numbers[at].committed;
  const auto value = co_await client_.get_number(path, transaction);
  if (!value) co_return std::nullopt;
  check_value(at, *value, least, "under a lock");
  std::optional<PathId> nested;
  if (random.one_in(3)) {
    nested = co_await client_.begin(kLongTimeout, transaction);
    if (!nested) co_return std::nullopt;
  }
  const auto set = co_await client_.must_change(
      TreeCommand::kSet, {"set", path_is(path) + in_transaction(nested ? *nested : transaction),
                          fmt::format("{}", *value + 1)});
  if (!set) co_return std::nullopt;
  bool kept = true;
  if (nested) {
    kept = !random.one_in(3);
    if (!co_await end(*nested, kept)) co_return std::nullopt;
  }
  const auto inside = co_await client_.get_number(path, transaction);
  const auto outside = co_await client_.get_number(path);
  if (!inside || !outside) co_return std::nullopt;
  if (*inside != *value + (kept ? 1 : 0)) {
    client_.fail(
        fmt::format("{} is {} in a transaction, not {}", path, *inside, *value + (kept ? 1 : 0)));
  }
  // The lock is held: nobody else commits a change.
  if (*outside != *value) {
    client_.fail(fmt::format("{} is {} outside of the transaction that has locked it, not {}", path,
                             *outside, *value));
  }
  co_return kept;
}

Task<void> TreeSharer::watch_shared() {
  const std::size_t at = client_.random().below(nodes_.numbers.size());
  const auto transaction = co_await client_.begin(kLongTimeout);
  if (!transaction) co_return;
  const auto held = co_await acquire(*transaction, at, false);
  if (held) {
    const std::int64_t least = nodes_.numbers[at].committed;
    const auto first = co_await client_.get_number(SharedNodes::path_of(at));
    if (first) check_value(at, *first, least, "under a shared lock");
    co_await stage_.think(client_.random());
    const auto second = co_await client_.get_number(SharedNodes::path_of(at));
    if (first && second && *first != *second) {
      client_.fail(fmt::format("{} went from {} to {} while it had a shared lock",
                               SharedNodes::path_of(at), *first, *second));
    }
    release(*held);
  }
  co_await end(*transaction, client_.random().one_in(2));
}

Task<void> TreeSharer::watch_snapshot() {
  const std::size_t at = client_.random().below(nodes_.numbers.size());
  const std::string path = SharedNodes::path_of(at);
  const auto transaction = co_await client_.begin(kLongTimeout);
  if (!transaction) co_return;
  const std::int64_t least = nodes_.numbers[at].committed;
  const auto locked = co_await client_.must_change(
      TreeCommand::kLock,
      {"lock", "mode=snapshot;" + path_is(path) + in_transaction(*transaction)});
  if (!locked) co_return;
  const std::int64_t most = nodes_.numbers[at].committed + nodes_.numbers[at].committing;
  for (int i = 0; i < 3; ++i) {
    const auto value = co_await client_.get_number(path, transaction);
    if (!value) co_return;
    if (*value < least || *value > most) {
      client_.fail(fmt::format("a snapshot of {} has {}, when it was taken it was {} to {}", path,
                               *value, least, most));
    }
    co_await stage_.think(client_.random());
    co_await stage_.think(client_.random());
  }
  co_await end(*transaction, client_.random().one_in(2));
}

Task<void> TreeSharer::append() {
  const std::int64_t value = number_ * 1'000'000 + ++appends_;
  nodes_.appending.insert(value);
  const auto done = co_await client_.must_change(
      TreeCommand::kAppend,
      {"set", path_is(std::string(SharedNodes::kList) + "/end"), fmt::format("{}", value)});
  if (!done) co_return;
  nodes_.appending.erase(value);
  nodes_.appended.insert(value);
}

Task<bool> TreeSharer::check(HttpStage& stage, const SharedNodes& nodes, HttpLink& link) {
  if (!nodes.made) co_return true;
  for (std::size_t at = 0; at < nodes.numbers.size(); ++at) {
    const auto answer = co_await link.ask({"get", path_is(SharedNodes::path_of(at))});
    if (!answer || !answer->ok()) co_return false;
    const YsonNode value = answer->value();
    const auto* const number = value.as<std::int64_t>();
    const SharedNodes::Number& known = nodes.numbers[at];
    ++stage.history.tally.trees_checked;
    if (number != nullptr && *number >= known.committed &&
        *number <= known.committed + known.committing) {
      continue;
    }
    stage.history.fail(fmt::format("after all faults {} is {}: {} to {} were committed",
                                   SharedNodes::path_of(at), answer->body, known.committed,
                                   known.committed + known.committing));
  }
  const auto answer = co_await link.ask({"get", path_is(SharedNodes::kList)});
  if (!answer || !answer->ok()) co_return false;
  const YsonNode list = answer->value();
  std::map<std::int64_t, int> found;
  if (list.as<YsonList>() != nullptr) {
    for (const YsonNode& item : *list.as<YsonList>()) {
      if (const auto* const one = item.as<std::int64_t>()) ++found[*one];
    }
  }
  for (const auto& [value, times] : found) {
    const bool known = nodes.appended.contains(value) || nodes.appending.contains(value);
    if (times == 1 && known) continue;
    stage.history.fail(fmt::format("{} has {} {} times", SharedNodes::kList, value, times));
  }
  for (const std::int64_t value : nodes.appended) {
    if (found.contains(value)) continue;
    stage.history.fail(fmt::format("{} does not have {}", SharedNodes::kList, value));
  }
  co_return true;
}

}  // namespace moraine::sim
