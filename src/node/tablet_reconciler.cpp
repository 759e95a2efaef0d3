#include "node/tablet_reconciler.h"

#include <fmt/format.h>

#include "base/log.h"

namespace moraine {

TabletReconciler::TabletReconciler(Executor& executor, Placement* placement)
    : executor_(executor), placement_(placement) {
  if (placement_) watcher_ = placement_->watch([this](TabletId moved) { note_moved(moved); });
}

TabletReconciler::~TabletReconciler() {
  if (placement_) placement_->unwatch(watcher_);
}

void TabletReconciler::set(const PathId& owner, NodeKind kind, std::string name,
                           ManagedTablets tablets) {
  if (closed_) return;
  std::set<TabletId> changed;
  Owner& known = owners_[owner];
  for (const auto& [id, tablet] : known.tablets) {
    changed.insert(id);
    owner_of_.erase(id);
  }
  for (const auto& [id, tablet] : tablets) {
    changed.insert(id);
    owner_of_[id] = owner;
  }
  known.kind = kind;
  known.name = std::move(name);
  known.tablets = std::move(tablets);
  ++known.revision;
  if (known.tablets.empty()) owners_.erase(owner);
  reconcile(changed);
}

const TabletReconciler::Owner* TabletReconciler::owner_of(TabletId tablet) const {
  const auto owner = owner_of_.find(tablet);
  return owner == owner_of_.end() ? nullptr : &owners_.at(owner->second);
}

std::optional<WantedTablet> TabletReconciler::wanted(TabletId tablet) const {
  const Owner* owner = owner_of(tablet);
  const auto lane = placed_on(tablet);
  if (!owner || !lane) return std::nullopt;
  return WantedTablet{*lane, owner->revision};
}

std::optional<std::size_t> TabletReconciler::placed_on(TabletId tablet) const {
  return placement_ ? placement_->place_of(tablet).lane() : 0;
}

void TabletReconciler::note_moved(TabletId tablet) {
  reconcile({tablet});
  if (const Owner* owner = owner_of(tablet)) {
    // Held: what it calls may replace the tablets of the owner.
    const std::shared_ptr<ManagedTablet> moved = owner->tablets.at(tablet);
    moved->note_moved();
  }
}

BootTurns& TabletReconciler::turns(NodeKind kind) {
  return kind == NodeKind::kTopic ? topic_turns_ : table_turns_;
}

void TabletReconciler::reconcile(const std::set<TabletId>& tablets) {
  std::map<TabletId, WantedTablet> wanted_now;
  std::map<TabletId, StartedTablet> started_now;
  for (const TabletId id : tablets) {
    if (const auto one = wanted(id)) wanted_now.emplace(id, *one);
    const auto started = started_.find(id);
    if (started != started_.end()) started_now.emplace(id, started->second->state);
  }
  for (const TabletStep& step : plan_tablets(wanted_now, started_now)) carry_out(step, wanted_now);
  reconciled_.notify_all();
}

void TabletReconciler::carry_out(const TabletStep& step,
                                 const std::map<TabletId, WantedTablet>& wanted) {
  const TabletId id = step.tablet;
  switch (step.action) {
    case TabletAction::kStart: {
      const auto started =
          std::make_shared<Started>(owner_of(id)->tablets.at(id), wanted.at(id), executor_);
      started_[id] = started;
      started->tablet->start();
      return;
    }
    case TabletAction::kConfigure: {
      const StartedPtr started = started_.at(id);
      started->state.revision = wanted.at(id).revision;
      started->tablet->configure();
      return;
    }
    case TabletAction::kRestart:
      log_info("tablet moves to another lane",
               {{"tablet", id.value}, {"lane", wanted.at(id).lane}});
      [[fallthrough]];
    case TabletAction::kStop: {
      const StartedPtr started = started_.at(id);
      started->state.stopping = true;
      scope_.spawn(stop_tablet(id, started));
      return;
    }
  }
}

// From a callback: its caller goes on with what it changes.
Task<void> TabletReconciler::stop_tablet(TabletId id, StartedPtr started) {
  co_await stops_.acquire();
  co_await yield(executor_);
  co_await started->tablet->stop();
  stops_.release();
  started_.erase(id);
  reconcile({id});  // It may be wanted again.
  started->stopped.notify_all();
}

Task<bool> TabletReconciler::wait_running(TabletId tablet, Instant deadline) {
  while (!closed_) {
    if (!wanted(tablet)) co_return true;
    const auto found = started_.find(tablet);
    // Called inside a step, or placement has changed and has not called its watchers yet.
    if (found == started_.end()) {
      if (!co_await reconciled_.wait_until(deadline)) co_return false;
      continue;
    }
    const StartedPtr started = found->second;
    if (started->state.stopping) {
      if (!co_await started->stopped.wait_until(deadline)) co_return false;
    } else {
      if (co_await started->tablet->wait_running(deadline)) co_return true;
      if (executor_.now() >= deadline) co_return false;
    }
  }
  co_return false;
}

Task<bool> TabletReconciler::wait_all(std::vector<TabletId> tablets, Instant deadline) {
  for (const TabletId tablet : tablets) {
    if (!co_await wait_running(tablet, deadline)) co_return false;
  }
  co_return true;
}

Task<bool> TabletReconciler::wait_running(PathId owner, Instant deadline) {
  std::vector<TabletId> tablets;
  const auto found = owners_.find(owner);
  if (found != owners_.end()) {
    for (const auto& [id, tablet] : found->second.tablets) tablets.push_back(id);
  }
  return wait_all(std::move(tablets), deadline);
}

Task<bool> TabletReconciler::wait_running(NodeKind kind, Instant deadline) {
  std::vector<TabletId> tablets;
  for (const auto& [path, owner] : owners_) {
    if (owner.kind != kind) continue;
    for (const auto& [id, tablet] : owner.tablets) tablets.push_back(id);
  }
  return wait_all(std::move(tablets), deadline);
}

Task<void> TabletReconciler::wait_stopped(TabletId tablet) {
  for (;;) {
    const auto found = started_.find(tablet);
    if (found == started_.end()) co_return;
    const StartedPtr started = found->second;
    co_await started->stopped.wait_until(Instant::never());
  }
}

TabletsReport TabletReconciler::report(NodeKind kind) const {
  TabletsReport report;
  for (const auto& [path, owner] : owners_) {
    if (owner.kind != kind) continue;
    for (const auto& [id, tablet] : owner.tablets) {
      if (!placed_on(id)) continue;
      ++(tablet->running() ? report.running : report.starting);
      if (!tablet->boot_error() || report.errors.size() >= kReportedBootErrorsMax) continue;
      report.errors.push_back(Error(*tablet->boot_error()).within(owner.name));
    }
  }
  return report;
}

void TabletReconciler::close() {
  closed_ = true;
  owners_.clear();
  owner_of_.clear();
  std::set<TabletId> all;
  for (const auto& [id, started] : started_) all.insert(id);
  reconcile(all);
}

Task<void> TabletReconciler::stop() {
  close();
  co_await scope_.join();
}

void TabletReconciler::abandon() {
  closed_ = true;
  const auto started = started_;
  for (const auto& [id, one] : started) one->tablet->abandon();
  close();
}

}  // namespace moraine
