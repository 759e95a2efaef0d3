#include "node/unmounted_tablets.h"

#include <fmt/format.h>

#include <algorithm>

namespace moraine {

Task<Result<std::shared_ptr<table::TableTablet>>> UnmountedTablets::open(TabletId tablet,
                                                                         Boot boot) {
  const Instant deadline = executor_.now() + kUnmountedWait;
  while (!scope_.closed()) {
    const auto known = entries_.find(tablet);
    const EntryPtr entry = known == entries_.end() ? nullptr : known->second;
    if (entry && !entry->ending && entry->lease) {
      co_return std::shared_ptr<table::TableTablet>(entry->lease, entry->lease->get());
    }
    if (!entry && (entries_.size() < kUnmountedTabletsMax || end_an_idle_one())) {
      const auto made = std::make_shared<Entry>(executor_);
      entries_[tablet] = made;
      scope_.spawn(serve(tablet, made, boot));
      co_await made->changed.wait(scope_);
      if (made->error) co_return std::unexpected(*made->error);
      continue;
    }
    if (executor_.now() >= deadline) {
      co_return fail(Errc::kOverloaded,
                     fmt::format("{} tablets that are not mounted are being read; retry later",
                                 entries_.size()));
    }
    co_await (entry ? entry->changed : freed_).wait_until(deadline, scope_);
    if (entry && entry->error) co_return std::unexpected(*entry->error);
  }
  co_return fail(Errc::kUnavailable, "the node is stopping");
}

// It leaves its place at once, and stops soon.
bool UnmountedTablets::end_an_idle_one() {
  const auto idle = std::ranges::find_if(entries_, [](const auto& known) {
    const Entry& entry = *known.second;
    return entry.lease && !entry.ending && !is_read(entry);
  });
  if (idle == entries_.end()) return false;
  const EntryPtr entry = idle->second;
  entries_.erase(idle);
  entry->ending = true;
  entry->changed.notify_all();
  return true;
}

void UnmountedTablets::end(TabletId tablet) {
  const auto known = entries_.find(tablet);
  if (known == entries_.end()) return;
  known->second->ending = true;
  known->second->changed.notify_all();
}

Task<void> UnmountedTablets::serve(TabletId tablet, EntryPtr entry, Boot boot) {
  Result<std::shared_ptr<LaneTable>> booted = co_await boot();
  if (!booted) {
    entry->error = std::move(booted).error();
  } else if (!entry->ending && !scope_.closed()) {
    entry->booted = *booted;
    entry->lease = std::make_shared<std::shared_ptr<table::TableTablet>>((*booted)->tablet());
    entry->changed.notify_all();
    co_await keep(tablet, *entry);
  }
  const auto known = entries_.find(tablet);
  if (known != entries_.end() && known->second == entry) entries_.erase(known);
  entry->ending = true;
  if (booted) co_await (*booted)->stop();
  entry->booted.reset();
  entry->changed.notify_all();
  freed_.notify_all();
}

// Until it may stop.
Task<void> UnmountedTablets::keep(TabletId tablet, Entry& entry) {
  Instant read = executor_.now();  // When it was last seen to be read.
  while (!scope_.closed() && !entry.ending && !turns_.is_wanted(tablet)) {
    const Instant now = executor_.now();
    if (is_read(entry)) read = now;
    if (now - read > kUnmountedIdle) co_return;
    co_await entry.changed.wait_until(now + kUnmountedPoll, scope_);
  }
}

Task<void> UnmountedTablets::stop() {
  scope_.close();
  co_await scope_.join();
}

void UnmountedTablets::abandon() {
  scope_.close();
  for (const auto& [tablet, entry] : entries_) {
    if (entry->booted) entry->booted->abandon();
  }
}

}  // namespace moraine
