// Power cuts while many clients append, prepare and trim: no row is lost, doubled, or out of order.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "table/tablet/write/test_ordered.h"

namespace moraine::table {
namespace {

constexpr TabletId kCoordinator{500};

struct Pending {
  TabletWrite write;
  std::vector<std::string> texts;
  bool two_phase = false;
  Timestamp at = 0;  // Of a prepared one that was decided.
  Result<Timestamp> answer = fail(Errc::kTimeout, "not answered");
  bool unknown() const {
    return answer.has_value() || answer.error().code == Errc::kUnknownOutcome ||
           answer.error().code == Errc::kTimeout;
  }
};

class Story {
 public:
  explicit Story(std::uint64_t seed) : random_(seed), table_(seed, small_stores()) {}

  void run() {
    for (int round = 0; round < 12 && !testing::Test::HasFatalFailure(); ++round) {
      TaskScope scope;
      const std::uint64_t steps = 1 + random_.below(30);
      for (std::uint64_t i = 0; i < steps; ++i) {
        begin(scope);
        if (random_.one_in(3)) table_.world.run_for(Duration(1us) * random_.below(400));
      }
      if (random_.one_in(3)) table_.world.run_for(2s);
      table_.crash();
      finish_prepared();
      check();
    }
  }
  std::size_t rows() const { return sure_.size(); }
  std::uint64_t trims = 0;

 private:
  static MountConfig small_stores() {
    MountConfig mount;
    mount.max_dynamic_store_row_count = 10;
    return mount;
  }

  Task<void> commit(std::shared_ptr<Pending> pending) {
    TabletWrite write = pending->write;
    if (!pending->two_phase) {
      pending->answer = co_await table_.tablet->commit(std::move(write));
      co_return;
    }
    const auto prepared = co_await table_.tablet->prepare(std::move(write), kCoordinator);
    if (!prepared) {
      pending->answer = std::unexpected(prepared.error());
      co_return;
    }
    pending->at = table_.timestamps.draw();
    const TransactionId id = pending->write.transaction;
    const auto done = co_await table_.tablet->commit_prepared(id, pending->at);
    if (done) pending->answer = pending->at;
  }
  Task<void> trim(std::uint64_t rows) {
    const auto done = co_await table_.tablet->trim(rows);
    if (done) trimmed_ = std::max(trimmed_, rows);
  }

  void begin(TaskScope& scope) {
    if (random_.one_in(8) && !sure_.empty()) {
      trim_asked_ = std::max(trim_asked_, random_.below(sure_.size() + 1));
      scope.spawn(trim(trim_asked_));
      ++trims;
      return;
    }
    auto pending = std::make_shared<Pending>();
    const std::uint64_t rows = 1 + random_.below(3);
    for (std::uint64_t i = 0; i < rows; ++i) pending->texts.push_back(fmt::format("r{}", ++made_));
    pending->write = table_.appending(pending->texts);
    pending->two_phase = random_.one_in(4);
    pendings_.push_back(pending);
    scope.spawn(commit(pending));
  }

  // As their coordinator would: a decision that was made is told again, all others are aborts.
  void finish_prepared() {
    for (const auto& pending : pendings_) {
      if (!pending->two_phase) continue;
      const TransactionId id = pending->write.transaction;
      if (pending->at != 0) {
        const auto told = table_.world.run(table_.tablet->commit_prepared(id, pending->at));
        ASSERT_TRUE(told) << told.error().message();
        pending->answer = pending->at;
      } else {
        ASSERT_TRUE(table_.world.run(table_.tablet->abort_prepared(id)));
        pending->answer = fail(Errc::kAborted, "");
      }
    }
  }

  void check() {
    const std::vector<std::string> found = table_.texts();
    const std::uint64_t first = table_.tablet->statistics().trimmed_rows;
    ASSERT_GE(first, trimmed_);
    ASSERT_LE(first, std::max(trim_asked_, trimmed_));
    trimmed_ = first;
    ASSERT_EQ(first + found.size(), table_.tablet->statistics().total_rows);
    ASSERT_GE(first + found.size(), sure_.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::size_t row = first + i;
      const std::string prefix = fmt::format("{}:", row);
      ASSERT_TRUE(found[i].starts_with(prefix)) << found[i] << " at " << row;
      const std::string text = found[i].substr(prefix.size());
      if (row < sure_.size()) {
        ASSERT_EQ(text, sure_[row]);
      } else {
        sure_.push_back(text);
      }
    }
    check_transactions();
  }

  // Each is there as a whole, its rows next to each other, and if it was acknowledged it is there.
  void check_transactions() {
    std::map<std::string, std::size_t> place;
    for (std::size_t i = 0; i < sure_.size(); ++i) {
      ASSERT_TRUE(place.emplace(sure_[i], i).second) << sure_[i] << " is doubled";
    }
    for (const auto& pending : pendings_) {
      const bool is_there = place.contains(pending->texts.front());
      if (pending->answer) {
        ASSERT_TRUE(is_there) << pending->texts.front() << " is lost";
      }
      ASSERT_TRUE(!is_there || pending->unknown()) << pending->answer.error().message();
      for (std::size_t i = 0; i < pending->texts.size(); ++i) {
        const auto found = place.find(pending->texts[i]);
        ASSERT_EQ(found != place.end(), is_there) << "half of a transaction";
        if (is_there) {
          ASSERT_EQ(found->second, place[pending->texts[0]] + i);
        }
      }
    }
    check_order(place);
    pendings_.clear();
  }

  // Rows have the order of commit timestamps.
  void check_order(const std::map<std::string, std::size_t>& place) {
    std::map<std::size_t, Timestamp> commits;
    for (const auto& pending : pendings_) {
      if (pending->answer) commits[place.at(pending->texts.front())] = *pending->answer;
    }
    Timestamp before = 0;
    for (const auto& [row, at] : commits) {
      ASSERT_GT(at, before) << "row " << row;
      before = at;
    }
  }

  SeededRandom random_;
  OrderedTable table_;
  std::vector<std::shared_ptr<Pending>> pendings_;
  std::vector<std::string> sure_;  // By number.
  std::uint64_t made_ = 0;
  std::uint64_t trimmed_ = 0;
  std::uint64_t trim_asked_ = 0;
};

TEST(AppendCrash, AtRandomMomentsLosesDoublesAndReordersNothing) {
  std::size_t rows = 0;
  std::uint64_t trims = 0;
  for (std::uint64_t seed = 1; seed <= 12 && !testing::Test::HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Story story(seed);
    story.run();
    rows += story.rows();
    trims += story.trims;
  }
  EXPECT_GT(rows, 300u);
  EXPECT_GT(trims, 50u);
}

}  // namespace
}  // namespace moraine::table
