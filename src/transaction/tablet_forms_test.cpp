// What a tablet promises its callers, the same for all forms of a call: on the tablet's lane, from
// another lane, and from another node.

#include <gtest/gtest.h>

#include <functional>

#include "io/request_router.h"
#include "io/sim/run_on_lane.h"
#include "table/chunk/column_filter.h"
#include "table/tablet/test_table.h"
#include "transaction/local_tablets.h"
#include "transaction/paged_scan.h"
#include "transaction/remote_tablets.h"
#include "transaction/tablet_server.h"

namespace moraine {
namespace {

using table::ColumnIndex;
using table::LookupRequest;
using table::ScanRequest;

constexpr TabletId kTable{91};
constexpr TabletId kAbsent{92};
constexpr TabletId kCoordinator{9};

enum class Form : std::uint8_t { kSameLane, kOtherLane, kOtherNode };

class TabletForms : public testing::TestWithParam<Form> {
 protected:
  TabletForms() {
    table_.boot();
    served_ = std::move(table_.tablet);
    local_.add(kTable, served_, table_.storage.world().executor);
    EXPECT_TRUE(world_.run(server_.add(kTable, served_, table_.timestamps)));
  }
  ~TabletForms() override {
    local_.remove(kTable);
    server_.remove(served_.get());
    world_.run(served_->stop());
  }

  bool remote() const { return GetParam() == Form::kOtherNode; }
  TabletCalls& calls() {
    if (remote()) return remote_;
    return local_;
  }
  TabletReads& reads() {
    if (remote()) return remote_;
    return local_;
  }
  // Another node calls from a lane that is not its network's.
  Executor& caller() {
    SimNode& machine = remote() ? client_ : table_.storage.node();
    return machine.lanes(2)[GetParam() == Form::kSameLane ? 0 : 1].executor;
  }
  Instant soon() { return world_.executor().now() + 5s; }

  // Runs a call where the caller is.
  template <class T>
  T run(std::function<Task<T>()> body) {
    return run_on_lane<T>(world_, caller(), std::move(body));
  }

  Result<Timestamp> commit(TabletWrite write, TabletId tablet = kTable) {
    return run<Result<Timestamp>>([&] { return calls().commit(tablet, write, soon()); });
  }
  TabletWrite put(std::int64_t key, std::string_view text) {
    return table_.transaction({table_.rows.put({{"k", key}, {"v", text}}, true)});
  }
  std::string key(std::int64_t number) const { return table_.rows.key({{"k", number}}); }
  // Texts of the rows; "-": no such row.
  Result<std::vector<std::string>> look(std::vector<std::int64_t> numbers,
                                        Timestamp at = kSyncLastCommitted,
                                        TabletId tablet = kTable) {
    std::vector<std::string> keys;
    for (const std::int64_t number : numbers) keys.push_back(key(number));
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    const std::vector<ColumnIndex> columns{1, 0};
    LookupRequest request;
    request.keys = views;
    request.columns = columns;
    request.timestamp = at;
    Rowset rows;
    TRY_VOID(look(request, rows, tablet));
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (rows.exists(i)) {
        EXPECT_EQ(rows.at(i, 1).as_int64(), numbers[i]);
      }
      texts.push_back(rows.exists(i) ? std::string(rows.at(i, 0).text()) : "-");
    }
    return texts;
  }
  Result<void> look(const LookupRequest& request, Rowset& rows, TabletId tablet = kTable,
                    SchemaPtr schema = nullptr) {
    return run<Result<void>>([&] { return reads().lookup(tablet, schema, request, rows, soon()); });
  }
  ScanRequest all() {
    ScanRequest request;
    request.columns = {0, 1};
    return request;
  }
  Result<ScanPage> page(const ScanRequest& request, TabletId tablet = kTable,
                        SchemaPtr schema = nullptr) {
    return run<Result<ScanPage>>([&] { return reads().scan(tablet, schema, request, soon()); });
  }
  Task<Result<std::vector<std::int64_t>>> read_all(ScanRequest request) {
    PagedScan scan(reads(), kTable, served_->settings().schema, std::move(request));
    std::vector<std::int64_t> keys;
    for (table::ColumnBatch batch;;) {
      CO_TRY(const PagedScan::Step step, scan.next(batch));
      if (step == PagedScan::Step::kEnd) co_return keys;
      if (step == PagedScan::Step::kNeedsData) {
        CO_TRY_VOID(co_await scan.load());
        continue;
      }
      for (std::size_t i = 0; i < batch.rows; ++i) {
        keys.push_back(table::value_at(batch.columns[0], i).as_int64());
      }
    }
  }
  std::vector<std::int64_t> scan(const ScanRequest& request) {
    auto keys = run<Result<std::vector<std::int64_t>>>([&] { return read_all(request); });
    EXPECT_TRUE(keys) << keys.error().message();
    return keys ? *keys : std::vector<std::int64_t>();
  }
  static Errc code(const auto& result) {
    return result ? Errc::kAlreadyExists : result.error().code;
  }

  table::TestTable table_{77};
  SimWorld& world_ = table_.world;
  std::shared_ptr<table::TableTablet> served_;
  LocalTablets local_{table_.storage.world().executor};
  SimNode& client_ = world_.add_node();
  RequestRouter router_{table_.storage.world().network};
  TabletServer server_{router_.port(kTablesProtocol), table_.storage.world().executor};
  RemoteTablets remote_{client_.world().executor, client_.world().network,
                        [this](TabletId) { return table_.storage.node().id(); }};
};

using Texts = std::vector<std::string>;

TEST_P(TabletForms, CommittedRowsAreRead) {
  const auto first = commit(put(1, "a"));
  ASSERT_TRUE(first) << first.error().message();
  ASSERT_TRUE(commit(put(2, "b")));
  const auto found = look({2, 7, 1});
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(*found, (Texts{"b", "-", "a"}));
  EXPECT_EQ(look({1, 2}, *first), (Texts{"a", "-"}));
  EXPECT_EQ(look({1}, *first - 1), Texts{"-"});
  EXPECT_EQ(look({}), Texts{});
}

TEST_P(TabletForms, AConflictAborts) {
  const TabletWrite first = put(1, "a");
  TabletWrite second = put(1, "b");
  second.start = first.start;
  ASSERT_TRUE(commit(first));
  EXPECT_EQ(code(commit(second)), Errc::kAborted);
  EXPECT_EQ(look({1}), Texts{"a"});
}

TEST_P(TabletForms, PreparedRowsAreCommittedOrNot) {
  const auto prepare = [&](const TabletWrite& write) {
    return run<Result<void>>([&] { return calls().prepare(kTable, write, kCoordinator, soon()); });
  };
  const TabletWrite kept = put(1, "kept");
  const TabletWrite dropped = put(2, "dropped");
  for (int repeated = 0; repeated < 2; ++repeated) {
    ASSERT_TRUE(prepare(kept));
    ASSERT_TRUE(prepare(dropped));
  }
  EXPECT_EQ(look({1, 2}, kAsyncLastCommitted), (Texts{"-", "-"}));
  const Timestamp at = table_.timestamps.draw();
  for (int repeated = 0; repeated < 2; ++repeated) {
    ASSERT_TRUE(run<Result<void>>(
        [&] { return calls().commit_prepared(kTable, kept.transaction, at, soon()); }));
    ASSERT_TRUE(run<Result<void>>(
        [&] { return calls().abort_prepared(kTable, dropped.transaction, soon()); }));
  }
  EXPECT_EQ(look({1, 2}), (Texts{"kept", "-"}));
}

TEST_P(TabletForms, AllVersionsOfARow) {
  const auto first = commit(put(1, "a"));
  const auto second = commit(put(1, "b"));
  ASSERT_TRUE(first && second);
  const auto versions = [&](std::int64_t number) {
    return run<Result<table::OwnedVersionedRow>>([&] {
      return reads().lookup_versions(kTable, nullptr, key(number), kMaxTimestamp, soon());
    });
  };
  const auto row = versions(1);
  ASSERT_TRUE(row) << row.error().message();
  EXPECT_TRUE(row->exists);
  EXPECT_EQ(row->row.write_timestamps, (std::vector<Timestamp>{*second, *first}));
  ASSERT_EQ(row->row.values.size(), 2u);
  EXPECT_EQ(row->row.values[0].value, Value("b"));
  EXPECT_EQ(row->row.values[0].timestamp, *second);
  EXPECT_EQ(row->row.values[1].value, Value("a"));
  EXPECT_EQ(row->row.values[1].column, 1);
  const auto none = versions(2);
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->exists);
}

TEST_P(TabletForms, APageEndsAfterItsRowsAndTheNextBeginsThere) {
  constexpr std::int64_t kRows = static_cast<std::int64_t>(kPageRowsMax) * 2 + 7;
  std::vector<table::RowChange> changes;
  for (std::int64_t i = 0; i < kRows; ++i) {
    changes.push_back(table_.rows.put({{"k", i}, {"v", "x"}}, true));
  }
  ASSERT_TRUE(commit(table_.transaction(std::move(changes))));
  const auto first = page(all());
  ASSERT_TRUE(first) << first.error().message();
  EXPECT_EQ(first->batch.rows, kPageRowsMax);
  EXPECT_EQ(first->next, key(kPageRowsMax - 1) + '\0');
  const std::vector<std::int64_t> keys = scan(all());
  ASSERT_EQ(keys.size(), static_cast<std::size_t>(kRows));
  for (std::int64_t i = 0; i < kRows; ++i) ASSERT_EQ(keys[static_cast<std::size_t>(i)], i);
  ScanRequest some = all();
  some.bounds = {key(100), key(20'000)};
  some.row_limit = 15'000;
  const std::vector<std::int64_t> limited = scan(some);
  ASSERT_EQ(limited.size(), 15'000u);
  EXPECT_EQ(limited.front(), 100);
  EXPECT_EQ(limited.back(), 15'099);
}

TEST_P(TabletForms, APageOfLongRowsHasFewOfThem) {
  const std::string text(kPageBytesMax / 2 + 1, 'x');
  for (std::int64_t i = 0; i < 3; ++i) ASSERT_TRUE(commit(put(i, text)));
  const auto first = page(all());
  ASSERT_TRUE(first) << first.error().message();
  EXPECT_EQ(first->batch.rows, 1u);
  EXPECT_EQ(first->batch.columns[1].texts.at(0), text);
  EXPECT_EQ(scan(all()), (std::vector<std::int64_t>{0, 1, 2}));
}

TEST_P(TabletForms, FiltersAreAppliedAndNullsAreKept) {
  for (std::int64_t i = 0; i < 6; ++i) {
    const bool named = i % 2 == 0;
    ASSERT_TRUE(commit(named ? put(i, fmt::format("{}", i))
                             : table_.transaction({table_.rows.put({{"k", i}, {"a", i}}, true)})));
  }
  ScanRequest request = all();
  request.columns = {0, 1, 3};
  const auto rows = page(request);
  ASSERT_TRUE(rows) << rows.error().message();
  ASSERT_EQ(rows->batch.rows, 6u);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(table::value_at(rows->batch.columns[1], i).is_null(), i % 2 == 1) << i;
    EXPECT_EQ(table::value_at(rows->batch.columns[2], i).is_null(), i % 2 == 0) << i;
  }
  EXPECT_TRUE(rows->next.empty());
  request.filters = {{0, table::ColumnFilter::Op::kGreater, Value(std::int64_t{1})},
                     {1, table::ColumnFilter::Op::kLess, Value("4")}};
  EXPECT_EQ(scan(request), std::vector<std::int64_t>{2});
  request.filters = {{1, table::ColumnFilter::Op::kIsNull, Value()}};
  EXPECT_EQ(scan(request), (std::vector<std::int64_t>{1, 3, 5}));
  request.filters.clear();
  request.conditions = {
      {0, table::ValueSet::of(std::vector<Value>{Value(std::int64_t{1}), Value(std::int64_t{2}),
                                                 Value(std::int64_t{4})})},
      {1, table::ValueSet::all_but_null()}};
  EXPECT_EQ(scan(request), (std::vector<std::int64_t>{2, 4}));
}

TEST_P(TabletForms, ATabletThatDoesNotRunThereIsNotHere) {
  EXPECT_EQ(code(commit(put(1, "a"), kAbsent)), Errc::kNotHere);
  EXPECT_EQ(code(look({1}, kSyncLastCommitted, kAbsent)), Errc::kNotHere);
  EXPECT_EQ(code(page(all(), kAbsent)), Errc::kNotHere);
  const TabletWrite write = put(1, "a");
  EXPECT_EQ(code(run<Result<void>>(
                [&] { return calls().prepare(kAbsent, write, kCoordinator, soon()); })),
            Errc::kNotHere);
  EXPECT_EQ(code(run<Result<table::OwnedVersionedRow>>([&] {
              return reads().lookup_versions(kAbsent, nullptr, key(1), kMaxTimestamp, soon());
            })),
            Errc::kNotHere);
}

TEST_P(TabletForms, CallsMadeForAnotherSchemaAreRefused) {
  ASSERT_TRUE(commit(put(1, "a")));
  TableSchema other = *served_->settings().schema;
  other.columns.back().name = "renamed";
  const auto altered = std::make_shared<const TableSchema>(other);
  EXPECT_EQ(code(page(all(), kTable, altered)), Errc::kInvalidArgument);
  Rowset rows;
  EXPECT_EQ(code(look(LookupRequest{}, rows, kTable, altered)), Errc::kInvalidArgument);
  TabletWrite write = put(2, "b");
  write.schema = altered;
  EXPECT_EQ(code(commit(write)), Errc::kAborted);
  write = put(3, "c");
  write.schema = std::make_shared<const TableSchema>(*served_->settings().schema);
  EXPECT_TRUE(commit(write));
  EXPECT_TRUE(page(all(), kTable, write.schema));
}

TEST_P(TabletForms, WrongColumnsKeysAndTimestampsAreRefused) {
  ScanRequest request = all();
  request.columns = {99};
  EXPECT_EQ(code(page(request)), Errc::kInvalidArgument);
  request = all();
  request.filters = {{99, table::ColumnFilter::Op::kIsNull, Value()}};
  EXPECT_EQ(code(page(request)), Errc::kInvalidArgument);
  const std::vector<std::string_view> keys{"no key"};
  LookupRequest lookup;
  lookup.keys = keys;
  Rowset rows;
  EXPECT_EQ(code(look(lookup, rows)), Errc::kInvalidArgument);
  lookup.keys = {};
  lookup.timestamp = 5;
  lookup.retention_timestamp = 6;
  EXPECT_EQ(code(look(lookup, rows)), Errc::kInvalidArgument);
}

TEST_P(TabletForms, ReadsAfterTheirDeadlineFail) {
  world_.run_for(1s);
  const Instant past{Duration{1}};
  Rowset rows;
  EXPECT_EQ(code(run<Result<void>>(
                [&] { return reads().lookup(kTable, nullptr, LookupRequest{}, rows, past); })),
            Errc::kTimeout);
  EXPECT_EQ(code(run<Result<ScanPage>>([&] { return reads().scan(kTable, nullptr, all(), past); })),
            Errc::kTimeout);
}

TEST_P(TabletForms, AScanThatFindsNothingForLongMovesOn) {
  constexpr std::int64_t kRows = 6'000;
  std::string text(1'000, 'x');
  SeededRandom random(1);
  for (const int chunks : {1, 2}) {  // One is read by columns, two are merged.
    std::vector<table::RowChange> changes;
    for (std::int64_t i = 0; i < kRows; i += chunks) {
      for (char& letter : text) letter = static_cast<char>(random.below(256));
      changes.push_back(table_.rows.put({{"k", i}, {"v", text}, {"a", i}}));
    }
    ASSERT_TRUE(commit(table_.transaction(std::move(changes))));
    ASSERT_TRUE(world_.run(served_->flush()));
    ScanRequest request = all();
    request.filters = {{3, table::ColumnFilter::Op::kGreater, Value(kRows - 2)}};
    DiskFaults& faults = table_.storage.node().disks().faults("device");
    faults.slow_factor = 500;
    std::size_t empty_pages = 0;
    std::size_t rows = 0;
    do {
      const Instant deadline = world_.executor().now() + 3s;
      const auto found =
          run<Result<ScanPage>>([&] { return reads().scan(kTable, nullptr, request, deadline); });
      ASSERT_TRUE(found) << found.error().message();
      ASSERT_TRUE(found->next.empty() || found->next > request.bounds.from);
      rows += found->batch.rows;
      empty_pages += found->batch.rows == 0 && !found->next.empty() ? 1 : 0;
      request.bounds.from = found->next;
    } while (!request.bounds.from.empty());
    faults.slow_factor = 1;
    EXPECT_EQ(rows, 1u);
    EXPECT_GE(empty_pages, 1u) << chunks;
  }
}

TEST_P(TabletForms, ReadsOfUndecidedRowsEndAtTheirDeadline) {
  ASSERT_TRUE(commit(put(1, "a")));
  ASSERT_TRUE(world_.run(served_->prepare(put(1, "b"), kCoordinator)));
  constexpr Duration kPatience = 500ms;
  ASSERT_LT(kPatience, table::ReaderOptions().undecided_timeout / 2);
  // How long the read took; also on the tablet's node no read is left.
  const auto ends_in_time = [&](const auto& read) {
    const Instant begun = world_.executor().now();
    const Errc ended = read(begun + kPatience);
    EXPECT_EQ(ended, Errc::kTimeout);
    EXPECT_GE(world_.executor().now(), begun + kPatience);
    world_.run_for(10ms);
    EXPECT_LT(world_.executor().now(), begun + 2 * kPatience);
    EXPECT_EQ(server_.calls(), 0u);
  };
  const std::string first = key(1);
  const std::vector<std::string_view> keys{first};
  LookupRequest lookup;
  lookup.keys = keys;
  Rowset rows;
  ends_in_time([&](Instant deadline) {
    return code(
        run<Result<void>>([&] { return reads().lookup(kTable, nullptr, lookup, rows, deadline); }));
  });
  ends_in_time([&](Instant deadline) {
    return code(run<Result<table::OwnedVersionedRow>>(
        [&] { return reads().lookup_versions(kTable, nullptr, first, kMaxTimestamp, deadline); }));
  });
  ends_in_time([&](Instant deadline) {
    return code(
        run<Result<ScanPage>>([&] { return reads().scan(kTable, nullptr, all(), deadline); }));
  });
}

INSTANTIATE_TEST_SUITE_P(Forms, TabletForms,
                         testing::Values(Form::kSameLane, Form::kOtherLane, Form::kOtherNode),
                         [](const auto& form) -> std::string {
                           if (form.param == Form::kOtherNode) return "OtherNode";
                           return form.param == Form::kSameLane ? "SameLane" : "OtherLane";
                         });

}  // namespace
}  // namespace moraine
