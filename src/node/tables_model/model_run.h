// ModelRun: one program run by a real table and by NaiveTable, step by step. For tests.
//
// Promise    step() returns the table's answer, without timestamps, so that runs with other options
//            of the table can be compared; it sets `wrong` when the answer is not the model's.
//            Reads of the past stay above what retention may have dropped.
#pragma once

#include <string>
#include <vector>

#include "node/tables_model/table_program.h"
#include "node/tables_model/test_tables.h"

namespace moraine {

class ModelRun {
 public:
  ModelRun(const Program& program, TableOptions options)
      : program_(program), tables_(program.seed) {
    const TableMountOptions& keep = program.retention;
    options.mount.min_data_versions = keep.min_data_versions;
    options.mount.max_data_versions = keep.max_data_versions;
    options.mount.min_data_ttl = keep.min_data_ttl;
    options.mount.max_data_ttl = keep.max_data_ttl;
    set_schema(program.schema);
    NewTable table;
    table.schema = program.schema;
    table.options = options;
    expect_ok(tables_.run(tables_.tables().create(TestTables::kPath, std::move(table))), "create");
  }

  std::string step(const ProgramStep& step);

  std::string wrong;  // Empty: the answer was right.

 private:
  struct Moment {
    Timestamp timestamp = 0;
    std::chrono::seconds at{0};  // By the program's own time.
  };
  // The difference of the program's time and the machine's, which passes while it works.
  static constexpr std::chrono::seconds kTimeMargin{300};
  static constexpr Duration kSettleTime = 20ms;

  void set_schema(const TableSchema& schema) {
    schema_ = std::make_shared<const TableSchema>(schema);
    auto layout = table::RowLayout::make(schema_);
    INVARIANT(layout, "{}", layout.error().message());
    layout_ = *layout;
  }
  void complain(std::string what) {
    if (wrong.empty()) wrong = std::move(what);
  }
  void expect_ok(const Result<void>& result, std::string_view what) {
    if (!result) complain(fmt::format("{} failed: {}", what, result.error().message()));
  }
  void expect_equal(const std::string& expected, const std::string& found, std::string_view what) {
    if (expected != found) {
      complain(fmt::format("{}\n  expected {}\n  found    {}", what, expected, found));
    }
  }

  std::vector<Value> values_of(std::size_t key) const {
    std::vector<Value> values;
    for (const Cell& cell : program_.keys[key]) values.push_back(to_value(cell));
    return values;
  }
  std::string encoded(std::size_t key) const {
    const auto made = table::encode_lookup_key(*layout_, Key(values_of(key)));
    INVARIANT(made, "{}", made.error().message());
    return *made;
  }
  // The first columns of a key.
  std::string prefix(std::size_t key, std::size_t columns) const {
    std::vector<Value> values;
    std::string memory;
    const std::string whole = encoded(key);
    const auto decoded = table::decode_key(as_bytes(whole), values, memory);
    INVARIANT(decoded, "{}", decoded.error().message());
    values.resize(std::min(columns, values.size()));
    return table::encode_key(values);
  }
  bool fresh(const Moment& moment) const {
    return time_ - moment.at + kTimeMargin < program_.retention.min_data_ttl;
  }
  // A time in the past that must be readable; kSyncLastCommitted: the present.
  Timestamp draw_timestamp(std::uint64_t draw) const {
    std::vector<Timestamp> readable;
    for (const Moment& moment : moments_) {
      if (fresh(moment)) readable.push_back(moment.timestamp);
    }
    if (draw == 0 || readable.empty()) return kSyncLastCommitted;
    // At a commit, or just before it.
    return readable[draw / 2 % readable.size()] - draw % 2;
  }
  static Timestamp model_time(Timestamp timestamp) { return std::min(timestamp, kMaxTimestamp); }
  std::vector<std::uint16_t> indexes(const std::vector<std::string>& names) const {
    std::vector<std::uint16_t> found;
    for (const std::string& name : names) {
      found.push_back(static_cast<std::uint16_t>(*schema_->find(name)));
    }
    return found;
  }

  table::LockMode mode_of(const RowStep& row) const;
  std::vector<std::string> groups_of(const RowStep& row) const;
  NaiveLocks locks_of(const RowStep& row) const;
  NaiveVersion version_of(const RowStep& row, Timestamp commit) const;
  void merge(NaiveVersion& older, NaiveVersion newer) const;
  std::map<std::size_t, NaiveLocks> all_locks(const std::vector<RowStep>& rows) const;
  Result<void> give(table::ChangeSet& changes, const RowStep& row) const;
  Result<Timestamp> commit(const std::vector<RowStep>& rows, Timestamp start);
  void remember(const std::vector<RowStep>& rows, Timestamp commit);

  std::string write(const ProgramStep& step);
  std::string overlap(const ProgramStep& step);
  std::string mistake(const ProgramStep& step);
  std::string lookup(const ProgramStep& step);
  std::string versions(const ProgramStep& step);
  std::string scan(const ProgramStep& step);
  std::string change(const ProgramStep& step);
  std::string change_part(const ProgramStep& step);
  NewTablets new_part(const ProgramStep& step, TabletRange range);
  void expect_unmounted(TabletRange range);
  std::string freeze();
  std::string row_text(const std::string& key, const NaiveRow& row,
                       const std::vector<std::string>& columns) const;
  std::optional<std::size_t> moment_of(Timestamp timestamp) const;
  std::string expected_versions(const std::string& key) const;
  std::string found_versions(const table::OwnedVersionedRow& row) const;
  bool passes(const std::string& key, const NaiveRow& row, const ProgramStep& step) const;
  Cell cell_of(const std::string& key, const NaiveRow& row, const std::string& column) const;

  const Program& program_;
  TestTables tables_;
  NaiveTable model_;
  std::shared_ptr<const TableSchema> schema_;
  std::shared_ptr<const table::RowLayout> layout_;
  std::vector<Moment> moments_;
  std::chrono::seconds time_{0};
};

}  // namespace moraine
