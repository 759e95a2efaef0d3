#include "scheme/table_record.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/coding.h"
#include "base/invariant.h"
#include "base/sealed.h"
#include "scheme/tablet_record.h"
#include "table/model/ordered.h"
#include "table/model/schema_codec.h"
#include "table/model/static_rows.h"

namespace moraine {
namespace {

constexpr std::uint8_t kVersion = 5;
constexpr std::uint8_t kVersionOfRetiredLast = 4;
constexpr std::uint8_t kVersionOfOneApplied = 3;
constexpr std::uint8_t kVersionWithoutApplied = 2;
constexpr MountState kLastStored = MountState::kFreezing;
constexpr std::size_t kTabletOfTableBytesMin = 1 + 2 * sizeof(std::uint32_t) + kTabletBytesMin;
constexpr std::size_t kOptionBytesMin = 2 * sizeof(std::uint32_t);
constexpr std::size_t kAppliedBytesMin = sizeof(std::uint32_t) + sizeof(std::uint64_t);

// Each set of options that tablets use, once, in the order of tablets.
using AppliedList = std::vector<std::shared_ptr<const AppliedOptions>>;

// 0: none.
std::uint32_t number_in(const AppliedList& list,
                        const std::shared_ptr<const AppliedOptions>& applied) {
  if (!applied) return 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i] == applied || *list[i] == *applied) return static_cast<std::uint32_t>(i) + 1;
  }
  return 0;
}

AppliedList applied_list(const std::vector<TabletOfTable>& tablets) {
  AppliedList list;
  for (const TabletOfTable& tablet : tablets) {
    if (tablet.applied && number_in(list, tablet.applied) == 0) list.push_back(tablet.applied);
  }
  return list;
}

void append_tablets(Encoder& encoder, const std::vector<TabletOfTable>& tablets,
                    const AppliedList& applied) {
  encoder.u32(static_cast<std::uint32_t>(tablets.size()));
  for (const TabletOfTable& tablet : tablets) {
    INVARIANT(tablet.state <= kLastStored, "state \"{}\" of tablet {} is not stored",
              to_string(tablet.state), tablet.info.id.value);
    encoder.u8(static_cast<std::uint8_t>(tablet.state)).sized(tablet.pivot);
    append_tablet(encoder, tablet.info);
    encoder.u32(number_in(applied, tablet.applied));
    encoder.u32(static_cast<std::uint32_t>(tablet.parents.size()));
    for (const TabletId parent : tablet.parents) encoder.u64(parent.value);
  }
}

// `numbered`: tablets have the numbers of their options; otherwise all use the first ones, if any.
Result<std::vector<TabletOfTable>> take_tablets(Decoder& decoder, const AppliedList& applied,
                                                bool numbered) {
  std::vector<TabletOfTable> tablets;
  const std::uint32_t count = decoder.count(kTabletOfTableBytesMin);
  if (count > kTabletsPerTableMax) return fail(Errc::kCorrupt, "tablets of a table");
  for (std::uint32_t i = 0; i < count; ++i) {
    TabletOfTable tablet;
    const std::uint8_t state = decoder.u8();
    if (state > static_cast<std::uint8_t>(kLastStored)) {
      return fail(Errc::kCorrupt, "state of a tablet");
    }
    tablet.state = static_cast<MountState>(state);
    tablet.pivot = as_text(decoder.sized());
    TRY(tablet.info, take_tablet(decoder));
    const std::uint32_t use = numbered ? decoder.u32() : (applied.empty() ? 0 : 1);
    if (use > applied.size()) return fail(Errc::kCorrupt, "options of a tablet");
    if (use > 0) tablet.applied = applied[use - 1];
    const std::uint32_t parents = decoder.count(sizeof(std::uint64_t));
    for (std::uint32_t p = 0; p < parents; ++p) tablet.parents.push_back({decoder.u64()});
    const bool ordered =
        tablets.empty() ? tablet.pivot.empty() : tablets.back().pivot < tablet.pivot;
    if (!ordered) return fail(Errc::kCorrupt, "pivots out of order");
    tablets.push_back(std::move(tablet));
  }
  if (tablets.empty()) return fail(Errc::kCorrupt, "a table without tablets");
  return tablets;
}

using NamedValues = std::map<std::string, std::string>;

void append_named(Encoder& encoder, const NamedValues& named) {
  encoder.u32(static_cast<std::uint32_t>(named.size()));
  for (const auto& [name, value] : named) encoder.sized(name).sized(value);
}

Result<NamedValues> take_named(Decoder& decoder) {
  NamedValues named;
  const std::uint32_t count = decoder.count(kOptionBytesMin);
  for (std::uint32_t i = 0; i < count; ++i) {
    std::string name(as_text(decoder.sized()));
    if (!named.empty() && named.rbegin()->first >= name) {
      return fail(Errc::kCorrupt, "options out of order");
    }
    named.emplace(std::move(name), as_text(decoder.sized()));
  }
  return named;
}

void append_applied(Encoder& encoder, const TableOptions& options, std::uint64_t forced_ms) {
  append_named(encoder, to_attributes(options));
  encoder.u64(forced_ms);
}

Result<AppliedOptions> take_applied(Decoder& decoder) {
  TRY(const NamedValues named, take_named(decoder));
  AppliedOptions applied;
  if (const auto set = set_attributes(applied.options, named); !set) {
    return fail(Errc::kCorrupt, set.error().context);
  }
  applied.forced_compaction_ms = decoder.u64();
  return applied;
}

Result<AppliedList> take_applied_list(Decoder& decoder, std::uint8_t version,
                                      const AppliedOptions& stored) {
  AppliedList list;
  if (version == kVersionWithoutApplied) {
    list.push_back(std::make_shared<const AppliedOptions>(stored));
    return list;
  }
  const std::uint32_t count = version == kVersionOfOneApplied ? 1 : decoder.count(kAppliedBytesMin);
  for (std::uint32_t i = 0; i < count; ++i) {
    TRY(AppliedOptions applied, take_applied(decoder));
    list.push_back(std::make_shared<const AppliedOptions>(std::move(applied)));
  }
  return list;
}

Result<std::vector<TabletInfo>> take_retired(Decoder& decoder) {
  std::vector<TabletInfo> retired;
  const std::uint32_t count = decoder.count(kTabletBytesMin);
  for (std::uint32_t i = 0; i < count; ++i) {
    TRY(TabletInfo info, take_tablet(decoder));
    retired.push_back(std::move(info));
  }
  return retired;
}

}  // namespace

Slice encode_table(const TableRecord& record) {
  Encoder encoder;
  encoder.u8(kVersion).flag(record.dynamic);
  encoder.u32(static_cast<std::uint32_t>(record.retired.size()));
  for (const TabletInfo& info : record.retired) append_tablet(encoder, info);
  table::append_schema(encoder, record.schema);
  append_applied(encoder, record.options, record.forced_compaction_ms);
  append_named(encoder, record.kept);
  const AppliedList applied = applied_list(record.tablets);
  encoder.u32(static_cast<std::uint32_t>(applied.size()));
  for (const auto& one : applied) append_applied(encoder, one->options, one->forced_compaction_ms);
  append_tablets(encoder, record.tablets, applied);
  return seal(std::move(encoder));
}

Result<TableRecord> decode_table(const PathNode& node) {
  TRY(const ByteSpan bytes, unseal(node.record));
  Decoder decoder(bytes);
  const std::uint8_t version = decoder.u8();
  if (version > kVersion || version < kVersionWithoutApplied) {
    return fail(Errc::kUnsupported, fmt::format("table version {}", version));
  }
  TableRecord record;
  record.dynamic = decoder.flag();
  if (version == kVersion) {
    TRY(record.retired, take_retired(decoder));
  }
  TRY(record.schema, table::take_schema(decoder));
  TRY(AppliedOptions stored, take_applied(decoder));
  const bool of_tablets = version >= kVersionOfRetiredLast;  // Each has its own options.
  if (of_tablets) {
    TRY(record.kept, take_named(decoder));
  }
  TRY(const AppliedList applied, take_applied_list(decoder, version, stored));
  record.options = std::move(stored.options);
  record.forced_compaction_ms = stored.forced_compaction_ms;
  TRY(record.tablets, take_tablets(decoder, applied, of_tablets));
  if (version != kVersion) {
    TRY(record.retired, take_retired(decoder));
  }
  if (!decoder.finished()) return fail(Errc::kCorrupt, "table length");
  return record;
}

std::vector<TabletId> retired_tablets(const PathNode& node) {
  const auto bytes = unseal(node.record);
  if (!bytes || bytes->empty()) return {};
  Result<std::vector<TabletInfo>> retired;
  Decoder decoder(*bytes);
  if (decoder.u8() == kVersion) {
    (void)decoder.flag();
    retired = take_retired(decoder);
  } else {
    auto whole = decode_table(node);
    if (whole) retired = std::move(whole->retired);
  }
  std::vector<TabletId> ids;
  if (!retired) return ids;
  for (const TabletInfo& info : *retired) ids.push_back(info.id);
  return ids;
}

table::TableKind kind_of(const TableRecord& record) {
  if (!record.dynamic) return table::TableKind::kStatic;
  const bool ordered = record.schema.key_count() == 0;
  return ordered ? table::TableKind::kOrdered : table::TableKind::kSorted;
}

TableSchema kept_schema(const TableRecord& record) {
  switch (kind_of(record)) {
    case table::TableKind::kStatic: return table::stored_schema(record.schema);
    case table::TableKind::kOrdered: return table::ordered_schema(record.schema);
    case table::TableKind::kSorted: break;
  }
  return record.schema;
}

namespace {

// The time of a forced compaction is after everything that was written before the call, also when
// the clock was set back.
AppliedOptions next_options(const TableRecord& record, const TabletOfTable& tablet,
                            std::uint64_t now_ms) {
  AppliedOptions next{record.options, record.forced_compaction_ms};
  if (!tablet.applied) return next;
  const std::uint64_t before = tablet.applied->forced_compaction_ms;
  const bool forces = record.forced_compaction_ms > before;
  next.forced_compaction_ms = forces ? std::max(record.forced_compaction_ms, now_ms) : before;
  return next;
}

}  // namespace

void apply_options(TableRecord& record, std::uint64_t now_ms, std::size_t first, std::size_t end) {
  std::shared_ptr<const AppliedOptions> last;  // Neighbours share one.
  for (std::size_t i = first; i < end; ++i) {
    AppliedOptions next = next_options(record, record.tablets[i], now_ms);
    if (!last || *last != next) last = std::make_shared<const AppliedOptions>(std::move(next));
    record.tablets[i].applied = last;
  }
}

void apply_options(TableRecord& record, std::uint64_t now_ms) {
  apply_options(record, now_ms, 0, record.tablets.size());
}

std::size_t remount_needed_tablets(const TableRecord& record) {
  const auto waits = [&](const TabletOfTable& tablet) {
    return tablet.state != MountState::kUnmounted && tablet.applied &&
           (tablet.applied->options != record.options ||
            tablet.applied->forced_compaction_ms < record.forced_compaction_ms);
  };
  return static_cast<std::size_t>(std::ranges::count_if(record.tablets, waits));
}

AppliedOptions applied_options(const TableRecord& record, std::size_t tablet) {
  const auto& applied = record.tablets[tablet].applied;
  return applied ? *applied : AppliedOptions{record.options, record.forced_compaction_ms};
}

Result<table::TabletSettings> tablet_settings(const std::string& path, const TableRecord& record,
                                              std::size_t tablet) {
  const AppliedOptions applied = applied_options(record, tablet);
  const TableOptions& options = applied.options;
  table::TabletSettings settings;
  settings.schema = std::make_shared<const TableSchema>(kept_schema(record));
  settings.table_path = "/" + path;
  settings.bounds.from = record.tablets[tablet].pivot;
  if (tablet + 1 < record.tablets.size()) settings.bounds.to = record.tablets[tablet + 1].pivot;
  settings.atomicity = options.atomicity;
  settings.in_memory_mode = options.in_memory_mode;
  settings.chunks.format = options.optimize_for;
  const auto codec = table::parse_codec(options.compression_codec);
  if (!codec) {
    return fail(Errc::kInvalidArgument,
                fmt::format("unknown compression codec \"{}\"", options.compression_codec));
  }
  settings.chunks.codec = *codec;
  if (options.block_size > 0) settings.chunks.block_bytes = options.block_size;
  settings.chunks.key_filter = options.key_filter;
  settings.mount = table::MountConfig(options.mount);
  settings.mount.forced_compaction_ms = applied.forced_compaction_ms;
  // Chunks of static tables stay as they were written.
  if (!record.dynamic) settings.mount.enable_compaction_and_partitioning = false;
  TRY_VOID(table::check(settings.mount));
  return settings;
}

}  // namespace moraine
