#include "table/tablet/write/lock_table.h"

#include <gtest/gtest.h>

#include <map>

#include "io/random.h"
#include "table/model/key.h"
#include "table/tablet/write/lock_history.h"

namespace moraine::table {
namespace {

constexpr std::size_t kA = 1;
constexpr std::size_t kC = 3;
using enum LockMode;

RowChange want(const std::string& key, std::size_t lock, LockMode mode) {
  RowChange change;
  change.key = key;
  change.kind = ChangeKind::kLock;
  change.locks.add(lock, mode);
  return change;
}

TransactionId id_of(std::uint8_t number) {
  TransactionId id;
  id.bytes[0] = number;
  return id;
}

class LockTableTest : public testing::Test {
 protected:
  // A transaction holds `held` of lock 0; may another acquire `wanted`?
  static bool beside(LockMode held, LockMode wanted) {
    LockTable table;
    const std::vector first{want("r", 0, held)};
    const std::vector second{want("r", 0, wanted)};
    EXPECT_TRUE(table.acquire(id_of(1), 10, first));
    return table.acquire(id_of(2), 20, second).has_value();
  }
  // A transaction had `held` and committed at 20; may another that started at `start` acquire
  // `wanted`?
  static bool after(LockMode held, LockMode wanted, Timestamp start) {
    LockTable table;
    const std::vector first{want("r", 0, held)};
    const std::vector second{want("r", 0, wanted)};
    EXPECT_TRUE(table.acquire(id_of(1), 10, first));
    table.release(id_of(1), first, 20);
    return table.acquire(id_of(2), start, second).has_value();
  }
  static constexpr LockMode kModes[] = {kSharedWeak, kSharedStrong, kSharedWrite, kExclusive};
};

TEST_F(LockTableTest, AnyLockFailsIfItIsHeldExclusivelyNow) {
  for (const LockMode mode : kModes) EXPECT_FALSE(beside(kExclusive, mode));
}

TEST_F(LockTableTest, AnyLockFailsIfItWasTakenExclusivelyAndCommittedAfterTheStart) {
  for (const LockMode mode : kModes) {
    EXPECT_FALSE(after(kExclusive, mode, 15));
    EXPECT_TRUE(after(kExclusive, mode, 25));
  }
}

TEST_F(LockTableTest, AllButSharedWritesFailIfASharedWriteWasCommittedAfterTheStart) {
  for (const LockMode mode : kModes) {
    EXPECT_EQ(after(kSharedWrite, mode, 15), mode == kSharedWrite);
    EXPECT_TRUE(after(kSharedWrite, mode, 25));
  }
}

TEST_F(LockTableTest, ReadLocksFailIfASharedWriteIsHeldNow) {
  EXPECT_FALSE(beside(kSharedWrite, kSharedWeak));
  EXPECT_FALSE(beside(kSharedWrite, kSharedStrong));
}

TEST_F(LockTableTest, ExclusiveLocksFailIfAReadLockOrASharedWriteIsHeldNow) {
  EXPECT_FALSE(beside(kSharedWeak, kExclusive));
  EXPECT_FALSE(beside(kSharedStrong, kExclusive));
  EXPECT_FALSE(beside(kSharedWrite, kExclusive));
}

TEST_F(LockTableTest, SharedWritesFailIfAReadLockIsHeldNow) {
  EXPECT_FALSE(beside(kSharedWeak, kSharedWrite));
  EXPECT_FALSE(beside(kSharedStrong, kSharedWrite));
}

TEST_F(LockTableTest, WritersFailIfAStrongReadLockWasCommittedAfterTheirStart) {
  for (const LockMode mode : {kExclusive, kSharedWrite}) {
    EXPECT_FALSE(after(kSharedStrong, mode, 15));
    EXPECT_TRUE(after(kSharedStrong, mode, 25));
  }
}

TEST_F(LockTableTest, WeakReadLocksLeaveNoTrace) {
  for (const LockMode mode : kModes) EXPECT_TRUE(after(kSharedWeak, mode, 15));
}

TEST_F(LockTableTest, ReadersDoNotConflictAndSharedWritesDoNotConflict) {
  EXPECT_TRUE(beside(kSharedWeak, kSharedStrong));
  EXPECT_TRUE(beside(kSharedStrong, kSharedWeak));
  EXPECT_TRUE(beside(kSharedWrite, kSharedWrite));
  EXPECT_TRUE(after(kSharedStrong, kSharedWeak, 15));
}

TEST_F(LockTableTest, ThePrimaryLockCoversAllLocksOfTheRow) {
  LockTable table;
  const std::vector group{want("r", kA, kExclusive)};
  const std::vector primary{want("r", 0, kExclusive)};
  const std::vector other{want("r", kC, kExclusive)};
  ASSERT_TRUE(table.acquire(id_of(1), 10, group));
  EXPECT_FALSE(table.acquire(id_of(2), 20, primary));
  EXPECT_TRUE(table.acquire(id_of(3), 20, other));
  table.release(id_of(1), group, 30);
  table.release(id_of(3), other, 31);
  EXPECT_FALSE(table.acquire(id_of(4), 25, primary));
  ASSERT_TRUE(table.acquire(id_of(4), 40, primary));
  EXPECT_FALSE(table.acquire(id_of(5), 40, group));
  table.release(id_of(4), primary, 50);
  EXPECT_FALSE(table.acquire(id_of(6), 45, group));
}

// C-38 (1): tx1 writes a and weakly locks a, c; tx2 writes b.
TEST_F(LockTableTest, WritersOfDifferentGroupsBothCommit) {
  LockTable table;
  RowChange first = want("r", kA, kExclusive);
  first.locks.add(kC, kSharedWeak);
  const std::vector one{first};
  const std::vector two{want("r", 2, kExclusive)};
  EXPECT_TRUE(table.acquire(id_of(1), 10, one));
  EXPECT_TRUE(table.acquire(id_of(2), 10, two));
}

// C-38 (2): two weak locks on c do not conflict; a weak lock on a fails against its writer.
TEST_F(LockTableTest, AWeakLockFailsAgainstAWriterOfItsGroupOnly) {
  LockTable table;
  RowChange first = want("r", kA, kExclusive);
  first.locks.add(kC, kSharedWeak);
  RowChange second = want("r", 2, kExclusive);
  second.locks.add(kC, kSharedWeak);
  const std::vector one{first};
  const std::vector two{second};
  const std::vector three{want("r", kA, kSharedWeak)};
  ASSERT_TRUE(table.acquire(id_of(1), 10, one));
  table.release(id_of(1), one, 20);
  ASSERT_TRUE(table.acquire(id_of(2), 11, two));
  table.release(id_of(2), two, 21);
  EXPECT_FALSE(table.acquire(id_of(3), 12, three));
}

TEST_F(LockTableTest, AConflictNamesTheRowTheLockAndTheWinner) {
  LockTable table;
  const Value columns[] = {Value(std::int64_t{5}), Value("name")};
  const std::vector row{want(encode_key(columns), kA, kExclusive)};
  ASSERT_TRUE(table.acquire(id_of(7), 10, row));
  auto failed = table.acquire(id_of(8), 11, row);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Errc::kAborted);
  EXPECT_NE(failed.error().context.find(to_string(id_of(7))), std::string::npos);
  EXPECT_NE(failed.error().context.find("of lock group \"1\""), std::string::npos);
  EXPECT_NE(failed.error().context.find("row (5, \"name\")"), std::string::npos)
      << failed.error().context;
  table.release(id_of(7), row, 20);
  failed = table.acquire(id_of(8), 11, row);
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().context.find("20"), std::string::npos) << failed.error().context;
}

TEST_F(LockTableTest, AConflictSaysWhatTheOtherTransactionHoldsAndOfWhichGroup) {
  const auto told = [](LockMode mode, ChangeKind kind, std::size_t lock,
                       std::optional<Timestamp> commit) {
    LockTable table;
    table.name_groups({"", "prices"});
    std::vector held{want("r", lock, mode)};
    held[0].kind = kind;
    EXPECT_TRUE(table.acquire(id_of(1), 10, held));
    if (commit) table.release(id_of(1), held, commit);
    const auto failed = table.acquire(id_of(2), 11, std::vector{want("r", lock, kExclusive)});
    EXPECT_FALSE(failed);
    const std::string& text = failed.error().context;
    return text.substr(0, text.find("; transaction ")).substr(text.find("): ") + 3);
  };
  using enum ChangeKind;
  const std::string one = to_string(id_of(1));
  EXPECT_EQ(told(kExclusive, kWrite, 0, {}), "a write by transaction " + one + " is under way");
  EXPECT_EQ(told(kExclusive, kLock, 0, {}), "an exclusive lock by transaction " + one + " is held");
  EXPECT_EQ(told(kSharedWeak, kLock, 1, {}),
            "a shared lock of lock group \"prices\" by transaction " + one + " is held");
  EXPECT_EQ(told(kExclusive, kWrite, 1, 20),
            "a write of lock group \"prices\" by transaction " + one + " was committed at 20");
  EXPECT_EQ(told(kExclusive, kLock, 0, 20),
            "an exclusive lock by transaction " + one + " was committed at 20");
  EXPECT_EQ(told(kSharedStrong, kLock, 0, 20),
            "a strong shared lock by transaction " + one + " was committed at 20");
}

TEST_F(LockTableTest, AConflictNamesATransactionThatSharesTheLock) {
  LockTable table;
  const std::vector read{want("r", 0, kSharedStrong)};
  const std::vector write{want("r", 0, kExclusive)};
  ASSERT_TRUE(table.acquire(id_of(7), 10, read));
  auto failed = table.acquire(id_of(8), 11, write);
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().context.find(to_string(id_of(7))), std::string::npos);
  table.release(id_of(7), read, 20);
  failed = table.acquire(id_of(8), 11, write);
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().context.find(to_string(id_of(7))), std::string::npos);
}

TEST_F(LockTableTest, WhatIsForgottenMovesTheHorizonFirst) {
  LockHistory history(kNullTimestamp, 2);
  const RowChange writes = want("", 0, kExclusive);
  for (std::uint64_t row = 0; row < kRememberedRowsMax; ++row) {
    history.record(row, writes, 10 + row, id_of(1));
  }
  EXPECT_EQ(history.horizon(), kNullTimestamp);
  history.record(kRememberedRowsMax, writes, 10 + kRememberedRowsMax, id_of(1));
  EXPECT_EQ(history.horizon(), Timestamp{11});
  EXPECT_EQ(history.size(), kRememberedRowsMax - 1);
  RowStamps seen;
  EXPECT_FALSE(history.find(0, 10, seen));
  EXPECT_TRUE(history.find(2, 11, seen));
}

TEST_F(LockTableTest, AllLocksAreTakenOrNone) {
  LockTable table;
  const std::vector taken{want("b", 0, kExclusive)};
  const std::vector both{want("a", 0, kExclusive), want("b", 0, kExclusive)};
  const std::vector first{want("a", 0, kExclusive)};
  ASSERT_TRUE(table.acquire(id_of(1), 10, taken));
  EXPECT_FALSE(table.acquire(id_of(2), 10, both));
  EXPECT_TRUE(table.acquire(id_of(3), 10, first));
  EXPECT_EQ(table.size(), 2u);
  table.release(id_of(3), first, std::nullopt);
  table.release(id_of(1), taken, std::nullopt);
  EXPECT_EQ(table.size(), 0u);
}

TEST_F(LockTableTest, ATransactionBelowTheHorizonFails) {
  LockTable table;
  const std::vector row{want("r", 0, kExclusive)};
  ASSERT_TRUE(table.acquire(id_of(1), 10, row));
  table.release(id_of(1), row, 20);
  table.forget(30);
  EXPECT_EQ(table.size(), 0u);
  const auto failed = table.acquire(id_of(2), 15, row);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Errc::kAborted);
  EXPECT_TRUE(table.acquire(id_of(3), 30, row));
}

TEST_F(LockTableTest, WhatIsRememberedConflicts) {
  LockTable table;
  const std::vector row{want("r", 0, kExclusive)};
  table.remember(row[0], 20, id_of(9));
  const auto failed = table.acquire(id_of(1), 15, row);
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().context.find(to_string(id_of(9))), std::string::npos);
  EXPECT_TRUE(table.acquire(id_of(1), 25, row));
}

TEST_F(LockTableTest, RowsOfManyBatchesAreRememberedUntilTheyAreForgotten) {
  LockTable table(kNullTimestamp, 1'000);
  constexpr Timestamp kRows = 3'000;
  const auto row = [](Timestamp i) { return std::vector{want(std::to_string(i), 0, kExclusive)}; };
  for (Timestamp i = 1; i <= kRows; ++i) {
    ASSERT_TRUE(table.acquire(id_of(1), i - 1, row(i)));
    table.release(id_of(1), row(i), i);
  }
  EXPECT_EQ(table.size(), kRows);
  for (const Timestamp i : {Timestamp{1}, kRows / 2, kRows}) {
    EXPECT_FALSE(table.acquire(id_of(2), i - 1, row(i))) << i;
    ASSERT_TRUE(table.acquire(id_of(2), i, row(i))) << i;
    table.release(id_of(2), row(i), std::nullopt);
  }
  // Out of order: a late record may be older than the beginning of a later batch.
  ASSERT_TRUE(table.acquire(id_of(3), kRows, row(kRows + 1)));
  table.release(id_of(3), row(kRows + 1), 5 + kRows);
  ASSERT_TRUE(table.acquire(id_of(3), kRows, row(kRows + 2)));
  table.release(id_of(3), row(kRows + 2), 2 + kRows);
  EXPECT_FALSE(table.acquire(id_of(4), kRows + 1, row(kRows + 2)));
  table.forget(kRows / 2);
  EXPECT_LT(table.size(), kRows);
  EXPECT_EQ(table.horizon(), kRows / 2);
  EXPECT_FALSE(table.acquire(id_of(5), kRows - 1, row(kRows)));
}

TEST_F(LockTableTest, WhatExpiresMovesTheHorizonOnlyUpToWhatWasDropped) {
  LockTable table;
  const std::vector row{want("r", 0, kExclusive)};
  table.remember(row[0], 20, id_of(9));
  table.expire(20);
  EXPECT_EQ(table.size(), 1u);
  EXPECT_EQ(table.horizon(), kNullTimestamp);
  table.expire(100);
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(table.horizon(), Timestamp{20});
  EXPECT_FALSE(table.acquire(id_of(1), 19, row));
  EXPECT_TRUE(table.acquire(id_of(1), 20, row));
}

TEST_F(LockTableTest, HistoryCountsItsMemory) {
  LockHistory history(kNullTimestamp, 1'000);
  EXPECT_EQ(history.bytes(), 0u);
  const RowChange primary = want("", 0, kExclusive);
  const RowChange group = want("", kC, kExclusive);
  for (std::uint64_t row = 0; row < 3'000; ++row) {
    history.record(row, primary, 10 + row, id_of(1));
    const std::size_t before = history.bytes();
    history.record(row, group, 10 + row, id_of(1));
    EXPECT_GE(history.bytes(), before + sizeof(RowStamps::Group));
  }
  EXPECT_GT(history.bytes(), 3'000 * (sizeof(RowStamps) + sizeof(RowStamps::Group)));
  EXPECT_EQ(history.oldest(), Timestamp{1'009});
  const std::size_t all = history.bytes();
  const std::size_t oldest = history.oldest_bytes();
  history.drop_oldest();
  EXPECT_EQ(history.bytes(), all - oldest);
  EXPECT_EQ(history.horizon(), Timestamp{1'009});
  while (history.size() > 0) history.drop_oldest();
  EXPECT_EQ(history.bytes(), 0u);
  EXPECT_EQ(history.oldest(), 0u);
}

// The rules again, over lists of all events.
class NaiveLocks {
 public:
  struct Event {
    std::string key;
    std::size_t lock = 0;
    LockMode mode = kNone;
    Timestamp commit = 0;  // 0: held now.
    int owner = 0;
  };
  bool allows(const RowChange& change, Timestamp start) const {
    for (std::size_t lock = 0; lock < kLocksMax; ++lock) {
      const LockMode mode = change.locks.modes[lock];
      if (mode == kNone) continue;
      for (const Event& event : events_) {
        const bool same = event.lock == lock || event.lock == 0 || lock == 0;
        if (event.key == change.key && same && conflicts(event, mode, start)) return false;
      }
    }
    return true;
  }
  void take(int owner, const RowChange& change) {
    for (std::size_t lock = 0; lock < kLocksMax; ++lock) {
      if (change.locks.modes[lock] == kNone) continue;
      events_.push_back({change.key, lock, change.locks.modes[lock], 0, owner});
    }
  }
  void release(int owner, Timestamp commit) {
    std::erase_if(events_, [&](Event& event) {
      if (event.owner != owner || event.commit != 0) return false;
      event.commit = commit;
      return commit == 0 || event.mode == kSharedWeak;
    });
  }

 private:
  static bool conflicts(const Event& event, LockMode mode, Timestamp start) {
    const bool held = event.commit == 0;
    const bool after_start = event.commit > start;
    const bool reads = mode == kSharedWeak || mode == kSharedStrong;
    if (event.mode == kExclusive) return held || after_start;
    if (event.mode == kSharedWrite) return mode != kSharedWrite && (held || after_start);
    if (reads) return false;
    return held || (event.mode == kSharedStrong && after_start);
  }
  std::vector<Event> events_;
};

TEST(LockTableModel, AgreesWithAListOfAllThatHappened) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SeededRandom random(seed);
    LockTable table(kNullTimestamp, 1 + random.below(4));  // Rows of many batches.
    NaiveLocks model;
    std::map<int, std::vector<RowChange>> live;
    Timestamp now = 100;
    for (int step = 1; step < 600; ++step) {
      now += 1 + random.below(3);
      if (random.below(2) == 0 || live.empty()) {
        std::vector<RowChange> changes;
        for (char key = 'a'; key < 'e'; ++key) {
          if (random.one_in(3)) continue;
          RowChange change = want(std::string(1, key), random.below(4),
                                  static_cast<LockMode>(1 + random.below(4)));
          if (random.one_in(3)) change.locks.add(random.below(4), kSharedWeak);
          changes.push_back(change);
        }
        const Timestamp start = now - random.below(60);
        bool allowed = true;
        for (const RowChange& change : changes) allowed = allowed && model.allows(change, start);
        const auto id = id_of(static_cast<std::uint8_t>(step));
        ASSERT_EQ(table.acquire(id, start, changes).has_value(), allowed) << seed << " " << step;
        if (!allowed) continue;
        for (const RowChange& change : changes) model.take(step, change);
        live[step] = changes;
      } else {
        const auto ended = std::next(live.begin(), static_cast<long>(random.below(live.size())));
        const bool commits = !random.one_in(4);
        const auto id = id_of(static_cast<std::uint8_t>(ended->first));
        table.release(id, ended->second, commits ? std::optional(now) : std::nullopt);
        model.release(ended->first, commits ? now : 0);
        live.erase(ended);
      }
    }
  }
}

}  // namespace
}  // namespace moraine::table
