// TableRecord: a table as stored in its node of the scheme.
//
// clang-format off
//   table    = version u8 = 5  dynamic u8
//              count u32  tablet*                     retired: others may still read their blobs
//              schema
//              applied                                stored: what a mount or remount applies
//              options                                kept: as clients set them, not used
//              count u32  applied*                    what tablets use, each once
//              count u32  tablet_of_table*            in key order; the first pivot is empty
//              crc32c u32
//              Up to version 4 `retired` is behind the tablets. Version 3 has one `applied` of
//              all tablets and no `kept`; version 2: as stored.
//   applied  = options  forced compaction u64 (ms): of a tablet at least that of its table, or
//              the tablet has not been remounted since
//   tablet_of_table = state u8  sized pivot  tablet  use u32  count u32  parent u64*
//                     use: 0, the stored options; n: number n of `applied`; not before version 4
//   state    = a number of MountState, 0 to 4 (moraine/mount_state.h)
//   schema   = as in table/model/schema_codec.h
//   tablet   = as in tablet_record.h
//   options  = count u32  (sized name  sized value)*  ascending by name, as YTsaurus attributes
// clang-format on
//
// Promise    Pure. Equal records have equal bytes. Options that this version does not know are
//            refused.
// Errors     kCorrupt; kUnsupported: another version.
// Tests      table_record_test.cpp, table_record_fuzz.cpp.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "moraine/mount_state.h"
#include "moraine/schema.h"
#include "moraine/table_options.h"
#include "scheme/path_node.h"
#include "table/model/schema_check.h"
#include "table/tablet/settings.h"
#include "tablet/tablet_info.h"

namespace moraine {

inline constexpr std::size_t kTabletsPerTableMax = 1'000;
inline constexpr std::size_t kTableTabletChannels = 3;
// Of attributes that are kept for clients: their number, and the bytes of names and values.
inline constexpr std::size_t kKeptAttributesMax = 200;
inline constexpr std::size_t kKeptBytesMax = std::size_t{64} << 10;

struct AppliedOptions {
  TableOptions options;
  // Chunks created before it are compacted; 0: none.
  std::uint64_t forced_compaction_ms = 0;
  bool operator==(const AppliedOptions&) const = default;
};

struct TabletOfTable {
  // The desired state, or a transition to it: kUnmounting, kFreezing. Never kMounting and
  // kFrozenMounting, which are not stored.
  MountState state = MountState::kUnmounted;
  std::string pivot;  // Encoded key prefix, inclusive.
  TabletInfo info;
  std::vector<TabletId> parents;  // Retired tablets whose chunks it takes over when it first boots.
  std::shared_ptr<const AppliedOptions> applied{};  // Null: the stored options.
};

struct TableRecord {
  bool dynamic = true;
  TableSchema schema;
  TableOptions options;  // Stored.
  // When forced_compaction_revision was set last, in milliseconds since 1970; 0: never.
  std::uint64_t forced_compaction_ms = 0;
  // Attributes without an effect here, by name, with their YSON; and names of options that a client
  // has set, with an empty value.
  std::map<std::string, std::string> kept;
  std::vector<TabletOfTable> tablets;
  // Replaced ones, whose chunks or blobs `tablets` may still need. One that other tables name too
  // is deleted with the last of them (TreeState::retired_by()).
  std::vector<TabletInfo> retired;
};

Slice encode_table(const TableRecord& record);
Result<TableRecord> decode_table(const PathNode& node);
// Ids of the record's retired tablets only, quicker. None of a node that is no valid table.
std::vector<TabletId> retired_tablets(const PathNode& node);

// Attributes by their YTsaurus names ("min_data_ttl", "optimize_for", ...), all of them.
std::map<std::string, std::string> to_attributes(const TableOptions& options);
// Sets the named attributes. kInvalidArgument: an unknown name or an invalid value.
Result<void> set_attributes(TableOptions& options, const std::map<std::string, std::string>& named);

// Without key columns a dynamic table is an ordered one (table/model/ordered.h).
table::TableKind kind_of(const TableRecord& record);
// The schema of stored rows: for a static table it may have a row number (static_rows.h), for an
// ordered one it has the places of rows.
TableSchema kept_schema(const TableRecord& record);
// Makes the stored options those of these tablets, [first, end). `now_ms`: since 1970.
void apply_options(TableRecord& record, std::uint64_t now_ms, std::size_t first, std::size_t end);
// Of all tablets.
void apply_options(TableRecord& record, std::uint64_t now_ms);
// The number of tablets for which stored options wait for a remount.
std::size_t remount_needed_tablets(const TableRecord& record);
inline bool needs_remount(const TableRecord& record) {
  return remount_needed_tablets(record) > 0;
}
// What a tablet uses, or will use.
AppliedOptions applied_options(const TableRecord& record, std::size_t tablet);
// The settings of a tablet, from the applied options.
Result<table::TabletSettings> tablet_settings(const std::string& path, const TableRecord& record,
                                              std::size_t tablet);

}  // namespace moraine
