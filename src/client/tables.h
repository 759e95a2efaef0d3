// Tables, TransactionServices: the tables of a node, as doors use them.
//
// Promise    A change is durable when it returns OK. Paths are those of the scheme: without a
//            leading slash.
// Threading  The node's control lane (LaneTables: any lane); holder(), known(), paths() and
//            try_timestamp() on any thread; timestamps(), commit_parts() and reads() on any lane.
// Limits     kTabletsPerTableMax; those of Scheme.
// Errors     kNotFound, kAlreadyExists, kInvalidArgument: the text says what is wrong; kReadOnly:
//            the state of the table does not allow this, the text has the state; kUnknownOutcome:
//            the change may or may not have been made; kTimeout: it is stored, but tablets have not
//            followed in time. With all others nothing was changed, or it can be done again.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "client/open_counts.h"
#include "io/task.h"
#include "scheme/table_record.h"
#include "transaction/commit.h"
#include "transaction/open_table.h"
#include "transaction/tablet_reads.h"

namespace moraine {

struct NewTable {
  TableSchema schema;
  TableOptions options;
  std::vector<std::string> pivots;  // Of the second and later tablets, encoded.
  bool dynamic = true;
  // kMounted, kFrozen or kUnmounted. Tablets of a static table are always frozen.
  MountState state = MountState::kMounted;
  std::map<std::string, std::string> kept{};  // TableRecord::kept.
};

// Attributes to set at once, by name.
struct TableAttributeChanges {
  std::map<std::string, std::string> options;              // As for set_attributes().
  std::map<std::string, std::optional<std::string>> kept;  // TableRecord::kept; nullopt: removed.
};

// Tablets of a table by their numbers; as a default, all.
struct TabletRange {
  std::size_t first = 0;
  std::optional<std::size_t> last{};  // Inclusive. nullopt: the last one of the table.
};

// What a range of tablets is replaced by.
struct NewTablets {
  std::vector<std::string> pivots{};  // Of all of them, encoded. The first is that of the range.
  // Without pivots: so many, or fewer where there are few rows.
  std::size_t count = 0;
  // They split the values of the first key column evenly. Of whole tables.
  bool uniform = false;
};

// One table at one moment.
struct TableDescription {
  TableRecord record;
  std::shared_ptr<const OpenTable> open;
  // Of its tablets, in order. What cannot be found out is 0, and `error` says why.
  std::vector<table::TabletStatistics> figures;
};

class Tables {
 public:
  virtual ~Tables() = default;

  // Null: no such table, or the scheme has not been read yet or is stopped.
  virtual std::shared_ptr<TableHolder> holder(const std::string& path) const = 0;
  // False: there may be tables that holder() does not return, since the scheme has not been read
  // yet, is stopped, or has a table that cannot be served.
  virtual bool known() const = 0;
  virtual std::vector<std::string> paths() const = 0;  // In order.
  virtual Task<Result<TableDescription>> describe(std::string path) = 0;
  // The same without figures, and without calls to tablets.
  virtual Task<Result<TableDescription>> inspect(std::string path) = 0;

  // Creates missing parent directories.
  virtual Task<Result<void>> create(std::string path, NewTable table) = 0;
  virtual Task<Result<void>> remove(std::string path) = 0;
  // kConflict: it is not empty.
  virtual Task<Result<void>> remove_directory(std::string path) = 0;
  // Each ends when every tablet of the range is in the state asked for.
  // `state`: kMounted or kFrozen.
  virtual Task<Result<void>> mount(std::string path, MountState state, TabletRange range = {}) = 0;
  virtual Task<Result<void>> unmount(std::string path, TabletRange range = {}) = 0;
  virtual Task<Result<void>> freeze(std::string path, TabletRange range = {}) = 0;
  virtual Task<Result<void>> unfreeze(std::string path, TabletRange range = {}) = 0;
  // Applies the stored options to the tablets; with `options`, these are stored first.
  virtual Task<Result<void>> remount(std::string path, TabletRange range = {}) = 0;
  virtual Task<Result<void>> remount(std::string path, TableMountOptions options) = 0;
  // Stores the options; they take effect at the next mount or remount. in_memory_mode and atomicity
  // can be changed while the table is unmounted.
  virtual Task<Result<void>> set_options(std::string path, TableOptions options) = 0;
  // The same for named attributes only (table_record.h).
  virtual Task<Result<void>> set_attributes(std::string path,
                                            std::map<std::string, std::string> named) = 0;
  // Also of static tables. Contradictions between options are errors of the next mount or remount.
  virtual Task<Result<void>> change_attributes(std::string path, TableAttributeChanges changes) = 0;
  // Unmounted dynamic tables, and static ones; a static table without rows may get any schema.
  virtual Task<Result<void>> alter(std::string path, TableSchema schema) = 0;
  // Unmounted tablets only; those outside the range may be mounted, and stay so.
  virtual Task<Result<void>> reshard(std::string path, TabletRange range, NewTablets tablets) = 0;
  // Of all tablets. `pivots`: of the second and later new ones.
  Task<Result<void>> reshard(std::string path, std::vector<std::string> pivots) {
    pivots.insert(pivots.begin(), std::string());
    return reshard(std::move(path), TabletRange(), NewTablets{.pivots = std::move(pivots)});
  }
  Task<Result<void>> reshard(std::string path, std::size_t tablets) {
    return reshard(std::move(path), TabletRange(), NewTablets{.count = tablets});
  }

  // Adds rows that follow the layout of the table's schema, all of them or none.
  virtual Task<Result<void>> write_static(std::string path,
                                          std::shared_ptr<const table::StaticRows> rows) = 0;
  // The same in the place of all rows that the table has, in one step. Scans in progress read on
  // what they began with; reads at an earlier timestamp fail (TableTablet::write_static()).
  virtual Task<Result<void>> rewrite_static(std::string path,
                                            std::shared_ptr<const table::StaticRows> rows) = 0;
  // As TableTablet::write_static() of batches, for a table of this schema. The table may be changed
  // meanwhile by others: then it fails, and nothing was written.
  virtual Task<Result<void>> write_batches(std::string path,
                                           std::shared_ptr<const TableSchema> schema,
                                           table::StaticBatches rows, table::StaticWrite how) = 0;
  // A static table with unique keys becomes a dynamic one, mounted, with its rows.
  virtual Task<Result<void>> make_dynamic(std::string path) = 0;
  // Removes the rows before `rows` of a tablet of an ordered table. It must be mounted, and here.
  virtual Task<Result<void>> trim(std::string path, std::size_t tablet, std::uint64_t rows) = 0;
  // Rows that were committed below this timestamp are in chunks. The present time of a table that
  // has none in memory. One above the newest retained timestamp of a tablet, if that is higher.
  // kNotHere: a tablet is not running here.
  virtual Task<Result<Timestamp>> flushed_before(std::string path) = 0;
  // A tablet that is not mounted, for reading while the result is held (node/unmounted_tablets.h).
  // kReadOnly: it is mounted now. kOverloaded: too many are open.
  virtual Task<Result<std::shared_ptr<table::TableTablet>>> open_unmounted(std::string path,
                                                                           TabletId tablet) = 0;
};

// What transactions over those tables need.
class TransactionServices {
 public:
  virtual ~TransactionServices() = default;
  virtual TimestampSource& timestamps() = 0;
  // Without waiting; nullopt: call timestamps().next().
  virtual std::optional<Timestamp> try_timestamp() = 0;
  virtual CommitParts commit_parts() = 0;
  // Reads of tablets that do not run on this node (OpenRange::elsewhere). On any lane.
  virtual TabletReads& reads() = 0;
  // Of all doors of the node. On any thread.
  virtual client::OpenCounts& open_counts() = 0;
  // The lanes that parts of a query run on. Empty: that of the caller only. On any thread.
  virtual std::vector<Executor*> lanes() { return {}; }
};

// The path in the scheme of a path as users write it: with one leading slash, or two, or none.
inline std::string scheme_path(std::string_view path) {
  while (path.starts_with('/')) path.remove_prefix(1);
  return std::string(path);
}

}  // namespace moraine
