#include "sim/node/http_clients.h"

namespace moraine::sim {
namespace {

constexpr Duration kTick = 50ms;

std::vector<std::unique_ptr<TreeWriter>> make_writers(HttpStage& stage) {
  std::vector<std::unique_ptr<TreeWriter>> made;
  for (std::size_t i = 0; i < stage.plan.writers; ++i) {
    made.push_back(std::make_unique<TreeWriter>(stage, i));
  }
  return made;
}

}  // namespace

HttpClients::HttpClients(SimWorld& world, Machines& machines, History& history, HttpPlan plan)
    : stage_{world, machines, history, plan},
      link_(world, machines, history, "http checks"),
      writers_(make_writers(stage_)),
      watcher_(stage_, writers()),
      leases_(stage_),
      expiry_(stage_) {
  for (std::size_t i = 0; i < plan.sharers; ++i) {
    sharers_.push_back(std::make_unique<TreeSharer>(stage_, shared_, i));
  }
  for (std::size_t i = 0; i < plan.tellers; ++i) {
    tellers_.push_back(std::make_unique<HttpTeller>(stage_, ledger_, i));
  }
  schedule_tick();
}

std::vector<TreeWriter*> HttpClients::writers() const {
  std::vector<TreeWriter*> all;
  for (const auto& writer : writers_) all.push_back(writer.get());
  return all;
}

void HttpClients::schedule_tick() {
  stage_.note_clocks();
  stage_.world.executor().schedule(stage_.now() + kTick, [this, alive = alive_] {
    if (*alive) schedule_tick();
  });
}

void HttpClients::start() {
  for (const auto& writer : writers_) scope_.spawn(writer->run());
  scope_.spawn(watcher_.run());
  for (const auto& sharer : sharers_) scope_.spawn(sharer->run());
  scope_.spawn(leases_.run());
  scope_.spawn(expiry_.run());
  for (const auto& teller : tellers_) scope_.spawn(teller->run());
}

Task<bool> HttpClients::check(std::size_t lane) {
  bool done = link_.open_lane(lane);
  for (const auto& writer : writers_) done = done && co_await writer->check(link_);
  done = done && co_await TreeSharer::check(stage_, shared_, link_);
  done = done && co_await leases_.check(link_);
  done = done && co_await expiry_.check(link_);
  done = done && co_await HttpTeller::check(stage_, ledger_, link_);
  link_.close();
  co_return done;
}

}  // namespace moraine::sim
