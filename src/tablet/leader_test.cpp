#include "tablet/leader.h"

#include "tablet/test_tablet.h"

namespace moraine {
namespace {

using Words = std::vector<std::string>;

class LeaderTest : public testing::Test {
 protected:
  LeaderTest() : world_(3), storage_(world_) {}
  ~LeaderTest() override {
    tablets_.clear();
    world_.shutdown();
  }

  WordsTablet& boot(LeaderOptions options = {}) {
    auto booted = world_.run(WordsTablet::boot(storage_.world(), storage_, options));
    INVARIANT(booted, "{}", booted.error().message());
    tablets_.push_back(std::move(*booted));
    return *tablets_.back();
  }
  void stop(WordsTablet& tablet, bool snapshot = false) {
    world_.run(tablet.leader->stop(snapshot));
    std::erase_if(tablets_, [&](const auto& t) { return t.get() == &tablet; });
  }
  void say(WordsTablet& tablet, const std::string& word, std::size_t blob_bytes = 0) {
    const auto said = world_.run(tablet.say(word, blob_bytes));
    ASSERT_TRUE(said) << said.error().message();
  }
  std::size_t blobs_in(Channel channel) {
    blob::RangeRequest request;
    request.from = BlobId::lowest(TabletId{42}, channel);
    request.to = BlobId::highest(TabletId{42}, channel);
    request.index_only = true;
    const auto found = world_.run(storage_.group(kTestGroup)->range(request));
    EXPECT_EQ(found.status, blob::Status::kOk) << found.reason;
    return found.items.size();
  }

  SimWorld world_;
  TestStorage storage_;
  std::vector<std::unique_ptr<WordsTablet>> tablets_;
};

// Not generation 1: a block below it would have no issuer, and two first boots could both succeed.
TEST_F(LeaderTest, ANewTabletStartsEmptyAtGenerationTwo) {
  WordsTablet& tablet = boot();
  EXPECT_EQ(tablet.leader->generation(), 2u);
  EXPECT_TRUE(tablet.state.words.empty());
  stop(tablet);
}

TEST_F(LeaderTest, EveryConfirmedCommitIsThereAfterEachBoot) {
  Words expected;
  for (int life = 0; life < 5; ++life) {
    WordsTablet& tablet = boot();
    EXPECT_EQ(tablet.leader->generation(), static_cast<Generation>(life + 2));
    EXPECT_EQ(tablet.state.words, expected);
    for (int i = 0; i < 3; ++i) {
      expected.push_back(fmt::format("{}-{}", life, i));
      say(tablet, expected.back(), i == 1 ? 100'000 : 0);
    }
    stop(tablet);
  }
  WordsTablet& last = boot();
  EXPECT_EQ(last.state.words, expected);
  EXPECT_EQ(last.state.blobs.size(), 5u);
  stop(last);
}

TEST_F(LeaderTest, ASnapshotThatIsWantedIsWrittenBeforeTheNextCommit) {
  WordsTablet& tablet = boot();
  say(tablet, "before");
  EXPECT_GT(tablet.leader->log_bytes(), 0u);
  tablet.leader->want_snapshot();
  world_.run_for(1s);
  EXPECT_EQ(tablet.leader->log_bytes(), 0u);
  say(tablet, "after");
  EXPECT_EQ(blobs_in(kSnapshotChannel), 1u);
  stop(tablet);
  WordsTablet& again = boot();
  EXPECT_EQ(again.state.words, (Words{"before", "after"}));
  stop(again);
}

TEST_F(LeaderTest, ALeaderThatWasSupersededNeverGetsOkAgain) {
  WordsTablet& old = boot();
  say(old, "first");
  WordsTablet& fresh = boot();
  const auto said = world_.run(old.say("late"));
  ASSERT_FALSE(said);
  EXPECT_EQ(said.error().code, Errc::kConflict);
  EXPECT_TRUE(old.leader->ended());
  say(fresh, "second");
  EXPECT_EQ(fresh.state.words, (Words{"first", "second"}));
  stop(old);
  stop(fresh);
}

TEST_F(LeaderTest, ABootThatCrashedAfterItsBlockDoesNotPreventTheNext) {
  for (Generation generation = 1; generation < 4; ++generation) {
    blob::BlockRequest request;
    request.tablet = TabletId{42};
    request.generation = generation + 1;
    ASSERT_EQ(world_.run(storage_.group(kTestGroup)->block(request)).status, blob::Status::kOk);
    WordsTablet& tablet = boot();
    EXPECT_GT(tablet.leader->generation(), generation + 1);
    generation = tablet.leader->generation();
    stop(tablet);
  }
}

TEST_F(LeaderTest, OfTwoFirstBootsAtOnceOneSucceeds) {
  TaskScope scope;
  std::vector<Result<std::unique_ptr<WordsTablet>>> booted(2);
  const auto one = [](World world, BlobGroups& groups,
                      Result<std::unique_ptr<WordsTablet>>& out) -> Task<void> {
    out = co_await WordsTablet::boot(world, groups);
  };
  for (auto& out : booted) scope.spawn(one(storage_.world(), storage_, out));
  world_.run_for(5s);
  int leaders = 0;
  for (auto& out : booted) {
    if (!out) continue;
    if (world_.run((*out)->say("mine"))) ++leaders;
    world_.run((*out)->leader->stop(false));
  }
  EXPECT_EQ(leaders, 1);
}

// A commit deletes a blob of its own entry; no commit follows it, and the collector runs.
TEST_F(LeaderTest, CollectionNeverTakesWhatTheNewestEntryNeedsToCount) {
  WordsTablet& tablet = boot();
  say(tablet, "first");
  say(tablet, "second", 10'000);
  tablet.leader->discard({tablet.state.blobs.back()});
  tablet.state.blobs.clear();
  world_.run_for(30s);
  stop(tablet);
  EXPECT_EQ(boot().state.words, (Words{"first", "second"}));
  stop(*tablets_.back());
}

TEST_F(LeaderTest, CommitsThatWaitTogetherShareAnEntry) {
  WordsTablet& tablet = boot();
  TaskScope scope;
  std::size_t done = 0;
  const auto one = [](WordsTablet& t, int i, std::size_t& count) -> Task<void> {
    if (co_await t.say(std::to_string(i))) ++count;
  };
  for (int i = 0; i < 100; ++i) scope.spawn(one(tablet, i, done));
  world_.run_for(1s);
  EXPECT_EQ(done, 100u);
  EXPECT_EQ(scope.live(), 0u);
  EXPECT_LT(blobs_in(kLogChannel), 10u);
  stop(tablet);
  EXPECT_EQ(boot().state.words.size(), 100u);
  stop(*tablets_.back());
}

TEST_F(LeaderTest, SnapshotsShortenTheLogAndOldBlobsAreCollected) {
  LeaderOptions options;
  options.snapshot_log_bytes = 2'000;
  WordsTablet& tablet = boot(options);
  for (int i = 0; i < 200; ++i) say(tablet, fmt::format("a word of some length {}", i));
  const Words words = tablet.state.words;
  world_.run_for(10s);
  EXPECT_LT(blobs_in(kLogChannel), 60u);
  EXPECT_LE(blobs_in(kSnapshotChannel), 2u);
  stop(tablet);
  WordsTablet& again = boot(options);
  EXPECT_EQ(again.state.words, words);
  stop(again, true);
  WordsTablet& third = boot(options);
  EXPECT_EQ(third.state.words, words);
  stop(third);
}

TEST_F(LeaderTest, BlobsThatNothingRefersToAreCollectedAfterABoot) {
  WordsTablet& tablet = boot();
  say(tablet, "kept", 50'000);
  say(tablet, "forgotten", 50'000);
  stop(tablet);
  EXPECT_EQ(blobs_in(kFirstDataChannel), 2u);
  // The next incarnation drops the second blob from its state without a discard().
  WordsTablet& next = boot();
  next.state.blobs.pop_back();
  world_.run_for(10s);
  EXPECT_EQ(blobs_in(kFirstDataChannel), 1u);
  stop(next);
}

TEST_F(LeaderTest, AnAcknowledgedWordSurvivesPowerCutsAtAnyMoment) {
  SeededRandom random(8);
  Words confirmed;
  for (int life = 0; life < 30; ++life) {
    auto tablet = world_.run(WordsTablet::boot(storage_.world(), storage_));
    ASSERT_TRUE(tablet) << tablet.error().message();
    // What was confirmed is a prefix; one more may have been in flight.
    const Words& words = (*tablet)->state.words;
    ASSERT_GE(words.size(), confirmed.size());
    ASSERT_TRUE(std::equal(confirmed.begin(), confirmed.end(), words.begin()));
    confirmed = words;
    TaskScope scope;
    const auto talk = [](WordsTablet& t, Words& out, int life_number) -> Task<void> {
      for (int i = 0; i < 1000; ++i) {
        const std::string word = fmt::format("{}/{}", life_number, i);
        if (!co_await t.say(word, i % 5 == 0 ? 10'000 : 0)) co_return;
        out.push_back(word);
      }
    };
    scope.spawn(talk(**tablet, confirmed, life));
    world_.run_for(Duration(random.below(20'000'000)));
    storage_.node().on_stop([&] { (*tablet)->leader->abandon(); });
    storage_.node().on_crash([&] { tablet->reset(); });
    storage_.crash();
    ASSERT_EQ(scope.live(), 0u);
  }
  EXPECT_GT(confirmed.size(), 100u);
}

TEST_F(LeaderTest, ATabletWithoutGarbageDoesNotWake) {
  const auto events_in_a_while = [this] {
    const std::uint64_t before = world_.executor().events_run();
    world_.run_for(100s);
    return world_.executor().events_run() - before;
  };
  world_.run_for(20s);
  const std::uint64_t without = events_in_a_while();
  WordsTablet& tablet = boot();
  say(tablet, "word", 10'000);
  world_.run_for(20s);  // Leftovers are collected.
  EXPECT_LE(events_in_a_while(), without + 5);
  // Garbage is collected in its time.
  tablet.leader->discard(std::exchange(tablet.state.blobs, {}));
  for (const char* word : {"a", "b"}) say(tablet, word);
  world_.run_for(20s);
  EXPECT_EQ(blobs_in(kFirstDataChannel), 0u);
  stop(tablet);
}

TEST_F(LeaderTest, AStopEndsWithTheLastCommitAndItsSnapshot) {
  WordsTablet& tablet = boot();
  Instant said;
  TaskScope tasks;
  const auto talk = [this](WordsTablet& to, Instant& at) -> Task<void> {
    EXPECT_TRUE(co_await to.say("word", 10'000));
    at = world_.executor().now();
  };
  tasks.spawn(talk(tablet, said));
  world_.run(tablet.leader->stop(false));
  EXPECT_EQ(tasks.live(), 0u);
  EXPECT_EQ(world_.executor().now(), said) << "it looks again when something has changed";
  tablets_.clear();
  WordsTablet& next = boot();
  EXPECT_EQ(next.state.words, Words{"word"});
  stop(next, true);
}

TEST_F(LeaderTest, ADeletedTabletDoesNotBootAndLeavesNothing) {
  WordsTablet& tablet = boot();
  say(tablet, "word", 10'000);
  const auto deleted = world_.run(delete_tablet(storage_.world(), storage_, WordsTablet::info()));
  ASSERT_TRUE(deleted) << deleted.error().message();
  EXPECT_FALSE(world_.run(tablet.say("late")));
  stop(tablet);
  EXPECT_FALSE(world_.run(WordsTablet::boot(storage_.world(), storage_)));
  EXPECT_EQ(blobs_in(kFirstDataChannel), 0u);
  EXPECT_TRUE(world_.run(delete_tablet(storage_.world(), storage_, WordsTablet::info())));
}

}  // namespace
}  // namespace moraine
