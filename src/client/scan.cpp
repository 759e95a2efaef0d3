#include "client/scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "client/table_client.h"
#include "client/unmounted_scan.h"
#include "io/run_on.h"
#include "table/model/key.h"
#include "table/model/value_check.h"
#include "transaction/paged_scan.h"

namespace moraine {

Value ScanBatch::Column::at(std::size_t row) const {
  if (!nulls.empty() && nulls[row] != 0) return Value();
  switch (type) {
    case ValueType::kNull: return Value();
    case ValueType::kInt64: return Value(static_cast<std::int64_t>(words[row]));
    case ValueType::kUint64: return Value(words[row]);
    case ValueType::kDouble: return Value(std::bit_cast<double>(words[row]));
    case ValueType::kBoolean: return Value(words[row] != 0);
    case ValueType::kString: return Value(codes.empty() ? texts[row] : table[codes[row]]);
    case ValueType::kAny: return Value::any(codes.empty() ? texts[row] : table[codes[row]]);
  }
  return Value();
}

}  // namespace moraine

namespace moraine::client {
namespace {

// The encoded key prefix where a scan begins or ends.
Result<std::string> encode_bound(const Table& table, std::span<const Value> values) {
  const TableSchema& schema = *table.schema;
  if (values.size() > schema.key_count()) {
    return fail(Errc::kInvalidArgument, fmt::format("a bound of {} columns; the key of {} has {}",
                                                    values.size(), table.path, schema.key_count()));
  }
  std::string bound;
  table::TextMemory memory;
  for (std::size_t i = 0; i < values.size(); ++i) {
    Value value = values[i];
    if (!value.is_null()) {
      TRY(value, table::to_cell(schema.columns[i], value, {}, memory));
    }
    table::append_key_column(bound, value);
  }
  return bound;
}

// Converted to the column's type, so that it is compared by value; values of `any` are compared as
// keys are.
Result<Value> filter_value(const ColumnSchema& column, const Value& given) {
  if (given.is_null() || column.type == ColumnType::kAny) return given;
  table::TextMemory memory;  // Numbers need none, and texts remain those of the filter.
  return table::to_cell(column, given, {}, memory);
}

Result<void> add_filter(const Table& table, const Filter& filter, NewScan& scan) {
  const auto column = table.schema->find(filter.column);
  if (!column) {
    return fail(Errc::kInvalidArgument,
                fmt::format("No such column \"{}\" in table {}", filter.column, table.path));
  }
  TRY(Value value, filter_value(table.schema->columns[*column], filter.value));
  if (value.has_text()) {
    const std::string& kept = *scan.texts.emplace_back(std::make_unique<std::string>(value.text()));
    value = value.type() == ValueType::kAny ? Value::any(kept) : Value(kept);
  }
  scan.request.filters.push_back({static_cast<std::uint16_t>(*column), filter.op, value});
  return {};
}

}  // namespace

Result<NewScan> new_scan(const Table& table, ScanOptions options) {
  if (!table.owns(options.read.columns)) return table.other_columns();
  NewScan scan;
  scan.client = table.client;
  scan.table = table.holder->hold();
  if (table.is_altered(*scan.table)) return table.altered();
  if (options.timeout.count() <= 0 || options.timeout > kScanTimeoutMax) {
    return fail(
        Errc::kInvalidArgument,
        fmt::format("a scan's timeout is above 0 and at most {} ms; {} ms was given",
                    std::chrono::milliseconds(kScanTimeoutMax).count(), options.timeout.count()));
  }
  scan.timeout = options.timeout;
  scan.rows_max = options.row_limit;
  TRY(scan.request.bounds.from, encode_bound(table, options.from));
  TRY(scan.request.bounds.to, encode_bound(table, options.to));
  const std::span<const std::uint16_t> columns = table.indexes_of(options.read.columns);
  scan.request.columns.assign(columns.begin(), columns.end());
  scan.request.timestamp = options.read.timestamp;
  scan.request.retention_timestamp = options.read.retention_timestamp;
  scan.request.text_tables = options.text_tables;
  for (const Filter& filter : options.filters) {
    TRY_VOID(add_filter(table, filter, scan));
  }
  return scan;
}

std::uint64_t begin_at_row(NewScan& scan, std::uint64_t row) {
  const OpenTable& table = *scan.table;
  if (table.dynamic || table.ranges.size() != 1 || !table.ranges[0].running) return 0;
  table::RowStart place = table.ranges[0].running->reader().place_of_row(row);
  scan.request.bounds.from = std::move(place.key);
  return place.rows_below;
}

Scan::Scan(NewScan scan) : given_(std::move(scan)), rows_left_(given_.rows_max) {}

Scan::~Scan() {
  if (number_ != 0) given_.client->scans().remove(number_);
}

Instant Scan::now() const {
  return given_.client->executor().now();
}

std::unexpected<Error> Scan::expired() const {
  return fail(Errc::kAborted,
              fmt::format("the scan was not used for {} ms and has expired; begin a new one",
                          given_.timeout.count()));
}

// Begins a step, or fails without beginning it.
Result<void> Scan::begin_step() {
  State before = State::kIdle;
  while (!state_.compare_exchange_weak(before, State::kStepping)) {
    if (before == State::kExpired) {
      Result<void> of_life = given_.life ? given_.life->use_by_scan() : Result<void>();
      if (of_life) of_life = expired();
      return of_life;
    }
    if (before == State::kStepping) {
      return fail(Errc::kInvalidArgument, "another step of this scan is still running");
    }
    state_.wait(State::kSwept);  // The sweep is short.
    before = State::kIdle;
  }
  Result<void> used_now = given_.life ? given_.life->use_by_scan() : Result<void>();
  const bool idle = number_ != 0 && !ended_ && now() - used_ > given_.timeout;
  if (used_now && idle) used_now = expired();
  if (!used_now) {
    release();
    state_.store(State::kExpired);
    return used_now;
  }
  if (number_ != 0) return {};
  auto place = given_.client->services().open_counts().scans.enter();
  if (!place) {
    state_.store(State::kIdle);
    return std::unexpected(std::move(place).error());
  }
  place_ = std::move(*place);
  used_ = now();
  number_ = given_.client->scans().add(*this);
  return {};
}

void Scan::end_step() {
  used_ = now();
  state_.store(State::kIdle);
}

void Scan::end() {
  if (std::exchange(ended_, true)) return;
  given_.client->scans().remove(number_);
  place_.release();
}

bool Scan::release_if_idle(Instant now) {
  State idle = State::kIdle;
  if (!state_.compare_exchange_strong(idle, State::kSwept)) return idle == State::kExpired;
  const bool over = now - used_ > given_.timeout;
  if (over) release();
  state_.store(over ? State::kExpired : State::kIdle);
  state_.notify_all();
  return over;
}

// Keeps the last batch readable.
void Scan::release() {
  if (scan_) scan_->release();
  tablet_.reset();
  given_.table.reset();
  place_.release();
}

void Scan::close_tablet() {
  if (scan_) read_ += scan_->statistics();
  scan_.reset();
}

table::ScanStatistics Scan::statistics() const {
  table::ScanStatistics all = read_;
  if (scan_) all += scan_->statistics();
  return all;
}

Result<bool> Scan::open_next() {
  close_tablet();
  if (rows_left_ == 0) return false;
  const std::vector<OpenRange>& ranges = given_.table->ranges;
  table::ScanRequest& request = given_.request;
  while (range_ < ranges.size()) {
    const std::size_t at = range_++;
    const std::string& from = ranges[at].from;
    const bool last = at + 1 == ranges.size();
    const std::string to = last ? std::string() : ranges[at + 1].from;
    if (!request.bounds.to.empty() && from >= request.bounds.to) continue;
    if (!to.empty() && to <= request.bounds.from) continue;
    request.row_limit = rows_left_;
    if (ranges[at].read_elsewhere()) {
      if (!request.timestamps_of.empty()) {
        return fail(Errc::kUnsupported, "timestamps of values on another node are not supported");
      }
      tablet_.reset();
      scan_ = std::make_unique<PagedScan>(given_.client->services().reads(), ranges[at].tablet,
                                          given_.table->schema, request);
      return true;
    }
    if (given_.reads_unmounted && ranges[at].state == MountState::kUnmounted &&
        !ranges[at].running && !given_.table->removed) {
      tablet_.reset();
      scan_ =
          std::make_unique<UnmountedScan>(given_.client->tables(), scheme_path(given_.table->path),
                                          ranges[at].tablet, given_.table->schema, request);
      return true;
    }
    TRY(tablet_, given_.table->readable(at));
    TRY(scan_, tablet_->reader().scan(request));
    return true;
  }
  return false;
}

void Scan::show(ScanBatch& out) {
  out.rows = batch_.rows;
  out.columns.resize(batch_.columns.size());
  for (std::size_t i = 0; i < batch_.columns.size(); ++i) {
    const table::ColumnVector& from = batch_.columns[i];
    out.columns[i] = {from.type, from.words, from.texts, from.nulls, from.codes, {}};
    if (from.table) out.columns[i].table = *from.table;
  }
  rows_left_ -= std::min<std::uint64_t>(rows_left_, batch_.rows);
}

Result<Scan::Found> Scan::try_next(ScanBatch& batch) {
  for (;;) {
    if (!scan_) {
      TRY(const bool opened, open_next());
      if (!opened) {
        end();
        return Found::kEnd;
      }
    }
    TRY(const Found found, scan_->next(batch_));
    if (given_.life) given_.life->renew();
    if (found == Found::kEnd) {
      close_tablet();
    } else if (found == Found::kNeedsData) {
      return found;
    } else if (batch_.rows > 0) {
      show(batch);
      return found;
    }
  }
}

Task<Result<void>> Scan::load() {
  if (!tablet_) return scan_->load();
  return run_there(tablet_->executor(), [this] { return scan_->load(); });
}

Task<Result<bool>> Scan::next(ScanBatch& batch) {
  CO_TRY_VOID(begin_step());
  const Step running(*this);
  for (;;) {
    CO_TRY(const Found found, try_next(batch));
    if (found != Found::kNeedsData) co_return found == Found::kRows;
    CO_TRY_VOID(co_await load());
  }
}

}  // namespace moraine::client
