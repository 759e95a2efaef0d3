// Reads of ModelRun, and the maintenance of its table. For tests.
#pragma once

#include "node/tables_model/model_run_writes.h"

namespace moraine {

inline Cell ModelRun::cell_of(const std::string& key, const NaiveRow& row,
                              const std::string& column) const {
  const std::size_t index = *schema_->find(column);
  if (!schema_->columns[index].key) {
    const auto found = row.find(column);
    return found == row.end() ? Cell() : found->second;
  }
  std::vector<Value> values;
  std::string memory;
  const auto decoded = table::decode_key(as_bytes(key), values, memory);
  INVARIANT(decoded, "{}", decoded.error().message());
  return to_cell(values[index]);
}

inline std::string ModelRun::row_text(const std::string& key, const NaiveRow& row,
                                      const std::vector<std::string>& columns) const {
  std::string text;
  for (const std::string& column : columns) {
    text += fmt::format("{}={} ", column, text_of(cell_of(key, row, column)));
  }
  return text;
}

inline std::string ModelRun::lookup(const ProgramStep& step) {
  const Timestamp timestamp = draw_timestamp(step.draw);
  std::vector<std::string> keys;
  std::string expected;
  for (const std::size_t key : step.keys) {
    keys.push_back(encoded(key));
    const auto row = model_.at(keys.back(), model_time(timestamp), *schema_);
    expected += row ? row_text(keys.back(), *row, step.columns) + "\n" : "-\n";
  }
  const auto rows = tables_.lookup(keys, indexes(step.columns), timestamp);
  if (!rows) {
    complain("a lookup failed: " + rows.error().message());
    return "failed";
  }
  std::string found;
  for (const auto& row : *rows) {
    for (std::size_t i = 0; row && i < row->size(); ++i) {
      found += fmt::format("{}={} ", step.columns[i], text_of(to_cell((*row)[i])));
    }
    found += row ? "\n" : "-\n";
  }
  expect_equal(expected, found, fmt::format("lookup at {}", timestamp));
  return found;
}

inline bool ModelRun::passes(const std::string& key, const NaiveRow& row,
                             const ProgramStep& step) const {
  return std::ranges::all_of(step.filters, [&](const FilterStep& filter) {
    return naive_fits(filter.op, cell_of(key, row, filter.column), filter.value);
  });
}

inline Cell batch_cell(const table::ColumnVector& column, std::size_t row) {
  if (!column.nulls.empty() && column.nulls[row] != 0) return {};
  switch (column.type) {
    case ValueType::kNull: return {};
    case ValueType::kInt64: return static_cast<std::int64_t>(column.words[row]);
    case ValueType::kUint64: return column.words[row];
    case ValueType::kDouble: return std::bit_cast<double>(column.words[row]);
    case ValueType::kBoolean: return column.words[row] != 0;
    case ValueType::kString: return std::string(column.texts[row]);
    case ValueType::kAny: return AnyText{std::string(column.texts[row])};
  }
  return {};
}

inline std::string ModelRun::scan(const ProgramStep& step) {
  table::ScanRequest request;
  request.timestamp = draw_timestamp(step.draw);
  if (step.from) request.bounds.from = prefix(*step.from, step.bound_columns);
  if (step.to) request.bounds.to = prefix(*step.to, step.bound_columns);
  request.columns = indexes(step.columns);
  request.row_limit = step.limit;
  for (const FilterStep& filter : step.filters) {
    request.filters.push_back({static_cast<std::uint16_t>(*schema_->find(filter.column)), filter.op,
                               to_value(filter.value)});
  }
  std::string expected;
  std::uint64_t rows = 0;
  for (const auto& [key, versions] : model_.rows()) {
    if (key < request.bounds.from) continue;
    if (!request.bounds.to.empty() && key >= request.bounds.to) break;
    const auto row = model_.at(key, model_time(request.timestamp), *schema_);
    if (!row || !passes(key, *row, step) || rows == step.limit) continue;
    ++rows;
    expected += row_text(key, *row, step.columns) + "\n";
  }
  std::string found;
  const Timestamp timestamp = request.timestamp;
  const auto scanned =
      tables_.scan(std::move(request), [&](const table::ColumnBatch& batch, std::size_t row) {
        for (std::size_t i = 0; i < batch.columns.size(); ++i) {
          found +=
              fmt::format("{}={} ", step.columns[i], text_of(batch_cell(batch.columns[i], row)));
        }
        found += "\n";
      });
  if (!scanned) found = scanned.error().message();
  expect_equal(expected, found, fmt::format("scan at {}", timestamp));
  return found;
}

inline std::optional<std::size_t> ModelRun::moment_of(Timestamp timestamp) const {
  const auto found = std::ranges::find(moments_, timestamp, &Moment::timestamp);
  if (found == moments_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - moments_.begin());
}

// Versions that no compaction may have dropped yet: by column, newest first, then writes and
// deletes. Deltas may be folded into the next one above them, so of summed columns only the moments
// count.
inline std::string ModelRun::expected_versions(const std::string& key) const {
  std::string text;
  std::vector<const NaiveVersion*> newest_first;
  for (const NaiveVersion& version : model_.versions(key)) {
    const auto moment = moment_of(version.timestamp);
    if (fresh(moments_[*moment])) newest_first.insert(newest_first.begin(), &version);
  }
  for (const ColumnSchema& column : schema_->columns) {
    for (const NaiveVersion* version : newest_first) {
      const auto cell = version->cells.find(column.name);
      if (cell == version->cells.end()) continue;
      const bool sums = column.aggregate != Aggregate::kNone;
      text += fmt::format("{}@{}={} ", column.name, *moment_of(version->timestamp),
                          sums ? "" : text_of(cell->second.value));
    }
  }
  for (const bool deletes : {false, true}) {
    for (const NaiveVersion* version : newest_first) {
      if (version->deletes != deletes) continue;
      text += fmt::format("{}@{} ", deletes ? "delete" : "write", *moment_of(version->timestamp));
    }
  }
  return text;
}

inline std::string ModelRun::found_versions(const table::OwnedVersionedRow& row) const {
  std::string text;
  const auto known = [&](Timestamp timestamp) -> std::optional<std::size_t> {
    const auto moment = moment_of(timestamp);
    if (!moment) return ~std::size_t{0};
    if (!fresh(moments_[*moment])) return std::nullopt;
    return moment;
  };
  for (const table::VersionedValue& value : row.row.values) {
    const auto moment = known(value.timestamp);
    if (!moment) continue;
    const ColumnSchema& column = schema_->columns[value.column];
    const bool sums = column.aggregate != Aggregate::kNone;
    text +=
        fmt::format("{}@{}={} ", column.name, *moment, sums ? "" : text_of(to_cell(value.value)));
  }
  for (const bool deletes : {false, true}) {
    const auto& timestamps = deletes ? row.row.delete_timestamps : row.row.write_timestamps;
    for (const Timestamp timestamp : timestamps) {
      const auto moment = known(timestamp);
      if (moment) text += fmt::format("{}@{} ", deletes ? "delete" : "write", *moment);
    }
  }
  return text;
}

inline std::string ModelRun::versions(const ProgramStep& step) {
  const std::string key = encoded(step.keys.front());
  const auto row = tables_.versions(key, kSyncLastCommitted);
  if (!row) {
    complain("a versioned lookup failed: " + row.error().message());
    return "failed";
  }
  std::string found = found_versions(*row);
  expect_equal(expected_versions(key), found, "versions");
  return found;
}

inline std::string ModelRun::change(const ProgramStep& step) {
  using Kind = ProgramStep::Kind;
  StoredTables& tables = tables_.tables();
  const std::string path = TestTables::kPath;
  expect_ok(tables_.run(tables.unmount(path)), "unmount");
  const auto unmounted = tables_.lookup({encoded(0)}, {0}, kSyncLastCommitted);
  if (unmounted || unmounted.error().code != Errc::kReadOnly) {
    complain("an unmounted table was read");
  }
  if (step.kind == Kind::kReshard) {
    std::set<std::string> pivots;
    for (const std::size_t key : step.keys) pivots.insert(prefix(key, step.bound_columns));
    expect_ok(
        tables_.run(tables.reshard(path, std::vector<std::string>(pivots.begin(), pivots.end()))),
        "reshard");
  } else if (step.kind == Kind::kReshardByCount) {
    expect_ok(tables_.run(tables.reshard(path, std::size_t{step.draw})), "reshard by count");
  } else if (step.kind == Kind::kAlter) {
    TableSchema narrower = *schema_;
    narrower.columns.pop_back();
    const auto refused = tables_.run(tables.alter(path, narrower));
    if (refused) complain("a column was dropped");
    expect_ok(tables_.run(tables.alter(path, step.schema)), "alter");
    set_schema(step.schema);
  }
  expect_ok(tables_.run(tables.mount(path, MountState::kMounted)), "mount");
  return "changed";
}

// Keys of the range are not readable, all others are.
inline void ModelRun::expect_unmounted(TabletRange range) {
  const auto table = tables_.open();
  for (std::size_t key = 0; key < program_.keys.size(); key += 5) {
    const std::string wanted = encoded(key);
    const std::size_t tablet = table->range_of(as_bytes(wanted));
    const bool inside = tablet >= range.first && tablet <= *range.last;
    const auto read = tables_.lookup({wanted}, {0}, kSyncLastCommitted);
    if (inside && (read || read.error().code != Errc::kReadOnly)) {
      complain(fmt::format("tablet {} was read while it is unmounted", tablet));
    }
    if (!inside && !read) {
      complain(fmt::format("tablet {} is not read while others are unmounted: {}", tablet,
                           read.error().message()));
    }
  }
}

inline NewTablets ModelRun::new_part(const ProgramStep& step, TabletRange range) {
  NewTablets tablets;
  if (step.draw % 4 == 1) {
    tablets.count = 1 + step.draw / 16 % 4;
    return tablets;
  }
  const auto& ranges = tables_.open()->ranges;
  const std::string first = ranges[range.first].from;
  std::set<std::string> pivots{first};
  for (const std::size_t key : step.keys) {
    const std::string pivot = prefix(key, step.bound_columns);
    const bool ends = *range.last + 1 < ranges.size() && pivot >= ranges[*range.last + 1].from;
    if (pivot > first && !ends) pivots.insert(pivot);
  }
  tablets.pivots.assign(pivots.begin(), pivots.end());
  return tablets;
}

inline std::string ModelRun::change_part(const ProgramStep& step) {
  const std::string path = TestTables::kPath;
  const std::size_t count = tables_.open()->ranges.size();
  TabletRange range;
  range.first = step.draw % count;
  range.last = range.first + step.draw / 1'000 % (count - range.first);
  expect_ok(tables_.run(tables_.tables().unmount(path, range)), "unmount of a range");
  expect_unmounted(range);
  if (step.draw % 4 != 0) {
    NewTablets tablets = new_part(step, range);
    expect_ok(tables_.run(tables_.tables().reshard(path, range, std::move(tablets))),
              "reshard of a range");
    range.last = *range.last + tables_.open()->ranges.size() - count;
  }
  if (step.draw % 3 == 0) {
    tables_.cut_power();
    expect_unmounted(range);
  }
  expect_ok(tables_.run(tables_.tables().mount(path, MountState::kMounted, range)),
            "mount of a range");
  return "changed";
}

inline std::string ModelRun::step(const ProgramStep& step) {
  using Kind = ProgramStep::Kind;
  switch (step.kind) {
    case Kind::kWrite: return write(step);
    case Kind::kOverlap: return overlap(step);
    case Kind::kMistake: return mistake(step);
    case Kind::kLookup: return lookup(step);
    case Kind::kVersions: return versions(step);
    case Kind::kScan: return scan(step);
    case Kind::kFlush: expect_ok(tables_.flush(), "flush"); return "";
    case Kind::kCompact: expect_ok(tables_.compact(), "compaction"); return "";
    case Kind::kRestart: tables_.restart(); return "";
    case Kind::kPowerCut: tables_.cut_power(); return "";
    case Kind::kReshard:
    case Kind::kReshardByCount:
    case Kind::kAlter:
    case Kind::kUnmount: return change(step);
    case Kind::kPart: return change_part(step);
    case Kind::kFreeze: return freeze();
    case Kind::kAdvance:
      tables_.world().run_for(step.advance);
      time_ += step.advance;
      return "";
  }
  return "";
}

}  // namespace moraine
