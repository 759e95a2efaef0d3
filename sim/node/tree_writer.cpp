#include "sim/node/tree_writer.h"

#include <fmt/format.h>

namespace moraine::sim {
namespace {

constexpr std::size_t kOpenMax = 4;
constexpr std::size_t kDepthMax = 3;
constexpr Duration kLongTimeout = 600s;  // Never over in a run.
constexpr std::int64_t kNumbers = 8;
constexpr std::string_view kNumbersPath = "//tmp/numbers";
constexpr std::size_t kPipelinedMax = 5;

const std::vector<std::string> kNames = {"a", "b", "c"};
const std::vector<std::string> kAttributes = {"x", "y"};

const std::string& some(const std::vector<std::string>& all, SeededRandom& random) {
  return all[random.below(all.size())];
}

void add_node(ModelTree& tree, const std::string& path, const YsonNode& node) {
  ModelNode& made = tree[path];
  for (const std::string& name : kAttributes) {
    const YsonNode* const found = node.attributes().find(name);
    if (found != nullptr && found->as<std::int64_t>()) {
      made.attributes[name] = *found->as<std::int64_t>();
    }
  }
  if (const auto* const number = node.as<std::int64_t>()) made.value = *number;
  const auto* const children = node.as<YsonMap>();
  made.directory = children != nullptr;
  if (children == nullptr) return;
  for (const YsonPair& child : *children) add_node(tree, path + "/" + child.key, child.node);
}

}  // namespace

TreeWriter::TreeWriter(HttpStage& stage, std::size_t number)
    : stage_(stage),
      root_(fmt::format("//tmp/writer{}", number)),
      client_(stage, fmt::format("writer{}", number)),
      model_(root_) {}

std::string TreeWriter::text_of(const std::string& root, const YsonNode& tree) {
  ModelTree seen;
  add_node(seen, root, tree);
  return to_text(seen);
}

HttpRequest TreeWriter::get_all(const std::string& root, const std::optional<PathId>& transaction) {
  return {"get", path_is(root) + "attributes=[x;y];" + in_transaction(transaction)};
}

Task<void> TreeWriter::run() {
  co_await make_root();
  while (stage_.keep_running()) {
    co_await stage_.think(client_.random());
    co_await step();
  }
  client_.link().close();
}

Task<void> TreeWriter::make_root() {
  const auto made = co_await client_.must_change(TreeCommand::kMake,
                                                 {"create", "type=map_node;" + path_is(root_)});
  if (made) versions_.push_back({Instant(), stage_.now(), to_text(model_.view({}))});
}

TreeModel::Transaction TreeWriter::some_transaction() {
  std::vector<Transaction> all = {std::nullopt};
  for (const auto& [id, one] : model_.open()) all.emplace_back(id);
  return all[client_.random().below(all.size())];
}

std::string TreeWriter::some_path() {
  std::string path = root_;
  const std::size_t depth = 1 + client_.random().below(kDepthMax);
  for (std::size_t i = 0; i < depth; ++i) path += "/" + some(kNames, client_.random());
  return path;
}

// The committed directory may have changed.
void TreeWriter::note(Instant sent) {
  std::string text = to_text(model_.view({}));
  if (text == versions_.back().text) return;
  versions_.push_back({sent, stage_.now(), std::move(text)});
}

bool TreeWriter::expected(const TreeModel::Plan& plan, const HttpAnswer& answer) {
  const bool conflict = answer.code >= 400 && answer.code <= 403;
  if (stage_.history.verbose()) {
    stage_.history.say(
        fmt::format("{}, {}: {}", plan.what, in_transaction(plan.transaction), answer.to_string()));
  }
  if (plan.allowed() == answer.ok() && (!plan.valid || plan.conflict == conflict)) return true;
  client_.fail(fmt::format("{}, {}: expected {}, got {}", plan.what,
                           in_transaction(plan.transaction),
                           !plan.valid     ? "an error"
                           : plan.conflict ? "a conflict"
                                           : "success",
                           answer.to_string()));
  return false;
}

Task<void> TreeWriter::carry_out(TreeModel::Plan plan, TreeCommand command, HttpRequest request) {
  const Instant sent = stage_.now();
  request.parameters += in_transaction(plan.transaction);
  const auto answer = co_await client_.change(command, std::move(request));
  if (!answer || !expected(plan, *answer) || !plan.allowed()) co_return;
  model_.apply(plan);
  note(sent);
}

Task<void> TreeWriter::step() {
  SeededRandom& random = client_.random();
  const std::uint64_t dice = random.below(13);
  if (dice == 0) co_return co_await begin();
  if (dice == 1) co_return co_await end();
  if (dice == 2) co_return co_await lock();
  if (dice <= 4) co_return co_await look(some_transaction());
  const Transaction transaction = some_transaction();
  const std::string path = some_path();
  const ModelTree tree = model_.view(transaction);
  const auto there = tree.find(path);
  const auto value = static_cast<std::int64_t>(random.below(1'000));
  const std::string input = fmt::format("{}", value);
  if (dice == 5) {
    co_return co_await carry_out(model_.remove(transaction, path), TreeCommand::kRemove,
                                 {"remove", path_is(path)});
  }
  if (dice == 6) {
    const bool moves = random.one_in(2);
    const std::string to = some_path();
    co_return co_await carry_out(
        model_.copy(transaction, path, to, moves), moves ? TreeCommand::kMove : TreeCommand::kCopy,
        {moves ? "move" : "copy",
         fmt::format("source_path=\"{}\";destination_path=\"{}\";", path, to)});
  }
  if (there == tree.end() || dice <= 8) {
    const bool directory = random.one_in(2);
    const std::string type = directory
                                 ? "type=map_node;"
                                 : fmt::format("type=int64_node;attributes={{value={}}};", value);
    co_return co_await carry_out(model_.make(transaction, path, directory, value),
                                 TreeCommand::kMake, {"create", type + path_is(path)});
  }
  if (dice <= 10 || there->second.directory) {
    const std::string name = some(kAttributes, random);
    const bool removes = random.one_in(3);
    const auto plan = model_.set_attribute(transaction, path, name,
                                           removes ? std::nullopt : std::optional(value));
    co_return co_await carry_out(
        plan, TreeCommand::kAttribute,
        {removes ? "remove" : "set", path_is(path + "/@" + name), removes ? "" : input});
  }
  co_await carry_out(model_.set_value(transaction, path, value), TreeCommand::kSet,
                     {"set", path_is(path), input});
}

Task<void> TreeWriter::begin() {
  if (model_.open().size() >= kOpenMax) co_return;
  const Transaction parent = some_transaction();
  const auto id = co_await client_.begin(kLongTimeout, parent);
  if (id) model_.begin(*id, parent);
}

Task<void> TreeWriter::end() {
  const Transaction transaction = some_transaction();
  if (!transaction) co_return;
  const bool commits = !client_.random().one_in(3);
  const Instant sent = stage_.now();
  const auto answer = co_await client_.must_change(
      commits ? TreeCommand::kCommit : TreeCommand::kAbort,
      {commits ? "commit_transaction" : "abort_transaction", in_transaction(transaction)});
  if (!answer) co_return;
  if (commits) {
    model_.commit(*transaction);
  } else {
    model_.abort(*transaction);
  }
  note(sent);
}

// A lock for itself, or a snapshot of a number.
Task<void> TreeWriter::lock() {
  const Transaction transaction = some_transaction();
  const std::string path = some_path();
  const ModelTree tree = model_.view(transaction);
  const auto there = tree.find(path);
  if (!transaction || there == tree.end() || there->second.directory) co_return;
  if (client_.random().one_in(2)) {
    co_return co_await carry_out(model_.lock(*transaction, path), TreeCommand::kLock,
                                 {"lock", "mode=exclusive;" + path_is(path)});
  }
  if (!model_.snapshot_allowed(*transaction, path)) co_return;
  const auto answer = co_await client_.must_change(
      TreeCommand::kLock, {"lock", "mode=snapshot;" + path_is(path) + in_transaction(transaction)});
  if (answer) model_.snapshot(*transaction, path);
}

Task<void> TreeWriter::look(Transaction transaction) {
  const auto answer = co_await client_.read(get_all(root_, transaction));
  stage_.count(TreeCommand::kGet, answer);
  if (!answer) co_return;
  ++stage_.history.tally.trees_checked;
  const std::string seen = text_of(root_, answer->value());
  const std::string wanted = to_text(model_.view(transaction));
  if (answer->ok() && seen == wanted) co_return;
  client_.fail(fmt::format("{} {}, is\n{}instead of\n{}{}", root_, in_transaction(transaction),
                           seen, wanted, answer->ok() ? "" : answer->to_string()));
}

void TreeWriter::judge(const std::vector<Sight>& sights) {
  std::size_t at = 0;
  for (const Sight& sight : sights) {
    const auto possible = [&](std::size_t i) {
      const bool old = i + 1 < versions_.size() && versions_[i + 1].acknowledged < sight.began;
      return !old && versions_[i].sent <= sight.ended && versions_[i].text == sight.text;
    };
    while (at < versions_.size() && !possible(at)) ++at;
    ++stage_.history.tally.trees_checked;
    if (at < versions_.size()) continue;
    return client_.fail(fmt::format("between {:.6f} s and {:.6f} s {} was never seen to be\n{}",
                                    std::chrono::duration<double>(sight.began.since_start).count(),
                                    std::chrono::duration<double>(sight.ended.since_start).count(),
                                    root_, sight.text));
  }
}

Task<bool> TreeWriter::check(HttpLink& link) {
  for (const auto& [id, one] : model_.open()) {
    const auto inside = co_await link.ask(get_all(root_, id));
    if (!inside || !inside->ok()) co_return false;
    if (text_of(root_, inside->value()) == to_text(model_.view(id))) continue;
    client_.fail(fmt::format("after all faults transaction {} sees\n{}instead of\n{}", to_text(id),
                             text_of(root_, inside->value()), to_text(model_.view(id))));
  }
  const auto answer = co_await link.ask(get_all(root_, {}));
  if (!answer || !answer->ok()) co_return false;
  ++stage_.history.tally.trees_checked;
  const std::string seen = text_of(root_, answer->value());
  const std::string wanted = to_text(model_.view({}));
  if (seen != wanted) {
    client_.fail(fmt::format("after all faults {} is\n{}instead of\n{}", root_, seen, wanted));
  }
  co_return true;
}

TreeWatcher::TreeWatcher(HttpStage& stage, std::vector<TreeWriter*> writers)
    : stage_(stage),
      writers_(std::move(writers)),
      client_(stage, "watcher"),
      sights_(writers_.size()) {}

Task<void> TreeWatcher::run() {
  if (!co_await make_numbers()) co_return;
  while (stage_.keep_running()) {
    co_await stage_.think(client_.random());
    if (client_.link().open(client_.random())) co_await ask_some();
    if (client_.random().one_in(20)) client_.link().close();
  }
  client_.link().close();
}

// Nodes that never change: each has the value that is its name.
Task<bool> TreeWatcher::make_numbers() {
  std::string values;
  for (std::int64_t i = 0; i < kNumbers; ++i) values += fmt::format("n{}={};", i, i);
  const auto made = co_await client_.must_change(
      TreeCommand::kMake,
      {"set", path_is(std::string(kNumbersPath)), fmt::format("{{{}}}", values)});
  co_return made.has_value();
}

// Several requests at once on one connection.
Task<void> TreeWatcher::ask_some() {
  std::deque<Asked> asked;
  for (std::size_t left = 1 + client_.random().below(kPipelinedMax); left > 0; --left) {
    Asked one;
    one.began = stage_.now();
    one.number = static_cast<std::int64_t>(client_.random().below(kNumbers));
    if (client_.random().one_in(2)) one.writer = client_.random().below(writers_.size());
    const HttpRequest request =
        one.writer ? TreeWriter::get_all(writers_[*one.writer]->root(), {})
                   : HttpRequest{"get", path_is(fmt::format("{}/n{}", kNumbersPath, one.number))};
    if (!co_await client_.link().send(request)) co_return;
    asked.push_back(one);
  }
  for (const Asked& one : asked) {
    const auto answer = co_await client_.link().receive();
    stage_.count(TreeCommand::kWatch, answer);
    if (!answer) co_return;
    if (answer->ok() && answer->newest) take(one, *answer);
    if (!answer->newest) co_return client_.link().close();
  }
}

void TreeWatcher::take(const Asked& asked, const HttpAnswer& answer) {
  const YsonNode value = answer.value();
  if (asked.writer) {
    sights_[*asked.writer].push_back(
        {asked.began, stage_.now(), TreeWriter::text_of(writers_[*asked.writer]->root(), value)});
    return;
  }
  const auto* const number = value.as<std::int64_t>();
  ++stage_.history.tally.trees_checked;
  if (number != nullptr && *number == asked.number) return;
  client_.fail(fmt::format("the node with the number {} has {}", asked.number, answer.to_string()));
}

void TreeWatcher::judge() {
  for (std::size_t i = 0; i < writers_.size() && !stage_.history.failed(); ++i) {
    writers_[i]->judge(sights_[i]);
  }
}

}  // namespace moraine::sim
