#include "transaction/coordinator.h"

#include <gtest/gtest.h>

#include "table/model/key.h"
#include "tablet/test_tablet.h"
#include "transaction/commit.h"

namespace moraine {
namespace {

class CountedTimestamps final : public TimestampSource {
 public:
  Timestamp last = 1000;
  bool fails = false;
  Errc code = Errc::kUnavailable;
  Task<Result<Timestamp>> next() override {
    if (fails) co_return fail(code, "no timestamps");
    co_return ++last;
  }
};

// Tablets that record the calls that they get.
class ToldTablets final : public TabletCalls {
 public:
  std::map<TabletId, std::set<TransactionId>> prepared;
  std::map<TabletId, std::map<TransactionId, Timestamp>> committed;
  std::map<TabletId, Errc> refuses;  // Errors of prepare().
  std::set<TabletId> unreachable;    // To the outcome.
  Errc unreachable_code = Errc::kTimeout;
  Executor* slow = nullptr;           // Prepares take time, on this one.
  std::vector<std::string> prepares;  // When they began and ended.

  Task<Result<Timestamp>> commit(TabletId, TabletWrite, Instant) override {
    co_return fail(Errc::kUnsupported, "one-phase");
  }
  Task<Result<void>> prepare(TabletId tablet, TabletWrite write, TabletId, Instant) override {
    const auto refusal = refuses.find(tablet);
    if (slow != nullptr) {
      prepares.push_back(fmt::format("{} begins", tablet.value));
      co_await sleep_for(*slow, 1ms);
      prepares.push_back(fmt::format("{} ends", tablet.value));
    }
    if (refusal != refuses.end()) co_return fail(refusal->second, "row conflict");
    prepared[tablet].insert(write.transaction);
    co_return Result<void>{};
  }
  Task<Result<void>> commit_prepared(TabletId tablet, TransactionId id, Timestamp commit,
                                     Instant) override {
    if (unreachable.contains(tablet)) co_return fail(unreachable_code, "unreachable");
    prepared[tablet].erase(id);
    committed[tablet][id] = commit;
    co_return Result<void>{};
  }
  Task<Result<void>> abort_prepared(TabletId tablet, TransactionId id, Instant) override {
    if (unreachable.contains(tablet)) co_return fail(unreachable_code, "unreachable");
    prepared[tablet].erase(id);
    co_return Result<void>{};
  }
};

constexpr TabletId kFirst{101};
constexpr TabletId kSecond{102};

TransactionId transaction(std::uint8_t number) {
  TransactionId id;
  id.bytes.fill(number);
  return id;
}

class CoordinatorTest : public testing::Test {
 protected:
  ~CoordinatorTest() override { sim_.shutdown(); }

  std::unique_ptr<Coordinator> boot(CoordinatorOptions options = {}) {
    auto booted = sim_.run(Coordinator::boot(storage_.world(), storage_,
                                             TabletInfo::simple(TabletId{9}, kTestGroup, 3),
                                             tablets_, timestamps_, options));
    EXPECT_TRUE(booted) << booted.error().message();
    return std::move(*booted);
  }
  static std::vector<Participant> participants_of(std::uint8_t number) {
    std::vector<Participant> participants(2);
    participants[0].tablet = kFirst;
    participants[1].tablet = kSecond;
    for (Participant& participant : participants) {
      participant.write.transaction = transaction(number);
      participant.write.start = 900;
    }
    return participants;
  }
  // As clients do: all transactions began long ago, each commit is requested at its own time.
  Result<Timestamp> commit_requested(Coordinator& coordinator, std::uint8_t number,
                                     Timestamp requested) {
    std::vector<Participant> participants = participants_of(number);
    for (Participant& participant : participants) participant.write.requested = requested;
    Result<Timestamp> committed = sim_.run(coordinator.commit(std::move(participants)));
    let_time_pass(1s);
    return committed;
  }
  Result<Timestamp> commit(Coordinator& coordinator, std::uint8_t number) {
    return sim_.run(coordinator.commit(participants_of(number)));
  }
  static Task<void> commit_into(Coordinator& coordinator, std::uint8_t number,
                                std::vector<Result<Timestamp>>& answers) {
    answers.push_back(co_await coordinator.commit(participants_of(number)));
  }
  void let_time_pass(Duration duration) { sim_.run_for(duration); }

  SimWorld sim_{1};
  TestStorage storage_{sim_};
  ToldTablets tablets_;
  CountedTimestamps timestamps_;
};

TEST_F(CoordinatorTest, ACommitWithoutATimestampFailsWithUnavailableWhenTheSourceDoes) {
  const std::shared_ptr<Coordinator> coordinator = boot();
  const auto key = [](std::int64_t number) {
    return table::encode_key(std::vector<Value>{Value(number)});
  };
  auto table = std::make_shared<OpenTable>();
  table->ranges.resize(2);
  table->ranges[0].tablet = kFirst;
  table->ranges[1].tablet = kSecond;
  table->ranges[1].from = key(10);
  for (OpenRange& range : table->ranges) range.state = MountState::kMounted;
  timestamps_.fails = true;
  const auto code = [&](Errc of_source) {
    timestamps_.code = of_source;
    GatheredTransaction gathered;
    gathered.id = transaction(1);
    gathered.tables.push_back({table, {}});
    for (const std::int64_t number : {1, 20}) {
      gathered.tables[0].changes.emplace_back().key = key(number);
    }
    CommitParts parts{tablets_, timestamps_, [&](std::vector<Participant> all) {
                        return coordinator->commit(std::move(all));
                      }};
    const Result<Timestamp> committed =
        sim_.run(commit_transaction(std::move(parts), std::move(gathered), Instant::never()));
    EXPECT_FALSE(committed);
    return committed ? Errc::kIo : committed.error().code;
  };
  EXPECT_EQ(code(Errc::kUnavailable), Errc::kUnavailable);
  EXPECT_EQ(code(Errc::kUnknownOutcome), Errc::kAborted) << "nothing was changed";
  EXPECT_TRUE(tablets_.prepared.empty());
  sim_.run(coordinator->stop());
}

// Participants 104 to 101, of which 104 and 102 append.
std::vector<Participant> with_appends() {
  std::vector<Participant> participants(4);
  for (std::size_t i = 0; i < participants.size(); ++i) {
    participants[i].tablet = TabletId{104 - i};
    participants[i].write.transaction = transaction(1);
    participants[i].write.start = 900;
    table::RowChange change;
    if (i % 2 == 1) change.locks.add(0, table::LockMode::kExclusive);
    participants[i].write.changes.push_back(change);
  }
  return participants;
}

TEST_F(CoordinatorTest, AppendsArePreparedFirstOneAfterAnother) {
  auto coordinator = boot();
  tablets_.slow = &sim_.executor();
  ASSERT_TRUE(sim_.run(coordinator->commit(with_appends())));
  EXPECT_EQ(tablets_.prepares,
            (std::vector<std::string>{"102 begins", "102 ends", "104 begins", "104 ends",
                                      "101 begins", "103 begins", "101 ends", "103 ends"}));
  sim_.run(coordinator->stop());
}

TEST_F(CoordinatorTest, ARefusedAppendEndsTheTransactionBeforeOthersAreAsked) {
  auto coordinator = boot();
  tablets_.slow = &sim_.executor();
  tablets_.refuses[TabletId{102}] = Errc::kOverloaded;
  const Result<Timestamp> committed = sim_.run(coordinator->commit(with_appends()));
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().code, Errc::kOverloaded);
  EXPECT_EQ(tablets_.prepares, (std::vector<std::string>{"102 begins", "102 ends"}));
  let_time_pass(1s);
  sim_.run(coordinator->stop());
}

TEST_F(CoordinatorTest, AllParticipantsCommitAtOneTimestamp) {
  auto coordinator = boot();
  const Result<Timestamp> committed = commit(*coordinator, 1);
  ASSERT_TRUE(committed) << committed.error().message();
  let_time_pass(1s);
  EXPECT_EQ(tablets_.committed[kFirst][transaction(1)], *committed);
  EXPECT_EQ(tablets_.committed[kSecond][transaction(1)], *committed);
  EXPECT_EQ(coordinator->unacknowledged(), 0u);
  sim_.run(coordinator->stop());
}

TEST_F(CoordinatorTest, OneRefusalAbortsAllWithItsReason) {
  tablets_.refuses[kSecond] = Errc::kAborted;
  auto coordinator = boot();
  const Result<Timestamp> committed = commit(*coordinator, 1);
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().code, Errc::kAborted);
  EXPECT_NE(committed.error().context.find("row conflict"), std::string::npos);
  EXPECT_TRUE(tablets_.prepared[kFirst].empty()) << "a retry does not conflict with its own locks";
  EXPECT_EQ(coordinator->outcome(transaction(1)).kind, TransactionOutcome::Kind::kAborted);
  sim_.run(coordinator->stop());
}

TEST_F(CoordinatorTest, AParticipantThatDoesNotAnswerAbortsForGood) {
  tablets_.refuses[kFirst] = Errc::kTimeout;
  auto coordinator = boot();
  EXPECT_EQ(commit(*coordinator, 1).error().code, Errc::kAborted);
  sim_.run(coordinator->stop());
}

TEST_F(CoordinatorTest, RepeatingACommitGivesTheSameTimestamp) {
  auto coordinator = boot();
  const Timestamp first = commit(*coordinator, 1).value();
  EXPECT_EQ(commit(*coordinator, 1).value(), first);
  sim_.run(coordinator->stop());
}

TEST_F(CoordinatorTest, ACommitThatIsRepeatedWhileItIsDecidedIsAnsweredAlike) {
  auto coordinator = boot();
  std::vector<Result<Timestamp>> answers;
  TaskScope calls;
  for (int i = 0; i < 3; ++i) calls.spawn(commit_into(*coordinator, 1, answers));
  while (calls.live() > 0) let_time_pass(1ms);
  ASSERT_EQ(answers.size(), 3u);
  for (const auto& answer : answers) EXPECT_EQ(answer.value(), answers[0].value());
  EXPECT_EQ(timestamps_.last, answers[0].value()) << "one decision";
  sim_.run(coordinator->stop());
}

TEST_F(CoordinatorTest, WhatWasRefusedStaysRefused) {
  tablets_.refuses[kFirst] = Errc::kReadOnly;
  tablets_.refuses[kSecond] = Errc::kReadOnly;
  auto coordinator = boot();
  EXPECT_EQ(commit(*coordinator, 1).error().code, Errc::kReadOnly);
  tablets_.refuses.clear();
  EXPECT_EQ(commit(*coordinator, 1).error().code, Errc::kReadOnly);
  EXPECT_TRUE(commit(*coordinator, 2));
  sim_.run(coordinator->stop());
}

TEST_F(CoordinatorTest, AParticipantThatIsNotWhereItWasCalledAbortsTheTransaction) {
  tablets_.refuses[kSecond] = Errc::kNotHere;
  auto coordinator = boot();
  EXPECT_EQ(commit(*coordinator, 1).error().code, Errc::kAborted) << "the coordinator is here";
  EXPECT_TRUE(tablets_.prepared[kFirst].empty());
  EXPECT_EQ(coordinator->outcome(transaction(1)).kind, TransactionOutcome::Kind::kAborted);
  tablets_.refuses.clear();
  EXPECT_EQ(commit(*coordinator, 1).error().code, Errc::kAborted) << "it stays refused";
  EXPECT_TRUE(commit(*coordinator, 2));
  sim_.run(coordinator->stop());
}

TEST_F(CoordinatorTest, ADecisionIsSentUntilTheParticipantIsFound) {
  tablets_.unreachable.insert(kSecond);
  tablets_.unreachable_code = Errc::kNotHere;
  auto coordinator = boot();
  const auto committed = commit(*coordinator, 1);
  ASSERT_TRUE(committed) << committed.error().message();
  let_time_pass(3s);
  EXPECT_EQ(coordinator->unacknowledged(), 1u) << "a tablet that is elsewhere is still prepared";
  tablets_.unreachable.clear();
  let_time_pass(10s);
  EXPECT_EQ(coordinator->unacknowledged(), 0u);
  EXPECT_EQ(tablets_.committed[kSecond][transaction(1)], *committed);
  sim_.run(coordinator->stop());
}

TEST_F(CoordinatorTest, ADecisionSurvivesACrashAndIsSentByTheNextIncarnation) {
  tablets_.unreachable = {kFirst, kSecond};
  auto coordinator = boot();
  const Timestamp committed = commit(*coordinator, 1).value();
  coordinator->abandon();
  let_time_pass(20s);
  coordinator.reset();
  storage_.crash();
  tablets_.unreachable.clear();
  coordinator = boot();
  const TransactionOutcome outcome = coordinator->outcome(transaction(1));
  EXPECT_EQ(outcome.kind, TransactionOutcome::Kind::kCommitted);
  EXPECT_EQ(outcome.commit, committed);
  let_time_pass(10s);
  EXPECT_EQ(tablets_.committed[kFirst][transaction(1)], committed);
  EXPECT_EQ(tablets_.committed[kSecond][transaction(1)], committed);
  sim_.run(coordinator->stop());
}

TEST_F(CoordinatorTest, ADecisionIsSentUntilTheParticipantAcknowledges) {
  tablets_.unreachable = {kSecond};
  auto coordinator = boot();
  const Timestamp committed = commit(*coordinator, 1).value();
  let_time_pass(30s);
  EXPECT_EQ(coordinator->unacknowledged(), 1u);
  tablets_.unreachable.clear();
  let_time_pass(10s);
  EXPECT_EQ(coordinator->unacknowledged(), 0u);
  EXPECT_EQ(tablets_.committed[kSecond][transaction(1)], committed);
  sim_.run(coordinator->stop());
}

TEST_F(CoordinatorTest, WithoutATimestampNothingIsCommitted) {
  timestamps_.fails = true;
  auto coordinator = boot();
  EXPECT_EQ(commit(*coordinator, 1).error().code, Errc::kAborted);
  let_time_pass(1s);
  EXPECT_TRUE(tablets_.prepared[kFirst].empty());
  sim_.run(coordinator->stop());
}

TEST_F(CoordinatorTest, ASupersededCoordinatorDecidesNothing) {
  auto old = boot();
  auto fresh = boot();
  EXPECT_EQ(commit(*old, 1).error().code, Errc::kUnknownOutcome);
  EXPECT_NE(commit(*old, 2).error().code, Errc::kUnknownOutcome) << "nothing was begun";
  EXPECT_EQ(fresh->outcome(transaction(1)).kind, TransactionOutcome::Kind::kAborted);
  EXPECT_EQ(old->outcome(transaction(1)).kind, TransactionOutcome::Kind::kUndecided);
  sim_.run(old->stop());
  sim_.run(fresh->stop());
}

TEST_F(CoordinatorTest, ATransactionOlderThanAllThatIsRememberedIsDecided) {
  CoordinatorOptions options;
  options.acknowledged_max = 2;
  auto coordinator = boot(options);
  for (std::uint8_t i = 1; i <= 6; ++i) {
    ASSERT_TRUE(commit_requested(*coordinator, i, ++timestamps_.last));
  }
  const auto old = commit_requested(*coordinator, 7, ++timestamps_.last);
  EXPECT_TRUE(old) << old.error().message();
  sim_.run(coordinator->stop());
  coordinator = boot(options);
  EXPECT_TRUE(commit_requested(*coordinator, 8, ++timestamps_.last));
  sim_.run(coordinator->stop());
}

TEST_F(CoordinatorTest, ACommitThatIsRepeatedAfterItWasForgottenIsNotCommittedTwice) {
  CoordinatorOptions options;
  options.acknowledged_max = 2;
  auto coordinator = boot(options);
  const Timestamp requested = ++timestamps_.last;
  const Timestamp first = commit_requested(*coordinator, 1, requested).value();
  EXPECT_EQ(commit_requested(*coordinator, 1, requested).value(), first);
  for (std::uint8_t i = 2; i <= 6; ++i) {
    ASSERT_TRUE(commit_requested(*coordinator, i, ++timestamps_.last));
  }
  EXPECT_EQ(commit_requested(*coordinator, 1, requested).error().code, Errc::kUnknownOutcome);
  EXPECT_EQ(tablets_.committed[kFirst][transaction(1)], first);
  sim_.run(coordinator->stop());
}

TEST_F(CoordinatorTest, DecisionsAreRememberedWhileTheirClientsMayRepeatThem) {
  CoordinatorOptions options;
  options.repeat_max = std::chrono::seconds(10);
  auto coordinator = boot(options);
  timestamps_.last = timestamp_of_seconds(1'000);
  const Timestamp requested = ++timestamps_.last;
  const Timestamp first = commit_requested(*coordinator, 1, requested).value();
  timestamps_.last = timestamp_of_seconds(1'009);
  ASSERT_TRUE(commit_requested(*coordinator, 2, ++timestamps_.last));
  EXPECT_EQ(commit_requested(*coordinator, 1, requested).value(), first);
  timestamps_.last = timestamp_of_seconds(1'012);
  ASSERT_TRUE(commit_requested(*coordinator, 3, ++timestamps_.last));
  EXPECT_EQ(commit_requested(*coordinator, 1, requested).error().code, Errc::kUnknownOutcome);
  sim_.run(coordinator->stop());
}

TEST_F(CoordinatorTest, ARefusalThatIsForgottenStaysARefusal) {
  CoordinatorOptions options;
  options.refused_max = 1;
  auto coordinator = boot(options);
  tablets_.refuses[kSecond] = Errc::kAborted;
  const Timestamp requested = ++timestamps_.last;
  EXPECT_FALSE(commit_requested(*coordinator, 1, requested));
  EXPECT_FALSE(commit_requested(*coordinator, 2, ++timestamps_.last));
  EXPECT_FALSE(commit_requested(*coordinator, 3, ++timestamps_.last));
  tablets_.refuses.clear();
  EXPECT_EQ(commit_requested(*coordinator, 1, requested).error().code, Errc::kAborted);
  EXPECT_TRUE(commit_requested(*coordinator, 4, ++timestamps_.last));
  sim_.run(coordinator->stop());
}

TEST_F(CoordinatorTest, UnknownTransactionsAreAborted) {
  auto coordinator = boot();
  EXPECT_EQ(coordinator->outcome(transaction(9)).kind, TransactionOutcome::Kind::kAborted);
  sim_.run(coordinator->stop());
}

}  // namespace
}  // namespace moraine
