// Database: a data folder opened inside this process.
//
//   moraine::Result<std::string> ada(moraine::Database& db) {
//     auto users = db.table("/users");
//     if (!users) return std::unexpected(users.error());
//     auto tx = db.begin();
//     if (!tx) return std::unexpected(tx.error());
//     auto written = tx->insert(*users, {{"id", 1}, {"name", "Ada"}});
//     if (!written) return std::unexpected(written.error());
//     auto committed = tx->commit();
//     if (!committed) return std::unexpected(committed.error());
//     moraine::Rowset rows;
//     auto found = users->lookup({1}, {}, rows);
//     if (!found) return std::unexpected(found.error());
//     return rows.exists(0) ? std::string(rows.at(0, 1).text()) : "nobody";
//   }
//
// Promise    What was answered OK is durable. Reads at one timestamp, over any tables, see the same
//            moment (table.h, transaction.h).
// Threading  A Database: any thread. Lookups of data in memory run on the caller's thread; all else
//            on the database's own thread, for which the plain forms wait. The forms that give a
//            Task are awaited by coroutines on that thread (run()); what has no such form does not
//            wait and is called there as it is, but for open(). A Task takes its arguments by
//            value; the object it was asked of and what it fills live until it has ended.
// Texts      A Value borrows its text. Plain calls keep copies: texts of rows, keys, bounds and
//            filters may go when the call has returned. A Task needs those that it was given until
//            it has ended. Texts of answers live with what holds them: a Rowset until it is filled
//            again, a ScanBatch until the next step, a report or VersionedResult by its `memory`.
// Limits     docs/limits.md. One process has a folder open.
// Errors     Every call returns its failure, with a text that says what was wrong; the compiler
//            warns of results that are ignored. kNotFound: no such table, or it was removed since.
//            kAborted: the transaction lost to another one, or was not used for too long; begin it
//            anew.
//            kReadOnly: the table is not mounted, or in a state in which this cannot be done.
//            kUnknownOutcome: a commit may or may not have taken effect. kUnavailable: of a change
//            of a table: it may or may not have been made; else: nothing was done.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "moraine/result.h"
#include "moraine/row.h"
#include "moraine/schema.h"
#include "moraine/table.h"
#include "moraine/table_options.h"
#include "moraine/table_report.h"
#include "moraine/task.h"
#include "moraine/transaction.h"

namespace moraine {

namespace embed {
struct NodeParts;
}

struct OpenOptions {
  bool create = true;              // Makes the folder when it is missing.
  std::uint64_t device_bytes = 0;  // Of a new folder's device; 0: as `moraine init` chooses.
  std::size_t block_cache_bytes = std::size_t{256} << 20;
  std::size_t compressed_cache_bytes = 0;
  // Of tables with an in_memory_mode, all together. Chunks that do not fit are read from the disk;
  // describe_table() and the metrics say so.
  std::size_t in_memory_bytes = std::size_t{1} << 30;
  std::size_t row_cache_bytes = std::size_t{64} << 20;
  // Confirms the wall clock though it is far ahead of the newest timestamp in the folder: open()
  // refuses a clock that is more than 30 days ahead, since one that is wrong would make live data
  // expire. The environment variable MORAINE_ACCEPT_CLOCK=1 does the same.
  bool accept_clock = false;
};

class Database {
 public:
  struct Impl;
  // kConflict: another process has had it open for two seconds; a killed process releases it a
  // moment after it exits. kNoSpace: not enough free space for what a start writes.
  // kUnavailable: the wall clock is not believed (OpenOptions::accept_clock).
  [[nodiscard]] static Result<Database> open(const std::string& folder, OpenOptions options = {});
  // The tables of a node that this process runs already, which goes on when this is gone
  // (src/embed/node_parts.h).
  static Database connect(const embed::NodeParts& parts);
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  // Stops cleanly, once tables, scans and transactions that were got from it are gone too.
  ~Database();

  // Reading and writing. After alter_table() a table is taken anew: reads and writes through the
  // old handle fail with kInvalidArgument.
  [[nodiscard]] Result<Table> table(std::string_view path) const;
  [[nodiscard]] Result<Transaction> begin(TransactionOptions options = {});
  // A moment to read at: all that is committed now, and nothing later.
  [[nodiscard]] Result<Timestamp> timestamp();
  // Confirms the wall clock after it has jumped ahead by more than a day while the database was
  // open: until then begin(), commit() and timestamp() fail and say so.
  void accept_clock();

  // Makes missing parent directories, and mounts the table. `pivots`: first keys of the second
  // tablet and those after it.
  [[nodiscard]] Result<void> create_table(std::string_view path, const TableSchema& schema,
                                          const TableOptions& options = {},
                                          std::span<const std::vector<Value>> pivots = {});
  [[nodiscard]] Result<void> remove_table(std::string_view path);
  // kConflict: there is something in it; the text names it.
  [[nodiscard]] Result<void> remove_directory(std::string_view path);
  [[nodiscard]] Result<std::vector<std::string>> list_tables() const;
  [[nodiscard]] Result<TableReport> describe_table(std::string_view path) const;

  // A mounted table is read and written, a frozen one is read.
  [[nodiscard]] Result<void> mount_table(std::string_view path, bool frozen = false);
  [[nodiscard]] Result<void> unmount_table(std::string_view path);
  [[nodiscard]] Result<void> freeze_table(std::string_view path);
  [[nodiscard]] Result<void> unfreeze_table(std::string_view path);

  // Options are stored when they are set, and in force after the next mount_table() or
  // remount_table(); describe_table() says whether they wait for one. in_memory_mode and atomicity
  // change while the table is unmounted (kReadOnly).
  [[nodiscard]] Result<void> set_options(std::string_view path, const TableOptions& options);
  // The same for some of them, by their YTsaurus names and as text:
  //   set_attributes("/t", {{"forced_compaction_revision", "1"}}), then remount_table("/t"),
  // compacts all rows that are there.
  [[nodiscard]] Result<void> set_attributes(std::string_view path,
                                            const std::map<std::string, std::string>& attributes);
  // A mounted table goes on by the options that are stored; with `options`, after these were.
  [[nodiscard]] Result<void> remount_table(std::string_view path);
  [[nodiscard]] Result<void> remount_table(std::string_view path, const TableMountOptions& options);

  // Unmounted tables only.
  [[nodiscard]] Result<void> alter_table(std::string_view path, const TableSchema& schema);
  [[nodiscard]] Result<void> reshard_table(std::string_view path,
                                           std::span<const std::vector<Value>> pivots);
  // Into at most so many tablets of about equal size, as far as the keys of chunks tell. Gives how
  // many it has now: a small table may have fewer than were asked for.
  [[nodiscard]] Result<std::size_t> reshard_table(std::string_view path, std::size_t tablets);

  // Mounted tables only: writes memory stores to chunks; compacts all chunks.
  [[nodiscard]] Result<void> flush_table(std::string_view path);
  [[nodiscard]] Result<void> compact_table(std::string_view path);
  // Waits until neither has work and the file system has dead space back.
  [[nodiscard]] Result<void> settle_table(std::string_view path);

  // Static tables: rows come in whole writes, sorted by their key columns (which may repeat unless
  // schema.unique_keys says otherwise) or, without key columns, in the order given. They are read
  // by Table::scan, whose bounds are row numbers when there are no key columns; with unique keys
  // also by lookups.
  [[nodiscard]] Result<void> create_static_table(std::string_view path, const TableSchema& schema,
                                                 const TableOptions& options = {});
  // All rows or none are added, after those that are there, which their keys may not be below. All
  // have one timestamp: snapshots that began before it do not see them, those that begin while they
  // are written wait for them.
  [[nodiscard]] Result<void> write_static_table(std::string_view path,
                                                std::span<const std::vector<NamedValue>> rows);
  // A sorted static table with unique keys becomes a dynamic one, mounted. Its rows keep their
  // timestamps.
  [[nodiscard]] Result<void> make_dynamic(std::string_view path);

  // Prometheus text.
  std::string metrics() const;
  // What is stored takes up this much: an idle database gives dead space back after about a second.
  std::uint64_t device_bytes_used() const;
  std::uint64_t device_bytes_written() const;

  // Runs a coroutine on the database's thread and waits for it. It uses the forms that give a Task;
  // those that wait would wait for themselves. Several at once: when_all.h.
  template <class T>
  T run(std::function<Task<T>()> body);

  // The same as above, for coroutines.
  Task<Result<Table>> table_async(std::string path) const;
  Task<Result<Transaction>> begin_async(TransactionOptions options = {});
  Task<Result<Timestamp>> timestamp_async();
  Task<Result<void>> create_table_async(std::string path, TableSchema schema,
                                        TableOptions options = {},
                                        std::vector<std::vector<Value>> pivots = {});
  Task<Result<void>> remove_table_async(std::string path);
  Task<Result<void>> remove_directory_async(std::string path);
  Task<Result<std::vector<std::string>>> list_tables_async() const;
  Task<Result<TableReport>> describe_table_async(std::string path) const;
  Task<Result<void>> mount_table_async(std::string path, bool frozen = false);
  Task<Result<void>> unmount_table_async(std::string path);
  Task<Result<void>> freeze_table_async(std::string path);
  Task<Result<void>> unfreeze_table_async(std::string path);
  Task<Result<void>> set_options_async(std::string path, TableOptions options);
  Task<Result<void>> set_attributes_async(std::string path,
                                          std::map<std::string, std::string> attributes);
  Task<Result<void>> remount_table_async(std::string path);
  Task<Result<void>> remount_table_async(std::string path, TableMountOptions options);
  Task<Result<void>> alter_table_async(std::string path, TableSchema schema);
  Task<Result<void>> reshard_table_async(std::string path, std::vector<std::vector<Value>> pivots);
  Task<Result<std::size_t>> reshard_table_async(std::string path, std::size_t tablets);
  Task<Result<void>> flush_table_async(std::string path);
  Task<Result<void>> compact_table_async(std::string path);
  Task<Result<void>> settle_table_async(std::string path);
  Task<Result<void>> create_static_table_async(std::string path, TableSchema schema,
                                               TableOptions options = {});
  Task<Result<void>> write_static_table_async(std::string path,
                                              std::vector<std::vector<NamedValue>> rows);
  Task<Result<void>> make_dynamic_async(std::string path);
  Task<std::string> metrics_async() const;
  Task<std::uint64_t> device_bytes_used_async() const;
  Task<std::uint64_t> device_bytes_written_async() const;

 private:
  explicit Database(std::unique_ptr<Impl> impl);
  void run_and_wait(std::function<Task<void>()> body);
  std::unique_ptr<Impl> impl_;
};

template <class T>
T Database::run(std::function<Task<T>()> body) {
  if constexpr (std::is_void_v<T>) {
    run_and_wait(std::move(body));
  } else {
    std::optional<T> result;
    run_and_wait([&]() -> Task<void> { result.emplace(co_await body()); });
    return std::move(*result);
  }
}

}  // namespace moraine
