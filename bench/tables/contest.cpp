#include "bench/tables/contest.h"

#include <thread>
#include <vector>

namespace moraine::bench {

Result<Contest> take_turns(int rounds, const Side& ours, const Side& peer) {
  Contest contest;
  for (int i = 0; i <= rounds; ++i) {
    TRY(Round own, ours());
    TRY(Round other, peer());
    if (i == 0) continue;
    contest.ours.add(std::move(own));
    contest.peer.add(std::move(other));
  }
  return contest;
}

Result<void> on_threads(std::uint32_t threads,
                        const std::function<Result<void>(std::uint32_t)>& work) {
  std::vector<Result<void>> results(threads);
  std::vector<std::thread> workers;
  for (std::uint32_t i = 0; i < threads; ++i) {
    workers.emplace_back([&, i] { results[i] = work(i); });
  }
  for (std::thread& worker : workers) worker.join();
  for (Result<void>& result : results) {
    if (!result) return std::move(result);
  }
  return {};
}

void add_faster(Report& report, const std::string& name, double ours, const std::string& unit,
                double peer, std::optional<double> goal) {
  Line line{"tables", name, ours, unit, kPeerName, peer};
  if (goal) line.goal = Goal{Goal::Of::kRatioAtLeast, *goal};
  report.add(std::move(line));
}

void add_smaller(Report& report, const std::string& name, double ours, const std::string& unit,
                 double peer, std::optional<double> times) {
  Line line{"tables", name, ours, unit, kPeerName, peer};
  if (times) line.goal = Goal{Goal::Of::kValueAtMost, peer * *times};
  report.add(std::move(line));
}

void add_rate(Report& report, const std::string& name, const Contest& contest, double goal) {
  add_faster(report, name, contest.ours.operations_per_second(), "ops/s",
             contest.peer.operations_per_second(), goal);
}

}  // namespace moraine::bench
