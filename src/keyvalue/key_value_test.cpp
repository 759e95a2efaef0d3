#include "keyvalue/key_value.h"

#include "tablet/test_tablet.h"

namespace moraine {
namespace {

Slice value_of(std::uint64_t seed, std::size_t size) {
  SeededRandom random(seed);
  Buffer buffer(size);
  for (std::byte& b : buffer.span()) b = static_cast<std::byte>(random.next());
  return std::move(buffer).freeze();
}

WriteKey write(std::string key, Slice value) {
  return {std::move(key), std::move(value), false};
}

class KeyValueTest : public testing::Test {
 protected:
  KeyValueTest() : world_(4), storage_(world_) { boot(); }
  ~KeyValueTest() override {
    stop();
    world_.shutdown();
  }

  void boot(LeaderOptions options = {}) {
    auto booted = world_.run(KeyValue::boot(
        storage_.world(), storage_, TabletInfo::simple(TabletId{7}, kTestGroup, 3), options));
    INVARIANT(booted, "{}", booted.error().message());
    tablet_ = std::move(*booted);
  }
  void stop() {
    if (tablet_) world_.run(tablet_->stop());
    tablet_.reset();
  }
  void restart() {
    stop();
    boot();
  }
  Result<void> execute(std::vector<Command> commands,
                       std::optional<std::uint64_t> lock = std::nullopt) {
    return world_.run(tablet_->execute(std::move(commands), lock));
  }
  void expect(const std::string& key, const Slice& value) {
    const auto got = world_.run(tablet_->read(key));
    ASSERT_TRUE(got) << key << " " << got.error().message();
    EXPECT_TRUE(equal(*got, value)) << key;
  }
  std::size_t data_blobs() {
    blob::RangeRequest request;
    request.from = BlobId::lowest(TabletId{7}, kFirstDataChannel);
    request.to = BlobId::highest(TabletId{7}, kFirstDataChannel);
    request.index_only = true;
    return world_.run(storage_.group(kTestGroup)->range(request)).items.size();
  }

  SimWorld world_;
  TestStorage storage_;
  std::unique_ptr<KeyValue> tablet_;
};

TEST_F(KeyValueTest, KeepsShortAndLongValuesOverARestart) {
  ASSERT_TRUE(execute(
      {write("a", value_of(1, 10)), write("b", value_of(2, 50'000)), write("empty", Slice())}));
  for (int i = 0; i < 2; ++i) {
    expect("a", value_of(1, 10));
    expect("b", value_of(2, 50'000));
    expect("empty", Slice());
    const auto part = world_.run(tablet_->read("b", 1000, 77));
    ASSERT_TRUE(part);
    EXPECT_TRUE(equal(*part, value_of(2, 50'000).sub(1000, 77)));
    EXPECT_EQ(world_.run(tablet_->read("none")).error().code, Errc::kNotFound);
    restart();
  }
}

TEST_F(KeyValueTest, CommandsSeeWhatThoseBeforeThemDid) {
  ASSERT_TRUE(execute({write("a", value_of(1, 2000)), RenameKey{"a", "b"},
                       write("c", value_of(3, 5)), ConcatKeys{{"b", "c"}, "joined", false},
                       CopyKeys{KeyRange::prefix("jo"), "jo", "co"}}));
  EXPECT_EQ(tablet_->list({}, 10).size(), 2u);
  const auto joined = world_.run(tablet_->read("joined"));
  ASSERT_TRUE(joined);
  EXPECT_EQ(joined->size(), 2005u);
  EXPECT_TRUE(equal(joined->sub(2000, 5), value_of(3, 5)));
  expect("coined", *joined);
}

TEST_F(KeyValueTest, ATransactionThatFailsChangesNothing) {
  ASSERT_TRUE(execute({write("a", value_of(1, 10))}));
  const auto failed =
      execute({write("a", value_of(2, 9000)), DeleteKeys{{}}, RenameKey{"missing", "b"}});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Errc::kNotFound);
  expect("a", value_of(1, 10));
  EXPECT_EQ(tablet_->list({}, 10).size(), 1u);
  // It is collected once another entry follows the one that refers to it.
  ASSERT_TRUE(execute({write("a", value_of(1, 10))}));
  world_.run_for(20s);
  EXPECT_EQ(data_blobs(), 0u) << "the blob of the failed transaction goes";
  restart();
  expect("a", value_of(1, 10));
}

TEST_F(KeyValueTest, TransactionsOfOneEntrySeeEachOther) {
  TaskScope scope;
  std::vector<Result<void>> outcomes(3);
  const auto one = [](KeyValue& tablet, std::vector<Command> commands,
                      Result<void>& out) -> Task<void> {
    out = co_await tablet.execute(std::move(commands));
  };
  scope.spawn(one(*tablet_, {write("x", value_of(1, 10))}, outcomes[0]));
  scope.spawn(one(*tablet_, {RenameKey{"x", "y"}}, outcomes[1]));
  scope.spawn(one(*tablet_, {RenameKey{"x", "z"}}, outcomes[2]));
  world_.run_for(1s);
  EXPECT_TRUE(outcomes[0]);
  EXPECT_TRUE(outcomes[1]);
  EXPECT_FALSE(outcomes[2]) << "the key was renamed before";
  expect("y", value_of(1, 10));
}

TEST_F(KeyValueTest, TransactionsThatWaitForALargeOneShareAnEntry) {
  constexpr std::size_t kWaiting = 40;
  const auto one = [](KeyValue& tablet, std::vector<Command> commands) -> Task<void> {
    EXPECT_TRUE(co_await tablet.execute(std::move(commands)));
  };
  std::vector<Command> large;
  for (std::size_t i = 0; i < kViewKeysMax; ++i) large.push_back(write(fmt::format("{}", i), {}));
  const Step before = tablet_->leader().position().step;
  TaskScope scope;
  scope.spawn(one(*tablet_, std::move(large)));
  world_.run_for(1us);  // It is being written.
  EXPECT_EQ(scope.live(), 1u);
  for (std::size_t i = 0; i < kWaiting; ++i) {
    scope.spawn(one(*tablet_, {write(fmt::format("small {}", i), value_of(i, 10))}));
    world_.run_for(1us);
  }
  EXPECT_EQ(scope.live(), 1 + kWaiting) << "the large one is over too early to show anything";
  world_.run_for(1s);
  ASSERT_EQ(scope.live(), 0u);
  EXPECT_EQ(tablet_->leader().position().step - before, 2u) << "the large one, and all others";
}

// Past kViewKeysMax an entry is ended, and the next one waits for it.
TEST_F(KeyValueTest, KeysThatMayNotBeConfirmedAreLimited) {
  constexpr std::size_t kTransactions = 8;
  const auto one = [](KeyValue& tablet, std::vector<Command> commands) -> Task<void> {
    EXPECT_TRUE(co_await tablet.execute(std::move(commands)));
  };
  const Step before = tablet_->leader().position().step;
  TaskScope scope;
  for (std::size_t t = 0; t < kTransactions; ++t) {
    std::vector<Command> half;
    for (std::size_t i = 0; i < kViewKeysMax / 2; ++i) {
      half.push_back(write(fmt::format("{} {}", t, i), {}));
    }
    scope.spawn(one(*tablet_, std::move(half)));
  }
  world_.run_for(1s);
  ASSERT_EQ(scope.live(), 0u);
  EXPECT_EQ(tablet_->leader().position().step - before, kTransactions / 2) << "two in each";
}

TEST_F(KeyValueTest, SharedBlobsStayUntilTheLastKeyIsDeleted) {
  ASSERT_TRUE(execute({write("a", value_of(1, 9000))}));
  ASSERT_TRUE(execute({CopyKeys{KeyRange::prefix("a"), "", "copy-"}}));
  ASSERT_TRUE(execute({DeleteKeys{KeyRange::prefix("a")}}));
  world_.run_for(20s);
  EXPECT_EQ(data_blobs(), 1u);
  expect("copy-a", value_of(1, 9000));
  ASSERT_TRUE(execute({DeleteKeys{{}}}));
  world_.run_for(20s);
  EXPECT_EQ(data_blobs(), 0u);
}

TEST_F(KeyValueTest, ARangeReadGivesTheValuesOfItsMomentThoughTheyAreDeletedMeanwhile) {
  constexpr int kValues = 200;
  for (int i = 0; i < kValues; ++i) {
    ASSERT_TRUE(execute({write(fmt::format("k{:03}", i), value_of(i, 50'000))}));
  }
  Result<RangeRead> got;
  const auto read = [](KeyValue& tablet, Result<RangeRead>& out) -> Task<void> {
    out = co_await tablet.read_range({}, kReadBytesMax, true);
  };
  TaskScope scope;
  scope.spawn(read(*tablet_, got));
  ASSERT_TRUE(execute({DeleteKeys{{}}}));
  ASSERT_TRUE(execute({write("after", value_of(1, 10))}));
  EXPECT_EQ(scope.live(), 1u) << "the read is over too early to show anything";
  world_.run_for(60s);
  ASSERT_EQ(scope.live(), 0u);
  ASSERT_TRUE(got) << got.error().message();
  ASSERT_EQ(got->items.size(), std::size_t{kValues});
  for (int i = 0; i < kValues; ++i) EXPECT_TRUE(equal(got->items[i].value, value_of(i, 50'000)));
  EXPECT_EQ(data_blobs(), 0u) << "the blobs go after the read";
}

TEST_F(KeyValueTest, TheLockGenerationShutsOutOlderHolders) {
  const auto first = world_.run(tablet_->acquire_lock());
  ASSERT_TRUE(first);
  EXPECT_TRUE(execute({write("a", value_of(1, 1))}, *first));
  const auto second = world_.run(tablet_->acquire_lock());
  EXPECT_EQ(*second, *first + 1);
  const auto refused = execute({write("a", value_of(2, 1))}, *first);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kConflict);
  restart();
  EXPECT_TRUE(execute({write("a", value_of(3, 1))}, *second)) << "it survives a restart";
}

TEST_F(KeyValueTest, RangesGiveWholeValuesInOrderUpToTheLimit) {
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(
        execute({write(fmt::format("k{}", i), value_of(static_cast<std::uint64_t>(i), 1500))}));
  }
  KeyRange range;
  range.from = "k2";
  range.from_inclusive = false;
  range.to = "k8";
  range.to_inclusive = true;
  const auto all = world_.run(tablet_->read_range(range, 1u << 20, true));
  ASSERT_TRUE(all);
  ASSERT_EQ(all->items.size(), 6u);
  EXPECT_FALSE(all->overrun);
  EXPECT_TRUE(equal(all->items[0].value, value_of(3, 1500)));
  const auto some = world_.run(tablet_->read_range(range, 4000, true));
  EXPECT_EQ(some->items.size(), 2u);
  EXPECT_TRUE(some->overrun);
}

TEST_F(KeyValueTest, WrongCommandsAreRefusedWithTheReason) {
  EXPECT_EQ(execute({write("", Slice())}).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(execute({write(std::string(kKeyBytesMax + 1, 'x'), Slice())}).error().code,
            Errc::kInvalidArgument);
}

// Random transactions against a plain map, with restarts and power cuts in between.
TEST_F(KeyValueTest, AgreesWithAPlainMapOverRestartsAndPowerCuts) {
  SeededRandom random(12);
  std::map<std::string, Slice> model;
  const auto key = [&] { return fmt::format("k{}", random.below(20)); };
  for (int round = 0; round < 400; ++round) {
    std::map<std::string, Slice> next = model;
    std::vector<Command> commands;
    bool fails = false;
    for (std::uint64_t i = 0; i <= random.below(4) && !fails; ++i) {
      const std::string a = key();
      const std::string b = key();
      switch (random.below(4)) {
        case 0:
        case 1: {
          const Slice value = value_of(random.next(), random.below(4000));
          commands.push_back(write(a, value));
          next[a] = value;
          break;
        }
        case 2:
          commands.push_back(RenameKey{a, b});
          fails = !next.contains(a);
          if (!fails) {
            const Slice value = next[a];
            next.erase(a);
            next[b] = value;
          }
          break;
        default: {
          KeyRange range;
          range.from = std::min(a, b);
          range.to = std::max(a, b);
          commands.push_back(DeleteKeys{range});
          next.erase(next.lower_bound(*range.from), next.lower_bound(*range.to));
        }
      }
    }
    EXPECT_EQ(execute(commands).has_value(), !fails);
    if (!fails) model = next;
    if (random.one_in(25)) restart();
    if (random.one_in(25)) {
      storage_.node().on_stop([&] { tablet_->abandon(); });
      storage_.node().on_crash([&] { tablet_.reset(); });
      storage_.crash();
      boot();
    }
    if (!random.one_in(10)) continue;
    ASSERT_EQ(tablet_->list({}, 1000).size(), model.size());
    for (const auto& [name, value] : model) expect(name, value);
  }
}

}  // namespace
}  // namespace moraine
