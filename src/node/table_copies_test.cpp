// Copies of tables: they have the rows of their sources, and then nothing in common with them.
#include <gtest/gtest.h>

#include <algorithm>

#include "client/table_changes.h"
#include "client/test_rows.h"
#include "node/test_tree.h"
#include "scheme/test_schema.h"

namespace moraine {
namespace {

class TableCopies : public TreeTest {
 protected:
  using Keys = std::vector<std::int64_t>;

  StoredTables& tables() { return node_.node().tables().tables(); }
  Result<void> done(std::function<Task<Result<void>>()> body) {
    return node_.on_lane<Result<void>>(0, std::move(body));
  }
  void expect_done(std::function<Task<Result<void>>()> body) {
    EXPECT_EQ(outcome(done(std::move(body))), "");
  }
  void create(const std::string& path, std::vector<std::vector<Value>> pivots = {}) {
    expect_done([&] {
      NewTable table;
      table.schema = small_schema();
      return client::create_table(tables(), path, std::move(table), std::move(pivots));
    });
  }
  void create_static(const std::string& path) {
    expect_done([&] {
      NewTable table;
      table.schema = small_schema();
      table.schema.unique_keys = true;
      table.dynamic = false;
      return tables().create(path, std::move(table));
    });
  }
  void unmount(const std::string& path) {
    expect_done([&] { return tables().unmount(path); });
  }
  void mount(const std::string& path) {
    expect_done([&] { return tables().mount(path, MountState::kMounted); });
  }
  void write(const std::string& path, Keys keys) {
    client::TableClient door(node_.lane(0), tables(), node_.node().tables());
    const auto written = node_.on_lane<Result<Timestamp>>(0, [&]() -> Task<Result<Timestamp>> {
      CO_TRY(const client::TablePtr table, client::open_shared(door, "/" + path));
      co_return co_await client::write_rows(door, table, random_, keys, "x");
    });
    EXPECT_EQ(outcome(written), "");
  }
  void write_ordered(const std::string& path, std::int64_t rows) {
    client::TableClient door(node_.lane(0), tables(), node_.node().tables());
    const auto written = node_.on_lane<Result<Timestamp>>(0, [&]() -> Task<Result<Timestamp>> {
      CO_TRY(const client::TablePtr table, client::open_shared(door, "/" + path));
      CO_TRY(client::Transaction transaction, co_await door.begin({}, random_));
      for (std::int64_t i = 0; i < rows; ++i) {
        const NamedValue row[] = {{"k", Value(i)}};
        CO_TRY_VOID(transaction.insert(*table, row, {}));
      }
      co_return co_await transaction.commit();
    });
    EXPECT_EQ(outcome(written), "");
  }
  void append(const std::string& path, Keys keys) {
    client::TableClient door(node_.lane(0), tables(), node_.node().tables());
    const client::TablePtr table = client::open_shared(door, "/" + path).value();
    std::vector<std::vector<NamedValue>> rows;
    for (const std::int64_t key : keys) rows.push_back({{"k", Value(key)}, {"v", Value("x")}});
    const auto checked = table->check_rows(rows);
    expect_done([&] { return tables().write_static(path, *checked); });
  }
  // Or the error.
  Result<Keys> scan(const std::string& path) {
    client::TableClient door(node_.lane(0), tables(), node_.node().tables());
    return node_.on_lane<Result<Keys>>(0, [&]() -> Task<Result<Keys>> {
      CO_TRY(const client::TablePtr table, client::open_shared(door, "/" + path));
      co_return co_await client::scan_keys(table);
    });
  }
  void expect_keys(const std::string& path, Keys keys) {
    const auto found = scan(path);
    ASSERT_EQ(outcome(found), "") << path;
    EXPECT_EQ(*found, keys) << path;
  }
  static Keys up_to(std::int64_t end) {
    Keys keys;
    for (std::int64_t key = 0; key < end; ++key) keys.push_back(key);
    return keys;
  }
  MountState state(const std::string& path) {
    return tables().find(path)->record().tablets[0].state;
  }
  std::size_t retired(const std::string& path) {
    return tables().find(path)->record().retired.size();
  }
  void wait_for_release() { node_.world().run_for(6 * kRetiredPeriod); }
  void lose_power() {
    cut_power();
    node_.world().run_for(10s);
  }

  SeededRandom random_{4};
};

TEST_F(TableCopies, AMountedTableIsNotCopied) {
  create("tmp/t");
  EXPECT_NE(copy("//tmp/t", "//tmp/c").find("Cannot copy dynamic table //tmp/t since not all"),
            std::string::npos);
  EXPECT_FALSE(exists("//tmp/c"));
}

TEST_F(TableCopies, ACopyAndItsSourceAreIndependent) {
  create("tmp/t", {{Value(20)}});
  write("tmp/t", up_to(50));
  unmount("tmp/t");
  ASSERT_EQ(copy("//tmp/t", "//tmp/c"), "");
  EXPECT_EQ(state("tmp/c"), MountState::kUnmounted);
  EXPECT_EQ(tables().find("tmp/c")->record().tablets.size(), 2u);
  mount("tmp/t");
  mount("tmp/c");
  write("tmp/t", {100});
  write("tmp/c", {200, 201});
  Keys source = up_to(50);
  source.push_back(100);
  Keys copied = up_to(50);
  copied.insert(copied.end(), {200, 201});
  expect_keys("tmp/t", source);
  expect_keys("tmp/c", copied);
  lose_power();
  expect_keys("tmp/t", source);
  expect_keys("tmp/c", copied);
}

// Without the rule that a retired tablet is deleted with the last table that names it, the copy
// loses its blobs with the source.
TEST_F(TableCopies, ACopyOutlivesItsSource) {
  create("tmp/t");
  write("tmp/t", up_to(50));
  unmount("tmp/t");
  ASSERT_EQ(copy("//tmp/t", "//tmp/c"), "");
  mount("tmp/c");
  ASSERT_EQ(remove("//tmp/t"), "");
  wait_for_release();
  EXPECT_EQ(retired("tmp/c"), 1u) << "it still reads the blobs of that tablet";
  lose_power();
  expect_keys("tmp/c", up_to(50));
  write("tmp/c", {7});
  expect_done([&]() -> Task<Result<void>> {
    const auto running = tables().find("tmp/c")->calls(0);
    co_return co_await running->run([](table::TableTablet& tablet) -> Task<Result<void>> {
      CO_TRY_VOID(co_await tablet.flush());
      co_return co_await tablet.compact_all();
    });
  });
  node_.world().run_for(90s);  // Views and hunks of before are released.
  wait_for_release();
  EXPECT_EQ(retired("tmp/c"), 0u);
  lose_power();
  expect_keys("tmp/c", up_to(50));
}

TEST_F(TableCopies, ASourceOutlivesItsCopy) {
  create("tmp/t");
  write("tmp/t", up_to(50));
  unmount("tmp/t");
  ASSERT_EQ(copy("//tmp/t", "//tmp/c"), "");
  ASSERT_EQ(copy("//tmp/c", "//tmp/d"), "");
  const std::size_t before = retired("tmp/t");
  ASSERT_EQ(copy("//tmp/t", "//tmp/e"), "");
  EXPECT_EQ(retired("tmp/t"), before) << "it was not mounted in between: nothing to retire";
  for (const char* path : {"//tmp/c", "//tmp/d"}) ASSERT_EQ(remove(path), "");
  wait_for_release();
  lose_power();
  mount("tmp/t");
  mount("tmp/e");
  expect_keys("tmp/t", up_to(50));
  expect_keys("tmp/e", up_to(50));
}

TEST_F(TableCopies, TheSourceOfACopyStaysFrozen) {
  create("tmp/t");
  write("tmp/t", up_to(30));
  expect_done([&] { return tables().freeze("tmp/t"); });
  ASSERT_EQ(copy("//tmp/t", "//tmp/c"), "");
  EXPECT_EQ(state("tmp/t"), MountState::kFrozen);
  EXPECT_EQ(state("tmp/c"), MountState::kUnmounted);
  expect_keys("tmp/t", up_to(30));
  mount("tmp/c");
  expect_keys("tmp/c", up_to(30));
  expect_done([&] { return tables().unfreeze("tmp/t"); });
  write("tmp/t", {77});
  unmount("tmp/t");
  ASSERT_EQ(copy("//tmp/t", "//tmp/d"), "");
  mount("tmp/d");
  Keys all = up_to(30);
  all.push_back(77);
  expect_keys("tmp/d", all);
}

TEST_F(TableCopies, StaticTables) {
  create_static("tmp/s");
  append("tmp/s", up_to(10));
  ASSERT_EQ(copy("//tmp/s", "//tmp/a"), "");
  append("tmp/s", {50});
  ASSERT_EQ(copy("//tmp/s", "//tmp/b"), "");
  append("tmp/a", {60});
  ASSERT_EQ(copy("//tmp/a", "//tmp/c"), "");
  Keys with_50 = up_to(10);
  with_50.push_back(50);
  Keys with_60 = up_to(10);
  with_60.push_back(60);
  for (int turn = 0; turn < 2; ++turn) {
    expect_keys("tmp/s", with_50);
    expect_keys("tmp/b", with_50);
    expect_keys("tmp/a", with_60);
    expect_keys("tmp/c", with_60);
    wait_for_release();
    lose_power();
  }
  ASSERT_EQ(remove("//tmp/s"), "");
  ASSERT_EQ(remove("//tmp/a"), "");
  wait_for_release();
  lose_power();
  expect_keys("tmp/b", with_50);
  expect_keys("tmp/c", with_60);
}

TEST_F(TableCopies, AnOrderedTableKeepsTheNumbersOfItsRows) {
  ASSERT_EQ(TreeTest::create("table", "//tmp/o", "{dynamic=%true;schema=[{name=k;type=int64}]}"),
            "");
  mount("tmp/o");
  write_ordered("tmp/o", 8);
  expect_done([&] { return tables().trim("tmp/o", 0, 3); });
  unmount("tmp/o");
  ASSERT_EQ(copy("//tmp/o", "//tmp/c"), "");
  mount("tmp/c");
  mount("tmp/o");
  for (const char* path : {"tmp/o", "tmp/c"}) {
    using Figures = Result<std::vector<table::TabletStatistics>>;
    const auto figures = node_.on_lane<Figures>(0, [&] { return tables().figures(path); });
    ASSERT_EQ(outcome(figures), "");
    EXPECT_EQ((*figures)[0].total_rows, 8u) << path;
    EXPECT_EQ((*figures)[0].trimmed_rows, 3u) << path;
  }
}

TEST_F(TableCopies, InATransactionAreThereWithItsCommit) {
  create_static("tmp/s");
  append("tmp/s", up_to(5));
  const PathId aborted = begin();
  ASSERT_EQ(in(aborted).copy("//tmp/s", "//tmp/c"), "");
  EXPECT_TRUE(in(aborted).exists("//tmp/c"));
  EXPECT_FALSE(in().exists("//tmp/c"));
  ASSERT_EQ(abort(aborted), "");
  EXPECT_FALSE(exists("//tmp/c"));
  expect_keys("tmp/s", up_to(5));
  const PathId committed = begin();
  ASSERT_EQ(in(committed).copy("//tmp/s", "//tmp/c"), "");
  ASSERT_EQ(in(committed).move("//tmp/s", "//tmp/m"), "");
  in();
  ASSERT_EQ(commit(committed), "");
  EXPECT_FALSE(exists("//tmp/s"));
  wait_for_release();
  lose_power();
  expect_keys("tmp/c", up_to(5));
  expect_keys("tmp/m", up_to(5));
}

TEST_F(TableCopies, WholeSubtrees) {
  create("tmp/dir/a");
  create("tmp/dir/b");
  write("tmp/dir/a", {1});
  write("tmp/dir/b", {2});
  unmount("tmp/dir/a");
  EXPECT_NE(copy("//tmp/dir", "//tmp/copy"), "") << "b is mounted";
  EXPECT_FALSE(exists("//tmp/copy"));
  unmount("tmp/dir/b");
  ASSERT_EQ(copy("//tmp/dir", "//tmp/copy"), "");
  mount("tmp/copy/a");
  mount("tmp/copy/b");
  expect_keys("tmp/copy/a", {1});
  expect_keys("tmp/copy/b", {2});
}

}  // namespace
}  // namespace moraine
