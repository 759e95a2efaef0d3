#include "crash/tables/tables_campaign.h"

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstdio>

#include "app/child_process.h"
#include "base/log.h"
#include "crash/tables/tables_verify.h"

namespace moraine::crash {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kLoadMsMin = 50;
constexpr std::uint64_t kLoadMsMax = 1'500;
constexpr std::uint64_t kOpenMsMax = 150;
constexpr std::uint64_t kCleanOneIn = 8;
constexpr std::uint64_t kEarlyOneIn = 10;
constexpr auto kReadyWithin = 120s;
constexpr auto kStopWithin = 120s;

enum class End : std::uint8_t { kKilled, kKilledEarly, kStopped };

std::string_view name_of(End end) {
  switch (end) {
    case End::kKilled: return "killed";
    case End::kKilledEarly: return "killed while starting";
    case End::kStopped: return "stopped";
  }
  return "";
}

class TablesCampaign {
 public:
  explicit TablesCampaign(const TablesCampaignOptions& options)
      : options_(options), random_(options.seed), verifier_(truth_, random_) {}

  int run() {
    Result<void> outcome = run_rounds();
    report_findings();
    if (!outcome) fmt::print(stderr, "moraine_crash: {}\n", outcome.error().message());
    const TruthCounts& counts = truth_.counts();
    const TablesVerifyCounts& checked = verifier_.counts();
    fmt::print(
        "{} stops, {} steps of upkeep; aborted {}, unknown {}, pending and applied {}, not applied "
        "{}; "
        "{} rows and {} snapshots of the past verified, {} wrong, {} violations\n",
        stops_, upkeep_, counts.aborted, counts.unknown, counts.found, counts.absent, checked.rows,
        checked.snapshots, checked.wrong, violations_);
    fmt::print("{} kills, {} acknowledged, {} lost, {} half-applied\n", kills_, counts.acknowledged,
               checked.lost, checked.half_applied);
    if (!checked.clean() || violations_ > 0) return 1;
    return outcome ? 0 : 2;
  }

 private:
  Result<void> run_rounds() {
    for (std::uint32_t round = 1; kills_ < options_.rounds; ++round) {
      const TruthCounts before = truth_.counts();
      End end = random_.one_in(kCleanOneIn) ? End::kStopped : End::kKilled;
      if (random_.one_in(kEarlyOneIn)) end = End::kKilledEarly;
      TRY(const std::uint64_t load_ms, run_worker(end));
      ++(end == End::kStopped ? stops_ : kills_);
      TRY_VOID(verify());
      show(round, end, load_ms, before);
      if (!verifier_.counts().clean() || violations_ > 0) return {};
    }
    return {};
  }

  // One run of the program under test. Returns how long it was loaded.
  Result<std::uint64_t> run_worker(End end) {
    app::ChildOptions child;
    child.arguments = {options_.binary,
                       "--tables-worker",
                       data_folder(),
                       "--seed",
                       fmt::format("{}", random_.below(1'000'000'000) + 1),
                       "--first-id",
                       fmt::format("{}", truth_.next_id())};
    child.errors = options_.folder + "/worker.log";
    TRY(app::ChildProcess worker, app::ChildProcess::start(child));
    std::uint64_t load_ms = 0;
    if (end == End::kKilledEarly) {
      load_ms = random_.below(kOpenMsMax);
      TRY_VOID(listen(worker, Clock::now() + std::chrono::milliseconds(load_ms), false));
    } else {
      TRY(const bool ready, listen(worker, Clock::now() + kReadyWithin, true));
      if (!ready) return fail(Errc::kTimeout, "the program did not become ready; see worker.log");
      load_ms = kLoadMsMin + random_.below(kLoadMsMax - kLoadMsMin);
      TRY_VOID(listen(worker, Clock::now() + std::chrono::milliseconds(load_ms), false));
    }
    TRY_VOID(finish(worker, end));
    return load_ms;
  }

  Result<void> finish(app::ChildProcess& worker, End end) {
    if (!worker.running()) {
      return fail(
          Errc::kUnavailable,
          fmt::format("the program ended by itself with {}; see worker.log", worker.wait()));
    }
    worker.send(end == End::kStopped ? SIGTERM : SIGKILL);
    // Reports sent before it died are still in the pipe.
    TRY_VOID(listen(worker, Clock::now() + kStopWithin, false));
    if (worker.running() && end == End::kStopped && !ended_) {
      return fail(Errc::kTimeout, "the program did not stop; see worker.log");
    }
    const int code = worker.wait();
    if (end == End::kStopped && code != 0) {
      return fail(Errc::kUnavailable, fmt::format("a clean stop ended with {}", code));
    }
    return {};
  }

  // Processes reports until the deadline, the program's end, or, with `for_ready`, until "ready":
  // then returns true.
  Result<bool> listen(app::ChildProcess& worker, Clock::time_point deadline, bool for_ready) {
    ended_ = false;
    for (;;) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
      if (left.count() <= 0) return false;
      const auto line = worker.read_line(left);
      if (!line && line.error().code == Errc::kTimeout) return false;
      if (!line) {
        ended_ = true;
        return false;
      }
      TRY(const Report report, parse_report(*line));
      take(report);
      if (for_ready && report.kind == Report::Kind::kReady) return true;
    }
  }

  void take(const Report& report) {
    switch (report.kind) {
      case Report::Kind::kPending: truth_.begin(report.transaction); break;
      case Report::Kind::kCommitted: truth_.committed(report.transaction.id, report.commit); break;
      case Report::Kind::kAborted: truth_.aborted(report.transaction.id); break;
      case Report::Kind::kUnknown: truth_.unknown(report.transaction.id); break;
      case Report::Kind::kUpkeep: ++upkeep_; break;
      case Report::Kind::kViolation: truth_.violations().push_back(report.text); break;
      case Report::Kind::kReady:
      case Report::Kind::kStopped: break;
    }
  }

  // In this process: opens, reads and closes what the killed one left.
  Result<void> verify() {
    OpenOptions open;
    open.device_bytes = std::uint64_t{2} << 30;
    open.block_cache_bytes = std::size_t{16} << 20;
    TRY(Database database, Database::open(data_folder(), open));
    TRY_VOID(bring_up(database));
    TRY_VOID(verifier_.verify(database));
    report_findings();
    return {};
  }

  void report_findings() {
    for (const std::string& line : verifier_.take_reports()) fmt::print("{}\n", line);
    for (const std::string& what : truth_.violations()) fmt::print("VIOLATION {}\n", what);
    violations_ += truth_.violations().size();
    truth_.violations().clear();
  }

  void show(std::uint32_t round, End end, std::uint64_t load_ms, const TruthCounts& before) {
    const TruthCounts& counts = truth_.counts();
    fmt::print(
        "round {}: {} after {} ms; acknowledged {} (in all {}), aborted {}, pending and applied "
        "{}, "
        "not applied {}; so far lost {}, half-applied {}\n",
        round, name_of(end), load_ms, counts.acknowledged - before.acknowledged,
        counts.acknowledged, counts.aborted - before.aborted, counts.found - before.found,
        counts.absent - before.absent, verifier_.counts().lost, verifier_.counts().half_applied);
    std::fflush(stdout);
  }

  std::string data_folder() const { return options_.folder + "/data"; }

  const TablesCampaignOptions options_;
  SeededRandom random_;
  TablesTruth truth_;
  TablesVerifier verifier_;
  std::uint32_t kills_ = 0;
  std::uint32_t stops_ = 0;
  std::uint64_t upkeep_ = 0;
  std::uint64_t violations_ = 0;
  bool ended_ = false;
};

}  // namespace

int run_tables_campaign(const TablesCampaignOptions& options) {
  set_log_level(LogLevel::kError);
  return TablesCampaign(options).run();
}

}  // namespace moraine::crash
