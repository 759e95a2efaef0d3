// lookup_rows: rows of a dynamic table by their keys, at one timestamp or with all versions.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "client/table_attributes.h"
#include "client/versioned_lookup.h"
#include "gateway/yt/door_lane.h"
#include "gateway/yt/handlers.h"
#include "gateway/yt/row_reader.h"
#include "gateway/yt/row_writer.h"
#include "io/run_on.h"

namespace moraine::yt {
namespace {

// What is looked up at once: few keys at first, then as many as the rows' sizes allow.
constexpr std::size_t kFirstKeys = 32;
constexpr std::size_t kLookupKeys = 8'192;
constexpr std::size_t kLookupKeyBytes = std::size_t{4} << 20;
constexpr std::size_t kLookupCells = std::size_t{1} << 20;
constexpr std::size_t kLookupBytes = std::size_t{16} << 20;

class BatchSize {
 public:
  BatchSize(std::size_t columns, http::AnswerBudget& budget)
      : most_(std::clamp<std::size_t>(kLookupCells / std::max<std::size_t>(columns, 1), 1,
                                      kLookupKeys)),
        keys_(std::min(kFirstKeys, most_)),
        room_(budget) {}

  std::size_t keys() const { return keys_; }
  // Before keys are looked up: takes the memory that their rows probably need.
  YtResult<void> take(std::size_t keys) {
    const std::size_t bytes = keys * bytes_per_key_;
    return bytes > kRowsPartBytes ? take_room(room_, bytes) : YtResult<void>();
  }
  void note(std::size_t keys, std::size_t bytes) {
    bytes_per_key_ = bytes / keys;
    keys_ =
        std::clamp<std::size_t>(kLookupBytes / std::max<std::size_t>(bytes_per_key_, 1), 1, most_);
  }

 private:
  const std::size_t most_;
  std::size_t keys_;
  std::size_t bytes_per_key_ = 0;  // Of the last ones.
  http::AnswerRoom room_;
};

// Keys that were read and not looked up yet, in one piece of memory.
class Keys {
 public:
  void add(const RowReader& reader) {
    reader.append_key(cells_);
    ++count_;
  }
  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  void clear() {
    cells_.clear();
    count_ = 0;
  }
  std::vector<Key> views() const {
    std::vector<Key> keys(count_);
    const std::size_t width = count_ == 0 ? 0 : cells_.size() / count_;
    for (std::size_t i = 0; i < count_; ++i) {
      keys[i] = std::span(cells_).subspan(i * width, width);
    }
    return keys;
  }
  std::vector<std::vector<Value>> copies() const {
    std::vector<std::vector<Value>> keys;
    for (const Key key : views()) keys.emplace_back(key.begin(), key.end());
    return keys;
  }

 private:
  std::vector<Value> cells_;
  std::size_t count_ = 0;
};

struct Wanted {
  TablePtr table;
  ReadOptions read{};
  std::vector<std::uint16_t> columns{};  // That are read, in the order of the schema.
  // Of them, by their numbers there: those whose values are in the answer,
  std::vector<std::size_t> shown{};
  // and behind them those whose timestamps are, as "$timestamp:NAME".
  std::vector<std::size_t> stamped{};
  bool keep_missing = false;
  bool versioned = false;
  bool in_transaction = false;
  bool partial = false;          // Keys of tablets that cannot be read are left out.
  bool with_timestamps = false;  // There are columns "$timestamp:NAME".
  std::optional<RetentionConfig> retention{};

  const std::string& name(std::size_t i) const { return table->schema->columns[columns[i]].name; }
};

using client::kTimestampPrefix;

// Columns of the table by the parameter column_names.
struct NamedColumns {
  std::set<std::uint16_t> shown;
  std::set<std::uint16_t> stamped;
};

YtResult<NamedColumns> named_columns(const Call& call, const Wanted& wanted) {
  const client::Table& table = *wanted.table;
  NamedColumns named;
  YT_TRY(std::vector<std::string> names, call.parameters.texts("column_names"));
  std::vector<bool> stamped;
  for (std::string& name : names) {
    stamped.push_back(wanted.with_timestamps && name.starts_with(kTimestampPrefix));
    if (stamped.back()) name.erase(0, kTimestampPrefix.size());
  }
  YT_TRY(const Columns found, table.columns(names));
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::uint16_t column = found.indexes()[i];
    if (stamped[i] && table.schema->columns[column].key) {
      return refuse(Code::kSchemaViolation, fmt::format("No such column \"{}{}\" in table {}",
                                                        kTimestampPrefix, names[i], table.path));
    }
    (stamped[i] ? named.stamped : named.shown).insert(column);
  }
  return named;
}

void read_all_columns(Wanted& wanted) {
  const client::Table& table = *wanted.table;
  wanted.columns = table.all_columns;
  for (std::size_t i = 0; i < wanted.columns.size(); ++i) {
    wanted.shown.push_back(i);
    if (wanted.with_timestamps && !table.schema->columns[wanted.columns[i]].key) {
      wanted.stamped.push_back(i);
    }
  }
}

YtResult<void> read_columns(const Call& call, Wanted& wanted) {
  if (call.parameters.find("column_names") == nullptr) {
    read_all_columns(wanted);
    return {};
  }
  const client::Table& table = *wanted.table;
  YT_TRY(const NamedColumns named, named_columns(call, wanted));
  std::set<std::uint16_t> all = named.shown;
  all.insert(named.stamped.begin(), named.stamped.end());
  std::vector<std::string> names;
  for (const std::uint16_t column : all) {
    if (named.shown.contains(column)) wanted.shown.push_back(wanted.columns.size());
    if (named.stamped.contains(column)) wanted.stamped.push_back(wanted.columns.size());
    wanted.columns.push_back(column);
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
  YT_CO_TRY(wanted.partial, given.boolean("enable_partial_result", false));
  if (const YsonNode* config = given.find("retention_config")) {
    YT_CO_TRY(wanted.retention, client::retention_of_yson(*config));
  }
  YT_CO_TRY(wanted.with_timestamps, latest_timestamps(given));
  if (wanted.versioned && wanted.with_timestamps) {
    co_return refuse(Code::kGeneric, "\"versioned\" and \"latest_timestamp\" exclude each other");
  }
  YT_CO_TRY_VOID(read_columns(call, wanted));
  YT_CO_TRY_VOID(co_await enter_transaction(call, wanted));
  co_return wanted;
}

void write_row(const Wanted& wanted, RowWriter& out, const Rowset& rows, std::size_t row,
               std::span<const Timestamp> timestamps) {
  out.begin_row();
  for (const std::size_t i : wanted.shown) out.cell(wanted.name(i), rows.at(row, i));
  for (const std::size_t i : wanted.stamped) {
    const Timestamp at = timestamps[row * wanted.columns.size() + i];
    out.cell(fmt::format("{}{}", kTimestampPrefix, wanted.name(i)), at == 0 ? Value() : Value(at));
  }
  out.end_row();
}

Task<YtResult<void>> answer_rows(Call& call, const Wanted& wanted, const Keys& keys,
                                 std::size_t first, RowWriter& out) {
  Rowset rows;
  std::vector<Timestamp> timestamps;
  std::vector<std::uint32_t> unavailable;
  if (wanted.with_timestamps) {
    YT_CO_TRY(timestamps,
              co_await client::lookup_timestamps(wanted.table, keys.copies(), wanted.read,
                                                 wanted.in_transaction, rows));
  } else if (wanted.partial) {
    YT_CO_TRY(unavailable,
              co_await client::lookup_available(wanted.table, keys.copies(), wanted.read,
                                                wanted.in_transaction, rows));
  } else {
    YT_CO_TRY_VOID(co_await client::lookup(wanted.table, keys.views(), wanted.read,
                                           wanted.in_transaction, rows));
  }
  if (wanted.partial) {
    YsonNode& known = call.response_parameters["unavailable_key_indexes"];
    if (!known.as<YsonList>()) known = YsonList();
    for (const std::uint32_t at : unavailable) {
      known.as<YsonList>()->emplace_back(static_cast<std::int64_t>(first + at));
    }
  }
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    if (rows.exists(i))
      write_row(wanted, out, rows, i, timestamps);
    else if (wanted.keep_missing)
      out.missing_row();
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
  std::size_t at = 0;  // Versions are in the order of the columns.
  for (std::size_t i = 0; i < wanted.columns.size(); ++i) {
    const ColumnSchema& column = wanted.table->schema->columns[wanted.columns[i]];
    if (column.key) {
      if (wanted.columns[i] < key.size()) out.cell(column.name, key[wanted.columns[i]]);
      continue;
    }
    if (at == row.versions.size() || row.versions[at].column != column.name) continue;
    out.on(YsonEvent::key(column.name));
    out.on(YsonEvent::of(YsonEvent::Kind::kBeginList));
    for (; at < row.versions.size() && row.versions[at].column == column.name; ++at) {
      write_version(out, row.versions[at]);
    }
    out.on(YsonEvent::of(YsonEvent::Kind::kEndList));
  }
  out.end_row();
}

Task<YtResult<void>> answer_versions(const Wanted& wanted, std::vector<std::vector<Value>> keys,
                                     RowWriter& out) {
  client::VersionedLookupOptions options;
  options.columns = wanted.read.columns;
  options.timestamp = wanted.read.timestamp;
  options.retention_timestamp = wanted.read.retention_timestamp;
  options.retention = wanted.retention;
  YT_CO_TRY(const std::vector<VersionedResult> rows,
            co_await client::lookup_versions(wanted.table, keys, std::move(options)));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].found)
      write_versions(wanted, keys[i], out, rows[i]);
    else if (wanted.keep_missing)
      out.missing_row();
    if (out.is_full()) YT_CO_TRY_VOID(co_await out.flush());
  }
  co_return YtResult<void>();
}

}  // namespace

Task<YtResult<void>> lookup_rows(Call& call) {
  YT_CO_TRY(const Wanted wanted, co_await read_wanted(call));
  YT_CO_TRY(RowReader reader, RowReader::make(call, *wanted.table->shown, RowReader::Shape::kKey));
  RowWriter out(*call.output);
  YT_CO_TRY_VOID(out.open(call.output_format));
  Keys keys;
  BatchSize batch(wanted.columns.size(), call.lane.inputs());
  std::size_t first = 0;  // The number of the first of them.
  for (;;) {
    YT_CO_TRY(const RowReader::Step step, reader.next());
    if (step == RowReader::Step::kRow) keys.add(reader);
    const bool full = keys.size() >= batch.keys() || reader.text_bytes() >= kLookupKeyBytes;
    if (!keys.empty() && (full || step == RowReader::Step::kEnd)) {
      const std::size_t count = keys.size();
      const std::size_t written = out.bytes();
      YT_CO_TRY_VOID(batch.take(count));
      if (wanted.versioned) {
        YT_CO_TRY_VOID(co_await answer_versions(wanted, keys.copies(), out));
      } else {
        YT_CO_TRY_VOID(co_await answer_rows(call, wanted, keys, first, out));
      }
      batch.note(count, out.bytes() - written);
      first += count;
      keys.clear();
      reader.forget();
    }
    if (step == RowReader::Step::kEnd) break;
    if (step == RowReader::Step::kNeedsInput) YT_CO_TRY_VOID(co_await reader.load());
  }
  co_return co_await out.flush();
}

}  // namespace moraine::yt
