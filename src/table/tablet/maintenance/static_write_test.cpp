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

class StaticWrites : public testing::Test {
 protected:
  explicit StaticWrites(bool key = true)
      : layout_(RowLayout::make(std::make_shared<const TableSchema>(small_schema(key))).value()),
        table_(17, stored_schema(small_schema(key))) {
    table_.options.frozen = true;
    table_.settings.mount.enable_compaction_and_partitioning = false;
    table_.boot();
  }
  std::shared_ptr<const StaticRows> rows(std::int64_t first, std::int64_t last, char letter = 'v') {
    auto made = std::make_shared<StaticRows>(layout_);
    const std::string text(100, letter);
    for (std::int64_t key = first; key < last; ++key) {
      const moraine::NamedValue row[] = {{"k", key}, {"v", std::string_view(text)}};
      EXPECT_TRUE(made->add(row));
    }
    return made;
  }
  Result<void> write(std::int64_t first, std::int64_t last) {
    return table_.world.run(table_.tablet->write_static(rows(first, last)));
  }

  Result<void> replace(std::int64_t first, std::int64_t last, char letter = 'v') {
    return table_.world.run(
        table_.tablet->write_static(rows(first, last, letter), StaticWrite::kReplace));
  }

  Task<void> write_and_set(std::shared_ptr<const StaticRows> given, std::shared_ptr<bool> done,
                           StaticWrite how = StaticWrite::kAppend) {
    const auto written = co_await table_.tablet->write_static(std::move(given), how);
    *done = written.has_value();
  }

  std::shared_ptr<const RowLayout> layout_;
  TestTable table_;
};

TEST_F(StaticWrites, IsDurableWhenItIsAnswered) {
  ASSERT_TRUE(write(0, 1'000));
  ASSERT_TRUE(write(1'000, 1'500));
  table_.crash();
  EXPECT_EQ(table_.all().size(), 1'500u);
  EXPECT_EQ(table_.tablet->statistics().unmerged_rows, 1'500u);
}

TEST_F(StaticWrites, IsWholeOrNotThereAfterAPowerCutAtAnyMoment) {
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
TEST_F(StaticWrites, ASnapshotThatIsOpenDoesNotChange) {
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

TEST_F(StaticWrites, ReplacesAllRows) {
  ASSERT_TRUE(write(100, 200));
  ASSERT_TRUE(replace(0, 5, 'n'));
  EXPECT_EQ(table_.all().size(), 5u) << "keys below those of before are taken";
  EXPECT_EQ(table_.get({{"k", 100}}), "-");
  ASSERT_TRUE(write(5, 7));
  table_.crash();
  EXPECT_EQ(table_.all().size(), 7u);
  ASSERT_TRUE(replace(0, 0));
  EXPECT_TRUE(table_.all().empty());
  table_.restart();
  EXPECT_TRUE(table_.all().empty());
  EXPECT_EQ(table_.tablet->statistics().chunks, 0u);
}

TEST_F(StaticWrites, AReplacementIsWholeOrNotThereAfterAPowerCutAtAnyMoment) {
  ASSERT_TRUE(write(0, 1'000));
  std::int64_t count = 1'000;
  std::size_t whole = 0;
  for (int turn = 0; turn < 24; ++turn) {
    const std::int64_t next = 500 + turn;
    auto done = std::make_shared<bool>(false);
    TaskScope scope;
    scope.spawn(write_and_set(rows(0, next), done, StaticWrite::kReplace));
    table_.world.run_for(Duration(turn * 40us));
    table_.crash();
    const auto after = static_cast<std::int64_t>(table_.all().size());
    ASSERT_TRUE(after == count || after == next) << after << ", before: " << count;
    if (*done) ASSERT_EQ(after, next);
    if (after == next) ++whole;
    count = after;
  }
  EXPECT_GT(whole, 0u);
  EXPECT_LT(whole, 24u);
}

TEST_F(StaticWrites, ReadsOfEarlierSnapshotsAreRefusedAfterAReplacement) {
  ASSERT_TRUE(write(0, 10));
  const Timestamp before = table_.timestamps.draw();
  EXPECT_EQ(table_.all(before).size(), 10u);
  ASSERT_TRUE(replace(0, 3));
  const std::vector<std::string> refused = table_.all(before);
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_NE(refused[0].find("is less than tablet retained timestamp"), std::string::npos)
      << refused[0];
  EXPECT_TRUE(table_.get({{"k", 1}}, before).starts_with("error: "));
  table_.restart();
  EXPECT_EQ(table_.all(before), refused) << "also after a restart";
  EXPECT_EQ(table_.all(table_.timestamps.draw()).size(), 3u);
}

TEST_F(StaticWrites, AScanInProgressReadsOnWhatItBeganWith) {
  ASSERT_TRUE(write(0, 20'000));
  ScanRequest request;
  request.columns = {0};
  request.timestamp = table_.timestamps.draw();
  auto scan = table_.tablet->reader().scan(request).value();
  ASSERT_TRUE(replace(0, 1));
  ASSERT_TRUE(replace(5, 7));
  table_.world.run_for(1s);
  std::size_t rows = 0;
  ColumnBatch batch;
  for (;;) {
    const auto step = scan->next(batch);
    ASSERT_TRUE(step) << step.error().message();
    if (*step == TabletScan::Step::kEnd) break;
    if (*step == TabletScan::Step::kNeedsData) {
      ASSERT_TRUE(table_.world.run(scan->load()));
    } else {
      rows += batch.rows;
    }
  }
  EXPECT_EQ(rows, 20'000u);
}

// Batches of a hundred rows, without the end.
class Batches {
 public:
  Batches(std::shared_ptr<const RowLayout> layout, std::int64_t first, std::int64_t last)
      : layout_(std::move(layout)), next_(first), last_(last) {}

  Task<Result<std::shared_ptr<const StaticRows>>> operator()() {
    if (failing) co_return fail(Errc::kUnavailable, "no more rows");
    if (next_ == last_) co_return nullptr;
    auto rows = std::make_shared<StaticRows>(layout_);
    for (int i = 0; i < 100 && next_ != last_; ++i, ++next_) {
      const moraine::NamedValue row[] = {{"k", next_}, {"v", std::string_view("b")}};
      CO_TRY_VOID(rows->add(row));
    }
    failing = next_ == fails_at;
    co_return rows;
  }
  std::int64_t fails_at = -1;
  bool failing = false;

 private:
  std::shared_ptr<const RowLayout> layout_;
  std::int64_t next_;
  std::int64_t last_;
};

TEST_F(StaticWrites, BatchesAreSeenAllAtOnce) {
  ASSERT_TRUE(write(0, 10));
  const Timestamp before = table_.timestamps.draw();
  const auto write_batches = [&](Batches batches, StaticWrite how) {
    return table_.world.run(table_.tablet->write_static(StaticBatches(std::move(batches)), how));
  };
  Batches broken(layout_, 10, 1'000);
  broken.fails_at = 510;
  EXPECT_FALSE(write_batches(broken, StaticWrite::kAppend));
  EXPECT_EQ(table_.all(before).size(), 10u) << "nothing was written";
  ASSERT_TRUE(write_batches(Batches(layout_, 10, 1'010), StaticWrite::kAppend));
  EXPECT_EQ(table_.all().size(), 1'010u);
  EXPECT_TRUE(table_.all(before)[0].starts_with("error: ")) << "rows have an earlier timestamp";
  EXPECT_FALSE(write_batches(Batches(layout_, 1'009, 1'100), StaticWrite::kAppend)) << "too low";
  ASSERT_TRUE(write_batches(Batches(layout_, 5, 305), StaticWrite::kReplace));
  table_.crash();
  EXPECT_EQ(table_.all().size(), 300u);
  ASSERT_TRUE(write_batches(Batches(layout_, 0, 0), StaticWrite::kReplace));
  EXPECT_TRUE(table_.all().empty());
}

TEST_F(StaticWrites, ChunksTellWhereTheRowsOfANumberAre) {
  EXPECT_EQ(table_.tablet->reader().place_of_row(5).rows_below, 0u);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(write(100 * i, 100 * i + 10 + i));
  const auto below = [&](std::uint64_t row) {
    return table_.tablet->reader().place_of_row(row).rows_below;
  };
  EXPECT_EQ(below(0), 0u);
  EXPECT_EQ(below(9), 0u);
  EXPECT_EQ(below(10), 10u);
  EXPECT_EQ(below(20), 10u);
  EXPECT_EQ(below(21), 21u);
  EXPECT_EQ(below(1'000), 21u);
  EXPECT_EQ(
      table_.all(kSyncLastCommitted, {table_.tablet->reader().place_of_row(21).key, {}}).size(),
      12u);
}

class CachedStaticWrites : public StaticWrites {
 protected:
  // The row as lookups see it that use the cache.
  std::string cached(std::int64_t key) {
    const std::string encoded = table_.rows.key({{"k", key}});
    const std::string_view keys[] = {encoded};
    const std::vector<ColumnIndex> columns = table_.all_columns();
    LookupRequest request;
    request.keys = keys;
    request.columns = columns;
    request.use_lookup_cache = true;
    Rowset found;
    const auto done = table_.lookup(request, found);
    if (!done) return done.error().message();
    return found.exists(0) ? std::string(found.at(0, 1).text().substr(0, 1)) : "-";
  }
};

TEST_F(CachedStaticWrites, TheRowCacheHasNoRowsOfBefore) {
  table_.settings.mount.lookup_cache_rows_per_tablet = 100;
  table_.restart();
  ASSERT_TRUE(write(0, 10));
  EXPECT_EQ(cached(3), "v");
  EXPECT_EQ(cached(3), "v");
  ASSERT_EQ(table_.tablet->row_cache().statistics().hits, 1u);
  ASSERT_TRUE(replace(2, 5, 'n'));
  EXPECT_EQ(cached(3), "n");
  EXPECT_EQ(cached(7), "-");
  EXPECT_EQ(cached(3), "n");
  EXPECT_EQ(table_.tablet->row_cache().statistics().hits, 2u) << "it is filled again";
}

TEST_F(StaticWrites, MustBeAboveWhatIsThere) {
  ASSERT_TRUE(write(10, 20));
  const auto refused = write(19, 30);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().context,
            "Sort order violation: the first key (19) is not above (19), the last one of the "
            "table");
  EXPECT_EQ(table_.all().size(), 10u);
  EXPECT_TRUE(write(20, 21));
}

TEST_F(StaticWrites, IsRefusedByATabletThatTakesTransactions) {
  table_.tablet->unfreeze();
  const auto refused = write(0, 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kReadOnly);
}

class UnsortedStaticWrites : public StaticWrites {
 protected:
  UnsortedStaticWrites() : StaticWrites(false) {}
};

TEST_F(UnsortedStaticWrites, ContinuesTheNumbersOfItsRowsAfterRestarts) {
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
