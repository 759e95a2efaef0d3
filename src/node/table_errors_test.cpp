// What real errors of tables say as attributes.

#include "client/table_errors.h"

#include <gtest/gtest.h>

#include "client/table_attributes.h"
#include "client/test_rows.h"
#include "node/test_node.h"
#include "scheme/test_schema.h"

namespace moraine {
namespace {

class TableErrors : public testing::Test {
 protected:
  TableErrors() : door_(node_.lane(0), tables(), node_.node().tables()) {
    NewTable table;
    table.schema = small_schema();
    ColumnSchema other = table.schema.columns[1];
    other.name = "w";
    other.lock = "g\" by me";
    table.schema.columns.push_back(other);
    EXPECT_TRUE(run([&] { return tables().create("t", std::move(table)); }));
    table_ = client::open_shared(door_, "/t").value();
  }
  StoredTables& tables() { return node_.node().tables().tables(); }
  Result<void> run(std::function<Task<Result<void>>()> body) {
    return node_.on_lane<Result<void>>(0, std::move(body));
  }
  client::Transaction begin() {
    return node_.on_lane<Result<client::Transaction>>(0, [&] { return door_.begin({}, random_); })
        .value();
  }
  Result<Timestamp> commit(client::Transaction& transaction, std::string_view column) {
    const NamedValue row[] = {{"k", Value(7)}, {column, Value("x")}};
    EXPECT_TRUE(transaction.insert(*table_, row, {.update = true}));
    return node_.on_lane<Result<Timestamp>>(0, [&] { return transaction.commit(); });
  }
  static std::string text(const YsonMap& attributes, std::string_view name) {
    const YsonNode* found = attributes.find(name);
    return found == nullptr || found->as<std::string>() == nullptr ? "-"
                                                                   : *found->as<std::string>();
  }

  TestNode node_{1};
  SeededRandom random_{3};
  client::TableClient door_;
  client::TablePtr table_;
};

TEST_F(TableErrors, OfARowLockConflict) {
  for (const auto& [column, lock] : {std::pair("v", "<primary>"), std::pair("w", "g\" by me")}) {
    client::Transaction first = begin();
    client::Transaction second = begin();
    const auto won = commit(first, column);
    ASSERT_TRUE(won) << won.error().message();
    const auto lost = commit(second, column);
    ASSERT_FALSE(lost);
    const YsonMap found = client::table_error_attributes(lost.error());
    EXPECT_EQ(text(found, "key"), "(7)") << lost.error().context;
    EXPECT_EQ(text(found, "lock"), lock) << lost.error().context;
    ASSERT_NE(found.find("winner_transaction_commit_timestamp"), nullptr) << lost.error().context;
    EXPECT_EQ(*found.find("winner_transaction_commit_timestamp"), YsonNode(*won));
    EXPECT_EQ(text(found, "loser_transaction_id").size(), 32u);
  }
}

TEST_F(TableErrors, OfATabletThatIsNotMounted) {
  const std::string id =
      to_text(client::tablet_object_id(tables().find("t")->record().tablets[0].info.id));
  ASSERT_TRUE(run([&] { return tables().freeze("t"); }));
  client::Transaction frozen = begin();
  const auto no_write = commit(frozen, "v");
  ASSERT_FALSE(no_write);
  ASSERT_TRUE(run([&] { return tables().unmount("t"); }));
  using Rows = Result<std::vector<std::string>>;
  const auto no_read = node_.on_lane<Rows>(0, [&] { return client::read_rows(table_, {1}); });
  ASSERT_FALSE(no_read);
  const YsonMap read = client::table_error_attributes(no_read.error());
  EXPECT_EQ(text(read, "tablet_id"), id) << no_read.error().context;
  EXPECT_EQ(text(read, "table_path"), "/t") << no_read.error().context;
  EXPECT_EQ(*read.find("is_tablet_unmounted"), YsonNode(true));
  const auto refused = run([&] { return tables().freeze("t"); });
  const YsonMap states = client::table_error_attributes(refused.error());
  EXPECT_EQ(text(states, "tablet_id"), id) << refused.error().context;
  EXPECT_EQ(text(states, "table_path"), "/t") << refused.error().context;
}

TEST(TableErrorTexts, WhatIsNotThereIsLeftOut) {
  const auto of = [](Errc code, std::string text) {
    return client::table_error_attributes(Error{code, std::move(text)}).size();
  };
  EXPECT_EQ(of(Errc::kAborted, "transaction 1 is over"), 0u);
  EXPECT_EQ(of(Errc::kAborted, "row lock conflict: row "), 0u);
  EXPECT_EQ(of(Errc::kAborted, "row lock conflict: row (1)"), 0u);
  EXPECT_EQ(of(Errc::kReadOnly, "Table /t has no mounted tablets"), 0u);
  EXPECT_EQ(of(Errc::kReadOnly, "tablet "), 0u);
  EXPECT_EQ(of(Errc::kReadOnly, "tablet 99999999999999999999999999"), 0u);
  EXPECT_EQ(of(Errc::kNotFound, "tablet 5 of table /t while"), 0u);
  EXPECT_EQ(of(Errc::kReadOnly, "tablet 5 of table /t"), 1u);
}

}  // namespace
}  // namespace moraine
