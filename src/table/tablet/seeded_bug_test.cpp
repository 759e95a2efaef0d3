// Each bug of the write side breaks the promise that it targets, and without it the promise holds.

#include "table/tablet/seeded_bug.h"

#include <gtest/gtest.h>

#include "io/sim/switched_on.h"
#include "table/tablet/test_table.h"

namespace moraine::table {
namespace {

constexpr TabletId kCoordinator{500};

class Bugged {
  const SwitchedOn<SeededBug> bug_;

 public:
  explicit Bugged(SeededBug bug) : bug_(bug), table(21) { table.boot(); }
  bool prepare(const TabletWrite& write) {
    return table.world.run(table.tablet->prepare(write, kCoordinator)).has_value();
  }
  bool commit(const TransactionId& id) {
    return table.world.run(table.tablet->commit_prepared(id, table.timestamps.draw())).has_value();
  }
  TabletWrite one() { return table.transaction({table.rows.put({{"k", 1}, {"v", "one"}})}); }

  TestTable table;
};

bool acknowledged_writes_stay(SeededBug bug) {
  Bugged bugged(bug);
  bugged.table.put({{"k", 1}, {"v", "one"}});
  bugged.table.crash();
  return bugged.table.get({{"k", 1}}) == "k=1 v=one";
}

bool prepared_transactions_stay_over_crashes(SeededBug bug) {
  Bugged bugged(bug);
  const TabletWrite write = bugged.one();
  EXPECT_TRUE(bugged.prepare(write));
  bugged.table.crash();
  return bugged.commit(write.transaction);
}

bool prepared_transactions_stay_over_snapshots(SeededBug bug) {
  Bugged bugged(bug);
  const TabletWrite write = bugged.one();
  EXPECT_TRUE(bugged.prepare(write));
  bugged.table.restart();
  return bugged.commit(write.transaction);
}

bool conflicts_are_found_across_flushes(SeededBug bug) {
  Bugged bugged(bug);
  const Timestamp start = bugged.table.timestamps.draw();
  bugged.table.put({{"k", 1}, {"v", "one"}});
  bugged.table.flush();
  return !bugged.table.write({bugged.table.rows.put({{"k", 1}, {"v", "two"}})}, start);
}

bool strong_read_locks_stop_writers(SeededBug bug) {
  Bugged bugged(bug);
  TestTable& table = bugged.table;
  const Timestamp start = table.timestamps.draw();
  EXPECT_TRUE(table.write({table.rows.lock({{"k", 1}}, "a", LockMode::kSharedStrong)}));
  return !table.write({table.rows.put({{"k", 1}, {"a", 5}}, true)}, start);
}

bool sync_readers_wait(SeededBug bug) {
  Bugged bugged(bug);
  EXPECT_TRUE(bugged.prepare(bugged.one()));
  return bugged.table.get({{"k", 1}}) != "-";
}

Task<void> commit_quietly(TableTablet& tablet, TabletWrite write) {
  const auto written = co_await tablet.commit(std::move(write));
  EXPECT_TRUE(written);
}

bool flushes_wait_for_what_was_promised(SeededBug bug) {
  Bugged bugged(bug);
  bugged.table.timestamps.slow = 50ms;
  TaskScope scope;
  scope.spawn(commit_quietly(*bugged.table.tablet, bugged.one()));
  bugged.table.flush();
  bugged.table.world.run_for(1s);
  return bugged.table.get({{"k", 1}}) == "k=1 v=one";
}

struct Case {
  SeededBug bug;
  bool (*holds)(SeededBug bug);
};

TEST(SeededBugs, EachBreaksThePromiseThatItIsAbout) {
  for (const Case& one : {
           Case{SeededBug::kAckBeforeDurable, acknowledged_writes_stay},
           Case{SeededBug::kCommitBeforePrepareDurable, prepared_transactions_stay_over_crashes},
           Case{SeededBug::kPreparedForgotten, prepared_transactions_stay_over_snapshots},
           Case{SeededBug::kConflictForgottenAtFlush, conflicts_are_found_across_flushes},
           Case{SeededBug::kLockGroupIgnored, strong_read_locks_stop_writers},
           Case{SeededBug::kReadersDoNotWait, sync_readers_wait},
           Case{SeededBug::kFlushLosesTail, flushes_wait_for_what_was_promised},
       }) {
    EXPECT_TRUE(one.holds(SeededBug::kNone)) << to_string(one.bug);
    EXPECT_FALSE(one.holds(one.bug)) << to_string(one.bug);
  }
}

}  // namespace
}  // namespace moraine::table
