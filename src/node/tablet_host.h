// TabletHost: keeps one tablet running on this node, from start() to stop().
//
// Promise    Boots the tablet, and boots it again when it has ended by itself, after a pause that
//            grows with repeated failures. At most one incarnation runs at a time. A tablet that
//            was fenced asks placement before it is booted again.
// Threading  The executor's thread. A caller keeps the host alive while it awaits a call of the
//            host, and the pointer from get() while it awaits a call of the tablet.
// Tests      key_value_host_test.cpp.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "cluster/placement.h"
#include "io/event.h"
#include "node/managed_tablet.h"

namespace moraine {

inline constexpr Duration kRebootPauseMin = 100ms;
inline constexpr Duration kRebootPauseMax = 10s;

// For TabletHost::Hooks.
inline std::function<Task<bool>()> still_here(Placement* placement, TabletId tablet) {
  if (placement == nullptr) return nullptr;
  return [placement, tablet] { return placement->still_here(tablet); };
}

// T has stop(), abandon() and on_end(hook) as Leader has them.
template <class T>
class TabletHost final : public ManagedTablet {
 public:
  struct Hooks {
    std::function<Task<Result<std::unique_ptr<T>>>()> boot;
    // All may be absent.
    std::function<void(const std::shared_ptr<T>&)> booted = {};  // Before get() returns it.
    // Awaited before it is stopped; get() returns null by then.
    std::function<Task<void>(const std::shared_ptr<T>&)> ending = {};
    // Awaited when an incarnation has ended by itself. False: it is not booted again until this
    // returns true.
    std::function<Task<bool>()> still_here = {};
    // After a change of what get() or boot_error() returns, or of the tablet's place.
    std::function<void()> changed = {};
    // Passes the record of the tablet to it.
    std::function<void(const std::shared_ptr<T>&)> configure = {};
  };

  // `name` is for the log.
  TabletHost(Executor& executor, std::string name, Hooks hooks)
      : executor_(executor), name_(std::move(name)), hooks_(std::move(hooks)) {}

  void start() override {
    stopping_ = false;
    scope_.spawn(run());
  }
  void configure() override {
    if (tablet_ && hooks_.configure) hooks_.configure(tablet_);
  }
  void note_moved() override { note_change(); }
  // Null while the tablet is not running.
  std::shared_ptr<T> get() const { return tablet_; }
  // Waits until it runs. Null: the deadline has passed, or the host was stopped.
  Task<std::shared_ptr<T>> wait(Instant deadline) {
    while (!tablet_ && !stopping_) {
      if (!co_await ready_.wait_until(deadline)) break;
    }
    co_return tablet_;
  }
  Task<bool> wait_running(Instant deadline) override {
    co_return (co_await wait(deadline)) != nullptr;
  }
  bool running() const override { return tablet_ != nullptr; }
  bool stopping() const { return stopping_; }
  const std::optional<Error>& boot_error() const override { return boot_error_; }

  // Ends this incarnation; another is booted.
  void restart() {
    if (ended_) executor_.post([ended = ended_] { ended->set(true); });
  }
  // Stops it, after operations in flight have ended.
  Task<void> stop() override {
    close();
    co_await scope_.join();
  }
  void abandon() override {
    if (tablet_) tablet_->abandon();
    close();
  }

 private:
  void close() {
    stopping_ = true;
    restart();
    pause_.notify_all();
    ready_.notify_all();
  }

  void note_change() {
    if (hooks_.changed) hooks_.changed();
  }

  Task<void> run() {
    boot_error_.reset();
    Duration pause = kRebootPauseMin;
    while (!stopping_) {
      const Instant began = executor_.now();
      auto booted = co_await hooks_.boot();
      if (booted) {
        if (std::exchange(boot_error_, std::nullopt)) {
          log_info("tablet runs after failed starts", {{"tablet", name_}});
        }
        co_await serve(std::move(*booted));
      } else if (!stopping_) {
        // One line per reason; boots are retried.
        if (!boot_error_ || boot_error_->context != booted.error().context) {
          log_warning("tablet does not start; retrying",
                      {{"tablet", name_}, {"error", booted.error()}});
        }
        boot_error_ = std::move(booted).error();
        note_change();
      }
      const bool ran = booted.has_value();
      while (ran && hooks_.still_here && !stopping_ && !co_await hooks_.still_here()) {
        if (stopping_) break;
        co_await pause_.wait_until(executor_.now() + kRebootPauseMax);
      }
      if (stopping_) break;
      if (executor_.now() - began > kRebootPauseMax) pause = kRebootPauseMin;
      co_await pause_.wait_until(executor_.now() + pause);
      pause = std::min(pause * 2, kRebootPauseMax);
    }
  }

  // From the boot to the end of one incarnation.
  Task<void> serve(std::shared_ptr<T> tablet) {
    const auto ended = std::make_shared<OneShot<bool>>();
    tablet->on_end(
        [ended, &executor = executor_] { executor.post([ended] { ended->set(true); }); });
    if (!stopping_) {
      ended_ = ended;
      if (hooks_.booted) hooks_.booted(tablet);
      tablet_ = tablet;
      note_change();
      ready_.notify_all();
      co_await *ended;
      ended_ = nullptr;
      tablet_ = nullptr;
      note_change();
      if (!stopping_) log_warning("tablet has ended", {{"tablet", name_}});
    }
    if (hooks_.ending) co_await hooks_.ending(tablet);
    co_await tablet->stop();
  }

  Executor& executor_;
  const std::string name_;
  Hooks hooks_;
  std::shared_ptr<T> tablet_;
  std::shared_ptr<OneShot<bool>> ended_;
  std::optional<Error> boot_error_;
  Event ready_{executor_};
  Event pause_{executor_};
  bool stopping_ = false;
  TaskScope scope_;
};

}  // namespace moraine
