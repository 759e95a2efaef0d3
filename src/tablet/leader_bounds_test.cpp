// Work that a leader splits into pieces, and corrupted state that it rejects.
#include "base/log.h"
#include "tablet/test_tablet.h"

namespace moraine {
namespace {

// A state of many small pages.
class PagesState final : public TabletState {
 public:
  std::vector<Slice> pages;
  Result<void> restore(const std::vector<Slice>& found) override {
    pages = found;
    return {};
  }
  Result<void> replay(const Slice&) override { return {}; }
  std::vector<Slice> snapshot() const override { return pages; }
  std::vector<BlobId> live_blobs() const override { return {}; }
};

class LeaderBounds : public testing::Test {
 protected:
  LeaderBounds() : world_(4), storage_(world_) {}
  ~LeaderBounds() override { world_.shutdown(); }

  std::size_t indexed() { return storage_.storage().vdisk(1, 0)->state().index().size(); }
  std::unique_ptr<WordsTablet> boot(LeaderOptions options = {}) {
    auto booted = world_.run(WordsTablet::boot(storage_.world(), storage_, options));
    INVARIANT(booted, "{}", booted.error().message());
    return std::move(*booted);
  }
  Errc boot_failure() {
    const auto booted = world_.run(WordsTablet::boot(storage_.world(), storage_));
    INVARIANT(!booted, "it booted");
    return booted.error().code;
  }
  // As a leader would have written it.
  void put_entry(GenStep at, const LogEntry& entry) {
    blob::PutRequest request;
    request.data = encode(entry);
    request.id = BlobId(TabletId{42}, at.generation, at.step, kLogChannel,
                        static_cast<std::uint32_t>(request.data.size()), 0);
    ASSERT_EQ(world_.run(storage_.group(kTestGroup)->put(std::move(request))).status,
              blob::Status::kOk);
  }

  SimWorld world_;
  TestStorage storage_;
};

TEST_F(LeaderBounds, ASnapshotIsWrittenWithFewBytesInFlight) {
  constexpr std::size_t kPages = 40;
  PagesState state;
  for (std::size_t i = 0; i < kPages; ++i) {
    state.pages.push_back(Slice::copy_of(std::string(1'000, static_cast<char>('a' + i % 26))));
  }
  LeaderOptions options;
  options.bytes_in_flight = 2'000;
  auto leader =
      world_.run(Leader::boot(storage_.world(), storage_, WordsTablet::info(), state, options));
  ASSERT_TRUE(leader) << leader.error().message();
  TaskScope scope;
  scope.spawn((*leader)->stop(true));
  std::size_t known = indexed();
  std::size_t most = 0;
  while (scope.live() > 0) {
    world_.run_for(1us);
    most = std::max(most, indexed() - known);
    known = indexed();
  }
  EXPECT_EQ(known, 1 + 1 + kPages) << "the zero entry, the snapshot's, the pages";
  EXPECT_LE(most, 3u);
  PagesState again;
  auto next = world_.run(Leader::boot(storage_.world(), storage_, WordsTablet::info(), again));
  ASSERT_TRUE(next);
  EXPECT_EQ(again.pages.size(), kPages);
  world_.run((*next)->stop(false));
}

TEST_F(LeaderBounds, LeftoversAreCollectedPageByPage) {
  auto tablet = boot();
  for (int i = 0; i < 11; ++i) ASSERT_TRUE(world_.run(tablet->say(std::to_string(i), 1'000)));
  world_.run(tablet->leader->stop(false));
  LeaderOptions options;
  options.leftover_ids = 3;
  auto next = boot(options);
  // Its state drops every other blob without a discard().
  std::vector<BlobId> kept;
  for (std::size_t i = 0; i < next->state.blobs.size(); i += 2)
    kept.push_back(next->state.blobs[i]);
  next->state.blobs = kept;
  world_.run_for(10s);
  blob::RangeRequest request;
  request.from = BlobId::lowest(TabletId{42}, kFirstDataChannel);
  request.to = BlobId::highest(TabletId{42}, kFirstDataChannel);
  request.index_only = true;
  const auto found = world_.run(storage_.group(kTestGroup)->range(request));
  ASSERT_EQ(found.items.size(), kept.size());
  for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(found.items[i].id, kept[i]);
  world_.run(next->leader->stop(false));
}

// A group whose proxy takes few flags at once.
class CollectPages : public testing::Test {
 protected:
  static constexpr std::size_t kFlags = 20;
  static constexpr std::size_t kWords = 90;

  CollectPages() : world_(4), storage_(world_, 1u << 20, few_flags()) {}
  ~CollectPages() override { world_.shutdown(); }

  static blob::BlobNodeOptions few_flags() {
    blob::BlobNodeOptions options;
    options.proxy.collect_flags = kFlags;
    return options;
  }
  std::unique_ptr<WordsTablet> boot(std::size_t flags_sent) {
    LeaderOptions options;
    options.collect_flags = flags_sent;
    auto booted = world_.run(WordsTablet::boot(storage_.world(), storage_, options));
    INVARIANT(booted, "{}", booted.error().message());
    for (std::size_t i = 0; i < kWords; ++i) {
      INVARIANT(world_.run((*booted)->say(std::to_string(i), 100)), "not written");
    }
    return std::move(*booted);
  }
  std::size_t data_blobs() {
    blob::RangeRequest request;
    request.from = BlobId::lowest(TabletId{42}, kFirstDataChannel);
    request.to = BlobId::highest(TabletId{42}, kFirstDataChannel);
    request.index_only = true;
    return world_.run(storage_.group(kTestGroup)->range(request)).items.size();
  }
  // The blobs up to `last` are dead; two entries later a barrier may pass them.
  void discard(WordsTablet& tablet, std::size_t last) {
    auto& blobs = tablet.state.blobs;
    const std::vector<BlobId> dead(blobs.begin(), blobs.begin() + static_cast<long>(last));
    blobs.erase(blobs.begin(), blobs.begin() + static_cast<long>(last));
    tablet.leader->discard(dead);
    for (const char* word : {"a", "b"}) ASSERT_TRUE(world_.run(tablet.say(word)));
    world_.run_for(20s);
  }

  SimWorld world_;
  TestStorage storage_;
};

TEST_F(CollectPages, MoreFlagsThanAGroupTakesAtOnceGoInPages) {
  auto tablet = boot(kFlags);
  discard(*tablet, 1);
  EXPECT_EQ(data_blobs(), kWords - 1) << "89 Keep flags went before the barrier";
  discard(*tablet, kWords - 11);
  EXPECT_EQ(data_blobs(), 10u) << "79 of them were overridden";
  world_.run(tablet->leader->stop(false));
}

TEST_F(CollectPages, ACollectThatFailsIsLogged) {
  ScopedLogCapture log;
  auto tablet = boot(kWords);
  discard(*tablet, 1);
  EXPECT_EQ(data_blobs(), kWords);
  std::size_t logged = 0;
  for (const std::string& line : log.lines()) {
    if (!line.contains("collect failed")) continue;
    ++logged;
    EXPECT_TRUE(line.contains("89 flags, at most 20")) << line;
    EXPECT_TRUE(line.contains("tablet=42")) << line;
  }
  EXPECT_EQ(logged, 1u) << "one line for consecutive failures";
  world_.run(tablet->leader->stop(false));
}

TEST_F(LeaderBounds, AnEntryThatRefersToWhatIsNotTheTabletsIsCorrupt) {
  std::vector<BlobId> foreign{
      BlobId(TabletId{42}, 2, 1, 9, 10, 1),            // An unknown channel.
      BlobId(TabletId{42}, 2, 1, kLogChannel, 10, 1),  // Its own log.
      BlobId(TabletId{43}, 2, 1, 2, 10, 1),            // Another tablet.
      BlobId(TabletId{42}, 7, 1, 2, 10, 1),            // A later generation.
  };
  auto first = boot();
  const Generation generation = first->leader->generation();
  world_.run(first->leader->stop(false));
  LogEntry entry;
  entry.references = {foreign[0]};
  put_entry({generation, 1}, entry);
  EXPECT_EQ(boot_failure(), Errc::kCorrupt);
  for (const BlobId& id : foreign) {
    const auto checked = WordsTablet::info().check_reference(id, 2);
    ASSERT_FALSE(checked) << id.to_string();
    EXPECT_EQ(checked.error().code, Errc::kCorrupt);
  }
  EXPECT_TRUE(WordsTablet::info().check_reference(BlobId(TabletId{42}, 2, 1, 2, 10, 1), 2));
}

TEST_F(LeaderBounds, AStateThatRefersToWhatIsNotTheTabletsIsCorrupt) {
  auto tablet = boot();
  CommitRequest request;
  request.body = [](const std::vector<BlobId>&) {
    return WordsState::encode("word", {BlobId(TabletId{42}, 1, 1, 200, 10, 1)});
  };
  ASSERT_TRUE(world_.run(tablet->leader->commit(std::move(request), [](const auto&) {})));
  world_.run(tablet->leader->stop(false));
  EXPECT_EQ(boot_failure(), Errc::kCorrupt);
}

TEST_F(LeaderBounds, ALogThatContradictsItselfIsCorrupt) {
  auto first = boot();
  const Generation generation = first->leader->generation();
  world_.run(first->leader->stop(false));
  LogEntry entry;
  entry.snapshot = {generation, 7};  // A snapshot after the entry.
  put_entry({generation, 1}, entry);
  EXPECT_EQ(boot_failure(), Errc::kCorrupt);
}

}  // namespace
}  // namespace moraine
