// Scans of tables that are not mounted.
#include <gtest/gtest.h>

#include "client/table_changes.h"
#include "client/test_rows.h"
#include "node/test_node.h"
#include "scheme/test_schema.h"

namespace moraine {
namespace {

using Keys = std::vector<std::int64_t>;

class UnmountedReads : public testing::Test {
 protected:
  StoredTables& tables() { return node_.node().tables().tables(); }
  void expect_done(std::function<Task<Result<void>>()> body) {
    const auto done = node_.on_lane<Result<void>>(0, std::move(body));
    EXPECT_TRUE(done) << done.error().message();
  }
  // Tablets of ten keys each.
  void create(std::int64_t tablets) {
    expect_done([&] {
      NewTable table;
      table.schema = small_schema();
      std::vector<std::vector<Value>> pivots;
      for (std::int64_t i = 1; i < tablets; ++i) pivots.push_back({Value(10 * i)});
      return client::create_table(tables(), "t", std::move(table), std::move(pivots));
    });
  }
  void write(Keys keys) {
    const auto written = node_.on_lane<Result<Timestamp>>(0, [&]() -> Task<Result<Timestamp>> {
      CO_TRY(const client::TablePtr table, client::open_shared(door_, "/t"));
      co_return co_await client::write_rows(door_, table, random_, keys, "x");
    });
    ASSERT_TRUE(written) << written.error().message();
  }
  void mount() {
    expect_done([&] { return tables().mount("t", MountState::kMounted); });
  }
  void unmount() {
    expect_done([&] { return tables().unmount("t"); });
  }
  std::unique_ptr<client::Scan> begin_scan() {
    const auto table = client::open_shared(door_, "/t").value();
    auto made = client::new_scan(*table, {});
    made->reads_unmounted = true;
    return std::make_unique<client::Scan>(std::move(*made));
  }
  static Task<Result<Keys>> rest(client::Scan& scan) {
    Keys keys;
    for (ScanBatch batch;;) {
      CO_TRY(const bool more, co_await scan.next(batch));
      if (!more) co_return keys;
      for (std::size_t i = 0; i < batch.rows; ++i) {
        keys.push_back(batch.columns[0].at(i).as_int64());
      }
    }
  }
  Result<Keys> scan() {
    const auto begun = begin_scan();
    return node_.on_lane<Result<Keys>>(0, [&] { return rest(*begun); });
  }
  static Keys up_to(std::int64_t end) {
    Keys keys;
    for (std::int64_t key = 0; key < end; ++key) keys.push_back(key);
    return keys;
  }

  TestNode node_{2};
  client::TableClient door_{node_.lane(0), tables(), node_.node().tables()};
  SeededRandom random_{6};
};

TEST_F(UnmountedReads, ManyMoreTabletsThanMayRunAtOnce) {
  const auto tablets = static_cast<std::int64_t>(3 * kUnmountedTabletsMax);
  create(tablets);
  write(up_to(10 * tablets));
  unmount();
  for (int turn = 0; turn < 2; ++turn) {
    const auto found = scan();
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(*found, up_to(10 * tablets));
  }
  mount();
  write({5});
  unmount();
  EXPECT_EQ(scan().value_or(Keys()), up_to(10 * tablets));
}

TEST_F(UnmountedReads, ATabletThatIsReadCanBeMounted) {
  create(1);
  write(up_to(10));
  unmount();
  const auto begun = begin_scan();
  node_.on_lane<bool>(0, [&]() -> Task<bool> {
    EXPECT_TRUE(begun->begin_step());
    const client::Scan::Step step(*begun);
    ScanBatch batch;
    EXPECT_TRUE(begun->try_next(batch));
    EXPECT_TRUE(co_await begun->load());  // The tablet runs now.
    co_return true;
  });
  mount();
  write({77});
  const auto found = node_.on_lane<Result<Keys>>(0, [&] { return rest(*begun); });
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(*found, up_to(10)) << "what it began with";
  expect_done([&] { return tables().remove("t"); });
}

TEST_F(UnmountedReads, AlterationsAreSeenByTheNextScan) {
  create(1);
  write(up_to(3));
  unmount();
  EXPECT_EQ(scan().value_or(Keys()), up_to(3));
  TableSchema wider = small_schema();
  ColumnSchema more;
  more.name = "w";
  wider.columns.push_back(more);
  expect_done([&] { return tables().alter("t", wider); });
  EXPECT_EQ(scan().value_or(Keys()), up_to(3));
}

}  // namespace
}  // namespace moraine
