// Snapshots that leave a part of the state in the log.

#include <gtest/gtest.h>

#include "io/sim/sim_world.h"
#include "tablet/test_tablet.h"

namespace moraine {
namespace {

using Words = std::vector<std::string>;

// A list of words. A snapshot has the first ones; the others stay in the log, a commit each.
class KeptWords final : public TabletState {
 public:
  Words words;
  std::vector<GenStep> places;  // By word; (0, 0): in a snapshot.
  std::size_t in_pages = 0;     // Words of the next snapshot.
  std::size_t kept = 0;         // Words from replay_kept().

  static Slice encode(const Words& some) {
    Encoder encoder;
    for (const std::string& word : some) encoder.sized(word);
    return encoder.size() == 0 ? Encoder().sized(std::string_view()).slice() : encoder.slice();
  }
  Result<void> replay(const Slice& body) override {
    Decoder decoder(body);
    while (decoder.remaining() > 0) {
      const std::string word(as_text(decoder.sized()));
      if (word.empty()) continue;
      words.push_back(word);
      places.push_back(at_);
    }
    return {};
  }
  Result<void> replay_kept(const Slice& body) override {
    ++kept;
    return replay(body);
  }
  Result<void> restore(const std::vector<Slice>& pages) override {
    for (const Slice& page : pages) {
      TRY_VOID(replay(page));
    }
    in_pages = words.size();
    return {};
  }
  void replaying(GenStep at) override { at_ = at; }
  std::vector<Slice> snapshot() const override {
    return {encode(Words(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(in_pages)))};
  }
  GenStep needed_since() const override {
    return in_pages < words.size() ? places[in_pages] : GenStep{};
  }
  std::vector<BlobId> live_blobs() const override { return {}; }

 private:
  GenStep at_;
};

struct KeptTablet {
  KeptWords state;
  std::unique_ptr<Leader> leader;

  static Task<Result<std::unique_ptr<KeptTablet>>> boot(World world, BlobGroups& groups) {
    auto tablet = std::make_unique<KeptTablet>();
    CO_TRY(tablet->leader,
           co_await Leader::boot(world, groups, WordsTablet::info(), tablet->state, {}));
    co_return std::move(tablet);
  }
  Task<Result<void>> say(std::string word) {
    CommitRequest request;
    request.body = [word](const std::vector<BlobId>&) { return KeptWords::encode({word}); };
    co_return co_await leader->commit(std::move(request), [this, word](const auto&) {
      state.words.push_back(word);
      state.places.push_back(leader->position());
    });
  }
  // A snapshot with the first words only.
  Task<Result<void>> cut(std::size_t in_pages) {
    state.in_pages = in_pages;
    leader->want_snapshot();
    co_return co_await leader->confirm_lead();
  }
};

class KeptLogTest : public testing::Test {
 protected:
  KeptLogTest() : world_(7), storage_(world_) {}
  ~KeptLogTest() override {
    tablet_.reset();
    world_.shutdown();
  }
  KeptTablet& boot() {
    auto booted = world_.run(KeptTablet::boot(storage_.world(), storage_));
    INVARIANT(booted, "{}", booted.error().message());
    tablet_ = std::move(*booted);
    return *tablet_;
  }
  void stop(bool snapshot = false) {
    world_.run(tablet_->leader->stop(snapshot));
    tablet_.reset();
  }
  void say(int count) {
    for (int i = 0; i < count; ++i) {
      expected_.push_back(fmt::format("word {}", expected_.size()));
      ASSERT_TRUE(world_.run(tablet_->say(expected_.back())));
    }
  }
  std::size_t log_blobs() {
    blob::RangeRequest request;
    request.from = BlobId::lowest(TabletId{42}, kLogChannel);
    request.to = BlobId::highest(TabletId{42}, kLogChannel);
    request.index_only = true;
    return world_.run(storage_.group(kTestGroup)->range(request)).items.size();
  }

  SimWorld world_;
  TestStorage storage_;
  std::unique_ptr<KeptTablet> tablet_;
  Words expected_;
};

TEST_F(KeptLogTest, WhatASnapshotLeavesOutIsReplayedBeforeWhatFollowsIt) {
  boot();
  say(10);
  ASSERT_TRUE(world_.run(tablet_->cut(6)));
  say(3);
  stop();
  KeptTablet& again = boot();
  EXPECT_EQ(again.state.words, expected_);
  EXPECT_EQ(again.state.kept, 4u);
  stop();
}

TEST_F(KeptLogTest, TheLogIsCollectedUpToWhatIsNeededAndNoFurther) {
  boot();
  say(50);
  ASSERT_TRUE(world_.run(tablet_->cut(40)));
  world_.run_for(10s);
  // Ten words, the snapshot and the commit after it; the zero entry is collected too.
  EXPECT_EQ(log_blobs(), 12u);
  ASSERT_TRUE(world_.run(tablet_->cut(50)));
  world_.run_for(10s);
  EXPECT_EQ(log_blobs(), 2u);
  stop();
  EXPECT_EQ(boot().state.words, expected_);
  EXPECT_EQ(tablet_->state.kept, 0u);
  stop();
}

TEST_F(KeptLogTest, TheNeededLogMayGoOverManyGenerations) {
  for (int life = 0; life < 6; ++life) {
    boot();
    EXPECT_EQ(tablet_->state.words, expected_) << life;
    say(5);
    // What began two lives ago stays in the log.
    const std::size_t cut = expected_.size() < 12 ? 0 : expected_.size() - 12;
    if (life % 2 == 0) {
      ASSERT_TRUE(world_.run(tablet_->cut(cut)));
    }
    world_.run_for(5s);
    stop(life % 3 == 0);
  }
  EXPECT_EQ(boot().state.words, expected_);
  stop();
}

Task<void> talk(KeptTablet& tablet, Words& said, std::uint64_t seed) {
  SeededRandom random(seed);
  for (int i = 0; i < 1'000; ++i) {
    const std::string word = fmt::format("{}/{}", seed, i);
    if (!co_await tablet.say(word)) co_return;
    said.push_back(word);
    if (!random.one_in(7)) continue;
    const std::size_t first = tablet.state.in_pages;
    const std::size_t cut = first + random.below(tablet.state.words.size() - first + 1);
    if (!co_await tablet.cut(cut)) co_return;
  }
}

TEST_F(KeptLogTest, AnAcknowledgedWordSurvivesPowerCutsAtAnyMoment) {
  SeededRandom random(8);
  Words confirmed;
  for (std::uint64_t life = 0; life < 40; ++life) {
    boot();
    // What was confirmed is a prefix; one more may have been in flight.
    const Words& words = tablet_->state.words;
    ASSERT_GE(words.size(), confirmed.size());
    ASSERT_TRUE(std::equal(confirmed.begin(), confirmed.end(), words.begin()));
    confirmed = words;
    TaskScope scope;
    scope.spawn(talk(*tablet_, confirmed, life));
    world_.run_for(Duration(random.below(20'000'000)));
    storage_.node().on_stop([&] { tablet_->leader->abandon(); });
    storage_.node().on_crash([&] { tablet_.reset(); });
    storage_.crash();
    ASSERT_EQ(scope.live(), 0u);
  }
  EXPECT_GT(confirmed.size(), 100u);
}

}  // namespace
}  // namespace moraine
