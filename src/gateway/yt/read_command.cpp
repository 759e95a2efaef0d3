// read_table: rows of a table in key order, or of a static one in the order of their writes.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/epoch.h"
#include "client/scan.h"
#include "client/table_attributes.h"
#include "gateway/yt/door_lane.h"
#include "gateway/yt/handlers.h"
#include "gateway/yt/key_limit.h"
#include "gateway/yt/other_columns.h"
#include "gateway/yt/row_writer.h"
#include "table/model/column_names.h"
#include "yson/yson.h"

namespace moraine::yt {
namespace {

// A client that does not read is disconnected before.
constexpr std::chrono::milliseconds kScanTimeout = std::chrono::minutes(5);

// What is said of rows between them.
struct Control {
  bool row_index = false;
  bool range_index = false;
  bool tablet_index = false;

  bool any() const { return row_index || range_index || tablet_index; }
};

struct Reading {
  TablePtr table;
  RichPath path{};
  std::vector<std::uint16_t> columns{};  // Of the answer, in the order of the schema.
  std::vector<std::uint16_t> scanned{};  // Those, behind the key columns if they are compared.
  // The last column of the scan has those that the schema does not name.
  bool has_others = false;
  std::optional<std::set<std::string, std::less<>>> wanted{};  // nullopt: all of them.
  ReadOptions read{};
  Control control{};

  std::size_t key_count() const { return table->shown->key_count(); }
  // Rows have numbers as their keys.
  bool is_numbered() const { return !table->dynamic && key_count() == 0; }
  bool has_keys() const { return key_count() > 0 && !table->ordered; }
  // The places of rows of ordered tables are not shown.
  bool is_place(std::uint16_t column) const {
    return table->ordered && table->schema->columns[column].key;
  }
};

YtResult<void> choose_columns(Reading& reading) {
  const TableSchema& schema = *reading.table->schema;
  reading.columns = reading.table->all_columns;
  if (reading.path.columns) {
    reading.columns.clear();
    table::ColumnNames shown(*reading.table->shown);
    table::ColumnNames stored(schema);
    for (const std::string& name : *reading.path.columns) {
      // Names that the table has not are no error.
      if (!shown.find(name)) continue;
      reading.columns.push_back(static_cast<std::uint16_t>(*stored.find(name)));
    }
    std::ranges::sort(reading.columns);
    const auto repeated = std::ranges::unique(reading.columns);
    reading.columns.erase(repeated.begin(), repeated.end());
  } else {
    std::erase_if(reading.columns, [&](std::uint16_t column) { return reading.is_place(column); });
  }
  // Key columns come first.
  for (const std::uint16_t column : reading.table->all_columns) {
    if (schema.columns[column].key) reading.scanned.push_back(column);
  }
  for (const std::uint16_t column : reading.columns) {
    if (!schema.columns[column].key) reading.scanned.push_back(column);
  }
  std::vector<std::string> names;
  for (const std::uint16_t column : reading.scanned) names.push_back(schema.columns[column].name);
  reading.has_others = reading.table->others.has_value();
  if (reading.has_others && reading.path.columns) {
    reading.wanted.emplace(reading.path.columns->begin(), reading.path.columns->end());
  }
  if (!reading.has_others && !names.empty()) {
    YT_TRY(reading.read.columns, reading.table->columns(names));
    return {};
  }
  // A scan needs a column: perhaps the row's number, which is the first one if there is no other.
  const std::uint16_t hidden = reading.table->others.value_or(0);
  YT_TRY(reading.read.columns, reading.table->columns_and(names, hidden));
  return {};
}

YtResult<void> choose_timestamps(Reading& reading) {
  const Parameters attributes(reading.path.attributes);
  YT_TRY(const std::uint64_t timestamp, attributes.count_or("timestamp", kNullTimestamp));
  if (timestamp != kNullTimestamp) reading.read.timestamp = timestamp;
  YT_TRY(reading.read.retention_timestamp,
         attributes.count_or("retention_timestamp", kNullTimestamp));
  if (reading.read.retention_timestamp > reading.read.timestamp) {
    return refuse(Code::kTimestampRange,
                  fmt::format("Retention timestamp {} is greater than read timestamp {}",
                              reading.read.retention_timestamp, reading.read.timestamp));
  }
  return {};
}

// Of a dynamic table only what was flushed is read, unless it says otherwise; under a snapshot lock
// what was flushed when the lock was taken.
Task<YtResult<void>> choose_rows(Call& call, Reading& reading, const client::TreeNode& node) {
  Timestamp before = node.rows_before;
  if (reading.table->dynamic) {
    Tables& tables = call.lane.tables().tables();
    YT_CO_TRY(const TableDescription table, co_await tables.inspect(node.path));
    if (client::reads_dynamic_stores(table.record)) co_return YtResult<void>();
    if (before == 0) {
      YT_CO_TRY(before, co_await tables.flushed_before(node.path));
    }
  }
  if (before == 0) co_return YtResult<void>();
  if (reading.read.timestamp <= kMaxTimestamp && reading.read.timestamp >= before) {
    co_return refuse(
        Code::kGeneric,
        fmt::format("Requested timestamp is out of range for table {}: {} is not below "
                    "{}; rows of later commits may be in memory only",
                    reading.path.path, reading.read.timestamp, before));
  }
  reading.read.timestamp = std::min(reading.read.timestamp, before - 1);
  co_return YtResult<void>();
}

YtResult<void> check_limit(const Reading& reading, const ReadLimit& limit) {
  const client::Table& table = *reading.table;
  if (limit.row_index && table.dynamic && !table.ordered) {
    return refuse(Code::kGeneric,
                  "Row index selectors are not supported for sorted dynamic tables");
  }
  if (limit.tablet_index && !table.ordered) {
    return refuse(Code::kGeneric,
                  "Tablet index selectors are supported for ordered dynamic tables only");
  }
  if (limit.key && !reading.has_keys()) {
    return refuse(Code::kNotSorted, "Cannot use key in limits of a table that is not sorted");
  }
  if (limit.row_index.value_or(0) < 0 || limit.tablet_index.value_or(0) < 0) {
    return refuse(Code::kGeneric, "A row index or tablet index must not be negative");
  }
  if (!table.ordered || !limit.row_index || limit.tablet_index) return {};
  const EpochGuard guard;
  const std::size_t tablets = table.holder->get().ranges.size();
  if (tablets == 1) return {};
  return refuse(
      Code::kGeneric,
      fmt::format("A row index of an ordered table with {} tablets needs a tablet index", tablets));
}

YtResult<void> check_ranges(const Reading& reading) {
  if (!reading.path.ranges) return {};
  for (const ReadRange& range : *reading.path.ranges) {
    for (const ReadLimit* limit : {&range.lower, &range.upper}) {
      YT_TRY_VOID(check_limit(reading, *limit));
    }
  }
  return {};
}

// The place of a row of an ordered table, as the beginning of its stored key.
std::vector<Value> place_of(const ReadLimit& limit) {
  if (!limit.row_index && !limit.tablet_index) return {};
  return {Value(limit.tablet_index.value_or(0)), Value(limit.row_index.value_or(0))};
}

YtResult<void> choose_control(const Call& call, Control& control) {
  const YsonNode* const given = call.parameters.find("control_attributes");
  if (given == nullptr) return {};
  if (!given->as<YsonMap>()) return refuse(Code::kGeneric, "control_attributes must be a map");
  const Parameters options(*given->as<YsonMap>());
  YT_TRY(control.row_index, options.boolean("enable_row_index", false));
  YT_TRY(control.range_index, options.boolean("enable_range_index", false));
  YT_TRY(control.tablet_index, options.boolean("enable_tablet_index", false));
  return {};
}

// One range of the answer.
class RangeReader {
 public:
  RangeReader(const Reading& reading, const ReadRange& range, RowWriter& out)
      : reading_(reading), range_(range), out_(out) {}
  RangeReader(const RangeReader&) = delete;
  RangeReader& operator=(const RangeReader&) = delete;

  Task<YtResult<void>> run(std::size_t index) {
    YT_CO_TRY(ScanOptions options, scan_options());
    YT_CO_TRY(client::NewScan made, client::new_scan(*reading_.table, std::move(options)));
    made.reads_unmounted = true;
    const bool by_number = !reading_.table->dynamic && !reading_.is_numbered() && !range_.lower.key;
    if (by_number && first_row_ > 0) number_ = client::begin_at_row(made, first_row_);
    client::Scan scan(std::move(made));
    announce_ = reading_.control.any();
    for (ScanBatch batch; !ended_;) {
      YT_CO_TRY(const bool more, co_await scan.next(batch));
      if (!more) break;
      for (std::size_t row = 0; row < batch.rows && !ended_; ++row) {
        write(batch, row, index);
        if (out_.is_full()) YT_CO_TRY_VOID(co_await out_.flush());
      }
    }
    co_return YtResult<void>();
  }

 private:
  static bool is_before(const std::vector<Value>& place, const std::vector<Value>& other) {
    return std::ranges::lexicographical_compare(
        place, other, [](const Value& a, const Value& b) { return compare(a, b) < 0; });
  }

  YtResult<ScanOptions> scan_options() {
    ScanOptions options;
    options.read = reading_.read;
    options.timeout = kScanTimeout;
    if (reading_.table->ordered) {
      options.from = place_of(range_.lower);
      options.to = place_of(range_.upper);
      if (!options.to.empty() && is_before(options.to, options.from)) options.row_limit = 0;
      return options;
    }
    const std::span<const ColumnSchema> columns(reading_.table->shown->columns);
    const auto key_columns = columns.subspan(0, reading_.key_count());
    if (range_.lower.key) {
      YT_TRY(lower_, KeyLimit::make(range_.lower));
      options.from = lower_.seek(key_columns);
    }
    if (range_.upper.key) {
      YT_TRY(upper_, KeyLimit::make(range_.upper));
      if (upper_.is_exact(key_columns)) options.to = upper_.seek(key_columns);
    }
    first_row_ = static_cast<std::uint64_t>(range_.lower.row_index.value_or(0));
    if (range_.upper.row_index) end_row_ = static_cast<std::uint64_t>(*range_.upper.row_index);
    if (reading_.is_numbered()) {
      options.from = {Value(first_row_)};
      number_ = first_row_;
    }
    if (end_row_ <= first_row_) options.row_limit = 0;
    return options;
  }

  void write(const ScanBatch& batch, std::size_t row, std::size_t index) {
    const std::uint64_t number = number_++;
    if (number >= end_row_) ended_ = true;
    if (ended_ || number < first_row_) return;
    if (range_.lower.key || range_.upper.key) {
      key_.clear();
      for (std::size_t i = 0; i < reading_.key_count(); ++i) {
        key_.push_back(batch.columns[i].at(row));
      }
      if (range_.lower.key && !lower_.is_before(key_)) return;
      if (range_.upper.key && upper_.is_before(key_)) ended_ = true;
      if (ended_) return;
    }
    if (reading_.table->ordered) {
      announce_place(batch, row, index);
    } else if (std::exchange(announce_, false)) {
      announce(number, index);
    }
    out_.begin_row();
    std::size_t wanted = 0;
    for (std::size_t i = 0; i < reading_.scanned.size(); ++i) {
      if (wanted == reading_.columns.size()) break;
      if (reading_.scanned[i] != reading_.columns[wanted]) continue;
      out_.cell(reading_.table->schema->columns[reading_.columns[wanted]].name,
                batch.columns[i].at(row));
      ++wanted;
    }
    if (reading_.has_others) write_others(batch.columns.back().at(row));
    out_.end_row();
  }

  void write_others(const Value& map) {
    if (map.is_null()) return;
    OtherColumns sink(out_, reading_.wanted ? &*reading_.wanted : nullptr);
    if (auto emitted = emit_yson(map.text(), sink); !emitted) out_.fail(std::move(emitted).error());
  }

  // The rows of one tablet have consecutive numbers.
  void announce_place(const ScanBatch& batch, std::size_t row, std::size_t index) {
    const std::int64_t tablet = batch.columns[0].at(row).as_int64();
    if (tablet != tablet_) announce_ = reading_.control.any();
    tablet_ = tablet;
    if (!std::exchange(announce_, false)) return;
    announce(static_cast<std::uint64_t>(batch.columns[1].at(row).as_int64()), index);
  }

  // <range_index=0;row_index=5>#
  void announce(std::uint64_t number, std::size_t index) {
    out_.on(YsonEvent::of(YsonEvent::Kind::kBeginAttributes));
    if (reading_.control.range_index) {
      out_.on(YsonEvent::key("range_index"));
      out_.on(YsonEvent::int64(static_cast<std::int64_t>(index)));
    }
    if (reading_.control.tablet_index && reading_.table->ordered) {
      out_.on(YsonEvent::key("tablet_index"));
      out_.on(YsonEvent::int64(tablet_));
    }
    // The number of a row that was found by its key is not known.
    const bool numbered = reading_.table->ordered || !reading_.table->dynamic;
    if (reading_.control.row_index && !range_.lower.key && numbered) {
      out_.on(YsonEvent::key("row_index"));
      out_.on(YsonEvent::int64(static_cast<std::int64_t>(number)));
    }
    out_.on(YsonEvent::of(YsonEvent::Kind::kEndAttributes));
    out_.on(YsonEvent::of(YsonEvent::Kind::kEntity));
  }

  const Reading& reading_;
  const ReadRange& range_;
  RowWriter& out_;
  KeyLimit lower_;
  KeyLimit upper_;
  std::uint64_t first_row_ = 0;
  std::uint64_t end_row_ = ~std::uint64_t{0};
  std::uint64_t number_ = 0;  // Of the next row.
  std::int64_t tablet_ = -1;  // Of the last row, of an ordered table.
  bool announce_ = false;
  bool ended_ = false;
  std::vector<Value> key_;
};

Task<YtResult<Reading>> begin_reading(Call& call) {
  Reading reading;
  const YsonNode* const given = call.parameters.find("path");
  if (given == nullptr) co_return refuse(Code::kGeneric, "Missing required parameter /path");
  YT_CO_TRY(reading.path, parse_rich_path(*given));
  YT_CO_TRY(const client::TreeNode node, co_await table_node(call, reading.path.path, false));
  YT_CO_TRY(reading.table, call.lane.open(node.path));
  YT_CO_TRY_VOID(check_ranges(reading));
  YT_CO_TRY_VOID(choose_columns(reading));
  YT_CO_TRY_VOID(choose_timestamps(reading));
  YT_CO_TRY_VOID(co_await choose_rows(call, reading, node));
  YT_CO_TRY_VOID(choose_control(call, reading.control));
  co_return reading;
}

// Of all ranges, before rows are merged. 0: it cannot be found out now.
Task<std::uint64_t> approximate_rows(Call& call, const Reading& reading) {
  std::uint64_t rows = 0;
  const auto described =
      co_await call.lane.tables().tables().describe(scheme_path(reading.table->path));
  if (!described) co_return 0;
  for (const table::TabletStatistics& figures : described->figures) {
    rows +=
        reading.table->ordered ? figures.total_rows - figures.trimmed_rows : figures.unmerged_rows;
  }
  co_return rows;
}

Task<void> describe_answer(Call& call, const Reading& reading) {
  std::int64_t first = 0;
  if (reading.path.ranges && !reading.path.ranges->empty()) {
    first = reading.path.ranges->front().lower.row_index.value_or(0);
  }
  call.response_parameters.set("start_row_index", first);
  const std::uint64_t rows = co_await approximate_rows(call, reading);
  call.response_parameters.set("approximate_row_count", static_cast<std::int64_t>(rows));
  call.response_parameters.set("omitted_inaccessible_columns", YsonList());
}

}  // namespace

Task<YtResult<void>> read_table(Call& call) {
  YT_CO_TRY(const Reading reading, co_await begin_reading(call));
  co_await describe_answer(call, reading);
  RowWriter out(*call.output);
  YT_CO_TRY_VOID(out.open(call.output_format));
  const std::vector<ReadRange> all(1);
  const std::vector<ReadRange>& ranges = reading.path.ranges ? *reading.path.ranges : all;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    RangeReader reader(reading, ranges[i], out);
    YT_CO_TRY_VOID(co_await reader.run(i));
  }
  co_return co_await out.flush();
}

}  // namespace moraine::yt
