// Lookup: reads rows of a table by their keys, over the tablets that have them.
//
// A lookup has two phases: start() reads on the calling thread what is in memory, and finish()
// reads the rest on the lanes of the tablets, or on other nodes (TabletReads). Coroutines of a lane
// await lookup(), which is both: the call itself starts it, the task finishes it.
//
// Promise    Row i of the result answers key i. Cell i of a row is column `Table::all_columns[i]`,
//            or the i-th of `options.columns`. start() takes no lock and, for keys of one
//            tablet, allocates nothing once its memory has grown.
// Threading  start() on any thread; finish() and lookup() on any lane: they hop to the tablets'
//            lanes and return to the awaiting one. A Lookup and its memory: one thread at a time.
// Errors     kInvalidArgument: a key that does not fit the schema, columns of another table, a
//            schema that has changed, a table without unique keys. kReadOnly: not mounted.
//            kNotFound: the table was removed. Those of TabletReader; of tablets on other nodes:
//            those of TabletReads.
// Limits     kLookupTimeout for the keys of each tablet on another node.
// Tests      embed/: read_rules_test.cpp, cache_rules_test.cpp, cold_reads_test.cpp;
//            node/versioned_lookup_test.cpp.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/table.h"

namespace moraine::client {

inline constexpr Duration kLookupTimeout = 10s;

// Reused from lookup to lookup.
struct LookupMemory {
  std::vector<std::string> keys;
  std::vector<std::string_view> views;
  table::UnfinishedLookup left;
};

class Lookup {
 public:
  using TabletPtr = std::shared_ptr<table::TableTablet>;
  // Whether start() may block its thread for a few reads from the disk.
  enum class Blocking : std::uint8_t { kNever, kForDisk };

  // Both outlive the lookup.
  Lookup(const Table& table, LookupMemory& memory) : table_(table), memory_(memory) {}
  Lookup(const Lookup&) = delete;
  Lookup& operator=(const Lookup&) = delete;

  // True: all rows were read. False: call finish(), which needs `options` and `rows` until it ends.
  // `in_transaction`: the timestamp is the start of one.
  Result<bool> start(std::span<const Key> keys, const ReadOptions& options, bool in_transaction,
                     Rowset& rows, Blocking blocking);
  Task<Result<void>> finish();

 private:
  // Keys that lie in one tablet.
  struct Part {
    TabletPtr tablet;    // Null: on another node.
    TabletId elsewhere;  // Then its id.
    std::vector<std::string_view> keys;
    std::vector<std::uint32_t> positions;
    Rowset rows;
    table::UnfinishedLookup left;
  };

  Result<void> encode(std::span<const Key> keys);
  // Keys of several tablets, or of another node.
  Result<bool> start_parts(Blocking blocking);
  Result<bool> start_part(Part& part, Blocking blocking);
  Task<Result<void>> finish_part(Part& part);
  void copy_rows(const Part& part);
  // The request for the keys of one part.
  table::LookupRequest request_of(const Part& part) const;

  const Table& table_;
  LookupMemory& memory_;
  table::LookupRequest request_;
  Rowset* rows_ = nullptr;
  TabletPtr tablet_;         // When one tablet has all keys and some are left.
  std::vector<Part> parts_;  // Those with keys left.
};

// A lookup that has begun, with what it needs until it ends.
struct PendingLookup {
  std::shared_ptr<const void> owner;  // Keeps the table.
  std::vector<Key> keys;
  ReadOptions options;
  LookupMemory memory;
  std::optional<Lookup> lookup;
};
struct StartedLookup {
  Result<void> result;
  std::unique_ptr<PendingLookup> rest;  // Null: it has ended, with `result`.
};
StartedLookup start_lookup(const Table& table, std::span<const std::vector<Value>> keys,
                           ReadOptions options, bool in_transaction, Rowset& rows);
StartedLookup start_lookup(const Table& table, std::span<const Key> keys, ReadOptions options,
                           bool in_transaction, Rowset& rows);
Task<Result<void>> finish_lookup(StartedLookup started);

// Reads what is in memory at once; the task reads the rest. `owner`, which keeps the table, is
// shared with a task that has a rest only: its count would be changed by all lanes. `rows` outlives
// the task, texts of `keys` as well.
template <class Owner>
Task<Result<void>> lookup(const Table& table, const std::shared_ptr<Owner>& owner,
                          const std::vector<std::vector<Value>>& keys, ReadOptions options,
                          bool in_transaction, Rowset& rows) {
  StartedLookup started = start_lookup(table, keys, std::move(options), in_transaction, rows);
  if (started.rest) started.rest->owner = owner;
  return finish_lookup(std::move(started));
}
inline Task<Result<void>> lookup(const std::shared_ptr<const Table>& table,
                                 const std::vector<std::vector<Value>>& keys, ReadOptions options,
                                 bool in_transaction, Rowset& rows) {
  return lookup(*table, table, keys, std::move(options), in_transaction, rows);
}
// Keys that the caller has in one piece of memory: they are not used after the call.
inline Task<Result<void>> lookup(const std::shared_ptr<const Table>& table,
                                 std::span<const Key> keys, ReadOptions options,
                                 bool in_transaction, Rowset& rows) {
  StartedLookup started = start_lookup(*table, keys, std::move(options), in_transaction, rows);
  if (started.rest) started.rest->owner = table;
  return finish_lookup(std::move(started));
}

// The same for tables of which not all tablets can be read now: the positions of the keys that
// these have, ascending; their rows do not exist in `rows`.
Task<Result<std::vector<std::uint32_t>>> lookup_available(std::shared_ptr<const Table> table,
                                                          std::vector<std::vector<Value>> keys,
                                                          ReadOptions options, bool in_transaction,
                                                          Rowset& rows);

// kInvalidArgument: a key that does not fit the schema, or a table without unique keys.
Result<std::vector<std::string>> encode_keys(const Table& table,
                                             std::span<const std::vector<Value>> keys);

// Holds the table; texts of `key` outlive the task.
// All versions of a row at or below the timestamp; of many rows: versioned_lookup.h.
Task<Result<VersionedResult>> lookup_versions(std::shared_ptr<const Table> table,
                                              std::vector<Value> key, Timestamp timestamp);

}  // namespace moraine::client
