// Tablets at their limits keep working: long keys, large rows, large stores, failing jobs.

#include <gtest/gtest.h>

#include "table/tablet/test_table.h"

namespace moraine::table {
namespace {

// Incompressible bytes.
std::string noise(std::size_t bytes, std::uint64_t seed) {
  SeededRandom random(seed);
  std::string text;
  while (text.size() < bytes) text += static_cast<char>('!' + random.next() % 90);
  return text;
}

TEST(StoreBytes, AStoreIsFullBeforeWritesAreRefused) {
  const TabletLimits limits;
  for (const std::uint64_t bytes :
       {std::uint64_t{1}, std::uint64_t{1} << 20, std::uint64_t{128} << 20,
        std::uint64_t{512} << 20, (std::uint64_t{512} << 20) + 1, std::uint64_t{1} << 40,
        ~std::uint64_t{0}}) {
    MountConfig mount;
    mount.max_dynamic_store_bytes = bytes;
    EXPECT_LE(store_bytes_max(mount, limits), bytes);
    EXPECT_LE(2 * store_bytes_max(mount, limits), unflushed_bytes_max(mount, limits)) << bytes;
    EXPECT_LE(unflushed_bytes_max(mount, limits), kUnflushedBytesMax) << bytes;
  }
  EXPECT_EQ(store_bytes_max(MountConfig{}, limits), MountConfig{}.max_dynamic_store_bytes);
}

TEST(StoreBytes, WritesContinueWhenAStoreMayBeLargerThanAllThatMayBeInMemory) {
  MountConfig mount;
  mount.max_dynamic_store_bytes = std::uint64_t{4} << 30;
  TestTable table(3, test_schema(), mount);
  table.settings.limits.unflushed_bytes_min = 64u << 10;
  table.settings.limits.unflushed_bytes_max = 1u << 20;
  table.boot();
  const std::string text = noise(50'000, 1);
  for (int key = 0; key < 100; ++key) {
    Result<Timestamp> written = fail(Errc::kOverloaded, "not tried");
    for (int attempt = 0; attempt < 20 && !written; ++attempt) {
      if (attempt > 0) table.world.run_for(100ms);
      written = table.write({table.rows.put({{"k", key}, {"v", std::string_view(text)}})});
      if (!written) ASSERT_EQ(written.error().code, Errc::kOverloaded);
    }
    ASSERT_TRUE(written) << key << ": " << written.error().message();
  }
  EXPECT_GE(table.tablet->statistics().flushes, 4u);
  EXPECT_EQ(table.all().size(), 100u);
}

TEST(LongKeys, AreFlushedFrozenAndReadAgain) {
  TableSchema schema;
  schema.columns = {key_column("k", ColumnType::kString), value_column("v")};
  TestTable table(4, schema);
  table.boot();
  for (int i = 0; i < 300; ++i) {
    const std::string key = fmt::format("{:04}", i) + noise(60'000, static_cast<std::uint64_t>(i));
    table.put({{"k", std::string_view(key)}, {"v", "a"}});
  }
  const auto frozen = table.world.run(table.tablet->freeze());
  ASSERT_TRUE(frozen) << frozen.error().message();
  table.restart();
  EXPECT_EQ(table.tablet->statistics().memory_bytes, MemoryStore().bytes());
  EXPECT_EQ(table.all().size(), 300u);
  table.compact();
  EXPECT_EQ(table.all().size(), 300u);
}

class LargeRow : public testing::Test {
 protected:
  void open(OptimizeFor format, std::uint64_t row_bytes_max) {
    table_ = std::make_unique<TestTable>(6);
    table_->settings.chunks.format = format;
    table_->settings.limits.row_bytes_max = row_bytes_max;
    table_->boot();
  }
  Result<Timestamp> put(int key, std::size_t bytes) {
    const std::string text = noise(bytes, ++texts_);
    return table_->write({table_->rows.put({{"k", key}, {"v", std::string_view(text)}})});
  }
  // How many versions of the row are accepted.
  int fill(int key, std::size_t bytes, int most) {
    for (int i = 0; i < most; ++i) {
      const auto written = put(key, bytes);
      if (written) continue;
      EXPECT_EQ(written.error().code, Errc::kOverloaded);
      return i;
    }
    return most;
  }

  std::unique_ptr<TestTable> table_;
  std::uint64_t texts_ = 0;
};

TEST_F(LargeRow, TakesNoMoreVersionsThanItsBoundAllows) {
  open(OptimizeFor::kLookup, 2u << 20);
  EXPECT_EQ(fill(1, 100'000, 100), 20);
  const auto refused = put(1, 100'000);
  ASSERT_FALSE(refused);
  const std::string message = refused.error().message();
  EXPECT_NE(message.find("row (1)"), std::string::npos) << message;
  EXPECT_NE(message.find("min_data_ttl"), std::string::npos) << message;
  EXPECT_NE(message.find("min_data_versions"), std::string::npos) << message;
  EXPECT_TRUE(put(2, 100'000));
  const std::string text = noise(100'000, 1);
  const TabletWrite write =
      table_->transaction({table_->rows.put({{"k", 1}, {"v", std::string_view(text)}})});
  EXPECT_FALSE(table_->world.run(table_->tablet->prepare(write, TestTable::info().id)));
  table_->erase({{"k", 1}});
  EXPECT_EQ(table_->get({{"k", 1}}), "-");
}

TEST_F(LargeRow, CountsWhatIsInChunksAlsoAfterARestart) {
  for (const OptimizeFor format : {OptimizeFor::kLookup, OptimizeFor::kScan}) {
    const std::size_t bytes = format == OptimizeFor::kLookup ? 100'000 : 900'000;
    open(format, 20 * bytes);
    EXPECT_EQ(fill(1, bytes, 12), 12);
    ASSERT_TRUE(put(2, 10));
    table_->flush();
    EXPECT_LT(fill(1, bytes, 100), 9);
    EXPECT_TRUE(put(2, bytes));
    table_->flush();
    table_->restart();
    EXPECT_EQ(fill(1, bytes, 100), 0);
    EXPECT_TRUE(put(2, bytes));
  }
}

TEST_F(LargeRow, IsWrittenAgainOnceItsVersionsMayGo) {
  open(OptimizeFor::kLookup, 2u << 20);
  EXPECT_EQ(fill(1, 100'000, 12), 12);
  table_->flush();
  EXPECT_LT(fill(1, 100'000, 100), 9);
  table_->flush();
  table_->world.run_for(31min);
  // Others are still being written, so that nothing is compacted because the table is at rest.
  bool taken = false;
  for (int i = 0; i < 2'000 && !taken; ++i) {
    ASSERT_TRUE(put(2, 10));
    taken = put(1, 100'000).has_value();
    table_->world.run_for(1s);
  }
  EXPECT_TRUE(taken);
}

class FailedJob : public testing::Test {
 protected:
  FailedJob() : table_(7) {
    // Two chunks can be written, but not their merge.
    table_.settings.chunks.row_bytes_max = 1u << 20;
    table_.boot();
    for (int chunk = 0; chunk < 2; ++chunk) {
      for (int i = 0; i < 6; ++i) {
        table_.put({{"k", 1}, {"v", std::string_view(noise(100'000, ++texts_))}});
      }
      table_.flush();
    }
  }
  void put_others(int first) {
    for (int key = first; key < first + 10; ++key) table_.put({{"k", key}, {"v", "other"}});
    table_.flush();
  }
  TabletStatistics figures() const { return table_.tablet->statistics(); }

  TestTable table_;
  std::uint64_t texts_ = 0;
};

TEST_F(FailedJob, DoesNotBlockOthersOfItsTablet) {
  const auto all = table_.world.run(table_.tablet->compact_all());
  ASSERT_FALSE(all);
  EXPECT_NE(all.error().message().find("versions of a row"), std::string::npos);
  EXPECT_EQ(figures().compactions, 0u);
  for (int i = 0; i < 12; ++i) put_others(100 + 5 * i);
  table_.world.run_for(20s);
  EXPECT_GE(figures().compactions, 1u);
  EXPECT_LE(figures().chunks, 6u);
  EXPECT_NE(figures().error.find("versions of a row"), std::string::npos) << figures().error;
}

TEST_F(FailedJob, IsTriedAgainUntilItSucceeds) {
  ASSERT_FALSE(table_.world.run(table_.tablet->compact_all()));
  table_.world.run_for(45min);  // Versions may be dropped by then.
  EXPECT_EQ(figures().error, "");
  EXPECT_EQ(figures().chunks, 1u);
  EXPECT_EQ(table_.all().size(), 1u);
}

}  // namespace
}  // namespace moraine::table
