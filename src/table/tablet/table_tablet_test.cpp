#include "table/tablet/table_tablet.h"

#include <gtest/gtest.h>

#include <set>

#include "io/random.h"
#include "table/tablet/test_table.h"

namespace moraine::table {
namespace {

class TableTabletTest : public testing::Test {
 protected:
  TableTabletTest() : table_(7) { table_.boot(); }

  static Task<void> commit_into(TableTablet& tablet, TabletWrite write, Result<Timestamp>& out) {
    out = co_await tablet.commit(std::move(write));
  }
  static Task<void> get_into(TestTable& table, std::string key, Timestamp timestamp, bool& done,
                             bool& exists) {
    const std::string_view keys[] = {key};
    const std::vector<ColumnIndex> columns = table.all_columns();
    LookupRequest request;
    request.keys = keys;
    request.columns = columns;
    request.timestamp = timestamp;
    Rowset rows;
    const auto found = co_await table.tablet->reader().lookup(request, rows);
    EXPECT_TRUE(found) << found.error().message();
    exists = found && rows.exists(0);
    done = true;
  }

  TestTable table_;
};

TEST_F(TableTabletTest, AWriteIsSeenByReadsThatBeginLaterAndAfterRestarts) {
  const Timestamp first = table_.put({{"k", 1}, {"v", "one"}});
  EXPECT_EQ(table_.get({{"k", 1}}), "k=1 v=one");
  const Timestamp second = table_.put({{"k", 1}, {"v", "two"}});
  EXPECT_GT(second, first);
  EXPECT_EQ(table_.get({{"k", 1}}), "k=1 v=two");
  EXPECT_EQ(table_.get({{"k", 1}}, first), "k=1 v=one");
  EXPECT_EQ(table_.get({{"k", 1}}, first - 1), "-");
  for (int life = 0; life < 3; ++life) {
    table_.restart();
    EXPECT_EQ(table_.get({{"k", 1}}), "k=1 v=two");
    EXPECT_EQ(table_.get({{"k", 1}}, first), "k=1 v=one");
  }
  table_.erase({{"k", 1}});
  EXPECT_EQ(table_.get({{"k", 1}}), "-");
  table_.crash();
  EXPECT_EQ(table_.get({{"k", 1}}), "-");
  EXPECT_EQ(table_.get({{"k", 1}}, second), "k=1 v=two");
}

TEST_F(TableTabletTest, AFlushChangesNothingThatReadersSee) {
  table_.put({{"k", 1}, {"v", "one"}});
  table_.put({{"k", 2}, {"v", "two"}});
  table_.flush();
  EXPECT_EQ(table_.tablet->statistics().flushes, 1u);
  EXPECT_EQ(table_.tablet->statistics().chunks, 1u);
  table_.put({{"k", 2}, {"n", 5}}, true);
  table_.put({{"k", 3}, {"v", "three"}});
  const std::vector<std::string> expected = {"k=1 v=one", "k=2 v=two n=5", "k=3 v=three"};
  EXPECT_EQ(table_.all(), expected);
  table_.restart();
  EXPECT_EQ(table_.all(), expected);
  table_.crash();
  EXPECT_EQ(table_.all(), expected);
}

TEST_F(TableTabletTest, OfTwoTransactionsThatOverlapTheSecondFails) {
  const Timestamp start = table_.timestamps.draw();
  table_.put({{"k", 1}, {"v", "mine"}});
  const auto late = table_.write({table_.rows.put({{"k", 1}, {"v", "late"}})}, start);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::kAborted);
  EXPECT_EQ(table_.get({{"k", 1}}), "k=1 v=mine");
  EXPECT_EQ(table_.tablet->statistics().conflicts, 1u);
  EXPECT_TRUE(table_.write({table_.rows.put({{"k", 2}, {"v", "other"}})}, start));
}

TEST_F(TableTabletTest, AConflictIsFoundAcrossAFlushAndARestart) {
  const Timestamp start = table_.timestamps.draw();
  table_.put({{"k", 1}, {"v", "mine"}});
  table_.flush();
  EXPECT_FALSE(table_.write({table_.rows.put({{"k", 1}, {"v", "late"}})}, start));
  table_.crash();
  EXPECT_FALSE(table_.write({table_.rows.put({{"k", 1}, {"v", "late"}})}, start));
  EXPECT_TRUE(table_.write({table_.rows.put({{"k", 1}, {"v", "new"}})}));
}

TEST_F(TableTabletTest, WithoutAtomicityTheLastWriterWins) {
  table_.stop();
  table_.settings.atomicity = Atomicity::kNone;
  table_.boot();
  const Timestamp start = table_.timestamps.draw();
  table_.put({{"k", 1}, {"v", "first"}});
  EXPECT_TRUE(table_.write({table_.rows.put({{"k", 1}, {"v", "second"}})}, start));
  EXPECT_EQ(table_.get({{"k", 1}}), "k=1 v=second");
}

TEST_F(TableTabletTest, AReaderAtATimestampWaitsForAWriteThatMayComeBelowIt) {
  table_.put({{"k", 1}, {"v", "old"}});
  table_.timestamps.slow = 50ms;
  Result<Timestamp> written;
  TaskScope scope;
  scope.spawn(commit_into(
      *table_.tablet, table_.transaction({table_.rows.put({{"k", 9}, {"v", "new"}})}), written));
  const Timestamp now = table_.timestamps.draw();
  bool timed = false;
  bool exists = true;
  bool latest = false;
  bool latest_exists = true;
  const std::string key = table_.rows.key({{"k", 9}});
  scope.spawn(get_into(table_, key, now, timed, exists));
  scope.spawn(get_into(table_, key, kSyncLastCommitted, latest, latest_exists));
  EXPECT_FALSE(timed);
  EXPECT_TRUE(latest);
  EXPECT_FALSE(latest_exists);
  table_.world.run_for(1s);
  EXPECT_TRUE(timed);
  ASSERT_TRUE(written);
  EXPECT_EQ(exists, *written <= now);
}

TEST_F(TableTabletTest, BadWritesAreRefusedAndChangeNothing) {
  const auto refused = [&](std::vector<RowChange> changes) {
    const auto written =
        table_.world.run(table_.tablet->commit({table_.new_id(), 0, std::move(changes)}));
    return !written && written.error().code == Errc::kInvalidArgument;
  };
  const RowChange one = table_.rows.put({{"k", 1}, {"v", "x"}});
  const RowChange two = table_.rows.put({{"k", 2}, {"v", "x"}});
  EXPECT_TRUE(refused({two, one}));
  EXPECT_TRUE(refused({one, one}));
  RowChange bad = one;
  bad.image = "junk";
  EXPECT_TRUE(refused({bad}));
  bad = one;
  bad.key = "junk";
  EXPECT_TRUE(refused({bad}));
  const std::string huge(kLongWriteBytesMax, 'x');
  bad = table_.rows.put({{"k", 1}, {"v", std::string_view(huge)}});
  EXPECT_TRUE(refused({bad}));
  EXPECT_TRUE(table_.all().empty());
  table_.restart();
  EXPECT_TRUE(table_.all().empty());
}

class RefusedTimestamps final : public TimestampSource {
 public:
  explicit RefusedTimestamps(TimestampSource& source) : source_(source) {}
  Task<Result<Timestamp>> next() override {
    if (failure) co_return fail(*failure, "refused");
    co_return co_await source_.next();
  }
  std::optional<Errc> failure;

 private:
  TimestampSource& source_;
};

TEST_F(TableTabletTest, AWriteWithoutATimestampFailsWithUnavailableWhenTheSourceDoes) {
  RefusedTimestamps timestamps(table_.timestamps);
  table_.stop();
  const auto before = std::move(table_.resources);
  table_.resources.reset(new TableResources{before->world, before->groups, timestamps,
                                            before->background, before->blocks,
                                            before->compressed_blocks, before->row_cache_memory});
  table_.boot();
  timestamps.failure = Errc::kUnavailable;
  EXPECT_EQ(table_.write({table_.rows.put({{"k", 1}, {"v", "a"}})}).error().code,
            Errc::kUnavailable);
  timestamps.failure = Errc::kUnknownOutcome;
  EXPECT_EQ(table_.write({table_.rows.put({{"k", 1}, {"v", "a"}})}).error().code, Errc::kAborted);
  timestamps.failure.reset();
  EXPECT_EQ(table_.get({{"k", 1}}), "-");
  table_.put({{"k", 1}, {"v", "b"}});
  EXPECT_EQ(table_.get({{"k", 1}}), "k=1 v=b");
  table_.stop();
}

TEST_F(TableTabletTest, AsManySmallRowsAsAreAllowedFitIntoOneTransaction) {
  std::vector<RowChange> changes;
  for (std::size_t i = 0; i < kRowsPerTransactionMax; ++i) {
    changes.push_back(table_.rows.put({{"k", static_cast<std::int64_t>(i)}, {"v", "x"}}, true));
  }
  const auto written = table_.write(changes);
  EXPECT_TRUE(written) << written.error().message();
  changes.push_back(table_.rows.put({{"k", std::int64_t{1} << 40}, {"v", "x"}}, true));
  EXPECT_EQ(table_.write(changes).error().code, Errc::kInvalidArgument);
}

TEST_F(TableTabletTest, AConflictNamesTheTableTheRowTheLockGroupAndTheOtherTransaction) {
  const TabletWrite late = table_.transaction({table_.rows.put({{"k", 7}, {"b", 2}}, true)});
  const TabletWrite first = table_.transaction({table_.rows.put({{"k", 7}, {"b", 1}}, true)});
  const auto written = table_.world.run(table_.tablet->commit(first));
  ASSERT_TRUE(written);
  const auto lost = table_.world.run(table_.tablet->commit(late));
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Errc::kAborted);
  EXPECT_EQ(
      lost.error().context,
      fmt::format("//test: row lock conflict: row (7): a write of lock group \"b\" by "
                  "transaction {} was committed at {}; transaction {} began at {}",
                  to_string(first.transaction), *written, to_string(late.transaction), late.start));
}

TEST_F(TableTabletTest, TabletsAreNamedInErrorsAsInReports) {
  ASSERT_TRUE(table_.world.run(table_.tablet->freeze()));
  const auto refused = table_.write({table_.rows.put({{"k", 1}})});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().context.find("Tablet 91 of table //test is in \"frozen\" state"),
            std::string::npos)
      << refused.error().context;
}

TEST_F(TableTabletTest, RowsOutsideTheTabletAreRefused) {
  table_.stop();
  table_.settings.bounds = {table_.rows.key({{"k", 10}}), table_.rows.key({{"k", 20}})};
  table_.boot();
  EXPECT_FALSE(table_.write({table_.rows.put({{"k", 9}})}));
  EXPECT_TRUE(table_.write({table_.rows.put({{"k", 10}})}));
  EXPECT_FALSE(table_.write({table_.rows.put({{"k", 20}})}));
}

TEST_F(TableTabletTest, AFrozenTabletHasAllInChunksAndRefusesWrites) {
  table_.put({{"k", 1}, {"v", "one"}});
  const auto frozen = table_.world.run(table_.tablet->freeze());
  ASSERT_TRUE(frozen) << frozen.error().message();
  const auto refused = table_.write({table_.rows.put({{"k", 2}})});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kReadOnly);
  EXPECT_EQ(table_.get({{"k", 1}}), "k=1 v=one");
  EXPECT_EQ(table_.tablet->chunk_records().size(), 1u);
  EXPECT_GT(table_.tablet->statistics().unflushed, table_.tablet->statistics().last_commit);
  table_.tablet->unfreeze();
  EXPECT_TRUE(table_.write({table_.rows.put({{"k", 2}})}));
}

TEST_F(TableTabletTest, AFullStoreIsRotatedAndFlushed) {
  MountConfig mount;
  mount.max_dynamic_store_row_count = 10;
  ASSERT_TRUE(table_.tablet->remount(mount));
  for (int i = 0; i < 45; ++i) table_.put({{"k", i}, {"v", "x"}});
  table_.world.run(table_.tablet->settle());
  EXPECT_GE(table_.tablet->statistics().flushes, 4u);
  EXPECT_EQ(table_.all().size(), 45u);
  table_.crash();
  EXPECT_EQ(table_.all().size(), 45u);
}

TEST_F(TableTabletTest, OptionsThatContradictEachOtherAreRefused) {
  MountConfig mount;
  mount.min_compaction_store_count = 20;
  const auto remounted = table_.tablet->remount(mount);
  ASSERT_FALSE(remounted);
  EXPECT_NE(remounted.error().context.find("min_compaction_store_count"), std::string::npos);
  table_.stop();
  table_.settings.mount = mount;
  EXPECT_FALSE(table_.try_boot());
  table_.settings.mount = {};
  table_.boot();
}

TEST_F(TableTabletTest, ATabletThatWasSupersededStops) {
  auto second = table_.try_boot();
  ASSERT_TRUE(second);
  bool told = false;
  table_.tablet->on_end([&] { told = true; });
  const auto late = table_.write({table_.rows.put({{"k", 1}})});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::kUnknownOutcome) << "its entry was begun";
  EXPECT_TRUE(told);
  const auto later = table_.write({table_.rows.put({{"k", 1}})});
  ASSERT_FALSE(later);
  EXPECT_EQ(later.error().code, Errc::kConflict) << "nothing was begun";
  table_.stop();
  table_.tablet = std::move(*second);
  table_.put({{"k", 1}, {"v", "mine"}});
}

// A full disk refuses the entry that is being written; entries queued behind it were not begun.
TEST_F(TableTabletTest, AFailedCommitSaysWhetherItWasBegun) {
  table_.put({{"k", 0}, {"v", "kept"}});
  SimDrive& drive = table_.storage.node().disks().drive("device");
  drive.faults().capacity = drive.allocated();
  constexpr int kWriters = 60;
  std::string large(1'000'000, '\0');
  SeededRandom random(7);
  std::vector<Result<Timestamp>> written(kWriters);
  TaskScope scope;
  for (int i = 0; i < kWriters; ++i) {
    for (char& c : large) c = static_cast<char>(random.next());  // Incompressible.
    scope.spawn(commit_into(*table_.tablet,
                            table_.transaction({table_.rows.put({{"k", i + 1}, {"v", large}})}),
                            written[static_cast<std::size_t>(i)]));
  }
  while (scope.live() > 0) table_.world.run_for(1s);
  std::map<Errc, int> codes;
  for (const auto& one : written) {
    if (!one) ++codes[one.error().code];
  }
  EXPECT_GT(codes[Errc::kUnknownOutcome], 0);
  EXPECT_GT(codes[Errc::kNoSpace], 0);
  drive.faults().capacity = DiskFaults::kUnlimited;
  table_.crash();
  EXPECT_EQ(table_.get({{"k", 0}}), "k=0 v=kept");
  for (int i = 0; i < kWriters; ++i) {
    const auto& one = written[static_cast<std::size_t>(i)];
    const bool found = table_.get({{"k", i + 1}}) != "-";
    if (one) EXPECT_TRUE(found) << i;
    if (!one && one.error().code != Errc::kUnknownOutcome) EXPECT_FALSE(found) << i;
  }
}

TEST_F(TableTabletTest, ChunksAreTakenOverByAnotherTabletWithinItsRange) {
  for (int i = 0; i < 20; ++i) table_.put({{"k", i}, {"v", "x"}});
  ASSERT_TRUE(table_.world.run(table_.tablet->freeze()));
  const std::vector<ChunkRecord> records = table_.tablet->chunk_records();
  const TabletSettings whole = table_.settings;
  table_.settings.bounds.from = table_.rows.key({{"k", 15}});
  table_.options.adopted = records;
  const TabletInfo other_info = TabletInfo::simple(TabletId{92}, kTestGroup, 3);
  auto other = table_.try_boot(other_info);
  ASSERT_TRUE(other) << other.error().message();
  std::swap(table_.tablet, *other);
  EXPECT_EQ(table_.all().size(), 5u);
  EXPECT_EQ(table_.tablet->borrowed_from(), std::vector{TabletId{91}});
  table_.put({{"k", 15}, {"v", "y"}});
  table_.world.run(table_.tablet->stop());
  auto again = table_.try_boot(other_info);
  ASSERT_TRUE(again) << again.error().message();
  table_.tablet = std::move(*again);
  EXPECT_EQ(table_.all().size(), 5u);
  table_.flush();
  table_.compact();
  EXPECT_TRUE(table_.tablet->borrowed_from().empty());
  EXPECT_EQ(table_.all().size(), 5u);
  std::swap(table_.tablet, *other);
  table_.world.run((*other)->stop());
  table_.tablet->unfreeze();
  EXPECT_EQ(table_.all().size(), 20u);
}

TEST_F(TableTabletTest, ManyWritersShareLogEntries) {
  constexpr int kWriters = 64;
  std::vector<Result<Timestamp>> written(kWriters);
  TaskScope scope;
  for (int i = 0; i < kWriters; ++i) {
    scope.spawn(commit_into(*table_.tablet,
                            table_.transaction({table_.rows.put({{"k", i}, {"v", "x"}})}),
                            written[static_cast<std::size_t>(i)]));
  }
  table_.world.run_for(1s);
  std::set<Timestamp> commits;
  for (const auto& one : written) {
    ASSERT_TRUE(one);
    commits.insert(*one);
  }
  EXPECT_EQ(commits.size(), written.size());
  EXPECT_EQ(table_.all().size(), written.size());
}

}  // namespace
}  // namespace moraine::table
