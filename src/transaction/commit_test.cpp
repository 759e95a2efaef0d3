#include "transaction/commit.h"

#include <gtest/gtest.h>

#include "table/model/key.h"

namespace moraine {
namespace {

std::string key(std::int64_t value) {
  return table::encode_key(std::vector<Value>{Value(value)});
}

std::shared_ptr<OpenTable> table_of(std::vector<std::int64_t> pivots, std::uint64_t first_tablet) {
  auto table = std::make_shared<OpenTable>();
  table->path = "t";
  table->ranges.resize(pivots.size() + 1);
  for (std::size_t i = 0; i < table->ranges.size(); ++i) {
    if (i > 0) table->ranges[i].from = key(pivots[i - 1]);
    table->ranges[i].tablet = TabletId{first_tablet + i};
    table->ranges[i].state = MountState::kMounted;
  }
  return table;
}

table::RowChange change(std::int64_t value) {
  table::RowChange made;
  made.key = key(value);
  return made;
}

TEST(OpenTableTest, AKeyIsInTheLastRangeThatBeginsAtOrBelowIt) {
  const auto table = table_of({10, 20}, 1);
  EXPECT_EQ(table->range_of(as_bytes(key(-5))), 0u);
  EXPECT_EQ(table->range_of(as_bytes(key(9))), 0u);
  EXPECT_EQ(table->range_of(as_bytes(key(10))), 1u);
  EXPECT_EQ(table->range_of(as_bytes(key(19))), 1u);
  EXPECT_EQ(table->range_of(as_bytes(key(20))), 2u);
  EXPECT_EQ(table->range_of(as_bytes(std::string())), 0u);
}

TEST(OpenTableTest, ARangeThatDoesNotRunFailsWithItsState) {
  const auto table = table_of({}, 1);
  table->ranges[0].state = MountState::kUnmounted;
  const auto found = table->readable(0);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Errc::kReadOnly);
  EXPECT_NE(found.error().context.find("unmounted"), std::string::npos);
}

TEST(OpenTableTest, ARangeThatIsBeingStartedIsNotHere) {
  const auto table = table_of({}, 1);
  for (const MountState state : {MountState::kMounting, MountState::kFrozenMounting}) {
    table->ranges[0].state = state;
    const auto found = table->readable(0);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, Errc::kNotHere);
    EXPECT_NE(found.error().context.find(to_string(state)), std::string::npos);
  }
}

TEST(SplitByTabletTest, EveryTabletGetsItsOwnRows) {
  GatheredTransaction gathered;
  gathered.start = 7;
  gathered.tables.push_back({table_of({10}, 1), {}});
  gathered.tables.push_back({table_of({}, 9), {}});
  for (const std::int64_t id : {1, 5, 15}) gathered.tables[0].changes.push_back(change(id));
  gathered.tables[1].changes.push_back(change(1));
  const auto parts = split_by_tablet(std::move(gathered));
  ASSERT_TRUE(parts) << parts.error().message();
  ASSERT_EQ(parts->size(), 3u);
  EXPECT_EQ((*parts)[0].tablet, TabletId{1});
  EXPECT_EQ((*parts)[0].write.changes.size(), 2u);
  EXPECT_EQ((*parts)[1].tablet, TabletId{2});
  EXPECT_EQ((*parts)[2].tablet, TabletId{9});
  for (const Participant& part : *parts) EXPECT_EQ(part.write.start, 7u);
}

TEST(SplitByTabletTest, TablesOfAnotherAtomicityAreRefused) {
  GatheredTransaction gathered;
  gathered.atomicity = Atomicity::kNone;
  gathered.tables.push_back({table_of({}, 1), {}});
  gathered.tables[0].changes.push_back(change(1));
  const auto parts = split_by_tablet(std::move(gathered));
  ASSERT_FALSE(parts);
  EXPECT_NE(parts.error().context.find("Invalid atomicity mode"), std::string::npos);
}

TEST(SplitByTabletTest, AFrozenTabletTakesNoWrites) {
  GatheredTransaction gathered;
  const auto table = table_of({10}, 1);
  table->ranges[0].state = MountState::kFrozen;
  gathered.tables.push_back({table, {}});
  gathered.tables[0].changes.push_back(change(1));
  const auto parts = split_by_tablet(std::move(gathered));
  ASSERT_FALSE(parts);
  EXPECT_EQ(parts.error().code, Errc::kReadOnly);
  EXPECT_NE(parts.error().context.find("\"frozen\" state while \"mounted\" expected"),
            std::string::npos);
}

TEST(SplitByTabletTest, ATabletThatIsBeingStartedIsNotHere) {
  const auto code = [](MountState state) {
    GatheredTransaction gathered;
    const auto table = table_of({}, 1);
    table->ranges[0].state = state;
    gathered.tables.push_back({table, {}});
    gathered.tables[0].changes.push_back(change(1));
    const auto parts = split_by_tablet(std::move(gathered));
    return parts ? Errc::kIo : parts.error().code;
  };
  EXPECT_EQ(code(MountState::kMounting), Errc::kNotHere);
  EXPECT_EQ(code(MountState::kFrozenMounting), Errc::kReadOnly) << "it will be frozen";
  EXPECT_EQ(code(MountState::kUnmounted), Errc::kReadOnly);
}

}  // namespace
}  // namespace moraine
