// Transactions of many coroutines on the database's own thread.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "moraine/database.h"

namespace moraine {
namespace {

constexpr int kCoroutines = 16;
constexpr int kRounds = 20;

TableSchema counters_schema() {
  TableSchema schema;
  schema.columns.resize(2);
  schema.columns[0].name = "k";
  schema.columns[0].type = ColumnType::kInt64;
  schema.columns[0].key = true;
  schema.columns[1].name = "n";
  schema.columns[1].type = ColumnType::kInt64;
  schema.columns[1].aggregate = Aggregate::kSum;
  return schema;
}

class CoroutinesTest : public testing::Test {
 protected:
  CoroutinesTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "moraine-co-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    OpenOptions options;
    options.device_bytes = std::uint64_t{256} << 20;
    auto opened = Database::open(folder_ + "/data", options);
    EXPECT_TRUE(opened) << opened.error().message();
    db_.emplace(std::move(*opened));
    const std::vector<std::vector<Value>> pivots = {{Value(kCoroutines / 2)}};
    const auto created = db_->run(db_->create_table("/counters", counters_schema(), {}, pivots));
    EXPECT_TRUE(created) << created.error().message();
  }
  ~CoroutinesTest() override {
    db_.reset();
    std::filesystem::remove_all(folder_);
  }

  // Increments a row of its own, and one in the other tablet that all coroutines share.
  Task<int> count_up(const Table& table, std::int64_t own) {
    WriteOptions delta;
    delta.update = true;
    delta.aggregate = true;
    delta.shared_write = true;
    int committed = 0;
    for (int i = 0; i < kRounds; ++i) {
      auto transaction = co_await db_->begin_async();
      if (!transaction) continue;
      const auto first = transaction->insert(table, {{"k", own}, {"n", 1}}, delta);
      const auto second = transaction->insert(table, {{"k", 1'000}, {"n", 1}}, delta);
      EXPECT_TRUE(first && second);
      const auto done = co_await transaction->commit_async();
      if (done) ++committed;
    }
    co_return committed;
  }

  std::string folder_;
  std::optional<Database> db_;
};

TEST_F(CoroutinesTest, BeginAndCommitWithoutWaitingForTheThreadTheyRunOn) {
  const auto table = db_->table("/counters");
  ASSERT_TRUE(table) << table.error().message();
  std::vector<int> committed(kCoroutines);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kCoroutines; ++i) {
      threads.emplace_back(
          [&, i] { committed[i] = db_->run<int>([&, i] { return count_up(*table, i); }); });
    }
  }
  std::int64_t total = 0;
  Rowset rows;
  for (int i = 0; i < kCoroutines; ++i) {
    EXPECT_GT(committed[i], 0);
    total += committed[i];
    ASSERT_TRUE(table->lookup({Value(i)}, {}, rows));
    EXPECT_EQ(rows.at(0, 1).as_int64(), committed[i]) << i;
  }
  ASSERT_TRUE(table->lookup({Value(1'000)}, {}, rows));
  EXPECT_EQ(rows.at(0, 1).as_int64(), total);
}

}  // namespace
}  // namespace moraine
