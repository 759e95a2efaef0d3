// A client that writes again what it has just committed.
#include "embed/test_database.h"

namespace moraine {
namespace {

constexpr int kRewrites = 1'000;

class RewriteTest : public DatabaseTest {
 protected:
  RewriteTest() {
    const std::vector<std::vector<Value>> pivots = {{Value(100)}};
    expect_ok(db_->run(db_->create_table("/users", users_schema(), {}, pivots)));
  }
  Result<Timestamp> write(const Table& table, std::initializer_list<std::int64_t> ids, int round) {
    auto tx = db_->begin();
    if (!tx) return std::unexpected(tx.error());
    const std::string name = std::to_string(round);
    for (const std::int64_t id : ids) {
      expect_ok(tx->insert(table, {{"id", id}, {"name", std::string_view(name)}}));
    }
    return tx->commit();
  }
};

TEST_F(RewriteTest, ACommitOverTwoTabletsDoesNotBlockTheNextOne) {
  const Table table = users();
  for (int i = 0; i < kRewrites; ++i) {
    const auto committed = write(table, {1, 150}, i);
    ASSERT_TRUE(committed) << i << ": " << committed.error().message();
  }
  EXPECT_EQ(name_of(table, 150), std::to_string(kRewrites - 1));
}

TEST_F(RewriteTest, NorOneThatWritesOneTablet) {
  const Table table = users();
  for (int i = 0; i < kRewrites / 2; ++i) {
    const auto both = write(table, {1, 150}, i);
    ASSERT_TRUE(both) << i << ": " << both.error().message();
    const auto one = write(table, {150}, -i);
    ASSERT_TRUE(one) << i << ": " << one.error().message();
  }
}

}  // namespace
}  // namespace moraine
