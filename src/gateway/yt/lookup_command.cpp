// lookup_rows: rows of a dynamic table by their keys, at one timestamp or with all versions.
#include <fmt/format.h>

#include <algorithm>

#include "client/lookup.h"
#include "gateway/yt/door_lane.h"
#include "gateway/yt/handlers.h"
#include "gateway/yt/row_reader.h"
#include "gateway/yt/row_writer.h"
#include "io/run_on.h"

namespace moraine::yt {
namespace {

// Keys that are looked up at once.
constexpr std::size_t kLookupKeys = 8'192;
constexpr std::size_t kLookupKeyBytes = std::size_t{4} << 20;

struct Wanted {
  TablePtr table;
  ReadOptions read{};
  std::vector<std::uint16_t> columns{};  // Of the answer, in the order of the schema.
  bool keep_missing = false;
  bool versioned = false;
  bool in_transaction = false;

  const std::string& name(std::size_t i) const { return table->schema->columns[columns[i]].name; }
};

YtResult<void> read_columns(const Call& call, Wanted& wanted) {
  const client::Table& table = *wanted.table;
  wanted.columns = table.all_columns;
  if (call.parameters.find("column_names") == nullptr) return {};
  YT_TRY(std::vector<std::string> names, call.parameters.texts("column_names"));
  YT_TRY(const Columns chosen, table.columns(names));
  wanted.columns = chosen.indexes();
  std::ranges::sort(wanted.columns);
  const auto repeated = std::ranges::unique(wanted.columns);
  wanted.columns.erase(repeated.begin(), repeated.end());
  names.clear();
  for (const std::uint16_t column : wanted.columns) {
    names.push_back(table.schema->columns[column].name);
  }
  YT_TRY(wanted.read.columns, table.columns(names));
  return {};
}

// Reads of a client's transaction are at its start.
Task<YtResult<void>> enter_transaction(Call& call, Wanted& wanted) {
  YT_CO_TRY(const auto id, call.parameters.id("transaction_id"));
  if (!id) co_return YtResult<void>();
  if (object_type(*id) != ObjectType::kTabletTransaction) co_return no_sticky_transaction(*id);
  YT_CO_TRY(DoorLane* const lane, call.lane.lane_of(*id));
  wanted.in_transaction = true;
  co_return co_await run_there(lane->world().executor, [&]() -> Task<YtResult<void>> {
    YT_CO_TRY(client::Transaction* const open, lane->transactions().use(*id));
    YT_CO_TRY_VOID(open->begin_read(*wanted.table, wanted.read));
    wanted.in_transaction = open->atomic();
    co_return YtResult<void>();
  });
}

Task<YtResult<Wanted>> read_wanted(Call& call) {
  Wanted wanted;
  YT_CO_TRY(std::string path, path_of(call));
  YT_CO_TRY(wanted.table, co_await call.lane.open_table(call, std::move(path)));
  YT_CO_TRY_VOID(read_columns(call, wanted));
  const Parameters& given = call.parameters;
  YT_CO_TRY(wanted.keep_missing, given.boolean("keep_missing_rows", false));
  YT_CO_TRY(wanted.versioned, given.boolean("versioned", false));
  YT_CO_TRY(const std::uint64_t timestamp, given.count_or("timestamp", kNullTimestamp));
  if (timestamp != kNullTimestamp) wanted.read.timestamp = timestamp;
  YT_CO_TRY(wanted.read.retention_timestamp, given.count_or("retention_timestamp", kNullTimestamp));
  if (wanted.read.retention_timestamp > wanted.read.timestamp) {
    co_return refuse(Code::kTimestampRange,
                     fmt::format("Retention timestamp {} is greater than read timestamp {}",
                                 wanted.read.retention_timestamp, wanted.read.timestamp));
  }
  if (given.find("use_lookup_cache") != nullptr) {
    YT_CO_TRY(wanted.read.use_lookup_cache, given.boolean("use_lookup_cache", false));
  }
  for (const char* other : {"versioned_read_options", "retention_config"}) {
    const YsonNode* const option = given.find(other);
    const YsonMap* const map = option == nullptr ? nullptr : option->as<YsonMap>();
    if (map != nullptr && !map->empty()) {
      co_return not_supported(fmt::format("The option \"{}\"", other));
    }
  }
  YT_CO_TRY_VOID(co_await enter_transaction(call, wanted));
  co_return wanted;
}

Task<YtResult<void>> answer_rows(const Wanted& wanted, std::vector<std::vector<Value>> keys,
                                 RowWriter& out) {
  Rowset rows;
  YT_CO_TRY_VOID(
      co_await client::lookup(wanted.table, keys, wanted.read, wanted.in_transaction, rows));
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    if (rows.exists(i)) {
      out.begin_row();
      for (std::size_t j = 0; j < wanted.columns.size(); ++j) {
        out.cell(wanted.name(j), rows.at(i, j));
      }
      out.end_row();
    } else if (wanted.keep_missing) {
      out.missing_row();
    }
    if (out.is_full()) YT_CO_TRY_VOID(co_await out.flush());
  }
  co_return YtResult<void>();
}

void write_timestamps(RowWriter& out, std::string_view name, std::span<const Timestamp> all) {
  out.on(YsonEvent::key(name));
  out.on(YsonEvent::of(YsonEvent::Kind::kBeginList));
  for (const Timestamp timestamp : all) out.on(YsonEvent::uint64(timestamp));
  out.on(YsonEvent::of(YsonEvent::Kind::kEndList));
}

void write_version(RowWriter& out, const RowVersion& version) {
  out.on(YsonEvent::of(YsonEvent::Kind::kBeginAttributes));
  out.on(YsonEvent::key("timestamp"));
  out.on(YsonEvent::uint64(version.timestamp));
  out.on(YsonEvent::key("aggregate"));
  out.on(YsonEvent::boolean(version.aggregate));
  out.on(YsonEvent::of(YsonEvent::Kind::kEndAttributes));
  out.value(version.value);
}

void write_versions(const Wanted& wanted, const std::vector<Value>& key, RowWriter& out,
                    const VersionedResult& row) {
  out.on(YsonEvent::of(YsonEvent::Kind::kBeginAttributes));
  write_timestamps(out, "write_timestamps", row.write_timestamps);
  write_timestamps(out, "delete_timestamps", row.delete_timestamps);
  out.on(YsonEvent::of(YsonEvent::Kind::kEndAttributes));
  out.begin_row();
  for (std::size_t i = 0; i < wanted.columns.size(); ++i) {
    const ColumnSchema& column = wanted.table->schema->columns[wanted.columns[i]];
    if (column.key) {
      if (wanted.columns[i] < key.size()) out.cell(column.name, key[wanted.columns[i]]);
      continue;
    }
    bool open = false;
    for (const RowVersion& version : row.versions) {
      if (version.column != column.name) continue;
      if (!std::exchange(open, true)) {
        out.on(YsonEvent::key(column.name));
        out.on(YsonEvent::of(YsonEvent::Kind::kBeginList));
      }
      write_version(out, version);
    }
    if (open) out.on(YsonEvent::of(YsonEvent::Kind::kEndList));
  }
  out.end_row();
}

Task<YtResult<void>> answer_versions(const Wanted& wanted, std::vector<std::vector<Value>> keys,
                                     RowWriter& out) {
  for (const std::vector<Value>& key : keys) {
    YT_CO_TRY(const VersionedResult row,
              co_await client::lookup_versions(wanted.table, key, wanted.read.timestamp));
    if (row.found)
      write_versions(wanted, key, out, row);
    else if (wanted.keep_missing)
      out.missing_row();
    if (out.is_full()) YT_CO_TRY_VOID(co_await out.flush());
  }
  co_return YtResult<void>();
}

}  // namespace

Task<YtResult<void>> lookup_rows(Call& call) {
  YT_CO_TRY(const Wanted wanted, co_await read_wanted(call));
  YT_CO_TRY(RowReader reader,
            RowReader::make(call.input_format, *wanted.table->shown, RowReader::Shape::kKey));
  RowWriter out(*call.output);
  YT_CO_TRY_VOID(out.open(call.output_format));
  std::vector<std::vector<Value>> keys;
  for (;;) {
    YT_CO_TRY(const RowReader::Step step, reader.next());
    if (step == RowReader::Step::kRow) keys.push_back(reader.key());
    const bool full = keys.size() >= kLookupKeys || reader.text_bytes() >= kLookupKeyBytes;
    if (!keys.empty() && (full || step == RowReader::Step::kEnd)) {
      auto done = wanted.versioned ? co_await answer_versions(wanted, std::exchange(keys, {}), out)
                                   : co_await answer_rows(wanted, std::exchange(keys, {}), out);
      YT_CO_TRY_VOID(std::move(done));
      reader.forget();
    }
    if (step == RowReader::Step::kEnd) break;
    if (step == RowReader::Step::kNeedsInput) YT_CO_TRY_VOID(co_await reader.load(*call.input));
  }
  co_return co_await out.flush();
}

}  // namespace moraine::yt
