#include "node/scheme_host.h"

namespace moraine {

SchemeHost::SchemeHost(World world, BlobGroups& groups, SchemeHostOptions options)
    : world_(world),
      groups_(groups),
      options_(std::move(options)),
      host_(world.executor, "scheme",
            {[this] { return boot(); },
             [this](const std::shared_ptr<Scheme>& scheme) { follow(*scheme); }, nullptr,
             still_here(options_.placement, kSchemeTabletId)}),
      tablets_(world.executor, options_.placement) {}

void SchemeHost::start() {
  if (!std::exchange(started_, true)) host_.start();
}

Task<Result<void>> SchemeHost::wait_known(Instant deadline) {
  if (co_await host_.wait(deadline)) co_return Result<void>();
  co_return fail(Errc::kTimeout, "the scheme's tablet did not start in time");
}

Task<Result<std::shared_ptr<Scheme>>> SchemeHost::scheme() {
  auto running = co_await host_.wait(world_.executor.now() + kSchemeTimeout);
  if (!running) {
    co_return fail(Errc::kNotHere, "the scheme's tablet is not running here; nothing was changed");
  }
  co_return running;
}

Task<Result<std::unique_ptr<Scheme>>> SchemeHost::boot() {
  SchemeOptions options;
  options.first_tablet = kFirstTopicTabletId;
  options.leader = options_.leader;
  return Scheme::boot(world_, groups_,
                      TabletInfo::simple(kSchemeTabletId, options_.group, kKeyValueChannels),
                      options);
}

// Followers first: tablets to delete must not be wanted any more.
void SchemeHost::follow(const Scheme& scheme) {
  if (scope_.closed()) return;
  for (const Follower& follower : followers_) follower(scheme);
  for (const TabletInfo& info : scheme.pending_deletions()) delete_in_background(info);
}

// A scheme that is being booted begins its deletions itself.
void SchemeHost::begin_deletion(const TabletInfo& info) {
  const std::shared_ptr<Scheme> running = host_.get();
  if (running && running->is_to_be_deleted(info.id)) delete_in_background(info);
}

void SchemeHost::delete_in_background(const TabletInfo& info) {
  if (deleting_.insert(info.id).second) scope_.spawn(delete_for_good(info));
}

Task<void> SchemeHost::delete_for_good(TabletInfo info) {
  co_await tablets_.wait_stopped(info.id);
  Duration pause = kRebootPauseMin;
  while (!scope_.closed()) {
    co_await deletions_.acquire();
    const auto deleted = co_await delete_once(info);
    deletions_.release();
    if (deleted) {
      deleting_.erase(info.id);
      co_return;
    }
    if (scope_.closed()) co_return;
    log_warning("tablet not deleted yet", {{"tablet", info.id.value}, {"error", deleted.error()}});
    co_await sleep_for(world_.executor, pause, scope_);
    pause = std::min(pause * 2, kRebootPauseMax);
  }
}

Task<Result<void>> SchemeHost::delete_once(TabletInfo info) {
  if (scope_.closed()) co_return fail(Errc::kUnavailable, "stopping");
  const TabletId id = info.id;
  if (options_.remove) {
    CO_TRY_VOID(co_await options_.remove(std::move(info)));
  } else {
    CO_TRY_VOID(co_await delete_tablet(world_, groups_, std::move(info)));
  }
  const auto running = host_.get();
  if (!running) co_return fail(Errc::kUnavailable, "the scheme's tablet is not running");
  co_return co_await running->forget_deleted(id);
}

Task<void> SchemeHost::stop() {
  scope_.close();
  if (started_) co_await host_.stop();
  co_await tablets_.stop();
  co_await scope_.join();
}

void SchemeHost::abandon() {
  scope_.close();
  host_.abandon();
  tablets_.abandon();
}

}  // namespace moraine
