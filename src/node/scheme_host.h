// SchemeHost: keeps the scheme's tablet running, and deletes the tablets on its list of pending
// deletions.
//
// Promise    Whenever the scheme's tablet starts, followers are called, so that they follow its
//            state. Tablets on the list are deleted in the background, over restarts, until nothing
//            is left of them.
// Threading  The control lane. Waiting calls must have ended before it is destroyed.
// Limits     kDeletionsMax concurrent deletions.
// Tests      stored_topics_test.cpp.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "cluster/placement.h"
#include "cluster/tablet_ids.h"
#include "node/tablet_host.h"
#include "scheme/scheme.h"

namespace moraine {

inline constexpr std::size_t kDeletionsMax = 16;
inline constexpr Duration kSchemeTimeout = 10s;

using RemoveTablet = std::function<Task<Result<void>>(TabletInfo)>;

struct SchemeHostOptions {
  GroupId group;
  LeaderOptions leader;
  RemoveTablet remove;             // None: delete_tablet() (tablet/leader.h).
  Placement* placement = nullptr;  // None: the tablet is always to run here.
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
  // Deletes a tablet that may run here: `stop` is awaited first.
  void begin_deletion(const TabletInfo& info, std::function<Task<void>()> stop);
  std::size_t deleting() const { return deleting_.size(); }

  // Called once.
  Task<void> stop();
  // Requests everything to end, without waiting.
  void abandon();

 private:
  Task<Result<std::unique_ptr<Scheme>>> boot();
  void follow(const Scheme& scheme);
  Task<void> delete_for_good(TabletInfo info, std::function<Task<void>()> stop);
  Task<Result<void>> delete_once(TabletInfo info);

  World world_;
  BlobGroups& groups_;
  const SchemeHostOptions options_;
  std::vector<Follower> followers_;
  std::set<TabletId> deleting_;
  Semaphore deletions_{kDeletionsMax};
  bool started_ = false;
  TabletHost<Scheme> host_;
  TaskScope scope_;  // Deletions.
};

}  // namespace moraine
