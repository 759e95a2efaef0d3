// The public API in coroutines, one test for each group of calls.

#include <algorithm>

#include "base/result.h"
#include "embed/test_database.h"

namespace moraine {
namespace {

using Keys = std::vector<std::vector<Value>>;

Keys keys_of(std::initializer_list<int> ids) {
  Keys keys;
  for (const int id : ids) keys.push_back(std::vector<Value>(1, Value(id)));
  return keys;
}

class CoroutineForms : public DatabaseTest {
 protected:
  using Body = Task<Result<void>> (CoroutineForms::*)();
  void run(Body body) {
    expect_ok(db_->run<Result<void>>([&] { return (this->*body)(); }));
  }
  Task<Result<void>> write(Table table, int id, std::string_view name) {
    CO_TRY(Transaction tx, co_await db_->begin_async());
    const NamedValue row[] = {{"id", id}, {"name", name}};
    CO_TRY_VOID(tx.insert(table, row));
    CO_TRY(const Timestamp committed, co_await tx.commit_async());
    EXPECT_GT(committed, tx.start());
    co_return Result<void>();
  }
  Task<Result<std::optional<MountState>>> state() {
    CO_TRY(const TableReport report, co_await db_->describe_table("/users"));
    co_return report.state;
  }

 public:  // Bodies of the tests.
  Task<Result<void>> read();
  Task<Result<void>> read_in_a_transaction();
  Task<Result<void>> change_states();
  Task<Result<void>> change_schema_and_tablets();
  Task<Result<void>> maintain();
  Task<Result<void>> make_static();
  Task<Result<void>> get_errors();
};

Task<Result<void>> CoroutineForms::read() {
  CO_TRY_VOID(co_await db_->create_table("/users", users_schema(), {}, keys_of({10})));
  CO_TRY(const Table table, db_->table("/users"));
  CO_TRY_VOID(co_await write(table, 1, "old"));
  CO_TRY(const Timestamp moment, co_await db_->timestamp_async());
  CO_TRY_VOID(co_await write(table, 1, "new"));
  CO_TRY_VOID(co_await write(table, 20, "far"));
  ReadOptions options;
  CO_TRY(options.columns, table.columns({"name"}));
  Rowset rows;
  CO_TRY_VOID(co_await table.lookup_async(keys_of({20, 1, 2}), options, rows));
  EXPECT_EQ(rows.at(0, 0).text(), "far");
  EXPECT_EQ(rows.at(1, 0).text(), "new");
  EXPECT_FALSE(rows.exists(2));
  options.timestamp = moment;
  CO_TRY_VOID(co_await table.lookup_async(keys_of({1}), options, rows));
  EXPECT_EQ(rows.at(0, 0).text(), "old");
  CO_TRY(const Timestamp now, co_await db_->timestamp_async());
  CO_TRY(const VersionedResult row, co_await table.lookup_versions_async(keys_of({1})[0], now));
  EXPECT_EQ(row.write_timestamps.size(), 2u);
  EXPECT_EQ(row.versions.front().value.text(), "new");
  co_return Result<void>();
}

TEST_F(CoroutineForms, ReadRowsVersionsAndTimestamps) {
  run(&CoroutineForms::read);
  const Value one(1);
  const auto versions = users().lookup_versions(Key(&one, 1), db_->timestamp().value_or(0));
  ASSERT_TRUE(versions) << versions.error().message();
  EXPECT_EQ(versions->write_timestamps.size(), 2u);
}

Task<Result<void>> CoroutineForms::read_in_a_transaction() {
  CO_TRY_VOID(co_await db_->create_table("/users", users_schema()));
  CO_TRY(const Table table, db_->table("/users"));
  CO_TRY_VOID(co_await write(table, 1, "old"));
  CO_TRY(Transaction tx, co_await db_->begin_async());
  CO_TRY_VOID(co_await write(table, 1, "new"));
  CO_TRY_VOID(co_await write(table, 2, "new"));
  Rowset rows;
  CO_TRY_VOID(co_await tx.lookup_async(table, keys_of({1, 2}), {}, rows));
  EXPECT_EQ(rows.at(0, 1).text(), "old");
  EXPECT_FALSE(rows.exists(1));
  CO_TRY(Scan scan, tx.scan(table, {}));
  ScanBatch batch;
  std::size_t seen = 0;
  for (;;) {
    CO_TRY(const bool more, co_await scan.next_async(batch));
    if (!more) break;
    for (std::size_t i = 0; i < batch.rows; ++i) EXPECT_EQ(batch.columns[1].at(i).text(), "old");
    seen += batch.rows;
  }
  EXPECT_EQ(seen, 1u);
  tx.abort();
  const auto late = co_await tx.lookup_async(table, keys_of({1}), {}, rows);
  EXPECT_TRUE(!late && late.error().code == Errc::kAborted);
  co_return Result<void>();
}

TEST_F(CoroutineForms, ReadTheSnapshotOfATransactionsStart) {
  run(&CoroutineForms::read_in_a_transaction);
}

Task<Result<void>> CoroutineForms::change_states() {
  CO_TRY_VOID(co_await db_->create_table("/users", users_schema()));
  CO_TRY_VOID(co_await db_->freeze_table("/users"));
  CO_TRY(std::optional<MountState> now, co_await state());
  EXPECT_EQ(now, MountState::kFrozen);
  CO_TRY_VOID(co_await db_->unfreeze_table("/users"));
  CO_TRY(now, co_await state());
  EXPECT_EQ(now, MountState::kMounted);
  CO_TRY_VOID(co_await db_->unmount_table("/users"));
  CO_TRY(now, co_await state());
  EXPECT_EQ(now, MountState::kUnmounted);
  CO_TRY_VOID(co_await db_->mount_table("/users", MountState::kFrozen));
  CO_TRY(now, co_await state());
  EXPECT_EQ(now, MountState::kFrozen);
  CO_TRY_VOID(co_await db_->unfreeze_table("/users"));
  TableMountOptions options;
  options.max_data_versions = 7;
  CO_TRY_VOID(co_await db_->remount_table("/users", options));
  CO_TRY(const TableReport report, co_await db_->describe_table("/users"));
  EXPECT_EQ(report.options.mount.max_data_versions, 7u);
  const std::vector<std::string> before = db_->list_tables();
  EXPECT_EQ(std::ranges::count(before, "/users"), 1);
  CO_TRY_VOID(co_await db_->remove_table("/users"));
  const std::vector<std::string> after = db_->list_tables();
  EXPECT_EQ(std::ranges::count(after, "/users"), 0);
  co_return Result<void>();
}

TEST_F(CoroutineForms, MountFreezeRemountDescribeListAndRemoveTables) {
  run(&CoroutineForms::change_states);
}

Task<Result<void>> CoroutineForms::change_schema_and_tablets() {
  CO_TRY_VOID(co_await db_->create_table("/users", users_schema()));
  CO_TRY_VOID(co_await db_->unmount_table("/users"));
  TableSchema wider = users_schema();
  wider.columns.push_back(column("city", ColumnType::kString));
  CO_TRY_VOID(co_await db_->alter_table("/users", wider));
  CO_TRY(TableReport report, co_await db_->describe_table("/users"));
  EXPECT_EQ(report.schema.columns.size(), 4u);
  CO_TRY_VOID(co_await db_->set_options("/users", report.options));
  CO_TRY_VOID(co_await db_->reshard_table("/users", keys_of({10, 20})));
  CO_TRY(report, co_await db_->describe_table("/users"));
  EXPECT_EQ(report.tablets.size(), 3u);
  EXPECT_EQ(report.tablets.back().pivot.front().as_int64(), 20);
  const auto made = co_await db_->reshard_table("/users", std::size_t{1});
  EXPECT_EQ(made.value_or(0), 1u);
  CO_TRY(report, co_await db_->describe_table("/users"));
  EXPECT_EQ(report.tablets.size(), 1u);
  co_return co_await db_->mount_table("/users");
}

TEST_F(CoroutineForms, ChangeSchemasOptionsAndTablets) {
  run(&CoroutineForms::change_schema_and_tablets);
}

Task<Result<void>> CoroutineForms::maintain() {
  CO_TRY_VOID(co_await db_->create_table("/users", users_schema()));
  CO_TRY(const Table table, db_->table("/users"));
  for (int round = 0; round < 2; ++round) {
    CO_TRY_VOID(co_await write(table, round, "kept"));
    CO_TRY_VOID(co_await db_->flush_table("/users"));
  }
  CO_TRY_VOID(co_await db_->compact_table("/users"));
  CO_TRY_VOID(co_await db_->settle_table("/users"));
  CO_TRY(const TableReport report, co_await db_->describe_table("/users"));
  EXPECT_EQ(report.tablets.front().chunks, 1u);
  EXPECT_EQ(report.tablets.front().rows, 2u);
  const std::string metrics = co_await db_->metrics();
  EXPECT_FALSE(metrics.empty());
  EXPECT_GT(co_await db_->device_bytes_used(), 0u);
  EXPECT_GT(co_await db_->device_bytes_written(), 0u);
  co_return Result<void>();
}

TEST_F(CoroutineForms, FlushCompactSettleAndReport) {
  run(&CoroutineForms::maintain);
  EXPECT_EQ(name_of(users(), 1), "kept");
  EXPECT_GT(db_->run(db_->device_bytes_used()), 0u);
  EXPECT_GT(db_->run(db_->device_bytes_written()), 0u);
}

Task<Result<void>> CoroutineForms::make_static() {
  TableSchema schema;
  schema.columns = {column("id", ColumnType::kInt64, true), column("name", ColumnType::kString)};
  schema.unique_keys = true;
  CO_TRY_VOID(co_await db_->create_static_table("/users", schema));
  std::vector<std::vector<NamedValue>> rows(2);
  rows[0] = std::vector<NamedValue>{{"id", 1}, {"name", "a"}};
  rows[1] = std::vector<NamedValue>{{"id", 2}, {"name", "b"}};
  CO_TRY_VOID(co_await db_->write_static_table("/users", rows));
  rows[1] = std::vector<NamedValue>{{"id", "text"}};
  const auto wrong = co_await db_->write_static_table("/users", rows);
  EXPECT_TRUE(!wrong && wrong.error().code == Errc::kInvalidArgument);
  CO_TRY_VOID(co_await db_->make_dynamic("/users"));
  CO_TRY(const Table table, db_->table("/users"));
  CO_TRY_VOID(co_await write(table, 3, "c"));
  co_return Result<void>();
}

TEST_F(CoroutineForms, MakeWriteAndTurnStaticTables) {
  run(&CoroutineForms::make_static);
  EXPECT_EQ(name_of(users(), 2), "b");
  EXPECT_EQ(name_of(users(), 3), "c");
}

Task<Result<void>> CoroutineForms::get_errors() {
  const auto none = db_->table("/none");
  EXPECT_TRUE(!none && none.error().code == Errc::kNotFound);
  const auto report = co_await db_->describe_table("/none");
  EXPECT_TRUE(!report && report.error().code == Errc::kNotFound);
  const auto mounted = co_await db_->mount_table("/none");
  EXPECT_TRUE(!mounted && mounted.error().code == Errc::kNotFound);
  const auto sharded = co_await db_->reshard_table("/none", keys_of({1}));
  EXPECT_TRUE(!sharded && sharded.error().code == Errc::kNotFound);
  const auto flushed = co_await db_->flush_table("/none");
  EXPECT_TRUE(!flushed && flushed.error().code == Errc::kNotFound);
  const auto settled = co_await db_->settle_table("/none");
  EXPECT_TRUE(!settled && settled.error().code == Errc::kNotFound);
  const auto removed = co_await db_->remove_directory("/none");
  EXPECT_TRUE(!removed && removed.error().code == Errc::kNotFound);
  Keys pivots(1);
  pivots[0].push_back(Value("text"));
  const auto made = co_await db_->create_table("/users", users_schema(), {}, pivots);
  EXPECT_TRUE(!made && made.error().code == Errc::kInvalidArgument);
  co_return Result<void>();
}

TEST_F(CoroutineForms, SayWhatIsWrong) {
  run(&CoroutineForms::get_errors);
}

}  // namespace
}  // namespace moraine
