#include "crash/tables/worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>
#include <vector>

#include "base/log.h"
#include "crash/tables/upkeep.h"

namespace moraine::crash {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kWriterThreads = 4;
constexpr std::size_t kCoroutineThreads = 6;
constexpr int kTransactionsPerHandle = 25;
constexpr auto kAfterError = 2ms;
constexpr auto kUpkeepPause = 15ms;

void write_in_thread(Database& database, ReportWriter& reports, std::uint64_t seed) {
  Writer writer(database, reports, seed);
  while (!reports.stopping) {
    if (!writer.refresh()) continue;
    for (int i = 0; i < kTransactionsPerHandle && !reports.stopping; ++i) {
      if (writer.write()) continue;
      std::this_thread::sleep_for(kAfterError);
      break;
    }
  }
}

Task<bool> write_some(Writer& writer, ReportWriter& reports) {
  for (int i = 0; i < kTransactionsPerHandle && !reports.stopping; ++i) {
    if (!co_await writer.write_async()) co_return false;
  }
  co_return true;
}

void write_in_coroutine(Database& database, ReportWriter& reports, std::uint64_t seed) {
  Writer writer(database, reports, seed);
  while (!reports.stopping) {
    if (!writer.refresh()) continue;
    const bool fine = database.run<bool>([&] { return write_some(writer, reports); });
    if (!fine) std::this_thread::sleep_for(kAfterError);
  }
}

Result<std::int64_t> total_at(const Table& table, Timestamp timestamp) {
  ScanOptions options;
  options.read.timestamp = timestamp;
  TRY(options.read.columns, table.columns({"sum"}));
  TRY(Scan scan, table.scan(std::move(options)));
  ScanBatch batch;
  std::int64_t total = 0;
  for (;;) {
    TRY(const bool more, scan.next(batch));
    if (!more) return total;
    for (std::size_t i = 0; i < batch.rows; ++i) {
      const Value sum = batch.columns[0].at(i);
      if (!sum.is_null()) total += sum.as_int64();
    }
  }
}

// In every snapshot the sums add up to zero.
void read_totals(Database& database, ReportWriter& reports) {
  while (!reports.stopping) {
    std::this_thread::sleep_for(kAfterError);
    const auto table = database.table(path_of(kSums));
    const auto now = database.timestamp();
    if (!table || !now) continue;
    const auto total = total_at(*table, *now);
    if (total && *total != 0) {
      reports.send(fmt::format("violation the sums add up to {} at {}", *total, *now));
    }
    // Not mounted, or the tablet has stopped meanwhile.
    if (!total && total.error().code == Errc::kCorrupt) {
      reports.send("violation reading the sums: " + total.error().message());
    }
  }
}

void run_upkeep(Database& database, ReportWriter& reports, std::uint64_t seed) {
  Upkeep upkeep(database, reports, seed);
  while (!reports.stopping) {
    upkeep.step();
    std::this_thread::sleep_for(kUpkeepPause);
  }
}

void run_load(Database& database, ReportWriter& reports, std::uint64_t seed,
              const sigset_t& ending) {
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < kWriterThreads; ++i) {
    threads.emplace_back([&, i] { write_in_thread(database, reports, seed + i + 1); });
  }
  for (std::size_t i = 0; i < kCoroutineThreads; ++i) {
    threads.emplace_back([&, i] { write_in_coroutine(database, reports, seed + i + 1'001); });
  }
  threads.emplace_back([&] { read_totals(database, reports); });
  threads.emplace_back([&] { run_upkeep(database, reports, seed); });
  int signal = 0;
  sigwait(&ending, &signal);
  reports.stopping = true;
}

int could_not(ReportWriter& reports, std::string what, const Error& error) {
  fmt::print(stderr, "moraine_crash worker: {}: {}\n", what, error.message());
  std::string text = error.message();
  std::ranges::replace(text, '\n', ' ');
  reports.send(fmt::format("violation {}: {}", what, text.substr(0, 1'000)));
  return 2;
}

}  // namespace

int run_tables_worker(const WorkerOptions& options) {
  set_log_level(LogLevel::kWarning);
  // Before the first thread, so that all of them inherit the mask for sigwait().
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  ReportWriter reports(options.first_id);
  OpenOptions open;
  open.device_bytes = std::uint64_t{2} << 30;
  open.block_cache_bytes = std::size_t{4} << 20;
  open.row_cache_bytes = std::size_t{4} << 20;
  {
    auto database = Database::open(options.folder, open);
    if (!database) return could_not(reports, "cannot open", database.error());
    const auto up = bring_up(*database);
    if (!up) return could_not(reports, "cannot bring up the tables", up.error());
    reports.send("ready");
    run_load(*database, reports, options.seed * 1'000'000, ending);
  }
  reports.send("stopped");
  return 0;
}

}  // namespace moraine::crash
