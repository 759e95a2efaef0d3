// Writes that go to the log in parts.
#include <gtest/gtest.h>

#include <map>

#include "table/model/limits.h"
#include "table/tablet/test_table.h"

namespace moraine::table {
namespace {

constexpr TabletId kCoordinator{500};

TEST(LongWrite, ValuesAsLongAsTheyMayBeAreCommittedFlushedAndReadAgain) {
  TestTable table(31, test_schema(), {}, 64u << 20);
  table.boot();
  std::string text(kValueBytesMax, 'a');
  for (std::size_t i = 0; i < text.size(); i += 100) text[i] = static_cast<char>('a' + i % 23);
  const auto written = table.write({table.rows.put({{"k", 1}, {"v", std::string_view(text)}}),
                                    table.rows.put({{"k", 2}, {"v", std::string_view(text)}})});
  ASSERT_TRUE(written) << written.error().message();
  const auto is_there = [&](int key) {
    return table.get({{"k", key}}) == fmt::format("k={} v={}", key, text);
  };
  EXPECT_TRUE(is_there(1) && is_there(2));
  table.crash();
  EXPECT_TRUE(is_there(1) && is_there(2));
  table.flush();
  EXPECT_TRUE(is_there(1) && is_there(2));
  table.put({{"k", 1}, {"v", "short"}});
  table.compact();
  table.restart();
  EXPECT_EQ(table.get({{"k", 1}}), "k=1 v=short");
  EXPECT_TRUE(is_there(2));
}

TEST(LongWrite, FewRunAtTheSameTime) {
  TestTable table(32);
  table.settings.limits.write_bytes_max = 100;
  table.settings.limits.write_part_bytes = 50;
  table.boot();
  const std::string text(500, 'x');
  TaskScope scope;
  std::vector<Result<Timestamp>> answers(kLongWritesMax + 1, fail(Errc::kTimeout, ""));
  const auto commit = [&](int key, Result<Timestamp>& answer) -> Task<void> {
    answer = co_await table.tablet->commit(
        table.transaction({table.rows.put({{"k", key}, {"v", std::string_view(text)}})}));
  };
  for (std::size_t i = 0; i < answers.size(); ++i) {
    scope.spawn(commit(static_cast<int>(i), answers[i]));
  }
  table.world.run_for(5s);
  for (std::size_t i = 0; i < kLongWritesMax; ++i) EXPECT_TRUE(answers[i]);
  ASSERT_FALSE(answers.back());
  EXPECT_EQ(answers.back().error().code, Errc::kOverloaded);
  EXPECT_EQ(table.all().size(), kLongWritesMax);
  EXPECT_TRUE(table.write({table.rows.put({{"k", 9}, {"v", std::string_view(text)}})}));
}

struct Pair {
  int key = 0;
  bool two_phase = false;
  Timestamp at = 0;  // Of a prepared one that was decided.
  TransactionId id;
  Result<Timestamp> answer = fail(Errc::kTimeout, "not answered");
};

// Pairs of rows, most of them longer than an entry of the log, while the power is cut.
class Story {
 public:
  explicit Story(std::uint64_t seed) : random_(seed), table_(seed, test_schema(), small_stores()) {
    table_.settings.limits.write_bytes_max = 300;
    table_.settings.limits.write_part_bytes = 150;
    table_.boot();
  }
  void run() {
    for (int round = 0; round < 12 && !testing::Test::HasFatalFailure(); ++round) {
      TaskScope scope;
      const std::uint64_t count = 1 + random_.below(12);
      for (std::uint64_t i = 0; i < count; ++i) {
        begin(scope);
        table_.world.run_for(Duration(1us) * random_.below(1'500));
      }
      if (random_.one_in(4)) table_.world.run_for(1s);
      table_.crash();
      finish_prepared();
      check();
    }
  }
  std::size_t found = 0;

 private:
  static MountConfig small_stores() {
    MountConfig mount;
    mount.max_dynamic_store_row_count = 10;
    return mount;
  }
  static std::string text_of(int key) {
    return std::string(static_cast<std::size_t>(40 + key * 37 % 900),
                       static_cast<char>('a' + key % 26));
  }
  void begin(TaskScope& scope) {
    auto pair = std::make_shared<Pair>();
    pair->key = 2 * ++made_;
    pair->two_phase = random_.one_in(3);
    pairs_.push_back(pair);
    const std::string text = text_of(pair->key);
    std::vector<RowChange> changes;
    for (const int key : {pair->key, pair->key + 1}) {
      changes.push_back(table_.rows.put({{"k", key}, {"v", std::string_view(text)}}));
    }
    TabletWrite write = table_.transaction(std::move(changes));
    pair->id = write.transaction;
    scope.spawn(commit(pair, std::move(write)));
  }
  Task<void> commit(std::shared_ptr<Pair> pair, TabletWrite write) {
    if (!pair->two_phase) {
      pair->answer = co_await table_.tablet->commit(std::move(write));
      co_return;
    }
    const auto prepared = co_await table_.tablet->prepare(std::move(write), kCoordinator);
    if (!prepared) {
      pair->answer = std::unexpected(prepared.error());
      co_return;
    }
    pair->at = table_.timestamps.draw();
    const auto done = co_await table_.tablet->commit_prepared(pair->id, pair->at);
    if (done) pair->answer = pair->at;
  }
  void finish_prepared() {
    for (const auto& pair : pairs_) {
      if (!pair->two_phase || pair->answer) continue;
      if (pair->at != 0) {
        const auto told = table_.world.run(table_.tablet->commit_prepared(pair->id, pair->at));
        ASSERT_TRUE(told) << told.error().message();
        pair->answer = pair->at;
      } else {
        ASSERT_TRUE(table_.world.run(table_.tablet->abort_prepared(pair->id)));
        pair->answer = fail(Errc::kAborted, "");
      }
    }
  }
  void check() {
    for (const auto& pair : pairs_) {
      const std::string text = text_of(pair->key);
      const std::string first = table_.get({{"k", pair->key}});
      const std::string second = table_.get({{"k", pair->key + 1}});
      const bool is_there = first != "-";
      if (is_there) {
        ASSERT_EQ(first, fmt::format("k={} v={}", pair->key, text));
        ASSERT_EQ(second, fmt::format("k={} v={}", pair->key + 1, text));
      } else {
        ASSERT_EQ(second, "-") << "half of " << pair->key;
        ASSERT_FALSE(pair->answer) << pair->key << " is lost";
      }
      const bool refused = !pair->answer && pair->answer.error().code != Errc::kTimeout &&
                           pair->answer.error().code != Errc::kUnknownOutcome;
      ASSERT_FALSE(is_there && refused) << pair->key << ": " << pair->answer.error().message();
      if (is_there) pair->answer = Timestamp{1};  // It stays.
      if (is_there) ++found;
    }
  }

  SeededRandom random_;
  TestTable table_;
  std::vector<std::shared_ptr<Pair>> pairs_;
  int made_ = 0;
};

TEST(LongWrite, APowerCutLeavesAllOfItOrNothing) {
  std::size_t found = 0;
  for (std::uint64_t seed = 1; seed <= 15 && !testing::Test::HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Story story(seed);
    story.run();
    found += story.found;
  }
  EXPECT_GT(found, 500u);
}

}  // namespace
}  // namespace moraine::table
