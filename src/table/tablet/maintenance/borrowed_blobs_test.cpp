// Blobs of other tablets: as long as they are read, those tablets are kept.
#include <gtest/gtest.h>

#include "table/tablet/test_table.h"

namespace moraine::table {
namespace {

class BorrowedBlobs : public testing::Test {
 protected:
  static constexpr TabletId kOther{92};

  BorrowedBlobs() : table_(11, with_hunks(), mount()) {
    table_.boot();
    for (int i = 0; i < 20; ++i) {
      table_.put({{"k", i}, {"v", std::string_view(text_of(i))}});
    }
    EXPECT_TRUE(table_.world.run(table_.tablet->freeze()));
    table_.options.adopts = true;
    table_.options.adopted = table_.tablet->chunk_records();
    table_.stop();
    auto other = table_.try_boot(TabletInfo::simple(kOther, kTestGroup, 3));
    INVARIANT(other, "{}", other.error().message());
    table_.tablet = std::move(*other);
  }
  static TableSchema with_hunks() {
    TableSchema schema = test_schema();
    schema.columns[1].max_inline_hunk_size = 100;
    return schema;
  }
  static MountConfig mount() {
    MountConfig mount;
    mount.min_data_ttl = 0ms;
    mount.max_data_ttl = 0ms;
    mount.dynamic_store_auto_flush_period = std::chrono::hours(1'000);
    mount.lookup_cache_rows_per_tablet = 1'000;
    mount.enable_lookup_cache_by_default = true;
    return mount;
  }
  const std::string& text_of(int i) {
    std::string& text = texts_[i];
    SeededRandom random(static_cast<std::uint64_t>(i));
    while (text.size() < 5'000) text += static_cast<char>('!' + random.next() % 90);
    return text;
  }
  // Rewrites all rows except one, so that they need nothing of the first tablet.
  void overwrite_but(int kept) {
    for (int i = 0; i < 20; ++i) {
      if (i != kept) table_.put({{"k", i}, {"v", "short"}});
    }
    table_.flush();
    table_.world.run_for(2s);
    table_.compact();
  }
  bool borrows() const { return !table_.tablet->borrowed_from().empty(); }

  TestTable table_;
  std::map<int, std::string> texts_;
};

TEST_F(BorrowedBlobs, AreBorrowedWhileAScanReadsThemThatBeganBeforeTheCompaction) {
  ScanRequest request;
  request.columns = table_.all_columns();
  auto scan = table_.tablet->reader().scan(std::move(request));
  ASSERT_TRUE(scan);
  overwrite_but(-1);
  EXPECT_TRUE(borrows());
  scan->reset();
  table_.world.run_for(2min);
  EXPECT_FALSE(borrows());
}

TEST_F(BorrowedBlobs, AreNotReadThroughTheRowCacheOnceTheyAreReturned) {
  const std::string key = table_.rows.key({{"k", 7}});
  const std::string_view keys[] = {key};
  const ColumnIndex columns[] = {0, 3};
  LookupRequest request;
  request.keys = keys;
  request.columns = columns;
  Rowset found;
  ASSERT_TRUE(table_.lookup(request, found));
  ASSERT_GT(table_.tablet->row_cache().statistics().rows, 0u);
  overwrite_but(7);
  table_.world.run_for(2min);
  table_.compact();
  table_.world.run_for(2min);
  EXPECT_FALSE(borrows());
  EXPECT_EQ(table_.tablet->row_cache().statistics().rows, 0u);
  EXPECT_EQ(table_.get({{"k", 7}}), "k=7 v=" + text_of(7));
}

}  // namespace
}  // namespace moraine::table
