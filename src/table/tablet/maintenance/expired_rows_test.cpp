// Versions that compaction has dropped, and readers that may still need them.
#include <gtest/gtest.h>

#include "table/tablet/test_table.h"

namespace moraine::table {
namespace {

MountConfig for_a_day() {
  MountConfig mount;
  mount.min_data_versions = 0;
  mount.max_data_versions = 1;
  mount.min_data_ttl = 0ms;
  mount.max_data_ttl = 24h;
  mount.dynamic_store_auto_flush_period = std::chrono::hours(1'000);
  return mount;
}

class ExpiredRows : public testing::Test {
 protected:
  void open(MountConfig mount) {
    table = std::make_unique<TestTable>(3, test_schema(), mount);
    table->boot();
  }
  std::string get() { return table->get({{"k", 1}}); }

  std::unique_ptr<TestTable> table;
};

TEST_F(ExpiredRows, ATransactionWhoseSnapshotWasCompactedAwayIsAborted) {
  MountConfig mount = for_a_day();
  mount.min_data_versions = 1;
  open(mount);
  table->put({{"k", 1}, {"v", "one"}});
  LookupRequest request;
  request.timestamp = table->timestamps.draw();
  table->world.run_for(5s);
  table->put({{"k", 1}, {"v", "two"}});
  table->flush();
  table->world.run_for(5s);
  table->compact();
  const std::string key = table->rows.key({{"k", 1}});
  const std::string_view keys[] = {key};
  request.keys = keys;
  Rowset found;
  EXPECT_EQ(table->lookup(request, found).error().code, Errc::kInvalidArgument);
  request.in_transaction = true;
  const auto late = table->lookup(request, found);
  EXPECT_EQ(late.error().code, Errc::kAborted);
  EXPECT_NE(late.error().context.find("compacted away"), std::string::npos);
  ScanRequest scan;
  scan.timestamp = request.timestamp;
  EXPECT_EQ(table->tablet->reader().scan(scan).error().code, Errc::kInvalidArgument);
  scan.in_transaction = true;
  EXPECT_EQ(table->tablet->reader().scan(scan).error().code, Errc::kAborted);
}

TEST_F(ExpiredRows, TheRowCacheForgetsRowsThatCompactionHasDropped) {
  MountConfig mount = for_a_day();
  mount.lookup_cache_rows_per_tablet = 100;
  mount.enable_lookup_cache_by_default = true;
  open(mount);
  table->put({{"k", 1}, {"v", "one"}});
  table->flush();
  EXPECT_EQ(get(), "k=1 v=one");
  EXPECT_EQ(get(), "k=1 v=one");
  ASSERT_GT(table->tablet->row_cache().statistics().hits, 0u);
  table->world.run_for(25h);
  table->compact();
  table->world.run_for(5s);
  ASSERT_TRUE(table->all().empty());
  EXPECT_EQ(get(), "-");
}

}  // namespace
}  // namespace moraine::table
