// SchemeHost: keeps the scheme's tablet running, and deletes the tablets that it has doomed.
//
// Promise    Whenever the scheme's tablet starts, followers are told, so what it says is made true
//            again. A tablet that is doomed is deleted in the background, over restarts, until
//            nothing is left of it.
// Threading  The world's executor. Calls that wait have ended before it goes away.
// Limits     kDeletionsMax at once.
// Tests      stored_topics_test.cpp.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "scheme/scheme.h"
#include "service/tablet_host.h"
#include "service/tablet_ids.h"

namespace moraine {

inline constexpr std::size_t kDeletionsMax = 16;  // At once.
inline constexpr Duration kSchemeTimeout = 10s;

using RemoveTablet = std::function<Task<Result<void>>(TabletInfo)>;

struct SchemeHostOptions {
  GroupId group;
  LeaderOptions leader;
  RemoveTablet remove;  // None: delete_tablet() (tablet/leader.h).
};

class SchemeHost {
 public:
  using Follower = std::function<void(const Scheme&)>;

  // `groups` outlives it.
  SchemeHost(World world, BlobGroups& groups, SchemeHostOptions options);

  // Before start(). Followers outlive it, or its stop().
  void add_follower(Follower follower) { followers_.push_back(std::move(follower)); }
  // A second call does nothing.
  void start();
  // kTimeout: not by the deadline; it goes on.
  Task<Result<void>> wait_known(Instant deadline);
  bool running() const { return host_.get() != nullptr; }
  const std::optional<Error>& boot_error() const { return host_.boot_error(); }
  // To make a change; waits for kSchemeTimeout.
  Task<Result<std::shared_ptr<Scheme>>> scheme();
  // A doomed tablet that may run here: `stop` is awaited first.
  void begin_deletion(const TabletInfo& info, std::function<Task<void>()> stop);
  std::size_t deleting() const { return deleting_.size(); }

  // Called once.
  Task<void> stop();
  // Tells everything to end, and no more.
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
  Waiters stopping_{world_.executor};
  bool started_ = false;
  TabletHost<Scheme> host_;
  TaskScope scope_;  // Deletions.
};

}  // namespace moraine
