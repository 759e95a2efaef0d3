#include "crash/tables/writer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

namespace moraine::crash {
namespace {

constexpr std::uint64_t kTransferOneIn = 4;
constexpr std::uint64_t kTrimOneIn = 12;
constexpr std::uint64_t kCheckOneIn = 4;
constexpr std::uint64_t kOneShardOneIn = 2;
constexpr std::uint64_t kRowsMax = 8;
constexpr std::size_t kTrimRowsMax = 40;
constexpr std::uint64_t kTransferMax = 1'000;

// The API guarantees that nothing was changed.
bool nothing_done(Errc code) {
  return code != Errc::kUnknownOutcome;
}

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text.substr(0, 1'000);
}

}  // namespace

void ReportWriter::send(std::string line) {
  line += '\n';
  const std::lock_guard lock(mutex_);
  // The reader of the pipe is gone: stop.
  if (::write(STDOUT_FILENO, line.data(), line.size()) != std::ssize(line)) stopping = true;
}

Result<void> Writer::refresh() {
  for (std::uint32_t table = 0; table < kTables; ++table) {
    TRY(Table opened, database_.table(path_of(table)));
    tables_[table].emplace(std::move(opened));
  }
  return {};
}

bool Writer::knows(const TransactionReport& report, const RowName& row) const {
  return std::ranges::find(report.changes, row, &RowChangeReport::row) != report.changes.end();
}

void Writer::draw_rows(TransactionReport& report) {
  const bool one_shard = random_.one_in(kOneShardOneIn);
  const auto table = static_cast<std::uint32_t>(random_.below(kSums));
  const auto shard = static_cast<std::int64_t>(random_.below(kShards));
  const std::uint64_t rows = 1 + random_.below(kRowsMax);
  for (std::uint64_t i = 0; i < rows; ++i) {
    RowChangeReport change;
    change.row = {table, shard, static_cast<std::int64_t>(random_.below(kKeysPerShard))};
    if (!one_shard) {
      change.row.table = static_cast<std::uint32_t>(random_.below(kSums));
      change.row.shard = static_cast<std::int64_t>(random_.below(kShards));
    }
    if (knows(report, change.row)) continue;
    const std::uint64_t kind = random_.below(10);
    if (kind < 3) {
      change.kind = RowChangeKind::kDelete;
    } else if (kind < 5) {
      change.kind = RowChangeKind::kDelta;
      change.argument = 1 + static_cast<std::int64_t>(random_.below(100));
    } else {
      change.argument = extras_of(tables_[change.row.table]->schema());
    }
    report.changes.push_back(change);
  }
}

void Writer::draw_transfer(TransactionReport& report) {
  const auto amount = static_cast<std::int64_t>(1 + random_.below(kTransferMax));
  RowChangeReport change;
  change.kind = RowChangeKind::kDelta;
  for (const std::int64_t delta : {amount, -amount}) {
    do {
      change.row = {kSums, static_cast<std::int64_t>(random_.below(kShards)),
                    static_cast<std::int64_t>(random_.below(kKeysPerShard))};
    } while (knows(report, change.row));
    change.argument = delta;
    report.changes.push_back(change);
  }
}

// Deletes markers of transactions that were settled before this process began.
bool Writer::draw_trim(TransactionReport& report) {
  const auto table = static_cast<std::uint32_t>(random_.below(kTables));
  const auto shard = static_cast<std::int64_t>(random_.below(kShards));
  ScanOptions options;
  options.from = {Value(shard), Value(kMarkerBase)};
  options.to = {Value(shard), Value(kMarkerBase + static_cast<std::int64_t>(reports_.first_id()))};
  options.row_limit = kTrimRowsMax;
  auto scan = tables_[table]->scan(std::move(options));
  ScanBatch batch;
  while (scan) {
    const auto more = scan->next(batch);
    if (!more || !*more) break;
    for (std::size_t i = 0; i < batch.rows; ++i) {
      const RowName row{table, shard, batch.columns[1].at(i).as_int64()};
      report.changes.push_back({row, RowChangeKind::kDelete, 0});
    }
  }
  return !report.changes.empty();
}

void Writer::add_markers(TransactionReport& report) {
  std::set<RowName> markers;
  for (const RowChangeReport& change : report.changes) {
    markers.insert(marker_of(change.row, report.id));
  }
  for (const RowName& marker : markers) {
    const std::int64_t extras = extras_of(tables_[marker.table]->schema());
    report.changes.push_back({marker, RowChangeKind::kPut, extras});
  }
}

TransactionReport Writer::draw() {
  TransactionReport report;
  report.id = reports_.new_id();
  if (random_.one_in(kTransferOneIn)) {
    draw_transfer(report);
  } else {
    draw_rows(report);
  }
  add_markers(report);
  return report;
}

Result<void> Writer::fill(Transaction& transaction, const TransactionReport& report) {
  for (const RowChangeReport& change : report.changes) {
    TRY_VOID(add_change(transaction, *tables_[change.row.table], report.id, change));
  }
  return {};
}

bool Writer::answered(const TransactionReport& report, const Result<Timestamp>& committed) {
  if (committed) {
    reports_.send(fmt::format("committed {} {}", report.id, *committed));
    return true;
  }
  const bool aborted = nothing_done(committed.error().code);
  reports_.send(fmt::format("{} {} {}", aborted ? "aborted" : "unknown", report.id,
                            one_line(committed.error().message())));
  return false;
}

bool Writer::write() {
  TransactionReport report;
  if (random_.one_in(kTrimOneIn)) {
    report.id = reports_.new_id();
    if (!draw_trim(report)) return true;
    add_markers(report);
  } else {
    report = draw();
  }
  auto transaction = database_.begin();
  if (!transaction) return false;
  report.start = transaction->start();
  const auto filled = fill(*transaction, report);
  if (!filled) {
    reports_.send("violation refused: " + one_line(filled.error().message()));
    return false;
  }
  reports_.send(to_line(report));
  const auto committed = transaction->commit();
  if (committed && random_.one_in(kCheckOneIn)) check_own(report, *committed);
  return answered(report, committed);
}

Task<bool> Writer::write_async() {
  TransactionReport report = draw();
  auto transaction = co_await database_.begin_async();
  if (!transaction) co_return false;
  report.start = transaction->start();
  const auto filled = fill(*transaction, report);
  if (!filled) {
    reports_.send("violation refused: " + one_line(filled.error().message()));
    co_return false;
  }
  reports_.send(to_line(report));
  const auto committed = co_await transaction->commit_async();
  co_return answered(report, committed);
}

// At the timestamp of its commit a row must be what the transaction wrote.
void Writer::check_own(const TransactionReport& report, Timestamp commit) {
  ReadOptions options;
  options.timestamp = commit;
  Rowset rows;
  for (const RowChangeReport& change : report.changes) {
    const Table& table = *tables_[change.row.table];
    const auto found =
        table.lookup({Value(change.row.shard), Value(change.row.key)}, options, rows);
    // The table is being unmounted, or the timestamp is no longer retained.
    if (!found) return;
    bool right = rows.exists(0) == (change.kind != RowChangeKind::kDelete);
    std::string read = "no row";
    if (rows.exists(0)) {
      const auto state = state_of(table.schema(), change.row, rows.row(0));
      read = state ? to_string(*state) : state.error().message();
      const bool put = change.kind == RowChangeKind::kPut;
      right = right && state && (!put || state->writer == report.id);
      right = right && (change.kind != RowChangeKind::kDelta || state->sum.has_value());
    }
    if (right) continue;
    reports_.send(fmt::format("violation row {} at the commit {} of transaction {}, change {}: {}",
                              to_string(change.row), commit, report.id,
                              static_cast<char>(change.kind), one_line(read)));
  }
}

}  // namespace moraine::crash
