// One table tablet on a simulated machine, with rows by names. For tests.
#pragma once

#include <gtest/gtest.h>

#include <concepts>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "table/model/key.h"
#include "table/model/row_layout.h"
#include "table/tablet/seeded_bug.h"
#include "table/tablet/table_tablet.h"
#include "tablet/test_tablet.h"

namespace moraine::table {

// Grows with the virtual clock, and by one with each call. It outlives crashes.
class TestTimestamps final : public TimestampSource {
 public:
  explicit TestTimestamps(SimWorld& world) : world_(world) {}
  Timestamp draw() {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(
        SimClock::kEpoch + world_.executor().now().since_start);
    const Timestamp now = timestamp_of_seconds(static_cast<std::uint64_t>(seconds.count()));
    last_ = std::max(last_ + 1, now);
    return last_;
  }
  // Later ones are above `at`.
  void raise_to(Timestamp at) { last_ = std::max(last_, at); }
  Task<Result<Timestamp>> next() override {
    if (slow > Duration{0}) co_await sleep_for(world_.executor(), slow);
    co_return draw();
  }
  Duration slow{0};

 private:
  SimWorld& world_;
  Timestamp last_ = 0;
};

inline ColumnSchema key_column(std::string name, ColumnType type = ColumnType::kInt64) {
  ColumnSchema column;
  column.name = std::move(name);
  column.type = type;
  column.key = true;
  return column;
}
inline ColumnSchema value_column(std::string name, ColumnType type = ColumnType::kString,
                                 Aggregate aggregate = Aggregate::kNone, std::string lock = {}) {
  ColumnSchema column;
  column.name = std::move(name);
  column.type = type;
  column.aggregate = aggregate;
  column.lock = std::move(lock);
  return column;
}
// k int64 key; v string; n int64 summed; a, b, c int64 with locks of their own.
inline TableSchema test_schema() {
  TableSchema schema;
  schema.columns = {key_column("k"),
                    value_column("v"),
                    value_column("n", ColumnType::kInt64, Aggregate::kSum),
                    value_column("a", ColumnType::kInt64, Aggregate::kNone, "a"),
                    value_column("b", ColumnType::kInt64, Aggregate::kNone, "b"),
                    value_column("c", ColumnType::kInt64, Aggregate::kNone, "c")};
  return schema;
}
// 0: the primary lock.
inline std::size_t lock_of(const TableSchema& schema, const std::string& group) {
  const std::vector<std::string> names = lock_names(schema);
  return static_cast<std::size_t>(std::ranges::find(names, group) - names.begin());
}

// A column and its value; borrows the text.
struct NamedValue {
  template <class T>
    requires std::constructible_from<Value, const T&>
  NamedValue(std::string column, const T& cell) : name(std::move(column)), value(cell) {}

  std::string name;
  Value value;
};
using Named = std::vector<NamedValue>;

// Changes of rows of one schema.
struct TestRows {
  std::shared_ptr<const TableSchema> schema;

  std::string key(const Named& values) const {
    std::string key;
    for (std::size_t i = 0; i < schema->key_count(); ++i) {
      append_key_column(key, find(values, schema->columns[i].name).second);
    }
    return key;
  }
  // Overwrite: unnamed columns become null. Update: they keep their values.
  RowChange put(const Named& values, bool update = false, bool delta = false) const {
    RowChange change;
    change.key = key(values);
    begin_image(change.image);
    std::uint16_t cells = 0;
    for (std::size_t i = schema->key_count(); i < schema->columns.size(); ++i) {
      const ColumnSchema& column = schema->columns[i];
      const auto [named, value] = find(values, column.name);
      const bool aggregates = column.aggregate != Aggregate::kNone;
      if (!named && (update || aggregates)) continue;
      append_cell(change.image, static_cast<ColumnIndex>(i), named && delta && aggregates, value);
      ++cells;
      change.locks.add(lock_of(*schema, column.lock), LockMode::kExclusive);
    }
    finish_image(change.image, cells);
    return change;
  }
  RowChange erase(const Named& values) const {
    RowChange change;
    change.key = key(values);
    change.kind = ChangeKind::kDelete;
    change.locks.add(0, LockMode::kExclusive);
    return change;
  }
  RowChange lock(const Named& values, const std::string& group, LockMode mode) const {
    RowChange change;
    change.key = key(values);
    change.kind = ChangeKind::kLock;
    change.locks.add(lock_of(*schema, group), mode);
    return change;
  }

  static std::pair<bool, Value> find(const Named& values, const std::string& name) {
    for (const auto& [column, value] : values) {
      if (column == name) return {true, value};
    }
    return {false, Value()};
  }
};

class TestTable {
 public:
  explicit TestTable(std::uint64_t seed, TableSchema schema = test_schema(), MountConfig mount = {},
                     std::uint32_t segment_bytes = 16u << 20)
      : world(seed), storage(world, segment_bytes), timestamps(world) {
    settings.schema = std::make_shared<const TableSchema>(std::move(schema));
    settings.table_path = "//test";
    settings.mount = mount;
    rows.schema = settings.schema;
    begin_life();
  }
  ~TestTable() {
    stop();
    world.shutdown();
  }

  static TabletInfo info() { return TabletInfo::simple(TabletId{91}, kTestGroup, 3); }

  Result<std::unique_ptr<TableTablet>> try_boot(TabletInfo where = info()) {
    return world.run(TableTablet::boot(*resources, std::move(where), settings, options));
  }
  void boot() {
    auto booted = try_boot();
    INVARIANT(booted, "{}", booted.error().message());
    tablet = std::move(*booted);
  }
  void stop() {
    if (tablet) world.run(tablet->stop());
    tablet.reset();
  }
  void restart() {
    stop();
    boot();
  }
  // A power cut, and a restart from what is on the device.
  void crash() {
    storage.crash();
    begin_life();
    boot();
  }
  // The same on the device of another machine.
  void install(DiskImage image) {
    storage.node().crash();
    storage.node().disks().install("device", std::move(image));
    storage.node().restart();
    storage.start();
    begin_life();
    boot();
  }

  TransactionId new_id() {
    TransactionId id;
    ++ids_;
    std::memcpy(id.bytes.data(), &ids_, sizeof(ids_));
    return id;
  }
  // Start 0: now.
  TabletWrite transaction(std::vector<RowChange> changes, Timestamp start = 0) {
    std::ranges::sort(changes, {}, &RowChange::key);
    return {new_id(), start == 0 ? timestamps.draw() : start, std::move(changes)};
  }
  Result<Timestamp> write(std::vector<RowChange> changes, Timestamp start = 0) {
    return world.run(tablet->commit(transaction(std::move(changes), start)));
  }
  // Writes that must succeed.
  Timestamp put(const Named& values, bool update = false, bool delta = false) {
    const auto written = write({rows.put(values, update, delta)});
    EXPECT_TRUE(written) << written.error().message();
    return written.value_or(0);
  }
  Timestamp erase(const Named& values) {
    const auto written = write({rows.erase(values)});
    EXPECT_TRUE(written) << written.error().message();
    return written.value_or(0);
  }
  void flush() {
    const auto flushed = world.run(tablet->flush());
    EXPECT_TRUE(flushed) << flushed.error().message();
  }
  void compact() {
    const auto compacted = world.run(tablet->compact_all());
    EXPECT_TRUE(compacted) << compacted.error().message();
  }

  // "k=1 v=abc", without nulls; "-": no such row; "error: ...".
  std::string get(const Named& key_values, Timestamp timestamp = kSyncLastCommitted) {
    const std::string key = rows.key(key_values);
    const std::string_view keys[] = {key};
    const std::vector<ColumnIndex> columns = all_columns();
    LookupRequest request;
    request.keys = keys;
    request.columns = columns;
    request.timestamp = timestamp;
    Rowset found;
    const auto done = lookup(request, found);
    if (!done) return "error: " + done.error().message();
    return found.exists(0) ? text(found.row(0)) : "-";
  }
  // As a blocking thread does it: what it can read from the disk itself, and the rest on the
  // executor.
  Result<void> lookup(const LookupRequest& request, Rowset& found) {
    UnfinishedLookup left;
    TRY_VOID(tablet->reader().try_lookup(request, found, left));
    if (left.keys.empty()) return {};
    TRY_VOID(tablet->reader().read_missing_blocks_inline(request, found, left));
    if (left.keys.empty()) return {};
    return world.run(tablet->reader().finish_lookup(request, found, std::move(left)));
  }
  // All rows in the format of get().
  std::vector<std::string> all(Timestamp timestamp = kSyncLastCommitted, KeyBounds bounds = {}) {
    ScanRequest request;
    request.bounds = std::move(bounds);
    request.columns = all_columns();
    request.timestamp = timestamp;
    return world.run(scan_all(std::move(request)));
  }
  std::vector<ColumnIndex> all_columns() const {
    std::vector<ColumnIndex> columns;
    for (std::size_t i = 0; i < settings.schema->columns.size(); ++i) {
      columns.push_back(static_cast<ColumnIndex>(i));
    }
    return columns;
  }
  std::string text(std::span<const Value> values) const {
    std::string line;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i].is_null()) continue;
      if (!line.empty()) line += ' ';
      line += settings.schema->columns[i].name + '=' + text(values[i]);
    }
    return line;
  }
  static std::string text(const Value& value) {
    switch (value.type()) {
      case ValueType::kNull: return "null";
      case ValueType::kInt64: return fmt::format("{}", value.as_int64());
      case ValueType::kUint64: return fmt::format("{}u", value.as_uint64());
      case ValueType::kDouble: return fmt::format("{}", value.as_double());
      case ValueType::kBoolean: return value.as_boolean() ? "true" : "false";
      default: return std::string(value.text());
    }
  }

  SimWorld world;
  TestStorage storage;
  TestTimestamps timestamps;
  PinnedMemory pinned{64u << 20};
  BlockCache blocks{64u << 20, &pinned};
  SlabMemory row_cache_memory{16u << 20};
  std::unique_ptr<TableResources> resources;  // Until the next restart.
  // Used from the next boot on.
  TabletSettings settings;
  TableTabletOptions options;
  TestRows rows;
  std::unique_ptr<TableTablet> tablet;

 private:
  void begin_life() {
    resources.reset(new TableResources{storage.world(), storage, timestamps,
                                       storage.world().executor, blocks, nullptr,
                                       row_cache_memory});
    storage.node().on_stop([this] {
      if (tablet) tablet->abandon();
    });
    storage.node().on_crash([this] { tablet.reset(); });
  }
  Task<std::vector<std::string>> scan_all(ScanRequest request) {
    std::vector<std::string> lines;
    auto scan = tablet->reader().scan(std::move(request));
    if (!scan) co_return std::vector{"error: " + scan.error().message()};
    ColumnBatch batch;
    for (;;) {
      const auto step = (*scan)->next(batch);
      if (!step) co_return std::vector{"error: " + step.error().message()};
      if (*step == TabletScan::Step::kEnd) co_return lines;
      if (*step == TabletScan::Step::kNeedsData) {
        const auto loaded = co_await (*scan)->load();
        if (!loaded) co_return std::vector{"error: " + loaded.error().message()};
        continue;
      }
      for (std::size_t i = 0; i < batch.rows; ++i) lines.push_back(line_of(batch, i));
    }
  }
  std::string line_of(const ColumnBatch& batch, std::size_t row) const {
    std::vector<Value> values;
    for (const ColumnVector& column : batch.columns) values.push_back(cell(column, row));
    return text(values);
  }
  static Value cell(const ColumnVector& column, std::size_t row) {
    if (!column.nulls.empty() && column.nulls[row] != 0) return {};
    switch (column.type) {
      case ValueType::kNull: return {};
      case ValueType::kInt64: return static_cast<std::int64_t>(column.words[row]);
      case ValueType::kUint64: return column.words[row];
      case ValueType::kDouble: return std::bit_cast<double>(column.words[row]);
      case ValueType::kBoolean: return column.words[row] != 0;
      case ValueType::kString: return column.texts[row];
      case ValueType::kAny: return Value::any(column.texts[row]);
    }
    return {};
  }

  std::uint64_t ids_ = 0;
};

}  // namespace moraine::table
