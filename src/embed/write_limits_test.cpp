// How much fits into one transaction: insert() refuses what commit() could not write.

#include "embed/test_database.h"
#include "table/model/limits.h"
#include "table/tablet/table_tablet.h"

namespace moraine {
namespace {

constexpr std::int64_t kPivot = 1'000'000;
constexpr std::size_t kMost = table::kLongWriteBytesMax;
constexpr std::size_t kValue = table::kValueBytesMax;

class WriteLimits : public DatabaseTest {
 protected:
  WriteLimits() {
    const std::vector<std::vector<Value>> pivots = {{Value(kPivot)}};
    expect_ok(db_->run(db_->create_table("/users", users_schema(), {}, pivots)));
  }
  ~WriteLimits() override { table_.reset(); }
  const Table& table() {
    if (!table_) table_ = users();
    return *table_;
  }
  Transaction begin() {
    auto tx = db_->begin();
    EXPECT_TRUE(tx) << tx.error().message();
    return std::move(*tx);
  }
  // The error; empty: success.
  std::string give(Transaction& tx, std::int64_t id, std::string_view name) {
    const auto given = tx.insert(table(), {{"id", id}, {"name", name}});
    if (given) return "";
    EXPECT_EQ(given.error().code, Errc::kInvalidArgument);
    return given.error().context;
  }
  void expect_committed(Transaction& tx) {
    const auto committed = tx.commit();
    EXPECT_TRUE(committed) << committed.error().message();
  }
  std::size_t name_size(std::int64_t id) { return name_of(table(), id).size(); }

  std::optional<Table> table_;
};

TEST_F(WriteLimits, AValueThatIsTooLongIsRefusedAtOnceWithItsColumnItsSizeAndTheLimit) {
  Transaction tx = begin();
  EXPECT_EQ(give(tx, 1, std::string(kValue + 1, 'x')),
            "Column \"name\": value is too long: 16777217 bytes, at most 16777216");
  EXPECT_EQ(give(tx, 1, "short"), "");
  expect_committed(tx);
  EXPECT_EQ(name_of(table(), 1), "short");
}

TEST_F(WriteLimits, TheLongestValueCommits) {
  {
    Transaction tx = begin();
    EXPECT_EQ(give(tx, 1, std::string(kValue, 'x')), "");
    expect_committed(tx);
  }
  EXPECT_EQ(name_size(1), kValue);
  expect_ok(db_->run(db_->flush_table("/users")));
  EXPECT_EQ(name_size(1), kValue);
  table_.reset();
  reopen();
  EXPECT_EQ(name_size(1), kValue);
}

TEST_F(WriteLimits, BytesThatDoNotFitWithTheOthersAreRefusedAndTheOthersCommit) {
  Transaction tx = begin();
  const std::string text(kMost / 5, 'x');
  for (int id = 0; id < 4; ++id) EXPECT_EQ(give(tx, id, text), "");
  const std::string why = give(tx, 4, std::string(kMost / 5 + 1'000, 'x'));
  EXPECT_TRUE(why.starts_with("Transaction affects too many bytes in tablet: ")) << why;
  EXPECT_TRUE(why.ends_with("at most 67108864")) << why;
  EXPECT_EQ(give(tx, kPivot, "x"), "") << "the other tablet has room";
  expect_committed(tx);
  EXPECT_EQ(name_size(3), text.size());
  EXPECT_EQ(name_of(table(), 4), "-");
  EXPECT_EQ(name_of(table(), kPivot), "x");
}

TEST_F(WriteLimits, AHundredThousandSmallRowsOfATabletCommitTogether) {
  Transaction tx = begin();
  const auto count = static_cast<std::int64_t>(table::kRowsPerTransactionMax);
  for (std::int64_t id = 0; id < count; ++id) ASSERT_EQ(give(tx, id, "a name"), "");
  EXPECT_EQ(give(tx, count, "one more"),
            "Transaction affects too many rows in tablet: at most 100000");
  EXPECT_EQ(give(tx, kPivot, "elsewhere"), "");
  expect_committed(tx);
  EXPECT_EQ(name_of(table(), count - 1), "a name");
  EXPECT_EQ(name_of(table(), count), "-");
}

TEST_F(WriteLimits, ATableWhosePathIsWrittenInTwoWaysIsOneTable) {
  const auto same = db_->table("users");
  ASSERT_TRUE(same) << same.error().message();
  Transaction tx = begin();
  EXPECT_EQ(give(tx, 2, "two"), "");
  expect_ok(tx.insert(*same, {{"id", 1}, {"name", "one"}}));
  expect_ok(tx.insert(*same, {{"id", 2}, {"name", "again"}}));
  expect_committed(tx);
  EXPECT_EQ(name_of(table(), 1), "one");
  EXPECT_EQ(name_of(table(), 2), "again");
}

}  // namespace
}  // namespace moraine
