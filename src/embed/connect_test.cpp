// Databases connected to a node that other code runs.

#include "embed/own_node.h"
#include "embed/test_database.h"

namespace moraine {
namespace {

class Connect : public testing::Test {
 protected:
  Connect() {
    std::string pattern = (std::filesystem::temp_directory_path() / "moraine-db-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    OpenOptions options;
    options.device_bytes = std::uint64_t{1} << 30;
    auto opened = embed::OwnNode::open(folder_ + "/data", options);
    EXPECT_TRUE(opened) << opened.error().message();
    node_ = std::move(*opened);
  }
  ~Connect() override {
    node_.reset();
    std::filesystem::remove_all(folder_);
  }
  static void insert(Database& database, std::int64_t id) {
    const auto users = database.table("/users");
    ASSERT_TRUE(users) << users.error().message();
    auto transaction = database.begin();
    ASSERT_TRUE(transaction);
    ASSERT_TRUE(transaction->insert(*users, {{"id", id}, {"name", "Ada"}}));
    const auto committed = transaction->commit();
    ASSERT_TRUE(committed) << committed.error().message();
  }
  static std::size_t count(Database& database) {
    const auto users = database.table("/users");
    EXPECT_TRUE(users);
    auto scan = users->scan();
    EXPECT_TRUE(scan);
    ScanBatch batch;
    std::size_t rows = 0;
    while (scan->next(batch).value_or(false)) rows += batch.rows;
    return rows;
  }

  std::string folder_;
  std::unique_ptr<embed::OwnNode> node_;
};

TEST_F(Connect, TheNodeKeepsRunningWhenADatabaseIsDestroyed) {
  {
    Database database = Database::connect(node_->parts());
    ASSERT_TRUE(database.run(database.create_table("/users", users_schema())));
    insert(database, 1);
  }
  Database again = Database::connect(node_->parts());
  insert(again, 2);
  EXPECT_EQ(count(again), 2u);
  EXPECT_GT(again.run(again.device_bytes_used()), 0u);
}

TEST_F(Connect, SeveralDatabasesOfOneNodeSeeTheSameTables) {
  Database one = Database::connect(node_->parts());
  Database two = Database::connect(node_->parts());
  ASSERT_TRUE(one.run(one.create_table("/users", users_schema())));
  insert(one, 1);
  insert(two, 2);
  EXPECT_EQ(count(one), 2u);
  EXPECT_EQ(count(two), 2u);
}

}  // namespace
}  // namespace moraine
