#include "scheme/table_record.h"

#include <gtest/gtest.h>

#include "base/coding.h"
#include "base/sealed.h"
#include "scheme/tablet_record.h"
#include "scheme/test_schema.h"
#include "table/model/schema_codec.h"
#include "tablet/test_tablet.h"

namespace moraine {
namespace {

TableRecord sample() {
  TableRecord record;
  record.schema = small_schema();
  record.options.compression_codec = "zstd_3";
  record.options.mount.max_data_versions = 7;
  record.forced_compaction_ms = 1'700'000'000'000;
  record.kept = {{"max_data_versions", ""}, {"replication_factor", "5"}};
  record.tablets.resize(2);
  apply_options(record, 0);
  record.options.optimize_for = OptimizeFor::kScan;  // Stored since.
  record.tablets[0].info = TabletInfo::simple(TabletId{11}, kTestGroup, kTableTabletChannels);
  record.tablets[0].state = MountState::kMounted;
  record.tablets[1].info = TabletInfo::simple(TabletId{12}, kTestGroup, kTableTabletChannels);
  record.tablets[1].pivot = table::encode_key(std::vector<Value>{Value(5)});
  record.tablets[1].parents = {TabletId{3}};
  record.retired = {TabletInfo::simple(TabletId{3}, kTestGroup, kTableTabletChannels)};
  return record;
}

PathNode node_of(Slice record) {
  PathNode node;
  node.kind = NodeKind::kTable;
  node.path = "t";
  node.record = std::move(record);
  return node;
}

TEST(TableRecordTest, ReadsBackWhatWasWritten) {
  const TableRecord record = sample();
  const auto found = decode_table(node_of(encode_table(record)));
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->schema, record.schema);
  EXPECT_EQ(found->options, record.options);
  EXPECT_EQ(found->forced_compaction_ms, record.forced_compaction_ms);
  EXPECT_EQ(found->kept, record.kept);
  EXPECT_EQ(*found->tablets[0].applied, *record.tablets[0].applied);
  EXPECT_EQ(found->tablets[0].applied->options.optimize_for, OptimizeFor::kLookup);
  EXPECT_EQ(found->tablets[1].applied, found->tablets[0].applied);
  ASSERT_EQ(found->tablets.size(), 2u);
  EXPECT_EQ(found->tablets[1].pivot, record.tablets[1].pivot);
  EXPECT_EQ(found->tablets[1].parents, record.tablets[1].parents);
  EXPECT_EQ(found->tablets[0].state, MountState::kMounted);
  EXPECT_EQ(found->retired.front().id, TabletId{3});
}

// Version 2 had one set of options, by which tablets ran. `state`: of its one tablet.
Slice version_2(const TableRecord& record, std::uint8_t state) {
  Encoder encoder;
  encoder.u8(2).flag(true);
  table::append_schema(encoder, record.schema);
  const auto named = to_attributes(record.options);
  encoder.u32(static_cast<std::uint32_t>(named.size() - 1));
  for (const auto& [name, value] : named) {
    if (name != "enable_key_filter_for_lookup") encoder.sized(name).sized(value);
  }
  encoder.u64(record.forced_compaction_ms);
  encoder.u32(1).u8(state).sized("");
  append_tablet(encoder, record.tablets[0].info);
  encoder.u32(0).u32(0);
  return seal(std::move(encoder));
}

TEST(TableRecordTest, ReadsTheVersionBefore) {
  const TableRecord record = sample();
  const auto found = decode_table(node_of(version_2(record, 1)));
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->options, record.options);
  EXPECT_EQ(found->forced_compaction_ms, record.forced_compaction_ms);
  EXPECT_EQ(applied_options(*found, 0),
            (AppliedOptions{record.options, record.forced_compaction_ms}));
  EXPECT_FALSE(needs_remount(*found));
}

TEST(TableRecordTest, ReadsVersion3WhoseTabletsUseTheSameOptions) {
  const TableRecord record = sample();
  const AppliedOptions& applied = *record.tablets[0].applied;
  Encoder encoder;
  encoder.u8(3).flag(true);
  table::append_schema(encoder, record.schema);
  for (const TableOptions& options : {record.options, applied.options}) {
    const auto named = to_attributes(options);
    encoder.u32(static_cast<std::uint32_t>(named.size()));
    for (const auto& [name, value] : named) encoder.sized(name).sized(value);
    encoder.u64(record.forced_compaction_ms);
  }
  encoder.u32(2);
  for (const TabletOfTable& tablet : record.tablets) {
    encoder.u8(1).sized(tablet.pivot);
    append_tablet(encoder, tablet.info);
    encoder.u32(0);
  }
  encoder.u32(0);
  const auto found = decode_table(node_of(seal(std::move(encoder))));
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->options, record.options);
  EXPECT_EQ(applied_options(*found, 0), applied);
  EXPECT_EQ(applied_options(*found, 1), applied);
  EXPECT_EQ(remount_needed_tablets(*found), 2u);
  EXPECT_TRUE(found->kept.empty());
}

TEST(TableRecordTest, TabletsAreRemountedOneByOne) {
  TableRecord record = sample();
  record.options = record.tablets[0].applied->options;
  record.tablets[1].state = MountState::kMounted;
  EXPECT_EQ(remount_needed_tablets(record), 0u);
  record.forced_compaction_ms += 5;
  EXPECT_EQ(remount_needed_tablets(record), 2u);
  apply_options(record, record.forced_compaction_ms + 100, 0, 1);
  EXPECT_EQ(remount_needed_tablets(record), 1u);
  apply_options(record, record.forced_compaction_ms + 200, 1, 2);
  EXPECT_EQ(remount_needed_tablets(record), 0u) << "the first one is not remounted again";
  const auto found = decode_table(node_of(encode_table(record)));
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->tablets[0].applied->forced_compaction_ms, record.forced_compaction_ms + 100);
  EXPECT_EQ(found->tablets[1].applied->forced_compaction_ms, record.forced_compaction_ms + 200);
}

TEST(TableRecordTest, StatesThatAreNotStoredAreCorrupt) {
  for (std::uint8_t state = 0; state < 5; ++state) {
    const auto found = decode_table(node_of(version_2(sample(), state)));
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(found->tablets[0].state, static_cast<MountState>(state));
  }
  const auto mounting = static_cast<std::uint8_t>(MountState::kMounting);
  EXPECT_EQ(decode_table(node_of(version_2(sample(), mounting))).error().code, Errc::kCorrupt);
}

TEST(TableRecordTest, WhatIsStoredWaitsForARemount) {
  TableRecord record = sample();
  EXPECT_TRUE(needs_remount(record));
  EXPECT_EQ(tablet_settings("t", record, 0)->chunks.format, OptimizeFor::kLookup);
  apply_options(record, 0);
  EXPECT_FALSE(needs_remount(record));
  EXPECT_EQ(tablet_settings("t", record, 0)->chunks.format, OptimizeFor::kScan);
  record.forced_compaction_ms += 5;
  EXPECT_TRUE(needs_remount(record));
  apply_options(record, record.forced_compaction_ms + 7);
  EXPECT_EQ(tablet_settings("t", record, 0)->mount.forced_compaction_ms,
            sample().forced_compaction_ms + 12)
      << "what was written until the remount counts";
  for (TabletOfTable& tablet : record.tablets) tablet.state = MountState::kUnmounted;
  record.options.optimize_for = OptimizeFor::kLookup;
  EXPECT_FALSE(needs_remount(record)) << "a mount will do";
}

TEST(TableRecordTest, EveryChangedByteIsNoticed) {
  const Slice bytes = encode_table(sample());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged(bytes.text());
    damaged[i] ^= 0x20;
    EXPECT_FALSE(decode_table(node_of(Slice::copy_of(damaged)))) << i;
  }
}

TEST(TableRecordTest, OptionsHaveTheNamesOfYtsaurusAndRefuseOthers) {
  TableOptions options;
  EXPECT_TRUE(set_attributes(options, {{"min_data_ttl", "0"},
                                       {"optimize_for", "scan"},
                                       {"in_memory_mode", "uncompressed"},
                                       {"lookup_cache_rows_ratio", "0.03"},
                                       {"enable_lookup_cache_by_default", "true"},
                                       {"auto_compaction_period", "60000"}}));
  EXPECT_EQ(options.mount.min_data_ttl.count(), 0);
  EXPECT_EQ(options.optimize_for, OptimizeFor::kScan);
  EXPECT_EQ(options.in_memory_mode, InMemoryMode::kUncompressed);
  EXPECT_EQ(options.mount.lookup_cache_rows_ratio, 0.03);
  EXPECT_TRUE(options.mount.enable_lookup_cache_by_default);
  EXPECT_EQ(options.mount.auto_compaction_period->count(), 60'000);
  const TableOptions before = options;
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"min_data_tl", "0"},
                                          {"min_data_ttl", "soon"},
                                          {"max_data_versions", "-1"},
                                          {"optimize_for", "writes"},
                                          {"backing_store_retention_time", "60000"},
                                          {"compression_codec", "zip"}}) {
    const auto set = set_attributes(options, {{name, value}});
    ASSERT_FALSE(set) << name;
    EXPECT_NE(set.error().context.find(name), std::string::npos) << set.error().context;
    EXPECT_EQ(options, before);
  }
}

TEST(TableRecordTest, ATabletGetsItsBoundsAndOptions) {
  const TableRecord record = sample();
  const auto first = tablet_settings("t", record, 0);
  const auto second = tablet_settings("t", record, 1);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->bounds.from, "");
  EXPECT_EQ(first->bounds.to, record.tablets[1].pivot);
  EXPECT_EQ(second->bounds.from, record.tablets[1].pivot);
  EXPECT_EQ(second->bounds.to, "");
  EXPECT_EQ(first->mount.max_data_versions, 7u);
  EXPECT_EQ(first->chunks.codec, (table::Codec{table::CodecKind::kZstd, 3}));
}

}  // namespace
}  // namespace moraine
