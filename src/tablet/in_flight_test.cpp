// Several log entries of one leader in flight: what the next boot accepts.

#include "blob/proxy/test_group.h"
#include "tablet/test_tablet.h"

namespace moraine {
namespace {

using Words = std::vector<std::string>;

class InFlightTest : public testing::Test {
 protected:
  explicit InFlightTest(std::uint64_t seed = 5)
      : world_(seed), storage_(std::make_unique<TestStorage>(world_)) {}
  ~InFlightTest() override {
    tablets_.clear();
    world_.shutdown();
  }

  WordsTablet& boot(LeaderOptions options = {}) {
    auto booted = world_.run(WordsTablet::boot(storage_->world(), *storage_, options));
    INVARIANT(booted, "{}", booted.error().message());
    tablets_.push_back(std::move(*booted));
    return *tablets_.back();
  }
  void stop(WordsTablet& tablet) {
    world_.run(tablet.leader->stop(false));
    std::erase_if(tablets_, [&](const auto& t) { return t.get() == &tablet; });
  }
  // A leader of generation 2 that said `words`, one entry each, and ended.
  void say_and_stop(const Words& words) {
    WordsTablet& tablet = boot();
    for (const std::string& word : words) ASSERT_TRUE(world_.run(tablet.say(word)));
    stop(tablet);
  }

  BlobId data_id(Step step) { return {TabletId{42}, 2, step, kFirstDataChannel, 7, 1}; }
  void put(BlobId id, ByteChain data) {
    blob::PutRequest request;
    request.id = id;
    request.data = std::move(data);
    ASSERT_EQ(world_.run(storage_->group(kTestGroup)->put(request)).status, blob::Status::kOk);
  }
  // What a leader of generation 2 wrote before it crashed.
  void put_entry(Step step, std::uint8_t unconfirmed, std::vector<BlobId> references = {}) {
    LogEntry entry;
    entry.unconfirmed = unconfirmed;
    entry.bodies.push_back(WordsState::encode(fmt::format("step {}", step), references));
    entry.references = std::move(references);
    const ByteChain bytes = encode(entry);
    put({TabletId{42}, 2, step, kLogChannel, static_cast<std::uint32_t>(bytes.size()), 0}, bytes);
  }
  // Boots twice: what the first decides, the second finds.
  Words words_after_boots() {
    WordsTablet& first = boot();
    const Words words = first.state.words;
    stop(first);
    WordsTablet& second = boot();
    EXPECT_EQ(second.state.words, words);
    stop(second);
    return words;
  }

  SimWorld world_;
  std::unique_ptr<TestStorage> storage_;
  std::vector<std::unique_ptr<WordsTablet>> tablets_;
};

TEST_F(InFlightTest, EntriesUpToTheFirstThatIsMissingCount) {
  say_and_stop({"first"});
  put_entry(2, 0);
  put_entry(3, 1);
  put_entry(5, 3);
  EXPECT_EQ(words_after_boots(), (Words{"first", "step 2", "step 3"}));
}

TEST_F(InFlightTest, WithTheFirstOfThemMissingNoneCounts) {
  say_and_stop({"first"});
  put_entry(3, 1);
  put_entry(4, 2);
  EXPECT_EQ(words_after_boots(), (Words{"first"}));
}

TEST_F(InFlightTest, AllCountWhenNoneIsMissing) {
  say_and_stop({"first"});
  put_entry(3, 1);
  put_entry(4, 2);
  put_entry(2, 0);
  EXPECT_EQ(words_after_boots(), (Words{"first", "step 2", "step 3", "step 4"}));
}

TEST_F(InFlightTest, AnEntryWithoutABlobThatItRefersToEndsTheLog) {
  say_and_stop({"first"});
  put(data_id(2), Buffer::zeroed(7).freeze());
  put_entry(2, 0, {data_id(2)});
  put_entry(3, 1, {data_id(3)});
  put_entry(4, 2);
  EXPECT_EQ(words_after_boots(), (Words{"first", "step 2"}));
}

TEST_F(InFlightTest, AMissingEntryThatWasConfirmedIsAnError) {
  say_and_stop({"first"});
  put_entry(3, 1);
  put_entry(5, 1);
  const auto booted = world_.run(WordsTablet::boot(storage_->world(), *storage_));
  ASSERT_FALSE(booted);
  EXPECT_EQ(booted.error().code, Errc::kCorrupt) << booted.error().message();
}

TEST_F(InFlightTest, AnEntryWithMoreUnconfirmedThanThereAreBeforeItIsCorrupt) {
  say_and_stop({"first"});
  put_entry(2, 2);
  const auto booted = world_.run(WordsTablet::boot(storage_->world(), *storage_));
  ASSERT_FALSE(booted);
  EXPECT_EQ(booted.error().code, Errc::kCorrupt) << booted.error().message();
}

TEST_F(InFlightTest, CommitsMadeWhileAnEntryIsWrittenAreWrittenBesideIt) {
  for (const std::size_t most : {std::size_t{1}, std::size_t{3}}) {
    LeaderOptions options;
    options.entries_in_flight = most;
    WordsTablet& tablet = boot(options);
    const Step before = tablet.leader->position().step;
    TaskScope commits;
    const auto one = [](WordsTablet& to) -> Task<void> { EXPECT_TRUE(co_await to.say("word")); };
    for (int i = 0; i < 8; ++i) {
      commits.spawn(one(tablet));
      world_.run_for(1us);
    }
    world_.run_for(1s);
    EXPECT_EQ(commits.live(), 0u);
    // One for the first commit, and all that waited in one more; or three at once and one more.
    EXPECT_EQ(tablet.leader->position().step - before, most == 1 ? 2u : 4u);
    stop(tablet);
  }
}

TEST_F(InFlightTest, ACommitThatNeedsTheOthersConfirmedWaitsForThem) {
  WordsTablet& tablet = boot();
  std::size_t confirmed_at_body = 99;
  const auto dependent = [](WordsTablet& to, std::size_t& seen) -> Task<void> {
    CommitRequest request;
    request.after_confirmed = [] { return true; };
    request.body = [&to, &seen](const std::vector<BlobId>&) {
      seen = to.state.words.size();
      return WordsState::encode("last", {});
    };
    EXPECT_TRUE(co_await to.leader->commit(std::move(request), [](const std::vector<BlobId>&) {}));
  };
  const auto one = [](WordsTablet& to) -> Task<void> { EXPECT_TRUE(co_await to.say("word")); };
  TaskScope commits;
  for (int i = 0; i < 3; ++i) {
    commits.spawn(one(tablet));
    world_.run_for(1us);
  }
  commits.spawn(dependent(tablet, confirmed_at_body));
  world_.run_for(1s);
  EXPECT_EQ(commits.live(), 0u);
  EXPECT_EQ(confirmed_at_body, 3u);
  stop(tablet);
}

// Else all of them would share every entry, and nothing would run while it is written.
TEST_F(InFlightTest, ManyWritersOfOneEntryBecomeTwoGroups) {
  constexpr int kWriters = 32;
  constexpr int kRounds = 10;
  WordsTablet& tablet = boot();
  const Step before = tablet.leader->position().step;
  const auto writer = [](WordsTablet& to) -> Task<void> {
    for (int i = 0; i < kRounds; ++i) EXPECT_TRUE(co_await to.say("word"));
  };
  TaskScope writers;
  for (int i = 0; i < kWriters; ++i) writers.spawn(writer(tablet));
  world_.run_for(1s);
  EXPECT_EQ(writers.live(), 0u);
  EXPECT_EQ(tablet.state.words.size(), std::size_t{kWriters * kRounds});
  const Step entries = tablet.leader->position().step - before;
  EXPECT_GE(entries, 2u * kRounds - 2);
  EXPECT_LE(entries, 2u * kRounds + 2);
  stop(tablet);
}

TEST_F(InFlightTest, CallersThatWereNotAnsweredYetAreAnsweredWhenTheLeaderStops) {
  constexpr int kWriters = 32;
  WordsTablet& tablet = boot();
  int answered = 0;
  const auto writer = [](WordsTablet& to, int& good) -> Task<void> {
    EXPECT_TRUE(co_await to.say("word"));
    // The first that is answered stops the leader, while others are not answered yet.
    if (++good == 1) to.leader->abandon();
  };
  TaskScope writers;
  for (int i = 0; i < kWriters; ++i) writers.spawn(writer(tablet, answered));
  world_.run_for(1s);
  EXPECT_EQ(answered, kWriters);
  EXPECT_EQ(writers.live(), 0u);
  stop(tablet);
  EXPECT_EQ(words_after_boots().size(), std::size_t{kWriters});
}

// The blob of an entry is dead when another entry, written beside it, has replaced it. A barrier
// that collected it would make the next boot refuse an acknowledged entry.
TEST_F(InFlightTest, DeadBlobsOfEntriesThatTheNextBootChecksAreNotCollected) {
  WordsTablet& tablet = boot();
  ASSERT_TRUE(world_.run(tablet.say("first")));
  TaskScope commits;
  const auto one = [](WordsTablet& to) -> Task<void> { EXPECT_TRUE(co_await to.say("word", 9)); };
  for (int i = 0; i < 4; ++i) {
    commits.spawn(one(tablet));
    world_.run_for(1us);
  }
  world_.run_for(1s);
  world_.run(tablet.leader->collect_now());  // What earlier incarnations left.
  tablet.leader->discard(std::exchange(tablet.state.blobs, {}));
  world_.run(tablet.leader->collect_now());
  stop(tablet);
  EXPECT_EQ(words_after_boots(), (Words{"first", "word", "word", "word", "word"}));
}

// One group of one disk that answers as the test says.
class ScriptedGroups final : public BlobGroups {
 public:
  blob::Proxy* group(GroupId) override { return &group_.proxy(); }
  blob::TestGroup& operator*() { return group_; }
  blob::ScriptedDisk& disk() { return group_.disk(0); }

 private:
  blob::TestGroup group_{blob::Species::kNone};
};

TEST(InFlightColour, TheResultOfAnOlderEntryDoesNotReplaceThatOfANewerOne) {
  ScriptedGroups groups;
  auto booted = (*groups).run(WordsTablet::boot((*groups).world(), groups));
  ASSERT_TRUE(booted) << booted.error().message();
  WordsTablet& tablet = **booted;
  const auto one = [](WordsTablet& to, std::string word) -> Task<void> {
    EXPECT_TRUE(co_await to.say(std::move(word)));
  };
  TaskScope commits;
  groups.disk().delay = 20ms;
  commits.spawn(one(tablet, "slow"));
  (*groups).wait(1ms);
  groups.disk().delay = 1ms;
  groups.disk().colour = blob::Colour::kYellow;
  commits.spawn(one(tablet, "fast"));
  (*groups).wait(5ms);
  EXPECT_EQ(groups.disk().puts, 3u) << "the zero entry and both words";
  groups.disk().colour = blob::Colour::kGreen;
  EXPECT_EQ(commits.live(), 2u);
  (*groups).wait(50ms);
  EXPECT_EQ(tablet.state.words, (Words{"slow", "fast"}));
  EXPECT_EQ(tablet.leader->colour(), blob::Colour::kYellow);
  (*groups).run(tablet.leader->stop(false));
}

class InFlightCrash : public InFlightTest, public testing::WithParamInterface<int> {
 protected:
  InFlightCrash() : InFlightTest(static_cast<std::uint64_t>(GetParam())) {}
};

// Whatever the moment of a crash: acknowledged words are there, in order, without a gap.
TEST_P(InFlightCrash, KeepsEveryAcknowledgedCommit) {
  SeededRandom random(static_cast<std::uint64_t>(GetParam()));
  Words expected;
  for (int life = 0; life < 4; ++life) {
    WordsTablet& tablet = boot();
    EXPECT_EQ(tablet.state.words, expected);
    const Words before = tablet.state.words;
    TaskScope commits;
    const auto one = [](WordsTablet& to, std::string word, std::size_t bytes) -> Task<void> {
      (void)co_await to.say(std::move(word), bytes);
    };
    const int words = static_cast<int>(random.next() % 60);
    for (int i = 0; i < words; ++i) {
      commits.spawn(
          one(tablet, fmt::format("{}-{}", life, i), random.next() % 3 == 0 ? 50'000 : 0));
      world_.run_for(Duration(random.next() % 400'000));
    }
    expected = tablet.state.words;
    tablet.leader->abandon();
    storage_->crash();
    world_.run_for(60s);
    ASSERT_EQ(commits.live(), 0u);
    tablets_.clear();
    WordsTablet& next = boot();
    ASSERT_GE(next.state.words.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(next.state.words[i], expected[i]);
    for (std::size_t i = before.size(); i < next.state.words.size(); ++i) {
      EXPECT_EQ(next.state.words[i], fmt::format("{}-{}", life, i - before.size()));
    }
    expected = next.state.words;
    stop(next);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, InFlightCrash, testing::Range(1, 30));

}  // namespace
}  // namespace moraine
