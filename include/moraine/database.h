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
// Promise    A write that returned OK is durable. Reads at one timestamp, over any tables, see one
//            consistent snapshot (table.h, transaction.h).
// Threading  A Database: any thread. A call that returns a Task has this one form for all callers:
//            coroutines on the database's threads await it, other threads pass it to run(), which
//            waits: db.run(db.create_table(...)). Reads, transactions and timestamps also have a
//            blocking form, which often finishes on the caller's thread: what is in memory is read
//            there. A coroutine awaits the form with _async in its name instead. Calls that have no
//            such form do not block, except open() and run(). A Task takes its arguments by value;
//            the object that it was called on and the object that it fills must live until it has
//            finished.
// Texts      A Value borrows its text. Calls that return no Task, and write_static_table(), copy
//            the texts of rows, keys, bounds and filters: the caller may free them once the call
//            has returned. Any other Task needs the texts passed to it until it has finished. Texts
//            of results live as long as their owner: a Rowset until it is filled again, a ScanBatch
//            until the next step, a report or VersionedResult as long as its `memory`.
// Limits     docs/limits.md. Only one process can have a folder open.
// Errors     Every call returns its failure with a text that says what was wrong; the compiler
//            warns about ignored results. kNotFound: the table does not exist or was removed.
//            kAborted: the transaction lost a conflict or timed out; begin a new one. kReadOnly:
//            the table is not mounted, or is in a state that does not permit this operation.
//            kNotHere: a tablet is being started; nothing was done, retry after a pause.
//            kUnknownOutcome: a commit, or a change of a table or topic, may or may not have been
//            made. kTimeout of a change: it is stored, but tablets have not followed in time; they
//            will. kUnavailable and kOverloaded: nothing was done, retry later.
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
#include "moraine/topic.h"
#include "moraine/transaction.h"

namespace moraine {

namespace embed {
struct NodeParts;
}

struct OpenOptions {
  bool create = true;              // Creates the folder when it is missing.
  std::size_t lanes = 0;           // Event-loop threads; 0: one per processor.
  std::uint64_t device_bytes = 0;  // Size of a new folder's device; 0: as `moraine init` chooses.
  // Memory to share out to rows that are not flushed and to caches, at least 256 MiB: 1/8 for
  // blocks, 1/16 for rows, 1/8 for tables with an in_memory_mode, 1/8 for topics, whatever is set
  // below. 0: by the machine's memory, and as below.
  std::size_t memory_bytes = 0;
  std::size_t block_cache_bytes = std::size_t{256} << 20;
  std::size_t compressed_cache_bytes = 0;
  // Total for all tables with an in_memory_mode. Chunks that do not fit are read from the disk;
  // describe_table() and the metrics report them.
  std::size_t in_memory_bytes = std::size_t{1} << 30;
  std::size_t row_cache_bytes = std::size_t{64} << 20;
  std::size_t topic_cache_bytes = std::size_t{64} << 20;  // Taken as messages are written and read.
  // Accepts the wall clock though it is far ahead of the newest timestamp in the folder. By default
  // open() refuses a clock that is more than 30 days ahead, since a wrong clock would make live
  // data expire. The environment variable MORAINE_ACCEPT_CLOCK=1 does the same.
  bool accept_clock = false;
};

class Database {
 public:
  struct Impl;
  // kConflict: another process still had the folder open after two seconds; the lock of a killed
  // process is released a moment after it exits. kNoSpace: not enough free space for what a start
  // writes. kUnavailable: the wall clock is too far ahead (OpenOptions::accept_clock).
  [[nodiscard]] static Result<Database> open(const std::string& folder, OpenOptions options = {});
  // The tables of a node that already runs in this process; the node keeps running when this object
  // is destroyed (src/embed/node_parts.h).
  static Database connect(const embed::NodeParts& parts);
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  // Stops cleanly, once all tables, scans, transactions and topics obtained from it are destroyed
  // too. Reads of topics that wait fail with kUnavailable.
  ~Database();

  // Reading and writing. After alter_table() call table() again: reads and writes through the old
  // handle fail with kInvalidArgument.
  [[nodiscard]] Result<Table> table(std::string_view path) const;
  [[nodiscard]] Result<Transaction> begin(TransactionOptions options = {});
  Task<Result<Transaction>> begin_async(TransactionOptions options = {});
  // A timestamp to read at: such a read sees all that is committed now, and nothing later.
  [[nodiscard]] Result<Timestamp> timestamp();
  Task<Result<Timestamp>> timestamp_async();
  // Accepts the wall clock after it has jumped ahead by more than a day while the database was
  // open. Until then begin(), commit() and timestamp() fail with a text that says so.
  void accept_clock();

  // Creates missing parent directories, and mounts the table. `pivots`: first keys of the second
  // and following tablets.
  Task<Result<void>> create_table(std::string_view path, TableSchema schema,
                                  TableOptions options = {},
                                  std::vector<std::vector<Value>> pivots = {});
  Task<Result<void>> remove_table(std::string_view path);
  // kConflict: the directory is not empty; the text names an entry.
  Task<Result<void>> remove_directory(std::string_view path);
  std::vector<std::string> list_tables() const;
  Task<Result<TableReport>> describe_table(std::string_view path) const;

  // A mounted table can be read and written, a frozen one can only be read.
  // `state`: kMounted or kFrozen.
  Task<Result<void>> mount_table(std::string_view path, MountState state = MountState::kMounted);
  Task<Result<void>> unmount_table(std::string_view path);
  Task<Result<void>> freeze_table(std::string_view path);
  Task<Result<void>> unfreeze_table(std::string_view path);

  // Options are stored when they are set, and take effect at the next mount_table() or
  // remount_table(); TableReport::remount_needed says whether one is needed. in_memory_mode and
  // atomicity can only be changed while the table is unmounted (else kReadOnly).
  Task<Result<void>> set_options(std::string_view path, TableOptions options);
  // The same for a subset of the options, by their YTsaurus names and as text:
  //   set_attributes("/t", {{"forced_compaction_revision", "1"}}), then remount_table("/t"),
  // compacts all existing rows.
  Task<Result<void>> set_attributes(std::string_view path,
                                    std::map<std::string, std::string> attributes);
  // Applies the stored options to a mounted table; with `options`, stores these first.
  Task<Result<void>> remount_table(std::string_view path);
  Task<Result<void>> remount_table(std::string_view path, TableMountOptions options);

  // Unmounted tables only.
  Task<Result<void>> alter_table(std::string_view path, TableSchema schema);
  Task<Result<void>> reshard_table(std::string_view path, std::vector<std::vector<Value>> pivots);
  // Splits the table into at most `tablets` tablets of about equal size, estimated from the keys of
  // chunks. Returns the resulting number of tablets: a small table may get fewer than requested.
  Task<Result<std::size_t>> reshard_table(std::string_view path, std::size_t tablets);

  // Mounted tables only: writes memory stores to chunks; compacts all chunks.
  Task<Result<void>> flush_table(std::string_view path);
  Task<Result<void>> compact_table(std::string_view path);
  // Waits until flush and compaction have no work left and dead space was returned to the file
  // system.
  Task<Result<void>> settle_table(std::string_view path);

  // Static tables: each write adds whole rows, sorted by the key columns (keys may repeat unless
  // schema.unique_keys is set) or, without key columns, in the order given. They are read by
  // Table::scan, whose bounds are row numbers when there are no key columns; with unique keys also
  // by lookups.
  Task<Result<void>> create_static_table(std::string_view path, TableSchema schema,
                                         TableOptions options = {});
  // Appends all rows or none. Their keys may not be below those of existing rows. All get the same
  // timestamp: snapshots that began earlier do not see them, snapshots that begin while they are
  // being written wait for them. The rows are checked by the thread that makes the call.
  Task<Result<void>> write_static_table(std::string_view path,
                                        std::span<const std::vector<NamedValue>> rows);
  // Makes a sorted static table with unique keys dynamic, and mounts it. Its rows keep their
  // timestamps.
  Task<Result<void>> make_dynamic(std::string_view path);

  // Ordered tables: dynamic tables whose schema has no key columns. Transaction::insert appends
  // rows to the tablet that `$tablet_index` names, or to one of the tablets; the commit numbers
  // them (`$row_index`). Both are columns for reads: lookups name them, and scans begin and end at
  // them. The schema may ask for `$timestamp` (uint64) and `$cumulative_data_weight` (int64), which
  // are filled in. Several tablets: pivots {1}, {2}, ...; they are resharded by their number.
  // Removes the rows of a tablet that precede row `rows`. With min_data_versions 0, rows older than
  // max_data_ttl are removed as well, when all rows of their chunk are.
  Task<Result<void>> trim_rows(std::string_view path, std::size_t tablet, std::uint64_t rows);

  // Topics (topic.h). Names are "orders", "team/orders"; a '/' before them is ignored.
  Task<Result<Topic>> topic(std::string_view name) const;
  // Both return when all partitions run.
  Task<Result<Topic>> create_topic(std::string_view name, TopicSpec spec = {});
  Task<Result<Topic>> alter_topic(std::string_view name, TopicChange change);
  Task<Result<void>> remove_topic(std::string_view name);
  Task<std::vector<TopicInfo>> list_topics() const;  // By name.

  // Metrics of tables and topics in Prometheus text format (docs/operations.md).
  Task<std::string> metrics() const;
  // Space that stored data takes up. An idle database returns dead space after about a second.
  Task<std::uint64_t> device_bytes_used() const;
  Task<std::uint64_t> device_bytes_written() const;

  // Runs a Task on one of the database's threads (OpenOptions::lanes), in turn, and waits for it;
  // it stays on that thread. A blocking call there would deadlock. Several at once: when_all.h.
  template <class T>
  [[nodiscard]] T run(Task<T> task) const;
  // The same for a coroutine that is also created there.
  template <class T>
  T run(std::function<Task<T>()> body) const;

 private:
  explicit Database(std::unique_ptr<Impl> impl);
  void run_and_wait(std::function<Task<void>()> body) const;
  std::unique_ptr<Impl> impl_;
};

template <class T>
T Database::run(Task<T> task) const {
  return run<T>([&] { return std::move(task); });
}

template <class T>
T Database::run(std::function<Task<T>()> body) const {
  if constexpr (std::is_void_v<T>) {
    run_and_wait(std::move(body));
  } else {
    std::optional<T> result;
    run_and_wait([&]() -> Task<void> { result.emplace(co_await body()); });
    return std::move(*result);
  }
}

}  // namespace moraine
