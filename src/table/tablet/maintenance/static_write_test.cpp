// Rows of static tables, on a simulated machine.

#include <gtest/gtest.h>

#include "table/tablet/test_table.h"

namespace moraine::table {
namespace {

TableSchema small_schema(bool key) {
  TableSchema schema;
  schema.columns = {value_column("k", ColumnType::kInt64), value_column("v")};
  schema.columns[0].key = key;
  return schema;
}

class StaticWrite : public testing::Test {
 protected:
  explicit StaticWrite(bool key = true)
      : layout_(RowLayout::make(std::make_shared<const TableSchema>(small_schema(key))).value()),
        table_(17, stored_schema(small_schema(key))) {
    table_.options.frozen = true;
    table_.settings.mount.enable_compaction_and_partitioning = false;
    table_.boot();
  }
  std::shared_ptr<const StaticRows> rows(std::int64_t first, std::int64_t last) {
    auto made = std::make_shared<StaticRows>(layout_);
    const std::string text(100, 'v');
    for (std::int64_t key = first; key < last; ++key) {
      const moraine::NamedValue row[] = {{"k", key}, {"v", std::string_view(text)}};
      EXPECT_TRUE(made->add(row));
    }
    return made;
  }
  Result<void> write(std::int64_t first, std::int64_t last) {
    return table_.world.run(table_.tablet->write_static(rows(first, last)));
  }

  Task<void> write_and_set(std::shared_ptr<const StaticRows> given, std::shared_ptr<bool> done) {
    const auto written = co_await table_.tablet->write_static(std::move(given));
    *done = written.has_value();
  }

  std::shared_ptr<const RowLayout> layout_;
  TestTable table_;
};

TEST_F(StaticWrite, IsDurableWhenItIsAnswered) {
  ASSERT_TRUE(write(0, 1'000));
  ASSERT_TRUE(write(1'000, 1'500));
  table_.crash();
  EXPECT_EQ(table_.all().size(), 1'500u);
  EXPECT_EQ(table_.tablet->statistics().unmerged_rows, 1'500u);
}

TEST_F(StaticWrite, IsWholeOrNotThereAfterAPowerCutAtAnyMoment) {
  ASSERT_TRUE(write(0, 100));
  std::size_t whole = 0;
  std::int64_t next = 100;
  for (int turn = 0; turn < 20; ++turn) {
    const std::size_t before = table_.all().size();
    auto done = std::make_shared<bool>(false);
    TaskScope scope;
    scope.spawn(write_and_set(rows(next, next + 2'000), done));
    table_.world.run_for(Duration(turn * 40us));
    table_.crash();
    const std::size_t after = table_.all().size();
    ASSERT_TRUE(after == before || after == before + 2'000) << before << " " << after;
    if (*done) ASSERT_EQ(after, before + 2'000);
    if (after != before) {
      ++whole;
      next += 2'000;
    }
  }
  EXPECT_GT(whole, 0u);
  EXPECT_LT(whole, 20u);
}

// At any time a snapshot sees all of the rows or none, every time.
TEST_F(StaticWrite, ASnapshotThatIsOpenDoesNotChange) {
  ASSERT_TRUE(write(0, 10));
  std::int64_t next = 10;
  std::size_t without = 0;
  std::size_t with = 0;
  for (int turn = 0; turn < 40; ++turn) {
    const auto given = rows(next, next + 500);
    const std::size_t before = table_.all().size();
    const Timestamp early = table_.timestamps.draw();
    auto done = std::make_shared<bool>(false);
    TaskScope scope;
    scope.spawn(write_and_set(given, done));
    table_.world.run_for(Duration(turn * 40us));
    const Timestamp snapshot = turn % 4 == 0 ? early : table_.timestamps.draw();
    const std::size_t first = table_.all(snapshot).size();
    const std::string looked_up = table_.get({{"k", next}}, snapshot);
    while (scope.live() > 0) table_.world.run_for(1ms);
    ASSERT_TRUE(*done);
    next += 500;
    ASSERT_EQ(table_.all(snapshot).size(), first) << turn;
    ASSERT_TRUE(first == before || first == before + 500) << first;
    ASSERT_EQ(looked_up == "-", first == before) << turn;
    ASSERT_EQ(table_.all().size(), before + 500);
    ++(first == before ? without : with);
  }
  EXPECT_GT(without, 0u);
  EXPECT_GT(with, 0u);
}

TEST_F(StaticWrite, MustBeAboveWhatIsThere) {
  ASSERT_TRUE(write(10, 20));
  const auto refused = write(19, 30);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().context,
            "Sort order violation: the first key (19) is not above (19), the last one of the "
            "table");
  EXPECT_EQ(table_.all().size(), 10u);
  EXPECT_TRUE(write(20, 21));
}

TEST_F(StaticWrite, IsRefusedByATabletThatTakesTransactions) {
  table_.tablet->unfreeze();
  const auto refused = write(0, 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kReadOnly);
}

class UnsortedStaticWrite : public StaticWrite {
 protected:
  UnsortedStaticWrite() : StaticWrite(false) {}
};

TEST_F(UnsortedStaticWrite, ContinuesTheNumbersOfItsRowsAfterRestarts) {
  ASSERT_TRUE(write(5, 7));
  table_.crash();
  ASSERT_TRUE(write(0, 2));
  table_.restart();
  const std::vector<std::string> all = table_.all();
  ASSERT_EQ(all.size(), 4u);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_TRUE(all[i].starts_with(fmt::format("$row_number={}u k={} ", i, i < 2 ? 5 + i : i - 2)))
        << all[i];
  }
}

}  // namespace
}  // namespace moraine::table
