// TableRecord: a table as stored in its node of the scheme.
//
// clang-format off
//   table    = version u8 = 3  dynamic u8  schema
//              options  forced compaction u64 (ms)    stored: what a mount or remount applies
//              options  forced compaction u64 (ms)    applied; not in version 2: as stored
//              count u32  tablet_of_table*            in key order; the first pivot is empty
//              count u32  tablet*                     retired: others may still read their blobs
//              crc32c u32
//   tablet_of_table = state u8  sized pivot  tablet  count u32  parent u64*
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
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "moraine/mount_state.h"
#include "moraine/schema.h"
#include "moraine/table_options.h"
#include "scheme/path_node.h"
#include "table/tablet/settings.h"
#include "tablet/tablet_info.h"

namespace moraine {

inline constexpr std::size_t kTabletsPerTableMax = 1'000;
inline constexpr std::size_t kTableTabletChannels = 3;

struct TabletOfTable {
  // The desired state, or a transition to it: kUnmounting, kFreezing. Never kMounting and
  // kFrozenMounting, which are not stored.
  MountState state = MountState::kUnmounted;
  std::string pivot;  // Encoded key prefix, inclusive.
  TabletInfo info;
  std::vector<TabletId> parents;  // Retired tablets whose chunks it takes over when it first boots.
};

struct TableRecord {
  bool dynamic = true;
  TableSchema schema;
  TableOptions options;  // Stored.
  // When forced_compaction_revision was set last, in milliseconds since 1970; 0: never.
  std::uint64_t forced_compaction_ms = 0;
  TableOptions applied;  // The options that tablets use.
  // Chunks created before it are compacted; 0: none.
  std::uint64_t applied_forced_compaction_ms = 0;
  std::vector<TabletOfTable> tablets;
  std::vector<TabletInfo> retired;
};

Slice encode_table(const TableRecord& record);
Result<TableRecord> decode_table(const PathNode& node);

// Attributes by their YTsaurus names ("min_data_ttl", "optimize_for", ...), all of them.
std::map<std::string, std::string> to_attributes(const TableOptions& options);
// Sets the named attributes. kInvalidArgument: an unknown name or an invalid value.
Result<void> set_attributes(TableOptions& options, const std::map<std::string, std::string>& named);

// The schema of stored rows: for a static table it may have a row number (static_rows.h).
TableSchema kept_schema(const TableRecord& record);
// Makes the stored options the applied ones. `now_ms`: since 1970.
void apply_options(TableRecord& record, std::uint64_t now_ms);
// Whether stored options wait for a remount.
bool needs_remount(const TableRecord& record);
// The settings of a tablet, from the applied options.
Result<table::TabletSettings> tablet_settings(const std::string& path, const TableRecord& record,
                                              std::size_t tablet);

}  // namespace moraine
