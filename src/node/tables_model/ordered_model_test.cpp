// An ordered table and a sorted one, changed by the same transactions, many at a time, with
// flushes, compactions, trims, restarts, power cuts and more tablets in between. Each row is there
// once, at a number that stays, in the order of commit timestamps, with the rows of its transaction
// in all tablets and in the sorted table, or without any of them.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "node/tables_model/test_tables.h"
#include "table/model/ordered.h"

namespace moraine {
namespace {

constexpr const char* kOrdered = "test/ordered";
constexpr std::size_t kTabletsMax = 4;

struct Appended {
  std::int64_t number = 0;
  std::map<std::size_t, int> rows;  // By tablet.
  bool sorted = false;              // Writes the row of its number, too.
  Result<Timestamp> answer = fail(Errc::kTimeout, "not answered");
};
using AppendedPtr = std::shared_ptr<Appended>;

class OrderedModel {
 public:
  explicit OrderedModel(std::uint64_t seed) : random_(seed), tables_(seed) {
    TableMountOptions mount;
    mount.max_dynamic_store_row_count = 12;
    NewTable ordered;
    ordered.schema.columns = {{.name = "v", .type = ColumnType::kString}};
    ordered.options.mount = mount;
    for (std::size_t i = 1; i < tablets_; ++i) ordered.pivots.push_back(table::tablet_pivot(i));
    NewTable sorted;
    sorted.schema.columns = {{.name = "k", .type = ColumnType::kInt64, .key = true},
                             {.name = "v", .type = ColumnType::kString}};
    sorted.options.mount = mount;
    expect(tables_.run(tables_.tables().create(kOrdered, ordered)), "create");
    expect(tables_.run(tables_.tables().create(TestTables::kPath, sorted)), "create");
  }

  void run() {
    for (int round = 0; round < 10 && !testing::Test::HasFailure(); ++round) {
      write_some();
      if (random_.one_in(3)) tables_.restart();
      check();
      if (random_.one_in(3)) trim();
      if (random_.one_in(4)) {
        expect(tables_.flush(kOrdered), "flush");
        expect(tables_.compact(kOrdered), "compact");
      }
      if (random_.one_in(4)) add_tablet();
    }
    check();
  }
  std::size_t rows() const {
    std::size_t all = 0;
    for (const auto& [tablet, texts] : known_) all += texts.size();
    return all;
  }
  std::size_t together = 0;  // Transactions over several tablets that were committed.

 private:
  static void expect(const Result<void>& done, std::string_view what) {
    EXPECT_TRUE(done) << what << ": " << done.error().message();
  }
  static std::string text_of(const Appended& one, std::size_t tablet, int row) {
    return fmt::format("{}/{}/{}", one.number, tablet, row);
  }

  // Many at a time; half of the times the power is cut meanwhile.
  void write_some() {
    const bool cut = random_.one_in(2);
    TaskScope scope;
    const std::uint64_t count = 1 + random_.below(25);
    for (std::uint64_t i = 0; i < count; ++i) {
      auto one = std::make_shared<Appended>();
      one->number = ++made_;
      const std::uint64_t parts = 1 + random_.below(2);
      for (std::uint64_t part = 0; part < parts; ++part) {
        one->rows[random_.below(tablets_)] = 1 + static_cast<int>(random_.below(3));
      }
      one->sorted = random_.one_in(2);
      all_.push_back(one);
      scope.spawn(commit(tables_.commit_parts(), gathered(*one), one));
      if (random_.one_in(2)) tables_.world().run_for(Duration(1us) * random_.below(3'000));
    }
    if (cut) tables_.cut_power();
    tables_.world().run_for(30s);  // Outcomes of prepared transactions reach their tablets.
  }

  GatheredTransaction gathered(const Appended& one) {
    GatheredTransaction transaction;
    std::memcpy(transaction.id.bytes.data(), &one.number, sizeof one.number);
    transaction.id.bytes[15] = 7;
    transaction.start = tables_.now();
    transaction.tables.push_back({tables_.open(kOrdered), appends(one)});
    if (one.sorted) transaction.tables.push_back({tables_.open(), sorted_row(one)});
    return transaction;
  }
  static table::ChangeSet changes_of(const OpenTable& table) {
    auto layout = table::RowLayout::make(table.schema);
    INVARIANT(layout, "{}", layout.error().message());
    return table::ChangeSet(*layout);
  }
  std::vector<table::RowChange> appends(const Appended& one) {
    table::ChangeSet changes = changes_of(*tables_.open(kOrdered));
    std::int64_t number = 0;
    for (const auto& [tablet, rows] : one.rows) {
      for (int row = 0; row < rows; ++row) {
        const std::string text = text_of(one, tablet, row);
        const std::vector<NamedValue> values = {
            {"$tablet_index", Value(static_cast<std::int64_t>(tablet))},
            {"$row_index", Value(number++)},
            {"v", Value(text)}};
        expect(changes.insert(values), "insert");
      }
    }
    std::vector<table::RowChange> taken = changes.take();
    for (table::RowChange& change : taken) change.locks = {};
    return taken;
  }
  std::vector<table::RowChange> sorted_row(const Appended& one) {
    table::ChangeSet changes = changes_of(*tables_.open());
    const std::vector<NamedValue> values = {{"k", Value(one.number)}, {"v", Value("x")}};
    expect(changes.insert(values), "insert");
    return changes.take();
  }
  static Task<void> commit(CommitParts parts, GatheredTransaction transaction, AppendedPtr one) {
    one->answer =
        co_await commit_transaction(std::move(parts), std::move(transaction), Instant::never());
  }

  void trim() {
    const std::size_t tablet = random_.below(tablets_);
    const std::uint64_t rows = random_.below(known_[tablet].size() + 1);
    expect(tables_.run(tables_.tables().trim(kOrdered, tablet, rows)), "trim");
    trimmed_[tablet] = std::max(trimmed_[tablet], rows);
  }
  void add_tablet() {
    if (tablets_ == kTabletsMax) return;
    expect(tables_.run(tables_.tables().unmount(kOrdered)), "unmount");
    expect(tables_.run(tables_.tables().reshard(kOrdered, ++tablets_)), "reshard");
    expect(tables_.run(tables_.tables().mount(kOrdered, MountState::kMounted)), "mount");
  }

  // Places that are known keep their texts; later ones follow without gaps.
  void read_rows() {
    std::map<std::size_t, std::uint64_t> next = trimmed_;
    table::ScanRequest request;
    request.columns = {0, 1, 2};
    const auto visit = [&](const table::ColumnBatch& batch, std::size_t row) {
      const auto tablet = static_cast<std::size_t>(batch.columns[0].words[row]);
      const std::uint64_t number = batch.columns[1].words[row];
      const std::string text(batch.columns[2].texts[row]);
      EXPECT_EQ(number, next[tablet]) << "of tablet " << tablet;
      next[tablet] = number + 1;
      std::vector<std::string>& texts = known_[tablet];
      if (number < texts.size()) {
        EXPECT_EQ(text, texts[number]) << number << " of tablet " << tablet;
      } else {
        texts.push_back(text);
      }
    };
    expect(tables_.scan(request, visit, kOrdered), "scan");
    for (const auto& [tablet, texts] : known_) {
      EXPECT_EQ(std::max(next[tablet], trimmed_[tablet]), texts.size()) << "of tablet " << tablet;
    }
  }

  void check() {
    read_rows();
    std::set<std::int64_t> in_sorted;
    table::ScanRequest request;
    request.columns = {0};
    const auto visit = [&](const table::ColumnBatch& batch, std::size_t row) {
      in_sorted.insert(static_cast<std::int64_t>(batch.columns[0].words[row]));
    };
    expect(tables_.scan(request, visit), "scan");
    std::map<std::string, std::uint64_t> place;
    for (const auto& [tablet, texts] : known_) {
      for (std::size_t i = 0; i < texts.size(); ++i) {
        EXPECT_TRUE(place.emplace(texts[i], i).second) << texts[i] << " is there twice";
      }
    }
    std::map<std::size_t, std::map<std::uint64_t, Timestamp>> order;
    for (const AppendedPtr& one : all_) check_one(*one, place, in_sorted, order);
    for (const auto& [tablet, commits] : order) {
      Timestamp before = 0;
      for (const auto& [row, commit] : commits) {
        EXPECT_GT(commit, before) << "row " << row << " of tablet " << tablet;
        before = commit;
      }
    }
  }
  void check_one(const Appended& one, const std::map<std::string, std::uint64_t>& place,
                 const std::set<std::int64_t>& in_sorted,
                 std::map<std::size_t, std::map<std::uint64_t, Timestamp>>& order) {
    const bool is_there = place.contains(text_of(one, one.rows.begin()->first, 0));
    if (one.answer) EXPECT_TRUE(is_there) << one.number << " is lost";
    const Errc code = one.answer ? Errc::kTimeout : one.answer.error().code;
    const bool unknown = code == Errc::kTimeout || code == Errc::kUnknownOutcome;
    EXPECT_TRUE(!is_there || unknown) << one.number << ": " << one.answer.error().message();
    if (one.sorted) EXPECT_EQ(in_sorted.contains(one.number), is_there) << one.number;
    for (const auto& [tablet, rows] : one.rows) {
      std::uint64_t first = 0;
      for (int row = 0; row < rows; ++row) {
        const auto found = place.find(text_of(one, tablet, row));
        EXPECT_EQ(found != place.end(), is_there) << "a part of " << one.number;
        if (found == place.end()) continue;
        if (row == 0) first = found->second;
        EXPECT_EQ(found->second, first + static_cast<std::uint64_t>(row));
      }
      if (is_there && one.answer) order[tablet][first] = *one.answer;
    }
    if (one.rows.size() > 1 && is_there) ++together;
  }

  SeededRandom random_;
  TestTables tables_;
  std::size_t tablets_ = 2;
  std::vector<AppendedPtr> all_;
  std::int64_t made_ = 0;
  std::map<std::size_t, std::vector<std::string>> known_;  // By tablet and number.
  std::map<std::size_t, std::uint64_t> trimmed_;
};

TEST(OrderedTablesModel, NothingIsLostDoubledReorderedOrTorn) {
  std::size_t rows = 0;
  std::size_t together = 0;
  for (std::uint64_t seed = 1; seed <= 6 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    OrderedModel model(seed);
    model.run();
    rows += model.rows();
    together += model.together;
  }
  EXPECT_GT(rows, 300u);
  EXPECT_GT(together, 50u);
}

}  // namespace
}  // namespace moraine
