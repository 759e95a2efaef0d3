#include "table/model/retention.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "table/model/aggregate.h"
#include "table/model/merge.h"

namespace moraine::table {
namespace {

constexpr std::string_view kTtlColumn = "$ttl";

std::chrono::milliseconds age_at(Timestamp now, Timestamp timestamp) {
  if (timestamp >= now) return std::chrono::milliseconds(0);
  return std::chrono::seconds(unix_seconds(now) - unix_seconds(timestamp));
}

}  // namespace

Timestamp retained_timestamp(const RetentionConfig& config, Timestamp now) {
  const auto ttl = std::chrono::ceil<std::chrono::seconds>(config.min_data_ttl);
  const auto seconds = static_cast<std::uint64_t>(std::max<std::int64_t>(0, ttl.count()));
  if (unix_seconds(now) <= seconds) return kMinTimestamp;
  return std::max(kMinTimestamp, now - timestamp_of_seconds(seconds));
}

bool deletion_drops(const RetentionConfig& config, const RetentionScope& scope, Timestamp written,
                    Timestamp deleted) {
  return config.min_data_versions <= 1 && config.max_data_versions <= 1 &&
         age_at(scope.now, written) >= config.min_data_ttl && deleted <= scope.horizon;
}

RowRetention::RowRetention(const TableSchema& schema, RetentionConfig config, RetentionScope scope)
    : schema_(schema), config_(config), scope_(scope) {
  set_oldest_elsewhere(scope.oldest_elsewhere);
  if (const auto column = schema.find(kTtlColumn)) {
    ttl_column_ = static_cast<ColumnIndex>(*column);
  }
}

void RowRetention::set_oldest_elsewhere(Timestamp oldest_elsewhere) {
  scope_.oldest_elsewhere = scope_.ignore_major_timestamp ? kMaxTimestamp : oldest_elsewhere;
}

// One write, no deletes, no deltas: every value is version 0 of its column.
bool RowRetention::nothing_to_do(const VersionedRow& row) const {
  return config_.min_data_versions > 0 && row.write_timestamps.size() == 1 &&
         row.delete_timestamps.empty() &&
         std::ranges::none_of(row.values, &VersionedValue::aggregate);
}

void RowRetention::apply(const VersionedRow& row, TextMemory& memory, RowBuilder& out) {
  out.clear();
  out.key = row.key;
  if (nothing_to_do(row)) {
    out.values.assign(row.values.begin(), row.values.end());
    out.write_timestamps.assign(row.write_timestamps.begin(), row.write_timestamps.end());
    return;
  }
  find_ttls(row);
  for (std::size_t begin = 0; begin < row.values.size();) {
    std::size_t end = begin + 1;
    while (end < row.values.size() && row.values[end].column == row.values[begin].column) ++end;
    keep_column(row.values.subspan(begin, end - begin), row.delete_timestamps, memory, out);
    begin = end;
  }
  keep_writes(row, out);
  keep_deletes(row, out);
}

std::chrono::milliseconds RowRetention::age(Timestamp timestamp) const {
  return age_at(scope_.now, timestamp);
}

void RowRetention::find_ttls(const VersionedRow& row) {
  ttls_ = {};
  if (!ttl_column_) return;
  const auto found =
      std::ranges::equal_range(row.values, *ttl_column_, {}, &VersionedValue::column);
  ttls_ = std::span(found.begin(), found.end());
}

std::chrono::milliseconds RowRetention::max_ttl(Timestamp timestamp) const {
  const auto found = std::ranges::find(ttls_, timestamp, &VersionedValue::timestamp);
  if (found == ttls_.end() || found->value.type() != ValueType::kUint64) {
    return config_.max_data_ttl;
  }
  const std::uint64_t ms_max = std::numeric_limits<std::int64_t>::max();
  return std::chrono::milliseconds(std::min(found->value.as_uint64(), ms_max));
}

bool RowRetention::may_drop(Timestamp timestamp, std::size_t index) const {
  const std::chrono::milliseconds old = age(timestamp);
  if (index < config_.min_data_versions || old < config_.min_data_ttl) return false;
  return index >= config_.max_data_versions || old > max_ttl(timestamp);
}

// Whether the entry directly follows the one before it, counting all stores.
bool RowRetention::may_fold(std::size_t index) const {
  const Timestamp older = entries_[index].timestamp;
  const Timestamp newer = entries_[index - 1].timestamp;
  return newer <= scope_.oldest_elsewhere ||
         (older >= scope_.alone_from && newer <= scope_.alone_to);
}

// How many of entries_ are kept; older ones are dropped. Only a tail is dropped, so that nothing
// older reappears.
std::size_t RowRetention::kept_count() const {
  std::size_t kept = entries_.size();
  while (kept > 0) {
    const std::size_t index = kept - 1;
    const Timestamp timestamp = entries_[index].timestamp;
    // Readers at or above the horizon do not see a version that was replaced by then. If it was not
    // replaced it is the newest version to them; and dropping it must not uncover an older one
    // elsewhere.
    const bool replaced = index > 0 && entries_[index - 1].timestamp <= scope_.horizon;
    if (!may_drop(timestamp, replaced ? index : 0)) break;
    if (!replaced && timestamp >= scope_.oldest_elsewhere) break;
    const bool is_part = index > 0 && entries_[index].value != nullptr &&
                         entries_[index - 1].value != nullptr &&
                         entries_[index - 1].value->aggregate;
    if (is_part && !may_fold(index)) break;
    --kept;
  }
  return kept;
}

void RowRetention::keep_column(std::span<const VersionedValue> versions,
                               std::span<const Timestamp> deletes, TextMemory& memory,
                               RowBuilder& out) {
  entries_.clear();
  auto next_delete = deletes.begin();
  for (const VersionedValue& value : versions) {
    for (; next_delete != deletes.end() && *next_delete > value.timestamp; ++next_delete) {
      entries_.push_back({*next_delete, nullptr, true});
    }
    entries_.push_back({value.timestamp, &value, false});
  }
  for (; next_delete != deletes.end(); ++next_delete) {
    entries_.push_back({*next_delete, nullptr, true});
  }
  const std::size_t kept = kept_count();
  for (std::size_t i = 0; i < kept; ++i) {
    if (entries_[i].value == nullptr) continue;
    out.values.push_back(*entries_[i].value);
    if (i + 1 == kept && out.values.back().aggregate) {
      fold_dropped(kept, memory, out.values.back());
    }
  }
}

void RowRetention::fold_dropped(std::size_t kept, TextMemory& memory,
                                VersionedValue& oldest) const {
  // The parts of `oldest`: deltas below it, down to a full value or a delete.
  std::size_t end = kept;
  bool whole = false;
  for (; end < entries_.size() && !whole; ++end) {
    if (entries_[end].value == nullptr) {
      whole = may_fold(end);
      break;
    }
    whole = !entries_[end].value->aggregate;
  }
  if (!whole) whole = entries_[end - 1].timestamp < scope_.oldest_elsewhere;
  Folding folding(schema_.columns[oldest.column].aggregate);
  for (std::size_t i = end; i > kept; --i) folding.add(entries_[i - 1].value->value);
  folding.add(oldest.value);
  oldest.value = folding.total(memory);
  oldest.aggregate = !whole;
}

void RowRetention::keep_writes(const VersionedRow& row, RowBuilder& out) {
  entries_.clear();
  auto next_delete = row.delete_timestamps.begin();
  const auto deletes_end = row.delete_timestamps.end();
  for (const Timestamp timestamp : row.write_timestamps) {
    for (; next_delete != deletes_end && *next_delete > timestamp; ++next_delete) {
      entries_.push_back({*next_delete, nullptr, true});
    }
    entries_.push_back({timestamp, nullptr, false});
  }
  for (; next_delete != deletes_end; ++next_delete) {
    entries_.push_back({*next_delete, nullptr, true});
  }
  const std::size_t kept = kept_count();
  for (std::size_t i = 0; i < kept; ++i) {
    if (!entries_[i].deletes) out.write_timestamps.push_back(entries_[i].timestamp);
  }
  // And the timestamps of values that are kept.
  const std::size_t own = out.write_timestamps.size();
  const Timestamp oldest = own == 0 ? kMaxTimestamp : out.write_timestamps.back();
  for (const VersionedValue& value : out.values) {
    if (value.timestamp < oldest) out.write_timestamps.push_back(value.timestamp);
  }
  if (out.write_timestamps.size() == own) return;
  std::ranges::sort(out.write_timestamps, std::greater<>());
  const auto repeated = std::ranges::unique(out.write_timestamps);
  out.write_timestamps.erase(repeated.begin(), repeated.end());
}

// Uses the entries of keep_writes().
void RowRetention::keep_deletes(const VersionedRow& row, RowBuilder& out) {
  if (row.delete_timestamps.empty()) return;
  const Timestamp oldest_kept =
      out.write_timestamps.empty() ? kMaxTimestamp : out.write_timestamps.back();
  bool replaced = false;  // By a newer delete at or below the horizon.
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (!entries_[i].deletes) continue;
    const Timestamp timestamp = entries_[i].timestamp;
    const bool young = age(timestamp) < config_.min_data_ttl;
    const bool covers = oldest_kept < timestamp || timestamp >= scope_.oldest_elsewhere;
    if (young || (covers && !(replaced && may_drop(timestamp, i)))) {
      out.delete_timestamps.push_back(timestamp);
    }
    if (timestamp <= scope_.horizon) replaced = true;
  }
}

bool read_retained_versions(const VersionedRow& row, Timestamp timestamp, const ColumnSet* columns,
                            const TableSchema& schema, const RetentionConfig& config, Timestamp now,
                            TextMemory& memory, RowBuilder& out) {
  RowBuilder visible;
  if (!read_versions(row, timestamp, nullptr, visible)) {
    out.clear();
    return false;
  }
  RowRetention(schema, config, {.now = now}).apply(visible.row(), memory, out);
  if (columns != nullptr) {
    std::erase_if(out.values,
                  [columns](const VersionedValue& v) { return !columns->has(v.column); });
  }
  return !out.empty();
}

}  // namespace moraine::table
