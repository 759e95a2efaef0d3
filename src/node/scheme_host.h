// SchemeHost: keeps the scheme's tablet running, and with it what the scheme says: tablets() runs
// the tablets of topics and tables; those on the list of pending deletions are deleted.
//
// Promise    Whenever the scheme's tablet starts, followers are called, so that they follow its
//            state. Tablets on the list are deleted in the background, over restarts, until nothing
//            is left of them.
// Threading  The control lane. Waiting calls must have ended before it is destroyed.
// Limits     kDeletionsMax concurrent deletions.
// Tests      stored_topics_test.cpp.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cluster/placement.h"
#include "cluster/tablet_ids.h"
#include "node/tablet_host.h"
#include "node/tablet_reconciler.h"
#include "scheme/scheme.h"

namespace moraine {

inline constexpr std::size_t kDeletionsMax = 16;
inline constexpr Duration kSchemeTimeout = 10s;

using RemoveTablet = std::function<Task<Result<void>>(TabletInfo)>;

struct SchemeHostOptions {
  GroupId group;
  LeaderOptions leader;
  RemoveTablet remove;             // None: delete_tablet() (tablet/leader.h).
  Placement* placement = nullptr;  // None: all tablets are always to run here, on one lane.
};

class SchemeHost {
 public:
  using Follower = std::function<void(const Scheme&)>;

  // `groups` outlives the host.
  SchemeHost(World world, BlobGroups& groups, SchemeHostOptions options);

  // Call before start(). Followers must live until stop() has ended.
  void add_follower(Follower follower) { followers_.push_back(std::move(follower)); }
  // A second call does nothing.
  void start();
  // kTimeout: the deadline has passed; the start continues.
  Task<Result<void>> wait_known(Instant deadline);
  bool running() const { return host_.get() != nullptr; }
  const std::optional<Error>& boot_error() const { return host_.boot_error(); }
  // The scheme, for a change; waits for kSchemeTimeout. kNotHere: it is not running here.
  Task<Result<std::shared_ptr<Scheme>>> scheme();
  // The same without waiting. Null: it is not running.
  std::shared_ptr<Scheme> running_scheme() const { return host_.get(); }
  // Deletes a tablet, which tablets() does not want any more, once it has stopped. Does nothing if
  // the scheme does not list it: others still need it, or it is gone.
  void begin_deletion(const TabletInfo& info);
  std::size_t deleting() const { return deleting_.size(); }
  // The tablets of topics and tables.
  TabletReconciler& tablets() { return tablets_; }
  const TabletReconciler& tablets() const { return tablets_; }

  // Ends all tablets. Called once.
  Task<void> stop();
  // Requests everything to end, without waiting.
  void abandon();

 private:
  Task<Result<std::unique_ptr<Scheme>>> boot();
  void follow(const Scheme& scheme);
  void delete_in_background(const TabletInfo& info);
  Task<void> delete_for_good(TabletInfo info);
  Task<Result<void>> delete_once(TabletInfo info);

  World world_;
  BlobGroups& groups_;
  const SchemeHostOptions options_;
  std::vector<Follower> followers_;
  std::set<TabletId> deleting_;
  Semaphore deletions_{world_.executor, kDeletionsMax};
  bool started_ = false;
  TabletHost<Scheme> host_;
  TabletReconciler tablets_;
  TaskScope scope_;  // Deletions.
};

// Brings `known`, by path, in line with the nodes of the scheme: calls adopt(node), which returns a
// Result, for each node of the kind, and drop(item) for each item whose node is not there any more.
// False: some node could not be adopted; the log says why.
template <class Item>
bool follow_nodes(const Scheme& scheme, NodeKind kind,
                  const std::map<std::string, std::shared_ptr<Item>>& known, const auto& adopt,
                  const auto& drop) {
  bool all = true;
  for (const NodePtr& node : scheme.all(kind)) {
    const auto adopted = adopt(*node);
    if (adopted) continue;
    all = false;
    log_error("topic or table not served", {{"path", node->path}, {"error", adopted.error()}});
  }
  std::vector<std::shared_ptr<Item>> removed;
  for (const auto& [path, item] : known) {
    const NodePtr node = scheme.find(path);
    if (!node || node->id != item->id()) removed.push_back(item);
  }
  for (const auto& item : removed) drop(item);
  return all;
}

}  // namespace moraine
