// Changes that are applied later than their timestamps say, and writes during a freeze.
#include <gtest/gtest.h>

#include "table/tablet/test_table.h"

namespace moraine::table {
namespace {

MountConfig at_once() {
  MountConfig mount;
  mount.min_data_ttl = 0ms;
  mount.max_data_ttl = 0ms;
  mount.max_dynamic_store_row_count = 5;
  mount.dynamic_store_auto_flush_period = std::chrono::hours(1'000);
  return mount;
}

class LateChanges : public testing::Test {
 protected:
  static constexpr TabletId kCoordinator{500};

  void open(MountConfig mount) {
    table = std::make_unique<TestTable>(7, test_schema(), mount);
    table->boot();
  }
  // Adds to n of row 1, concurrently with others.
  TabletWrite addition(std::int64_t number) {
    RowChange change = table->rows.put({{"k", 1}, {"n", number}}, true, true);
    change.locks = {};
    change.locks.add(0, LockMode::kSharedWrite);
    return table->transaction({std::move(change)});
  }
  void prepare(const TabletWrite& write) {
    const auto prepared = table->world.run(table->tablet->prepare(write, kCoordinator));
    ASSERT_TRUE(prepared) << prepared.error().message();
  }
  void commit(const TabletWrite& write, Timestamp at) {
    const auto committed = table->world.run(table->tablet->commit_prepared(write.transaction, at));
    ASSERT_TRUE(committed) << committed.error().message();
  }
  // Fills the active store, which has a row already, with other rows; the next one is empty.
  void rotate() {
    for (int i = 0; i < 4; ++i) table->put({{"k", ++filler_}, {"v", "x"}});
  }

  std::unique_ptr<TestTable> table;
  int filler_ = 100;
};

TEST_F(LateChanges, AFlushThatMergesRowsLeavesDeltasThatAYoungerStoreHasBelowThem) {
  MountConfig mount = at_once();
  mount.merge_rows_on_flush = true;
  open(mount);
  const TabletWrite late = addition(3);
  prepare(late);
  rotate();
  ASSERT_TRUE(table->world.run(table->tablet->commit(addition(4))));
  commit(late, table->timestamps.draw());
  table->world.run_for(5s);
  EXPECT_GT(table->tablet->statistics().flushes, 0u);
  EXPECT_EQ(table->get({{"k", 1}}), "k=1 n=7");
  table->flush();
  table->compact();
  EXPECT_EQ(table->get({{"k", 1}}), "k=1 n=7");
}

TEST_F(LateChanges, ACompactionLeavesRoomForDeltasThatArePreparedAndCommittedBelowThem) {
  open(at_once());
  const TabletWrite first = addition(3);
  prepare(first);
  rotate();
  const TabletWrite second = addition(4);
  prepare(second);
  const Timestamp below = table->timestamps.draw();
  const Timestamp above = table->timestamps.draw();
  commit(first, above);
  table->world.run_for(5s);
  ASSERT_GT(table->tablet->statistics().flushes, 0u);
  table->compact();
  commit(second, below);
  EXPECT_EQ(table->get({{"k", 1}}), "k=1 n=7");
  table->flush();
  table->compact();
  EXPECT_EQ(table->get({{"k", 1}}), "k=1 n=7");
}

struct Outcomes {
  std::optional<Result<Timestamp>> written;
  std::optional<Result<void>> frozen;
};
Task<void> commit_into(TableTablet& tablet, TabletWrite write, Outcomes& outcomes) {
  outcomes.written = co_await tablet.commit(std::move(write));
}
Task<void> freeze_into(TableTablet& tablet, Outcomes& outcomes) {
  outcomes.frozen = co_await tablet.freeze();
}

// A tablet that takes over the chunks of a frozen one does not read its log.
TEST(FreezeAndWrites, AWriteThatChecksSpaceDuringAFreezeIsInChunksOrRefused) {
  MountConfig mount;
  mount.dynamic_store_auto_flush_period = std::chrono::hours(1'000);
  mount.enable_compaction_and_partitioning = false;
  TestTable table(9, test_schema(), mount, 1u << 20);
  table.boot();
  SeededRandom random(1);
  std::string text(100'000, 'x');
  int rows = 0;
  for (;; ++rows) {
    ASSERT_LT(rows, 10'000);
    for (char& letter : text) letter = static_cast<char>(random.next());
    if (!table.write({table.rows.put({{"k", rows}, {"v", std::string_view(text)}})})) break;
    if (rows % 10 == 0) table.flush();
  }
  ASSERT_GT(rows, 10);
  table.flush();
  Outcomes outcomes;
  spawn(commit_into(*table.tablet, table.transaction({table.rows.erase({{"k", 1}})}), outcomes));
  spawn(freeze_into(*table.tablet, outcomes));
  table.world.run_for(10s);
  ASSERT_TRUE(outcomes.written && outcomes.frozen);
  EXPECT_TRUE(*outcomes.frozen) << outcomes.frozen->error().message();
  if (*outcomes.written) {
    EXPECT_GT(table.tablet->statistics().unflushed, **outcomes.written);
  } else {
    EXPECT_EQ(outcomes.written->error().code, Errc::kReadOnly)
        << outcomes.written->error().message();
  }
}

}  // namespace
}  // namespace moraine::table
