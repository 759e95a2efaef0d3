#include "table/tablet/state/log_record.h"

#include <gtest/gtest.h>

#include "table/tablet/test_table.h"

namespace moraine::table {
namespace {

class LogRecordTest : public testing::Test {
 protected:
  LogRecordTest() { rows_.schema = std::make_shared<const TableSchema>(test_schema()); }

  static ChunkRecord chunk(std::uint64_t id) {
    ChunkRecord record;
    record.id = id;
    record.format = OptimizeFor::kScan;
    record.meta = BlobId(TabletId{91}, 2, 3, 2, 100, 1);
    record.data = {BlobId(TabletId{91}, 2, 3, 2, 200, 2), BlobId(TabletId{91}, 2, 4, 2, 300, 1)};
    record.hunks = {{BlobId(TabletId{92}, 2, 3, 2, 500, 1), 77}};
    record.statistics.rows = 5;
    record.statistics.max_timestamp = 99;
    record.statistics.first_key = "a";
    record.statistics.last_key = std::string("z\0z", 3);
    record.from = "b";
    record.created_ms = 12;
    return record;
  }
  void same_again(const LogRecord& record) {
    const Slice bytes = encode(record);
    const auto decoded = decode_log_record(bytes, *rows_.schema);
    ASSERT_TRUE(decoded) << decoded.error().message();
    EXPECT_EQ(decoded->index(), record.index());
    EXPECT_TRUE(equal(encode(*decoded), bytes));
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(decode_log_record(bytes.span().first(size), *rows_.schema)) << size;
    }
  }

  TestRows rows_;
  TransactionId id_{{1, 2, 3}};
};

TEST_F(LogRecordTest, EveryKindIsDecodedAsEncoded) {
  const std::vector<RowChange> changes = {rows_.put({{"k", 1}, {"v", "text"}}),
                                          rows_.erase({{"k", 2}}),
                                          rows_.lock({{"k", 3}}, "a", LockMode::kSharedStrong)};
  same_again(RowsRecord{7, 1000, id_, changes});
  same_again(PrepareRecord{7, id_, 900, TabletId{5}, changes});
  same_again(CommitRecord{id_, 1000});
  same_again(AbortRecord{id_});
  same_again(BuildRecord{3, chunk(1).data});
  same_again(DropBuildRecord{3});
  ReplaceRecord replace;
  replace.build = 3;
  replace.flushed = {1, 2};
  replace.removed = {9};
  replace.added = {chunk(10), chunk(11)};
  replace.added_to_eden = {11};
  same_again(replace);
  replace.pivots = std::vector<std::string>{"", "m"};
  replace.retained_timestamp = 55;
  same_again(replace);
  replace.staged = 2;
  same_again(replace);
  same_again(AdoptRecord{{chunk(1)}});
  same_again(StageRecord{3, true, {chunk(1), chunk(2)}});
  same_again(StageRecord{3, false, {}});
  same_again(TrimRecord{{.rows = 70, .weight = 900}});
  same_again(PartRecord{7, id_, 2, "bytes"});
  same_again(RowsRecord{7, 1000, id_, {}, 3});
  same_again(PrepareRecord{7, id_, 900, TabletId{5}, {}, 3});
}

TEST_F(LogRecordTest, AnotherVersionIsRefused) {
  Buffer bytes(2);
  bytes.data()[0] = std::byte{9};
  bytes.data()[1] = std::byte{1};
  const auto decoded = decode_log_record(std::move(bytes).freeze(), *rows_.schema);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, Errc::kUnsupported);
}

TEST_F(LogRecordTest, PivotsThatDoNotGrowAreRefused) {
  for (const std::vector<std::string>& pivots :
       {std::vector<std::string>{}, {"a"}, {"", "b", "b"}, {"", "c", "b"}}) {
    ReplaceRecord replace;
    replace.pivots = pivots;
    EXPECT_FALSE(decode_log_record(encode(replace), *rows_.schema));
  }
}

}  // namespace
}  // namespace moraine::table
