#include "table/model/fold_row.h"

#include <algorithm>
#include <span>

#include "table/model/aggregate.h"

namespace moraine::table {
namespace {

using Values = std::vector<VersionedValue>;

// The end of the parts that determine the column's value: deltas from `begin` on, down to a full
// value or to `floor`.
std::size_t end_of_parts(const Values& values, std::size_t begin, Timestamp floor) {
  std::size_t end = begin + 1;
  while (values[end - 1].aggregate && end < values.size() &&
         values[end].column == values[begin].column && values[end].timestamp >= floor) {
    ++end;
  }
  return end;
}

// The oldest part of the column may itself be folded.
Timestamp oldest_part(const std::vector<FoldedRange>& folded, const VersionedValue& last) {
  Timestamp oldest = last.timestamp;
  for (const FoldedRange& range : folded) {
    if (range.column == last.column) oldest = std::min(oldest, range.oldest);
  }
  return oldest;
}

}  // namespace

void fold_deltas(const TableSchema& schema, std::size_t text_max, TextMemory& memory,
                 RowBuilder& row) {
  const Timestamp deleted =
      row.delete_timestamps.empty() ? 0 : std::ranges::max(row.delete_timestamps);
  Values& values = row.values;
  std::size_t kept = 0;
  for (std::size_t at = 0; at < values.size();) {
    const std::size_t end = end_of_parts(values, at, deleted + 1);
    const std::span<const VersionedValue> parts(values.data() + at, end - at);
    if (parts.size() > 1 && std::ranges::none_of(parts, &VersionedValue::hunk)) {
      VersionedValue total = parts.front();
      Folding folding(schema.columns[total.column].aggregate);
      for (auto part = parts.rbegin(); part != parts.rend(); ++part) folding.add(part->value);
      total.value = folding.total(memory);
      total.aggregate = parts.back().aggregate;
      if (!total.value.has_text() || total.value.text().size() <= text_max) {
        const Timestamp oldest = oldest_part(row.folded, parts.back());
        std::erase_if(row.folded, [&](const auto& range) { return range.column == total.column; });
        row.folded.push_back({total.column, total.timestamp, oldest});
        values[kept++] = total;
        at = end;
        continue;
      }
    }
    for (; at < end; ++at) values[kept++] = values[at];
  }
  values.resize(kept);
}

bool folds_overlap(const VersionedRow& row) {
  return std::ranges::any_of(row.folded, [&row](const FoldedRange& range) {
    const auto between = [&range](Timestamp timestamp) {
      return timestamp >= range.oldest && timestamp <= range.newest;
    };
    std::size_t own = 0;
    for (const VersionedValue& value : row.values) {
      if (value.column == range.column && between(value.timestamp)) ++own;
    }
    return own != 1 || std::ranges::any_of(row.delete_timestamps, between);
  });
}

}  // namespace moraine::table
