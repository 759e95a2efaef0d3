// Several coroutines at once on the database's thread.

#include "moraine/when_all.h"

#include "embed/test_database.h"

namespace moraine {
namespace {

class WhenAll : public DatabaseTest {
 protected:
  WhenAll() { expect_ok(db_->run(db_->create_table("/users", users_schema()))); }
  // Waits in between, so that all run concurrently.
  Task<int> wait_and_give(int value, int& running, int& most) {
    most = std::max(most, ++running);
    const auto drawn = co_await db_->timestamp_async();
    auto tx = co_await db_->begin_async();
    const auto table = db_->table("/users");
    EXPECT_TRUE(drawn && tx && table);
    EXPECT_TRUE(tx->insert(*table, {{"id", value}, {"name", "x"}}));
    EXPECT_TRUE(co_await tx->commit_async());
    --running;
    co_return value;
  }
  static Task<void> add(int value, int& sum) {
    sum += value;
    co_return;
  }
  Task<std::vector<int>> give_all(int count, int& most) {
    int running = 0;
    std::vector<Task<int>> tasks;
    for (int i = 0; i < count; ++i) tasks.push_back(wait_and_give(i, running, most));
    co_return co_await when_all(std::move(tasks));
  }
  static Task<void> add_all(int count, int& sum) {
    std::vector<Task<void>> tasks;
    for (int i = 1; i <= count; ++i) tasks.push_back(add(i, sum));
    co_await when_all(std::move(tasks));
    sum = -sum;
  }
};

TEST_F(WhenAll, RunsAllAtOnceAndReturnsTheirValuesInOrder) {
  int most = 0;
  const auto values = db_->run<std::vector<int>>([&] { return give_all(10, most); });
  EXPECT_EQ(values, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(most, 10);
  EXPECT_EQ(name_of(users(), 9), "x");
}

TEST_F(WhenAll, OfNothingEndsAtOnce) {
  int most = 0;
  EXPECT_TRUE(db_->run<std::vector<int>>([&] { return give_all(0, most); }).empty());
}

TEST_F(WhenAll, TasksAndRunMayReturnNothing) {
  int sum = 0;
  db_->run<void>([&] { return add_all(4, sum); });
  EXPECT_EQ(sum, -10);
}

}  // namespace
}  // namespace moraine
