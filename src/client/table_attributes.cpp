#include "client/table_attributes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "client/table_option_names.h"
#include "table/model/key.h"
#include "yson/yson.h"

namespace moraine::client {
namespace {

using Figures = std::vector<table::TabletStatistics>;
using Field = std::uint64_t table::TabletStatistics::*;
using Value = std::optional<YsonNode>;  // nullopt: this table has not got the attribute.

// What clients see as a node of the cluster.
constexpr std::string_view kMedium = "default";

YsonNode count(std::uint64_t value) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(value, ~std::uint64_t{0} >> 1));
}

std::uint64_t sum(const Figures& figures, Field field) {
  std::uint64_t all = 0;
  for (const table::TabletStatistics& one : figures) all += one.*field;
  return all;
}

std::uint64_t disk_bytes(const Figures& figures) {
  return sum(figures, &table::TabletStatistics::compressed_bytes) +
         sum(figures, &table::TabletStatistics::hunk_bytes);
}

// The state that a tablet is on its way to.
MountState expected_state(MountState state) {
  switch (state) {
    case MountState::kMounting: return MountState::kMounted;
    case MountState::kUnmounting: return MountState::kUnmounted;
    case MountState::kFreezing:
    case MountState::kFrozenMounting: return MountState::kFrozen;
    default: return state;
  }
}

bool is_transient(MountState state) {
  return expected_state(state) != state;
}

MountState state_of(const TableDescription& table, std::size_t tablet) {
  const auto& ranges = table.open->ranges;
  return tablet < ranges.size() ? ranges[tablet].state : MountState::kUnmounted;
}

// The state of all tablets, or "mixed".
template <class Map>
std::string_view common_state(const TableDescription& table, Map shown) {
  const MountState first = shown(state_of(table, 0));
  for (std::size_t i = 1; i < table.record.tablets.size(); ++i) {
    if (shown(state_of(table, i)) != first) return "mixed";
  }
  return to_string(first);
}

template <class Map>
YsonNode counts_by_state(const TableDescription& table, Map shown) {
  std::array<std::int64_t, static_cast<std::size_t>(MountState::kFrozenMounting) + 1> counts{};
  for (std::size_t i = 0; i < table.record.tablets.size(); ++i) {
    ++counts[static_cast<std::size_t>(shown(state_of(table, i)))];
  }
  YsonMap map;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    map.set(std::string(to_string(static_cast<MountState>(i))), counts[i]);
  }
  map.set("unfreezing", 0);
  return map;
}

MountState same(MountState state) {
  return state;
}

Value tablet_state(const TableDescription& table) {
  for (std::size_t i = 0; i < table.record.tablets.size(); ++i) {
    if (is_transient(state_of(table, i))) return "transient";
  }
  return common_state(table, same);
}

Value key_columns(const TableDescription& table) {
  YsonList names;
  for (const ColumnSchema& column : table.record.schema.columns) {
    if (column.key) names.push_back(column.name);
  }
  return names;
}

Value pivot_keys(const TableDescription& table) {
  YsonList keys;
  for (const TabletOfTable& tablet : table.record.tablets) {
    auto key = pivot_to_yson(tablet.pivot);
    keys.push_back(key ? std::move(*key) : YsonNode(YsonList()));
  }
  return keys;
}

YsonNode disk_space_of(std::uint64_t bytes) {
  YsonMap map;
  map.set(std::string(kMedium), count(bytes));
  return map;
}

YsonNode statistics_of(const TableRecord& record, const Figures& figures) {
  using S = table::TabletStatistics;
  YsonMap map;
  const auto add = [&](std::string_view name, Field field) {
    map.set(std::string(name), count(sum(figures, field)));
  };
  add("unmerged_row_count", &S::unmerged_rows);
  add("uncompressed_data_size", &S::uncompressed_bytes);
  add("compressed_data_size", &S::compressed_bytes);
  add("hunk_uncompressed_data_size", &S::hunk_bytes);
  add("hunk_compressed_data_size", &S::hunk_bytes);
  add("memory_size", &S::memory_bytes);
  add("dynamic_memory_pool_size", &S::memory_bytes);
  map.set("disk_space", count(disk_bytes(figures)));
  map.set("disk_space_per_medium", disk_space_of(disk_bytes(figures)));
  add("chunk_count", &S::chunks);
  add("partition_count", &S::partitions);
  add("store_count", &S::chunks);
  std::uint64_t overlapping = 0;
  for (const S& one : figures) overlapping = std::max(overlapping, one.overlapping_stores);
  map.set("overlapping_store_count", count(overlapping));
  add("preload_pending_store_count", &S::preload_pending_chunks);
  add("preload_completed_store_count", &S::preload_completed_chunks);
  add("preload_failed_store_count", &S::preload_failed_chunks);
  map.set("tablet_count", count(figures.size()));
  YsonMap modes;
  for (const auto& [mode, name] : {std::pair(InMemoryMode::kNone, "none"),
                                   {InMemoryMode::kCompressed, "compressed"},
                                   {InMemoryMode::kUncompressed, "uncompressed"}}) {
    modes.set(name, count(record.options.in_memory_mode == mode ? figures.size() : 0));
  }
  map.set("tablet_count_per_memory_mode", std::move(modes));
  return map;
}

// As far as tablets count it. Rows from the row cache count as dynamic ones.
YsonNode performance_counters(const table::TabletStatistics& figures) {
  YsonMap map;
  const std::uint64_t keys = figures.lookup_rows + figures.lookup_missing_rows;
  const std::uint64_t hits = std::min(keys, figures.lookup_cache_hits);
  map.set("dynamic_row_lookup_count", count(hits));
  map.set("static_chunk_row_lookup_count", count(keys - hits));
  map.set("static_chunk_row_lookup_data_weight_count", count(figures.lookup_data_weight));
  map.set("static_chunk_row_read_count", count(figures.scan_rows));
  map.set("static_chunk_row_read_data_weight_count", count(figures.scan_data_weight));
  return map;
}

Value tablets(const TableDescription& table) {
  YsonList list;
  for (std::size_t i = 0; i < table.record.tablets.size(); ++i) {
    const TabletOfTable& tablet = table.record.tablets[i];
    const table::TabletStatistics figures =
        i < table.figures.size() ? table.figures[i] : table::TabletStatistics();
    YsonMap map;
    map.set("index", count(i));
    auto pivot = pivot_to_yson(tablet.pivot);
    map.set("pivot_key", pivot ? std::move(*pivot) : YsonNode(YsonList()));
    map.set("state", to_string(state_of(table, i)));
    map.set("expected_state", to_string(expected_state(state_of(table, i))));
    map.set("statistics", statistics_of(table.record, {figures}));
    map.set("tablet_id", to_text(tablet_object_id(tablet.info.id)));
    if (state_of(table, i) != MountState::kUnmounted) {
      map.set("cell_id", to_text(tablet_cell_id()));
    }
    map.set("last_commit_timestamp", figures.last_commit);
    map.set("error_count", count(figures.error.empty() ? 0 : 1));
    map.set("replication_error_count", 0);
    map.set("performance_counters", performance_counters(figures));
    list.push_back(std::move(map));
  }
  return list;
}

Value preload_state(const TableDescription& table) {
  if (table.record.options.in_memory_mode == InMemoryMode::kNone) return "none";
  if (sum(table.figures, &table::TabletStatistics::preload_failed_chunks) > 0) return "failed";
  const auto pending = sum(table.figures, &table::TabletStatistics::preload_pending_chunks);
  return pending > 0 ? "in_progress" : "complete";
}

Value resource_usage(const TableDescription& table) {
  YsonMap map;
  map.set("node_count", 1);
  map.set("chunk_count", count(sum(table.figures, &table::TabletStatistics::chunks)));
  map.set("disk_space", count(disk_bytes(table.figures)));
  map.set("disk_space_per_medium", disk_space_of(disk_bytes(table.figures)));
  map.set("tablet_count", count(table.record.dynamic ? table.record.tablets.size() : 0));
  map.set("tablet_static_memory", 0);
  return map;
}

Value compression_ratio(const TableDescription& table) {
  const auto before = sum(table.figures, &table::TabletStatistics::uncompressed_bytes);
  const auto after = sum(table.figures, &table::TabletStatistics::compressed_bytes);
  return before == 0 ? 1.0 : static_cast<double>(after) / static_cast<double>(before);
}

Value timestamp_of(const Figures& figures, Timestamp table::TabletStatistics::* field, bool least) {
  Timestamp found = least ? kMaxTimestamp : kMinTimestamp;
  for (const table::TabletStatistics& one : figures) {
    if (one.*field == kNullTimestamp) continue;
    found = least ? std::min(found, one.*field) : std::max(found, one.*field);
  }
  return found;
}

Value tablet_errors(const TableDescription& table) {
  return count(static_cast<std::uint64_t>(
      std::ranges::count_if(table.figures, [](const auto& one) { return !one.error.empty(); })));
}

struct Entry {
  TableAttribute attribute;
  enum class Of : std::uint8_t { kAll, kDynamic, kStatic } of = Of::kAll;
  bool figures = false;  // Needs those of the tablets.
  Value (*read)(const TableDescription&) = nullptr;
};

#define READ(expression) \
  []([[maybe_unused]] const TableDescription& t) -> Value { return expression; }
#define SUM(field) READ(count(sum(t.figures, &table::TabletStatistics::field)))
#define TIME(field, least) READ(timestamp_of(t.figures, &table::TabletStatistics::field, least))

using Of = Entry::Of;
constexpr Entry kEntries[] = {
    {{"dynamic"}, Of::kAll, false, READ(t.record.dynamic)},
    {{"sorted"}, Of::kAll, false, READ(t.record.schema.key_count() > 0)},
    {{"schema", true}, Of::kAll, false, READ(schema_to_yson(t.record.schema))},
    {{"schema_mode"}, Of::kAll, false, READ(t.record.schema.strict ? "strong" : "weak")},
    {{"key_columns"}, Of::kAll, false, key_columns},
    {{"sorted_by"},
     Of::kAll,
     false,
     READ(t.record.schema.key_count() > 0 ? key_columns(t) : std::nullopt)},
    {{"pivot_keys", true}, Of::kDynamic, false, pivot_keys},
    {{"tablet_count"}, Of::kDynamic, false, READ(count(t.record.tablets.size()))},
    {{"tablets", true}, Of::kDynamic, true, tablets},
    {{"tablet_statistics", true}, Of::kDynamic, true, READ(statistics_of(t.record, t.figures))},
    {{"tablet_state"}, Of::kDynamic, false, tablet_state},
    {{"actual_tablet_state"}, Of::kDynamic, false, READ(common_state(t, same))},
    {{"expected_tablet_state"}, Of::kDynamic, false, READ(common_state(t, expected_state))},
    {{"tablet_count_by_state"}, Of::kDynamic, false, READ(counts_by_state(t, same))},
    {{"tablet_count_by_expected_state"},
     Of::kDynamic,
     false,
     READ(counts_by_state(t, expected_state))},
    {{"uncompressed_data_size"}, Of::kAll, true, SUM(uncompressed_bytes)},
    {{"compressed_data_size"}, Of::kAll, true, SUM(compressed_bytes)},
    {{"data_weight"}, Of::kAll, true, SUM(uncompressed_bytes)},
    {{"compression_ratio"}, Of::kAll, true, compression_ratio},
    {{"chunk_count"}, Of::kAll, true, SUM(chunks)},
    {{"chunk_row_count"}, Of::kAll, true, SUM(unmerged_rows)},
    {{"row_count"}, Of::kStatic, true, SUM(unmerged_rows)},
    {{"unmerged_row_count"}, Of::kDynamic, true, SUM(unmerged_rows)},
    {{"resource_usage"}, Of::kAll, true, resource_usage},
    {{"retained_timestamp"}, Of::kDynamic, true, TIME(retained, false)},
    {{"unflushed_timestamp"}, Of::kDynamic, true, TIME(unflushed, true)},
    {{"last_commit_timestamp"}, Of::kDynamic, true, TIME(last_commit, false)},
    {{"preload_state"}, Of::kDynamic, true, preload_state},
    {{"backup_state"}, Of::kDynamic, false, READ("none")},
    {{"tablet_error_count"}, Of::kDynamic, true, tablet_errors},
    {{"remount_needed_tablet_count"},
     Of::kDynamic,
     false,
     READ(count(remount_needed_tablets(t.record)))},
    {{"mount_config", true, true}, Of::kAll, false, READ(mount_config_of(t.record, false))},
    {{"effective_mount_config", true}, Of::kDynamic, false, READ(mount_config_of(t.record, true))},
    {{"chunk_writer", true, true}, Of::kAll, false, nullptr},
};

#undef READ
#undef SUM
#undef TIME

Value chunk_writer(const TableRecord& record) {
  const auto kept = record.kept.find("chunk_writer");
  if (kept == record.kept.end()) return std::nullopt;
  auto value = parse_yson(kept->second);
  if (!value) return std::nullopt;
  return std::move(*value);
}

const Entry* find_entry(std::string_view name) {
  const auto found =
      std::ranges::find_if(kEntries, [&](const Entry& one) { return one.attribute.name == name; });
  return found == std::end(kEntries) ? nullptr : found;
}

Value read_one(const TableDescription& table, std::string_view name) {
  const Entry* entry = find_entry(name);
  if (entry == nullptr) {
    const SettableAttribute* option = find_settable(name);
    return option == nullptr ? std::nullopt : value_of(table.record, *option);
  }
  if (entry->of == Of::kDynamic && !table.record.dynamic) return std::nullopt;
  if (entry->of == Of::kStatic && table.record.dynamic) return std::nullopt;
  return entry->read == nullptr ? chunk_writer(table.record) : entry->read(table);
}

std::vector<TableAttribute> make_names() {
  std::vector<TableAttribute> names;
  for (const Entry& entry : kEntries) names.push_back(entry.attribute);
  for (const SettableAttribute& option : settable_attributes()) {
    const bool map = option.kind == SettableAttribute::Kind::kMap;
    names.push_back({option.name, map, true});
  }
  return names;
}

}  // namespace

std::span<const TableAttribute> table_attribute_names() {
  static const std::vector<TableAttribute> names = make_names();
  return names;
}

bool reads_dynamic_stores(const TableRecord& record) {
  const SettableAttribute* option = find_settable("enable_dynamic_store_read");
  const Value value = option == nullptr ? std::nullopt : value_of(record, *option);
  const bool* const set = value ? value->as<bool>() : nullptr;
  return set != nullptr && *set;
}

Task<Result<YsonMap>> read_table_attributes(Tables& tables, std::string path,
                                            std::vector<std::string> names) {
  const bool figures = std::ranges::any_of(names, [](const std::string& name) {
    const Entry* entry = find_entry(name);
    return entry != nullptr && entry->figures;
  });
  CO_TRY(const TableDescription table,
         co_await (figures ? tables.describe(std::move(path)) : tables.inspect(std::move(path))));
  YsonMap values;
  for (const std::string& name : names) {
    if (auto value = read_one(table, name)) values.set(name, std::move(*value));
  }
  co_return values;
}

Result<YsonNode> pivot_to_yson(const std::string& pivot) {
  std::vector<moraine::Value> columns;
  std::string memory;
  TRY_VOID(table::decode_key(as_bytes(pivot), columns, memory));
  YsonList list;
  for (const moraine::Value& column : columns) {
    switch (column.type()) {
      case ValueType::kNull: list.emplace_back(); break;
      case ValueType::kInt64: list.emplace_back(column.as_int64()); break;
      case ValueType::kUint64: list.emplace_back(column.as_uint64()); break;
      case ValueType::kDouble: list.emplace_back(column.as_double()); break;
      case ValueType::kBoolean: list.emplace_back(column.as_boolean()); break;
      case ValueType::kString: list.emplace_back(column.text()); break;
      case ValueType::kAny: {
        TRY(YsonNode any, parse_yson(column.text()));
        list.push_back(std::move(any));
        break;
      }
    }
  }
  return YsonNode(std::move(list));
}

PathId tablet_object_id(TabletId tablet) {
  constexpr std::uint32_t kLow = ~std::uint32_t{0};
  const auto low = static_cast<std::uint32_t>(tablet.value & kLow);
  const auto high = static_cast<std::uint32_t>(tablet.value >> 32);
  const std::string text = fmt::format("{:x}-{:x}-{:x}-1", low, high,
                                       0x10000u | static_cast<unsigned>(ObjectType::kTablet));
  return parse_object_id(text).value();
}

std::optional<TabletId> tablet_of_object_id(const PathId& id) {
  std::array<std::uint64_t, 2> halves{};
  for (std::size_t i = 0; i < 8; ++i) halves[i / 4] = halves[i / 4] << 8 | id[i];
  const TabletId tablet{halves[1] << 32 | halves[0]};
  return id == tablet_object_id(tablet) ? std::optional(tablet) : std::nullopt;
}

PathId tablet_cell_id() {
  return parse_object_id(
             fmt::format("1-1-{:x}-1", 0x10000u | static_cast<unsigned>(ObjectType::kTabletCell)))
      .value();
}

}  // namespace moraine::client
