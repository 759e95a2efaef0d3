// Transactions of the tree, and what ends by itself: transactions without pings, expired nodes
// (stored_tree.h).

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "node/stored_tree.h"
#include "node/tree_attributes.h"
#include "scheme/object_id.h"
#include "scheme/tree_bug.h"

namespace moraine {
namespace {

using client::TreeScope;

LockMode mode_of(client::TreeLockMode mode) {
  switch (mode) {
    case client::TreeLockMode::kSnapshot: return LockMode::kSnapshot;
    case client::TreeLockMode::kShared: return LockMode::kShared;
    case client::TreeLockMode::kExclusive: return LockMode::kExclusive;
  }
  return LockMode::kExclusive;
}

constexpr std::size_t kExpiryBudget = kTreeWritesMax / 2;  // Nodes that one change removes.

std::size_t tablets_in(const std::vector<NodePtr>& nodes) {
  std::size_t count = 0;
  for (const NodePtr& node : nodes) {
    if (const auto tablets = tablets_of(*node)) count += tablets->size();
  }
  return count;
}

Result<NodePtr> node_at(const TreeView& view, const std::string& path) {
  TRY(const TreePath parsed, parse_tree_path(path));
  TRY(const TreePlace place, find_place(view, parsed));
  if (!place.exact()) return no_node(place);
  return place.node;
}

}  // namespace

Task<Result<PathId>> StoredTree::begin(TreeScope scope, client::TreeTransactionOptions options) {
  const Change body = [&](TreeEditor& editor) -> Result<YsonNode> {
    TreeTransaction made;
    made.parent = options.parent ? options.parent : scope.transaction;
    const Duration timeout = std::clamp<Duration>(options.timeout, 1ms, kTreeTimeoutMax);
    made.timeout_ms = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count());
    made.deadline_ms = options.deadline_ms.value_or(0);
    made.user = scope.user;
    for (const YsonPair& pair : options.attributes) {
      made.attributes.emplace(pair.key, to_slice(pair.node));
    }
    TRY(const TransactionPtr begun, editor.begin(std::move(made)));
    return YsonNode(to_text(begun->id));
  };
  co_return co_await there([&] { return change_id(scope, body); });
}

Task<Result<void>> StoredTree::ping(TreeScope scope, PathId transaction) {
  const auto body = [&]() -> Task<Result<void>> {
    CO_TRY(const SchemePtr scheme, co_await scheme_.scheme());
    CO_TRY_VOID(TreeEditor::check_open(scheme->state(), transaction));
    const TreeView view(scheme->state(), transaction);
    for (const PathId& one : view.chain()) {
      if (one == transaction || scope.ping_ancestors) pinged(one);
    }
    co_return Result<void>();
  };
  co_return co_await there(body);
}

Task<Result<void>> StoredTree::commit(TreeScope scope, PathId transaction) {
  scope.transaction = std::nullopt;
  const auto body = [&]() -> Task<Result<void>> {
    co_await abort_nested(transaction);
    co_return co_await change_only(scope,
                                   [&](TreeEditor& editor) { return editor.commit(transaction); });
  };
  co_return co_await there(body);
}

// One change each: together they might be too many.
Task<void> StoredTree::abort_nested(PathId transaction) {
  while (true) {
    const auto scheme = co_await scheme_.scheme();
    if (!scheme) co_return;
    PathId deepest = transaction;
    while (true) {
      const auto nested = (*scheme)->state().nested(deepest);
      if (nested.empty()) break;
      deepest = nested.front();
    }
    if (deepest == transaction) co_return;
    const auto aborted = co_await change_only(TreeScope(), [&](TreeEditor& editor) -> Result<void> {
      if (editor.state().transaction(deepest)) editor.abort(deepest);
      return {};
    });
    if (!aborted) co_return;
  }
}

Task<Result<void>> StoredTree::abort(TreeScope scope, PathId transaction, bool) {
  scope.transaction = std::nullopt;
  const auto body = [&]() -> Task<Result<void>> {
    co_await abort_nested(transaction);
    co_return co_await change_only(scope, [&](TreeEditor& editor) -> Result<void> {
      TRY_VOID(TreeEditor::check_open(editor.state(), transaction));
      editor.abort(transaction);
      return {};
    });
  };
  co_return co_await there(body);
}

// A lock does not fail because of this: then its rows are not kept as they are.
Task<std::uint64_t> StoredTree::rows_before(TreeScope scope, std::string path) {
  const auto scheme = co_await open(scope);
  if (!scheme) co_return 0;
  std::string table;
  {
    const TreeView view((*scheme)->state(), scope.transaction);
    const auto node = node_at(view, path);
    if (!node || (*node)->kind != NodeKind::kTable) co_return 0;
    // A snapshot inside of a transaction that has one has the same rows.
    if (const std::uint64_t outer = view.rows_before(**node); outer != 0) co_return outer;
    table = view.stored_path(**node);
  }
  co_return (co_await tables_.flushed_before(std::move(table))).value_or(0);
}

Task<Result<client::TreeLocked>> StoredTree::lock(TreeScope scope, std::string path,
                                                  client::TreeLock options) {
  if (!scope.transaction) {
    co_return fail(Errc::kInvalidArgument, "A valid master transaction is required");
  }
  std::uint64_t rows = 0;
  const Change body = [&](TreeEditor& editor) -> Result<YsonNode> {
    TRY(const NodePtr node, node_at(editor.view(), path));
    LockRequest request{mode_of(options.mode), options.child_key, options.attribute_key, rows};
    TRY(const LockPtr lock, editor.lock(node, std::move(request), options.waitable));
    YsonMap result;
    result.set("lock", to_text(lock->id));
    result.set("node", to_text(lock->node));
    result.set("revision", lock->acquired ? std::max<std::uint64_t>(node->revision, 1) : 0);
    return YsonNode(std::move(result));
  };
  const auto locks = [&]() -> Task<Result<YsonNode>> {
    if (options.mode == client::TreeLockMode::kSnapshot) rows = co_await rows_before(scope, path);
    co_return co_await change(scope, body);
  };
  CO_TRY(const YsonNode result, co_await there(locks));
  client::TreeLocked locked;
  const YsonNode* const lock = result.find("lock");
  const YsonNode* const node = result.find("node");
  const YsonNode* const revision = result.find("revision");
  if (lock == nullptr || node == nullptr || revision == nullptr) {
    co_return fail(Errc::kInvalidArgument, "The mutation was not a lock");
  }
  CO_TRY(locked.lock, parse_object_id(*lock->as<std::string>()));
  CO_TRY(locked.node, parse_object_id(*node->as<std::string>()));
  locked.revision = *revision->as<std::uint64_t>();
  co_return locked;
}

Task<Result<void>> StoredTree::unlock(TreeScope scope, std::string path) {
  if (!scope.transaction) {
    co_return fail(Errc::kInvalidArgument, "A valid master transaction is required");
  }
  co_return co_await there([&] {
    return change_only(std::move(scope), [&](TreeEditor& editor) -> Result<void> {
      TRY(const NodePtr node, node_at(editor.view(), path));
      return editor.unlock(node);
    });
  });
}

void StoredTree::pinged(const PathId& transaction) {
  if (has_bug(TreeBug::kForgetPings)) return;
  const auto known = leases_.find(transaction);
  if (known != leases_.end()) known->second = {now(), now_ms()};
}

std::uint64_t StoredTree::last_ping_ms(const PathId& transaction) const {
  const auto known = leases_.find(transaction);
  return known == leases_.end() ? 0 : known->second.pinged_ms;
}

// The scheme's tablet has started.
void StoredTree::follow(const Scheme& scheme) {
  if (scope_.closed()) return;
  leases_.clear();
  for (const auto& [id, transaction] : scheme.state().transactions()) {
    leases_[id] = {now(), now_ms()};
  }
  started_revision_ = scheme.state().last_revision();
  accessed_.clear();
  visit_.set();
  if (!std::exchange(keeping_, true)) scope_.spawn(keep_house());
}

Task<void> StoredTree::keep_house() {
  while (!scope_.closed()) {
    co_await visit_.wait_until(next_visit(), scope_);
    if (scope_.closed()) co_return;
    const auto scheme = co_await scheme_.scheme();
    if (!scheme) continue;
    co_await abort_overdue(*scheme);
    if (!scope_.closed()) co_await remove_expired(*scheme);
    // Bounds how often changes of others make it look.
    if (!scope_.closed()) co_await sleep_for(world_.executor, kExpiryPause, scope_);
  }
}

Instant StoredTree::next_visit() const {
  Instant next = Instant::never();
  const auto scheme = scheme_.running_scheme();
  if (!scheme) return next;
  const auto in_ms = [&](std::uint64_t at_ms) {
    const std::uint64_t left = at_ms > now_ms() ? at_ms - now_ms() : 0;
    return now() + std::chrono::milliseconds(std::min<std::uint64_t>(left, 3'600'000));
  };
  const auto& expiring = scheme->state().expiring();
  if (!expiring.empty()) next = std::min(next, in_ms(expiring.begin()->first));
  for (const auto& [id, lease] : leases_) {
    const TransactionPtr known = scheme->state().transaction(id);
    if (!known) continue;
    next = std::min(next, lease.pinged + std::chrono::milliseconds(known->timeout_ms));
    if (known->deadline_ms != 0) next = std::min(next, in_ms(known->deadline_ms));
  }
  return next;
}

Task<void> StoredTree::abort_overdue(SchemePtr scheme) {
  std::vector<PathId> overdue;
  for (const auto& [id, lease] : leases_) {
    const TransactionPtr known = scheme->state().transaction(id);
    if (!known) continue;
    const bool unpinged = !has_bug(TreeBug::kLeaseNeverEnds) &&
                          lease.pinged + std::chrono::milliseconds(known->timeout_ms) <= now();
    if (unpinged || (known->deadline_ms != 0 && known->deadline_ms <= now_ms())) {
      overdue.push_back(id);
    }
  }
  for (const PathId& id : overdue) {
    if (scope_.closed()) co_return;
    co_await abort_nested(id);
    const auto aborted = co_await change_only(TreeScope(), [&](TreeEditor& editor) -> Result<void> {
      if (editor.state().transaction(id)) editor.abort(id);
      return {};
    });
    if (!aborted) {
      log_warning("transaction of the tree not aborted",
                  {{"transaction", to_text(id)}, {"error", aborted.error()}});
      co_return;
    }
    ++figures_.transactions_timed_out;
  }
}

std::optional<std::uint64_t> StoredTree::expiry_of(const PathNode& node) const {
  const std::uint64_t timeout = expiration_timeout_of(node);
  std::uint64_t used = access_of(node).renewed_ms;
  // Accesses before a start that were within the slack of a stored one are not known. Not judged by
  // clocks: another machine's may have been ahead.
  if (timeout > 0 && used == 0 && node.revision <= started_revision_) {
    used =
        std::max({node.touched_ms, node.modified_ms, node.created_ms}) + access_slack_ms(timeout);
  }
  return expires_at(node, used);
}

Task<void> StoredTree::remove_expired(SchemePtr scheme) {
  if (has_bug(TreeBug::kKeepExpired)) co_return;
  struct Due {
    std::string path;
    std::uint64_t at_ms;
  };
  std::vector<Due> removed;
  const std::uint64_t now = now_ms();
  const auto body = [&](TreeEditor& editor) -> Result<void> {
    std::vector<std::string> due;
    for (const auto& [at, path] : editor.state().expiring()) {
      if (at > now || due.size() >= kExpiredAtOnce) break;
      due.push_back(path);
    }
    std::size_t budget = kExpiryBudget;
    for (const std::string& path : due) {
      const NodePtr node = editor.state().find(path);
      if (!node) continue;  // With a directory that expired.
      const auto at = expiry_of(*node);
      if (!at || *at > now) {
        scheme->postpone_expiry(path, at.value_or(UINT64_MAX));
        continue;
      }
      const auto all = editor.view().subtree(node, budget);
      const std::size_t nodes = all.size();
      const bool large =
          nodes > budget || editor.deleted_tablets() + tablets_in(all) > kTabletsOfPartMax;
      if (large && budget < kExpiryBudget) break;  // It is the first one of the next change.
      const auto gone = large ? editor.remove_part(node, budget) : editor.remove(node);
      if (!gone) {
        const auto retry = std::chrono::duration_cast<std::chrono::milliseconds>(kExpiryRetry);
        scheme->postpone_expiry(path, now + static_cast<std::uint64_t>(retry.count()));
        ++figures_.postponed;
        continue;
      }
      budget -= std::min(budget, nodes);
      if (editor.state().find(path) == nullptr) removed.push_back({path, *at});
      if (budget == 0 || large) break;
    }
    return {};
  };
  const auto done = co_await change_only(TreeScope(), body);
  if (!done) {
    log_warning("expired nodes not removed", {{"error", done.error()}});
    co_return;
  }
  for (const Due& one : removed) {
    const std::uint64_t lag = now_ms() > one.at_ms ? now_ms() - one.at_ms : 0;
    figures_.add_removal(lag);
  }
}

TreeFigures StoredTree::figures() const {
  TreeFigures figures = figures_;
  figures.transactions = leases_.size();
  const auto scheme = scheme_.running_scheme();
  figures.nodes = scheme ? scheme->size() : 0;
  figures.expiring = scheme ? scheme->state().expiring().size() : 0;
  if (scheme && !scheme->state().expiring().empty()) {
    const std::uint64_t oldest = scheme->state().expiring().begin()->first;
    figures.oldest_expired_ms = now_ms() > oldest ? now_ms() - oldest : 0;
  }
  return figures;
}

}  // namespace moraine
