// Scans over deleted rows: fast, and never wrong.

#include <gtest/gtest.h>

#include <map>

#include "io/random.h"
#include "table/tablet/read/deleted_range.h"
#include "table/tablet/test_table.h"

namespace moraine::table {
namespace {

constexpr TabletId kCoordinator{500};

std::vector<std::string> lines(const std::map<int, std::string>& rows) {
  std::vector<std::string> all;
  for (const auto& [key, text] : rows) all.push_back(fmt::format("k={} v={}", key, text));
  return all;
}

class ScanDeletedTest : public testing::Test {
 protected:
  ScanDeletedTest() : table_(11) { table_.boot(); }
  void put(int key, const std::string& text) {
    table_.put({{"k", key}, {"v", std::string_view(text)}});
    rows_[key] = text;
  }
  void erase(int first, int last) {
    std::vector<RowChange> changes;
    for (int key = first; key < last; ++key) {
      changes.push_back(table_.rows.erase({{"k", key}}));
      rows_.erase(key);
    }
    ASSERT_TRUE(table_.write(std::move(changes)));
  }
  // Rows, the first of which are deleted; a scan has found that.
  void make_deleted() {
    for (int key = 0; key < 300; ++key) put(key, "x");
    erase(0, 200);
    EXPECT_EQ(table_.all(), lines(rows_));
    table_.world.run_for(1ms);
  }

  TestTable table_;
  std::map<int, std::string> rows_;
};

TEST_F(ScanDeletedTest, ARowWrittenAgainIsSeen) {
  make_deleted();
  EXPECT_EQ(table_.all(), lines(rows_));
  put(150, "back");
  EXPECT_EQ(table_.all(), lines(rows_));
  put(0, "first");
  EXPECT_EQ(table_.all(), lines(rows_));
}

TEST_F(ScanDeletedTest, ThePastIsSeenAsItWas) {
  for (int key = 0; key < 300; ++key) put(key, "x");
  const auto before = lines(rows_);
  const Timestamp then = table_.timestamps.draw();
  erase(0, 200);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(table_.all(), lines(rows_));
    table_.world.run_for(1ms);
    EXPECT_EQ(table_.all(then), before);
  }
}

TEST_F(ScanDeletedTest, ARangeThatEndsWithinWhatIsGoneHasNoRows) {
  make_deleted();
  EXPECT_TRUE(table_.all(kSyncLastCommitted, {"", table_.rows.key({{"k", 100}})}).empty());
  const KeyBounds late{table_.rows.key({{"k", 100}}), table_.rows.key({{"k", 202}})};
  EXPECT_EQ(table_.all(kSyncLastCommitted, late).size(), 2u);
}

TEST_F(ScanDeletedTest, APreparedRowAmongThemIsWaitedFor) {
  make_deleted();
  TabletWrite write =
      table_.transaction({table_.rows.put({{"k", 50}, {"v", std::string_view("new")}})});
  const TransactionId id = write.transaction;
  ASSERT_TRUE(table_.world.run(table_.tablet->prepare(std::move(write), kCoordinator)));
  // Readers that do not wait publish nothing.
  EXPECT_EQ(table_.all(kAsyncLastCommitted), lines(rows_));
  table_.world.run_for(1ms);
  const Timestamp commit = table_.timestamps.draw();
  ASSERT_TRUE(table_.world.run(table_.tablet->commit_prepared(id, commit)));
  rows_[50] = "new";
  EXPECT_EQ(table_.all(), lines(rows_));
}

TEST_F(ScanDeletedTest, FlushAndCompactionChangeNothing) {
  make_deleted();
  table_.flush();
  EXPECT_EQ(table_.all(), lines(rows_));
  erase(200, 280);
  EXPECT_EQ(table_.all(), lines(rows_));
  table_.world.run_for(1ms);
  table_.compact();
  EXPECT_EQ(table_.all(), lines(rows_));
  put(7, "back");
  table_.flush();
  EXPECT_EQ(table_.all(), lines(rows_));
}

// Commits one transaction after the other; some are in flight while others are read.
Task<void> commit_one(TableTablet& tablet, TabletWrite write, bool& done) {
  done = (co_await tablet.commit(std::move(write))).has_value();
}

TEST(ScanDeletedModel, RandomWritesDeletesAndScansAgreeWithAMap) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    MountConfig mount;
    mount.max_dynamic_store_row_count = 200;
    TestTable table(seed, test_schema(), mount);
    table.boot();
    SeededRandom random(seed);
    std::map<int, std::string> rows;
    std::map<Timestamp, std::vector<std::string>> past;
    int next = 0;
    for (int step = 0; step < 150; ++step) {
      std::map<int, std::string> changed;
      const int first = rows.empty() ? next : rows.begin()->first;
      const auto grow = static_cast<int>(random.below(120));
      for (int i = 0; i < grow; ++i) changed[next++] = fmt::format("t{}", step);
      const auto gone = static_cast<int>(random.below(120));
      for (int i = 0; i < gone; ++i) changed.try_emplace(first + i, "");
      if (random.one_in(4)) changed[static_cast<int>(random.below(next + 1))] = "back";
      std::vector<RowChange> changes;
      for (const auto& [key, text] : changed) {
        changes.push_back(text.empty()
                              ? table.rows.erase({{"k", key}})
                              : table.rows.put({{"k", key}, {"v", std::string_view(text)}}));
      }
      TaskScope scope;
      bool done = false;
      scope.spawn(commit_one(*table.tablet, table.transaction(std::move(changes)), done));
      const auto old = lines(rows);
      if (random.one_in(2)) {
        const auto seen = table.all();
        auto now = rows;
        for (const auto& [key, text] : changed) {
          if (text.empty()) now.erase(key);
          if (!text.empty()) now[key] = text;
        }
        ASSERT_TRUE(seen == old || seen == lines(now)) << seed << " " << step;
      }
      table.world.run_for(50ms);
      ASSERT_TRUE(done) << seed << " " << step;
      for (const auto& [key, text] : changed) {
        if (text.empty()) rows.erase(key);
        if (!text.empty()) rows[key] = text;
      }
      ASSERT_EQ(table.all(), lines(rows)) << seed << " " << step;
      if (random.one_in(10)) past[table.timestamps.draw()] = lines(rows);
      for (const auto& [timestamp, then] : past) ASSERT_EQ(table.all(timestamp), then);
      if (random.one_in(40)) table.restart();
    }
  }
}

}  // namespace
}  // namespace moraine::table
