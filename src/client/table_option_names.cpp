#include "client/table_option_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "client/yson_fields.h"
#include "yson/yson.h"

namespace moraine::client {
namespace {

using Kind = SettableAttribute::Kind;

constexpr std::string_view kStorage = "storage parameters";
constexpr std::string_view kForced = "forced_compaction_revision";

// An option of the mount config that Moraine uses.
constexpr SettableAttribute used(std::string_view name, Kind kind, std::string_view option = {}) {
  return {name, kind, option.empty() ? name : option, true};
}
// One that is kept.
constexpr SettableAttribute kept(std::string_view name, Kind kind) {
  return {name, kind, {}, true};
}

constexpr SettableAttribute kSettable[] = {
    {"optimize_for", Kind::kText, "optimize_for"},
    {"compression_codec", Kind::kText, "compression_codec"},
    {"atomicity", Kind::kText, "atomicity"},
    {"in_memory_mode", Kind::kText, "in_memory_mode"},
    {kForced, Kind::kCount, kForced},
    {"forced_store_compaction_revision", Kind::kCount},
    {"forced_hunk_compaction_revision", Kind::kCount},
    {"forced_chunk_view_compaction_revision", Kind::kCount},
    {"replication_factor", Kind::kCount, {}, false, kStorage, "3"},
    {"primary_medium", Kind::kText, {}, false, kStorage, "default"},
    {"media", Kind::kMap, {}, false, kStorage},
    {"vital", Kind::kFlag, {}, false, kStorage, "%true"},
    {"erasure_codec", Kind::kText, {}, false, {}, "none"},
    {"hunk_erasure_codec", Kind::kText, {}, false, {}, "none"},
    {"tablet_cell_bundle", Kind::kText, {}, false, "tablet cell bundle", "default"},
    {"enable_dynamic_store_read", Kind::kFlag, {}, false, "dynamic stores readability"},
    {"serialization_type", Kind::kText, {}, false, "serialization type", "coarse"},
    {"tablet_balancer_config",
     Kind::kMap,
     {},
     false,
     {},
     "{enable_auto_reshard=%true;enable_auto_tablet_move=%true}"},
    {"chunk_format", Kind::kText},
    {"chunk_reader", Kind::kMap},
    {"hunk_chunk_reader", Kind::kMap},
    {"hunk_chunk_writer", Kind::kMap},
    {"hunk_storage_id", Kind::kText},
    {"profiling_mode", Kind::kText},
    {"profiling_tag", Kind::kText},
    {"enable_detailed_profiling", Kind::kFlag},
    {"enable_consistent_chunk_replica_placement", Kind::kFlag},
    used("min_data_versions", Kind::kCount),
    used("max_data_versions", Kind::kCount),
    used("min_data_ttl", Kind::kDuration),
    used("max_data_ttl", Kind::kDuration),
    used("auto_compaction_period", Kind::kDuration),
    used("lookup_cache_rows_ratio", Kind::kRatio),
    used("lookup_cache_rows_per_tablet", Kind::kCount),
    used("enable_lookup_cache_by_default", Kind::kFlag),
    used("enable_key_filter_for_lookup", Kind::kFlag),
    used("max_dynamic_store_row_count", Kind::kCount),
    used("max_dynamic_store_pool_size", Kind::kCount, "max_dynamic_store_bytes"),
    used("dynamic_store_auto_flush_period", Kind::kDuration),
    used("merge_rows_on_flush", Kind::kFlag),
    used("enable_compaction_and_partitioning", Kind::kFlag),
    used("min_partition_data_size", Kind::kCount),
    used("desired_partition_data_size", Kind::kCount),
    used("max_partition_data_size", Kind::kCount),
    kept("ignore_major_timestamp", Kind::kFlag),
    kept("max_dynamic_store_value_count", Kind::kCount),
    kept("max_dynamic_store_timestamp_count", Kind::kCount),
    kept("max_dynamic_store_row_data_weight", Kind::kCount),
    kept("dynamic_store_overflow_threshold", Kind::kRatio),
    kept("dynamic_store_flush_period_splay", Kind::kDuration),
    kept("auto_compaction_period_splay_ratio", Kind::kRatio),
    kept("periodic_compaction_mode", Kind::kText),
    kept("merge_deletions_on_flush", Kind::kFlag),
    kept("backing_store_retention_time", Kind::kDuration),
    kept("check_conflict_horizon", Kind::kFlag),
    kept("min_partitioning_data_size", Kind::kCount),
    kept("max_partitioning_data_size", Kind::kCount),
    kept("min_partitioning_store_count", Kind::kCount),
    kept("max_partitioning_store_count", Kind::kCount),
    kept("min_compaction_store_count", Kind::kCount),
    kept("max_compaction_store_count", Kind::kCount),
    kept("compaction_data_size_base", Kind::kCount),
    kept("compaction_data_size_ratio", Kind::kRatio),
    kept("max_read_fan_in", Kind::kCount),
    kept("max_overlapping_store_count", Kind::kCount),
    kept("max_stores_per_tablet", Kind::kCount),
    kept("max_eden_stores_per_tablet", Kind::kCount),
    kept("samples_per_partition", Kind::kCount),
    kept("enable_partitioning", Kind::kFlag),
    kept("enable_store_rotation", Kind::kFlag),
    kept("enable_store_flush", Kind::kFlag),
    kept("enable_lookup_hash_table", Kind::kFlag),
    kept("enable_hash_chunk_index_for_lookup", Kind::kFlag),
    kept("enable_data_node_lookup", Kind::kFlag),
    kept("row_merger_type", Kind::kText),
    kept("enable_profiling", Kind::kFlag),
    kept("max_hunk_compaction_garbage_ratio", Kind::kRatio),
    kept("max_hunk_compaction_size", Kind::kCount),
    kept("row_count_to_keep", Kind::kCount),
};

std::string_view expected(Kind kind) {
  switch (kind) {
    case Kind::kCount: return "a non-negative integer";
    case Kind::kDuration: return "a number of milliseconds";
    case Kind::kRatio: return "a number";
    case Kind::kFlag: return "a boolean";
    case Kind::kText: return "a string";
    case Kind::kMap: return "a map";
  }
  return "";
}

std::unexpected<Error> wrong(std::string_view name, std::string_view why) {
  return fail(Errc::kInvalidArgument,
              fmt::format("Error parsing attribute \"{}\": it must be {}", name, why));
}

std::optional<double> ratio_of(const YsonNode& node) {
  if (const auto* real = node.as<double>()) {
    return std::isfinite(*real) ? std::optional(*real) : std::nullopt;
  }
  if (const auto whole = integer_of(node)) return static_cast<double>(*whole);
  return std::nullopt;
}

// The text of an option (table_options.cpp). nullopt: the value is of another kind.
std::optional<std::string> option_text(Kind kind, const YsonNode& value) {
  switch (kind) {
    case Kind::kCount: {
      if (const auto* large = value.as<std::uint64_t>()) return std::to_string(*large);
      const auto count = integer_of(value);
      if (!count || *count < 0) return std::nullopt;
      return std::to_string(*count);
    }
    case Kind::kDuration: {
      const auto duration = duration_of(value);
      return duration ? std::optional(std::to_string(duration->count())) : std::nullopt;
    }
    case Kind::kRatio: {
      const auto ratio = ratio_of(value);
      return ratio ? std::optional(fmt::format("{}", *ratio)) : std::nullopt;
    }
    case Kind::kFlag: {
      const auto flag = flag_of(value);
      return flag ? std::optional<std::string>(*flag ? "true" : "false") : std::nullopt;
    }
    case Kind::kText: {
      const auto* text = value.as<std::string>();
      return text != nullptr ? std::optional(*text) : std::nullopt;
    }
    case Kind::kMap: return std::nullopt;
  }
  return std::nullopt;
}

// The inverse for options that were stored.
YsonNode option_yson(Kind kind, const std::string& text) {
  switch (kind) {
    case Kind::kText: return text;
    case Kind::kFlag: return text == "true";
    default: break;
  }
  if (auto parsed = parse_yson(text)) {
    if (kind != Kind::kRatio) return *parsed;
    return ratio_of(*parsed).value_or(0);
  }
  // A count that does not fit int64.
  auto large = parse_yson(text + "u");
  return large ? std::move(*large) : YsonNode(text);
}

std::string default_option(std::string_view option) {
  static const auto defaults = to_attributes(TableOptions());
  return defaults.find(std::string(option))->second;
}

bool fits(Kind kind, const YsonNode& value) {
  if (kind == Kind::kMap) return value.as<YsonMap>() != nullptr;
  return option_text(kind, value).has_value();
}

// The chunk format says the same as optimize_for.
Result<void> add_chunk_format(TableAttributeChanges& changes, const YsonNode* value) {
  if (value == nullptr) return {};
  const auto* name = value->as<std::string>();
  if (name != nullptr && *name == "table_versioned_columnar") {
    changes.options["optimize_for"] = "scan";
  } else if (name != nullptr && name->starts_with("table_versioned_")) {
    changes.options["optimize_for"] = "lookup";
  } else if (name == nullptr || !name->starts_with("table_unversioned_")) {
    return wrong("chunk_format", "a format of chunks of tables");
  }
  return {};
}

}  // namespace

std::span<const SettableAttribute> settable_attributes() {
  return kSettable;
}

const SettableAttribute* find_settable(std::string_view name) {
  const auto found = std::ranges::find(kSettable, name, &SettableAttribute::name);
  return found == std::end(kSettable) ? nullptr : found;
}

Result<void> add_change(TableAttributeChanges& changes, const SettableAttribute& attribute,
                        const YsonNode* value) {
  if (value != nullptr && value->is_entity()) value = nullptr;
  const std::string name(attribute.name);
  if (attribute.name == "chunk_format") {
    TRY_VOID(add_chunk_format(changes, value));
  }
  if (value != nullptr && !fits(attribute.kind, *value)) {
    return wrong(name, expected(attribute.kind));
  }
  if (attribute.option.empty()) {
    auto& kept = changes.kept[name];
    kept.reset();
    if (value != nullptr) kept = write_yson(*value, YsonFormat::kText);
    return {};
  }
  const std::string option(attribute.option);
  changes.options[option] =
      value != nullptr ? *option_text(attribute.kind, *value) : default_option(option);
  auto& mark = changes.kept[name];
  mark.reset();
  if (value != nullptr && attribute.mount) mark = "";
  return {};
}

Result<void> add_mount_config(TableAttributeChanges& changes, const YsonNode* value) {
  const auto* map = value == nullptr ? nullptr : value->as<YsonMap>();
  if (value != nullptr && map == nullptr) return wrong("mount_config", "a map");
  for (const SettableAttribute& attribute : kSettable) {
    if (!attribute.mount) continue;
    const YsonNode* option = map == nullptr ? nullptr : map->find(attribute.name);
    TRY_VOID(add_change(changes, attribute, option));
  }
  if (map == nullptr) return {};
  for (const YsonPair& pair : *map) {
    const SettableAttribute* known = find_settable(pair.key);
    if (known != nullptr && known->mount) continue;
    return fail(Errc::kInvalidArgument,
                fmt::format("Error parsing attribute \"mount_config\": unrecognized option \"{}\"",
                            pair.key));
  }
  return {};
}

Result<void> add_chunk_writer(TableAttributeChanges& changes, const YsonNode* value) {
  if (value != nullptr && value->as<YsonMap>() == nullptr) return wrong("chunk_writer", "a map");
  const YsonNode* size = value == nullptr ? nullptr : value->find("block_size");
  const YsonNode* filter = value == nullptr ? nullptr : value->find("key_filter");
  const YsonNode* enable = filter == nullptr ? nullptr : filter->find("enable");
  const auto bytes = size == nullptr ? std::nullopt : integer_of(*size);
  const auto enabled = enable == nullptr ? std::nullopt : flag_of(*enable);
  if (size != nullptr && (!bytes || *bytes <= 0)) {
    return wrong("chunk_writer/block_size", "a positive integer");
  }
  if (enable != nullptr && !enabled) {
    return wrong("chunk_writer/key_filter/enable", expected(Kind::kFlag));
  }
  changes.options["block_size"] = bytes ? std::to_string(*bytes) : default_option("block_size");
  changes.options["key_filter"] =
      enabled ? (*enabled ? "true" : "false") : default_option("key_filter");
  auto& kept = changes.kept["chunk_writer"];
  kept.reset();
  if (value != nullptr) kept = write_yson(*value, YsonFormat::kText);
  return {};
}

std::optional<YsonNode> value_of(const TableRecord& record, const SettableAttribute& attribute) {
  const std::string name(attribute.name);
  const auto kept = record.kept.find(name);
  if (attribute.option.empty()) {
    const bool set = kept != record.kept.end();
    if (!set && attribute.missing.empty()) return std::nullopt;
    auto value = parse_yson(set ? std::string_view(kept->second) : attribute.missing);
    if (!value) return std::nullopt;
    return std::move(*value);
  }
  const auto options = to_attributes(record.options);
  const std::string& text = options.find(std::string(attribute.option))->second;
  const bool set = kept != record.kept.end() || text != default_option(attribute.option);
  if (!set && (attribute.mount || attribute.name == kForced)) return std::nullopt;
  return option_yson(attribute.kind, text);
}

YsonNode mount_config_of(const TableRecord& record, bool effective) {
  YsonMap map;
  const auto options = to_attributes(record.options);
  for (const SettableAttribute& attribute : kSettable) {
    if (!attribute.mount) continue;
    auto value = value_of(record, attribute);
    if (!value && effective && !attribute.option.empty()) {
      const std::string& text = options.find(std::string(attribute.option))->second;
      if (text != "#") value = option_yson(attribute.kind, text);
    }
    if (value) map.set(std::string(attribute.name), std::move(*value));
  }
  return map;
}

}  // namespace moraine::client
