// The program under test: embeds the database, and reports what it does to standard output
// (report.h).
//
// Promise    A transaction is reported as pending with all of its rows before its commit is
//            requested, and its outcome when the commit returns. What the program itself finds
//            wrong is reported as a violation: a snapshot in which the sums do not add up to zero,
//            a row at the timestamp of its own commit that is not the one written.
// Threading  Blocking threads, coroutines on the database's thread, a reader, and one thread that
//            flushes, compacts, unmounts, reshards and alters. SIGTERM ends it cleanly.
#pragma once

#include <cstdint>
#include <string>

namespace moraine::crash {

struct WorkerOptions {
  std::string folder;  // Of the database; created when it is missing.
  std::uint64_t seed = 1;
  std::uint64_t first_id = 1;  // Of transactions. Markers of earlier ones may be deleted.
};

// 0: stopped cleanly. 2: could not run.
int run_tables_worker(const WorkerOptions& options);

}  // namespace moraine::crash
