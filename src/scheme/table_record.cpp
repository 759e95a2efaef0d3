#include "scheme/table_record.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/coding.h"
#include "base/invariant.h"
#include "base/sealed.h"
#include "scheme/tablet_record.h"
#include "table/model/schema_codec.h"
#include "table/model/static_rows.h"

namespace moraine {
namespace {

constexpr std::uint8_t kVersion = 3;
constexpr std::uint8_t kVersionWithoutApplied = 2;
constexpr MountState kLastStored = MountState::kFreezing;
constexpr std::size_t kTabletOfTableBytesMin = 1 + 2 * sizeof(std::uint32_t) + kTabletBytesMin;
constexpr std::size_t kOptionBytesMin = 2 * sizeof(std::uint32_t);

void append_tablets(Encoder& encoder, const std::vector<TabletOfTable>& tablets) {
  encoder.u32(static_cast<std::uint32_t>(tablets.size()));
  for (const TabletOfTable& tablet : tablets) {
    INVARIANT(tablet.state <= kLastStored, "state \"{}\" of tablet {} is not stored",
              to_string(tablet.state), tablet.info.id.value);
    encoder.u8(static_cast<std::uint8_t>(tablet.state)).sized(tablet.pivot);
    append_tablet(encoder, tablet.info);
    encoder.u32(static_cast<std::uint32_t>(tablet.parents.size()));
    for (const TabletId parent : tablet.parents) encoder.u64(parent.value);
  }
}

Result<std::vector<TabletOfTable>> take_tablets(Decoder& decoder) {
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

void append_options(Encoder& encoder, const TableOptions& options) {
  const auto named = to_attributes(options);
  encoder.u32(static_cast<std::uint32_t>(named.size()));
  for (const auto& [name, value] : named) encoder.sized(name).sized(value);
}

Result<TableOptions> take_options(Decoder& decoder) {
  std::map<std::string, std::string> named;
  const std::uint32_t count = decoder.count(kOptionBytesMin);
  for (std::uint32_t i = 0; i < count; ++i) {
    std::string name(as_text(decoder.sized()));
    if (!named.empty() && named.rbegin()->first >= name) {
      return fail(Errc::kCorrupt, "options out of order");
    }
    named.emplace(std::move(name), as_text(decoder.sized()));
  }
  TableOptions options;
  if (const auto set = set_attributes(options, named); !set) {
    return fail(Errc::kCorrupt, set.error().context);
  }
  return options;
}

}  // namespace

Slice encode_table(const TableRecord& record) {
  Encoder encoder;
  encoder.u8(kVersion).flag(record.dynamic);
  table::append_schema(encoder, record.schema);
  append_options(encoder, record.options);
  encoder.u64(record.forced_compaction_ms);
  append_options(encoder, record.applied);
  encoder.u64(record.applied_forced_compaction_ms);
  append_tablets(encoder, record.tablets);
  encoder.u32(static_cast<std::uint32_t>(record.retired.size()));
  for (const TabletInfo& info : record.retired) append_tablet(encoder, info);
  return seal(std::move(encoder));
}

Result<TableRecord> decode_table(const PathNode& node) {
  TRY(const ByteSpan bytes, unseal(node.record));
  Decoder decoder(bytes);
  const std::uint8_t version = decoder.u8();
  if (version != kVersion && version != kVersionWithoutApplied) {
    return fail(Errc::kUnsupported, fmt::format("table version {}", version));
  }
  TableRecord record;
  record.dynamic = decoder.flag();
  TRY(record.schema, table::take_schema(decoder));
  TRY(record.options, take_options(decoder));
  record.forced_compaction_ms = decoder.u64();
  record.applied = record.options;
  record.applied_forced_compaction_ms = record.forced_compaction_ms;
  if (version != kVersionWithoutApplied) {
    TRY(record.applied, take_options(decoder));
    record.applied_forced_compaction_ms = decoder.u64();
  }
  TRY(record.tablets, take_tablets(decoder));
  const std::uint32_t retired = decoder.count(kTabletBytesMin);
  for (std::uint32_t i = 0; i < retired; ++i) {
    TRY(TabletInfo info, take_tablet(decoder));
    record.retired.push_back(std::move(info));
  }
  if (!decoder.finished()) return fail(Errc::kCorrupt, "table length");
  return record;
}

TableSchema kept_schema(const TableRecord& record) {
  return record.dynamic ? record.schema : table::stored_schema(record.schema);
}

// A time after everything that was written before the call, also when the clock was set back.
void apply_options(TableRecord& record, std::uint64_t now_ms) {
  if (record.forced_compaction_ms > record.applied_forced_compaction_ms) {
    record.forced_compaction_ms = std::max(record.forced_compaction_ms, now_ms);
  }
  record.applied = record.options;
  record.applied_forced_compaction_ms = record.forced_compaction_ms;
}

bool needs_remount(const TableRecord& record) {
  const bool runs = std::ranges::any_of(record.tablets, [](const TabletOfTable& tablet) {
    return tablet.state != MountState::kUnmounted;
  });
  return runs && (record.applied != record.options ||
                  record.applied_forced_compaction_ms != record.forced_compaction_ms);
}

Result<table::TabletSettings> tablet_settings(const std::string& path, const TableRecord& record,
                                              std::size_t tablet) {
  const TableOptions& options = record.applied;
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
  settings.mount.forced_compaction_ms = record.applied_forced_compaction_ms;
  // Chunks of static tables stay as they were written.
  if (!record.dynamic) settings.mount.enable_compaction_and_partitioning = false;
  TRY_VOID(table::check(settings.mount));
  return settings;
}

}  // namespace moraine
