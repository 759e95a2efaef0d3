// Ordered tables: appending and trimming.
#include <gtest/gtest.h>

#include "table/tablet/write/test_ordered.h"

namespace moraine::table {
namespace {

using Texts = std::vector<std::string>;

constexpr TabletId kCoordinator{500};

class AppendTest : public testing::Test {
 protected:
  AppendTest() : table_(21) {}

  void append(const Texts& texts) {
    const auto written = table_.append(texts);
    ASSERT_TRUE(written) << written.error().message();
  }
  Result<void> prepare(const TabletWrite& write) {
    return table_.world.run(table_.tablet->prepare(write, kCoordinator));
  }
  Task<void> commit_into(TabletWrite write, Result<Timestamp>& out) {
    out = co_await table_.tablet->commit(std::move(write));
  }
  std::uint64_t total() { return table_.tablet->statistics().total_rows; }
  std::uint64_t trimmed() { return table_.tablet->statistics().trimmed_rows; }

  OrderedTable table_;
};

TEST_F(AppendTest, RowsAreNumberedInTheOrderOfCommits) {
  append({"a", "b"});
  append({"c"});
  EXPECT_EQ(table_.texts(), (Texts{"0:a", "1:b", "2:c"}));
  EXPECT_EQ(total(), 3u);
  table_.flush();
  append({"d"});
  table_.compact();
  EXPECT_EQ(table_.texts(), (Texts{"0:a", "1:b", "2:c", "3:d"}));
  table_.restart();
  append({"e"});
  EXPECT_EQ(table_.texts().back(), "4:e");
}

TEST_F(AppendTest, RowsAreReadByTheirPlaceAndByRanges) {
  append({"a", "b", "c", "d"});
  for (int flushed = 0; flushed < 2; ++flushed) {
    const std::string found = table_.get({{"$tablet_index", 0}, {"$row_index", 2}});
    EXPECT_NE(found.find("v=c"), std::string::npos) << found;
    EXPECT_EQ(table_.get({{"$tablet_index", 0}, {"$row_index", 4}}), "-");
    const KeyBounds bounds{.from = encode_place({0, 1}), .to = encode_place({0, 3})};
    EXPECT_EQ(table_.all(kSyncLastCommitted, bounds).size(), 2u);
    table_.flush();
  }
}

TEST_F(AppendTest, TimestampsAndWeightsAreFilledIn) {
  const auto first = table_.append({"abc", ""});
  const auto second = table_.append({"x"});
  ASSERT_TRUE(first && second);
  const auto line = [](int row, std::string_view text, Timestamp at, int weight) {
    return fmt::format(
        "$tablet_index=0 $row_index={} v={} $timestamp={}u "
        "$cumulative_data_weight={}",
        row, text, at, weight);
  };
  EXPECT_EQ(table_.all(),
            (Texts{line(0, "abc", *first, 4), line(1, "", *first, 5), line(2, "x", *second, 7)}));
  table_.flush();
  table_.restart();
  const auto third = table_.append({"yy"});
  ASSERT_TRUE(third);
  EXPECT_EQ(table_.all().back(), line(3, "yy", *third, 10));
  // Also by what the trim has kept.
  ASSERT_TRUE(table_.trim(4));
  table_.restart();
  const auto fourth = table_.append({"z"});
  ASSERT_TRUE(fourth);
  EXPECT_EQ(table_.all(), Texts{line(4, "z", *fourth, 12)});
}

TEST_F(AppendTest, ManyAtOnceShareEntriesOfTheLogAndKeepTheirOrder) {
  TaskScope scope;
  std::vector<Result<Timestamp>> answers(50, fail(Errc::kTimeout, "not answered"));
  for (std::size_t i = 0; i < answers.size(); ++i) {
    scope.spawn(commit_into(table_.appending({fmt::format("t{}", i)}), answers[i]));
  }
  table_.world.run_for(5s);
  Timestamp before = 0;
  const Texts found = table_.texts();
  ASSERT_EQ(found.size(), answers.size());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    ASSERT_TRUE(answers[i]) << answers[i].error().message();
    EXPECT_GT(*answers[i], before);
    before = *answers[i];
    EXPECT_EQ(found[i], fmt::format("{}:t{}", i, i));
  }
}

TEST_F(AppendTest, AReaderOfThePastSeesAPrefix) {
  append({"a"});
  const auto second = table_.append({"b"});
  append({"c"});
  ASSERT_TRUE(second);
  EXPECT_EQ(table_.texts(*second), (Texts{"0:a", "1:b"}));
}

TEST_F(AppendTest, AnAppendFollowsThePreparedOneBeforeIt) {
  append({"a"});
  const TabletWrite prepared = table_.appending({"p", "q"});
  ASSERT_TRUE(prepare(prepared));
  TaskScope scope;
  Result<Timestamp> answer = fail(Errc::kTimeout, "not answered");
  scope.spawn(commit_into(table_.appending({"b"}), answer));
  table_.world.run_for(100ms);
  EXPECT_FALSE(answer);
  EXPECT_EQ(table_.texts(kAsyncLastCommitted), Texts{"0:a"});
  const Timestamp at = table_.timestamps.draw();
  ASSERT_TRUE(table_.world.run(table_.tablet->commit_prepared(prepared.transaction, at)));
  table_.world.run_for(100ms);
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_GT(*answer, at);
  EXPECT_EQ(table_.texts(), (Texts{"0:a", "1:p", "2:q", "3:b"}));
  EXPECT_NE(table_.all()[2].find(fmt::format("$timestamp={}u", at)), std::string::npos);
}

TEST_F(AppendTest, NumbersOfAnAbortedOneAreUsedAgain) {
  const TabletWrite prepared = table_.appending({"p", "q"});
  ASSERT_TRUE(prepare(prepared));
  ASSERT_TRUE(table_.world.run(table_.tablet->abort_prepared(prepared.transaction)));
  append({"a"});
  EXPECT_EQ(table_.texts(), Texts{"0:a"});
  table_.restart();
  append({"b"});
  EXPECT_EQ(table_.texts(), (Texts{"0:a", "1:b"}));
}

TEST_F(AppendTest, APreparedOneKeepsItsPlaceOverRestarts) {
  append({"a"});
  const TabletWrite prepared = table_.appending({"p"});
  ASSERT_TRUE(prepare(prepared));
  ASSERT_TRUE(prepare(prepared)) << "repeated";
  table_.crash();
  TaskScope scope;
  Result<Timestamp> answer = fail(Errc::kTimeout, "not answered");
  scope.spawn(commit_into(table_.appending({"b"}), answer));
  table_.world.run_for(100ms);
  EXPECT_FALSE(answer);
  const Timestamp at = table_.timestamps.draw();
  ASSERT_TRUE(table_.world.run(table_.tablet->commit_prepared(prepared.transaction, at)));
  table_.world.run_for(100ms);
  ASSERT_TRUE(answer);
  EXPECT_EQ(table_.texts(), (Texts{"0:a", "1:p", "2:b"}));
  table_.crash();
  EXPECT_EQ(table_.texts(), (Texts{"0:a", "1:p", "2:b"}));
}

TEST_F(AppendTest, AnAppendBehindAnUndecidedOneIsAbortedInTheEnd) {
  ASSERT_TRUE(prepare(table_.appending({"p"})));
  const auto written = table_.append({"a"});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Errc::kAborted);
}

TEST_F(AppendTest, OnlyAppendsOfThisTabletAreTaken) {
  const auto refused = [this](std::vector<RowChange> changes) {
    const auto written = table_.write(std::move(changes));
    return !written && written.error().code == Errc::kInvalidArgument;
  };
  EXPECT_TRUE(refused({table_.rows.erase({{"$tablet_index", 0}, {"$row_index", 0}})}));
  EXPECT_TRUE(refused(
      {table_.rows.lock({{"$tablet_index", 0}, {"$row_index", 0}}, "", LockMode::kSharedWeak)}));
  EXPECT_TRUE(refused({table_.rows.put({{"$tablet_index", 1}, {"$row_index", 0}, {"v", "x"}})}));
  EXPECT_EQ(total(), 0u);
}

TEST_F(AppendTest, TrimmedRowsAreGoneAndTheirChunksToo) {
  append({"a", "b"});
  table_.flush();
  append({"c", "d"});
  table_.flush();
  append({"e"});
  ASSERT_TRUE(table_.trim(3));
  EXPECT_EQ(table_.texts(), (Texts{"3:d", "4:e"}));
  EXPECT_EQ(table_.get({{"$tablet_index", 0}, {"$row_index", 2}}), "-");
  EXPECT_NE(table_.get({{"$tablet_index", 0}, {"$row_index", 3}}), "-");
  EXPECT_EQ(trimmed(), 3u);
  EXPECT_EQ(total(), 5u);
  table_.world.run(table_.tablet->settle());
  EXPECT_EQ(table_.tablet->statistics().chunks, 1u);
  table_.crash();
  EXPECT_EQ(trimmed(), 3u);
  EXPECT_EQ(table_.texts(), (Texts{"3:d", "4:e"}));
  ASSERT_TRUE(table_.trim(2)) << "less than before";
  EXPECT_EQ(trimmed(), 3u);
  const auto too_many = table_.trim(6);
  ASSERT_FALSE(too_many);
  EXPECT_EQ(too_many.error().code, Errc::kInvalidArgument);
}

TEST_F(AppendTest, NumbersGoOnAfterAllRowsWereTrimmed) {
  append({"a", "b"});
  ASSERT_TRUE(table_.trim(2));
  table_.flush();
  table_.world.run(table_.tablet->settle());
  EXPECT_EQ(table_.tablet->statistics().chunks, 0u) << "trimmed rows are not flushed";
  for (int restart = 0; restart < 2; ++restart) table_.restart();
  EXPECT_EQ(table_.texts(), Texts{});
  append({"c"});
  EXPECT_EQ(table_.texts(), Texts{"2:c"});
}

TEST_F(AppendTest, CompactionKeepsEveryRowHoweverOld) {
  append({"a"});
  table_.world.run_for(2h);
  append({"b"});
  table_.compact();
  EXPECT_EQ(table_.texts(), (Texts{"0:a", "1:b"}));
}

TEST_F(AppendTest, SortedTabletsAreNotTrimmed) {
  TestTable sorted(22);
  sorted.boot();
  sorted.put({{"k", 1}});
  const auto done = sorted.world.run(sorted.tablet->trim(1));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::kInvalidArgument);
}

TEST(AppendTtl, ExpiredChunksAreTrimmed) {
  MountConfig mount;
  mount.min_data_versions = 0;
  mount.min_data_ttl = mount.max_data_ttl = 10min;
  OrderedTable table(23, mount);
  ASSERT_TRUE(table.append({"a", "b"}));
  table.flush();
  table.world.run_for(8min);
  ASSERT_TRUE(table.append({"c"}));
  table.flush();
  table.world.run_for(4min);
  EXPECT_EQ(table.texts(), Texts{"2:c"});
  EXPECT_EQ(table.tablet->statistics().trimmed_rows, 2u);
  EXPECT_EQ(table.tablet->statistics().chunks, 1u);
  table.world.run_for(10min);
  table.restart();
  EXPECT_EQ(table.texts(), Texts{});
  ASSERT_TRUE(table.append({"d"}));
  EXPECT_EQ(table.texts(), Texts{"3:d"});
}

}  // namespace
}  // namespace moraine::table
