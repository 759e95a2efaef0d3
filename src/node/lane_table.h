// LaneTable: a tablet of a table on its own lane, for the code that keeps it running.
//
// Promise    Calls run on the tablet's lane and return on the control lane. When both are one lane,
//            they are plain calls.
// Threading  The control lane. tablet() is for readers on any thread.
// Tests      lanes_test.cpp.
#pragma once

#include <functional>
#include <memory>

#include "io/run_on.h"
#include "node/tablet_turns.h"
#include "table/tablet/table_tablet.h"

namespace moraine {

class LaneTable {
 public:
  LaneTable(std::unique_ptr<table::TableTablet> tablet, Executor& home, Executor& control)
      : tablet_(std::move(tablet)), home_(home), control_(control) {}
  LaneTable(const LaneTable&) = delete;
  LaneTable& operator=(const LaneTable&) = delete;

  const std::shared_ptr<table::TableTablet>& tablet() const { return tablet_; }
  Executor& home() const { return home_; }
  // Of a tablet that was booted for a while: others boot it when this object is gone.
  void keep_turn(TabletTurns::Held turn) { turn_ = std::move(turn); }

  // The result of a coroutine of the tablet.
  template <class Body>
  std::invoke_result_t<Body, table::TableTablet&> run(Body body) {
    const auto tablet = tablet_;  // This object may be destroyed meanwhile.
    Executor& home = home_;
    Executor& control = control_;
    co_return co_await run_on(home, control, [&] { return body(*tablet); });
  }
  // The result of a plain call of the tablet.
  template <class Body>
  Task<std::invoke_result_t<Body, table::TableTablet&>> get(Body body) {
    const auto tablet = tablet_;
    Executor& control = control_;
    co_await hop(home_);
    auto result = body(*tablet);
    co_await hop(control);
    co_return result;
  }
  // A plain call whose result does not matter, in the order of the calls.
  void post(std::function<void(table::TableTablet&)> body) {
    if (&home_ == &control_) return body(*tablet_);
    home_.post([tablet = tablet_, body = std::move(body)] { body(*tablet); });
  }

  Task<void> stop() {
    return run([](table::TableTablet& tablet) { return tablet.stop(); });
  }
  void abandon() {
    post([](table::TableTablet& tablet) { tablet.abandon(); });
  }
  void on_end(Callback hook) {
    if (&home_ == &control_) return tablet_->on_end(std::move(hook));
    const auto shared = std::make_shared<Callback>(std::move(hook));
    post([shared, &control = control_](table::TableTablet& tablet) {
      tablet.on_end([shared, &control] { control.post([shared] { (*shared)(); }); });
    });
  }

 private:
  const std::shared_ptr<table::TableTablet> tablet_;
  Executor& home_;
  Executor& control_;
  TabletTurns::Held turn_;
};

}  // namespace moraine
