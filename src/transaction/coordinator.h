// Coordinator: the tablet that decides transactions over several tablets.
//
// commit(): every participant prepares; a commit timestamp is acquired; the decision is made
// durable, which commits the transaction; the client is answered; the decision is sent to each
// participant until it acknowledges. Nothing is written for a transaction that is not committed: a
// transaction without a record is aborted.
//
// Writes to ordered tables are prepared first, one after another in the order of their tablets.
//
// Promise    A transaction has one final outcome, whichever processes fail. OK: committed at that
//            timestamp. kAborted: nothing was changed anywhere. Repeating a commit with the same id
//            returns the same result, also while it is being decided; for a refused one as long as
//            this incarnation remembers it.
// Invariants (1) A decision is forgotten only when every participant has acknowledged it. Commits
//            that were first requested (TabletWrite::requested) before the newest forgotten one was
//            committed, and are not listed, may be among the forgotten: they fail with
//            kUnknownOutcome. Later ones were never decided, however long ago the transaction
//            began. (2) outcome() returns aborted only for transactions that this incarnation is
//            not deciding and that no incarnation has decided.
// Threading  The world's executor.
// Limits     kParticipantsMax tablets, kUndecidedMax transactions at once. An acknowledged decision
//            is remembered for kRepeatMax, so that its client may repeat the request, or until
//            kAcknowledgedMax newer ones are; refusals: the last kRefusedMax.
// Errors     kUnknownOutcome: the decision may be durable; ask outcome() of a later incarnation.
//            All others (kAborted, kOverloaded, kNoSpace, kReadOnly, ...): this call has changed
//            nothing. For a repeated commit only OK and kAborted tell the outcome of the first.
// Tests      coordinator_test.cpp.
#pragma once

#include <deque>
#include <map>
#include <memory>

#include "io/event.h"
#include "tablet/leader.h"
#include "transaction/decision.h"
#include "transaction/tablet_calls.h"

namespace moraine {

inline constexpr std::size_t kUndecidedMax = 10'000;
inline constexpr std::size_t kAcknowledgedMax = 1'000'000;
inline constexpr std::chrono::seconds kRepeatMax = std::chrono::seconds{60};
inline constexpr std::size_t kRefusedMax = 10'000;

struct CoordinatorOptions {
  LeaderOptions leader;
  Duration prepare_timeout = 10s;
  Duration retry_min = 50ms;  // Of sending a decision to a participant; doubles.
  Duration retry_max = 5s;
  std::size_t acknowledged_max = kAcknowledgedMax;
  std::chrono::seconds repeat_max = kRepeatMax;
  std::size_t refused_max = kRefusedMax;
};

struct Participant {
  TabletId tablet;
  TabletWrite write;
};

class Coordinator {
 public:
  // `calls` and `timestamps` outlive the coordinator.
  static Task<Result<std::unique_ptr<Coordinator>>> boot(World world, BlobGroups& groups,
                                                         TabletInfo info, TabletCalls& calls,
                                                         TimestampSource& timestamps,
                                                         CoordinatorOptions options = {});
  ~Coordinator();

  // Returns the commit timestamp. All writes are of one transaction.
  Task<Result<Timestamp>> commit(std::vector<Participant> participants);
  TransactionOutcome outcome(const TransactionId& id) const;
  // OK: no other incarnation had started when this was called. An earlier result of outcome() is
  // then valid, even if the coordinator runs elsewhere by now.
  Task<Result<void>> confirm_lead() { return leader_->confirm_lead(); }

  std::size_t undecided() const { return undecided_.size(); }
  std::size_t unacknowledged() const { return unacknowledged_; }
  const TabletInfo& info() const { return leader_->info(); }
  Task<void> stop();
  void abandon();
  // Called once, when it ends by itself; at once when it already has.
  void on_end(Callback hook) {
    if (leader_->ended()) return hook();
    leader_->on_end(std::move(hook));
  }

 private:
  class State final : public TabletState {
   public:
    explicit State(const CoordinatorOptions& options)
        : acknowledged_max_(options.acknowledged_max), repeat_max_(options.repeat_max) {}

    std::map<TransactionId, Decision> decisions;
    std::map<Timestamp, TransactionId> acknowledged;  // By commit timestamp.
    Timestamp forgotten = 0;
    void add(const Decision& decision);
    Result<void> restore(const std::vector<Slice>& pages) override;
    Result<void> replay(const Slice& body) override;
    std::vector<Slice> snapshot() const override;
    std::vector<BlobId> live_blobs() const override { return {}; }

   private:
    bool may_forget_oldest() const;

    const std::size_t acknowledged_max_;
    const std::chrono::seconds repeat_max_;
  };

  Coordinator(World world, TabletCalls& calls, TimestampSource& timestamps,
              CoordinatorOptions options);

  Result<void> admit(const std::vector<Participant>& participants) const;
  // Runs a commit for its first request; repeated requests wait for the result.
  Task<Result<Timestamp>> commit_new(TransactionId id, std::vector<Participant> participants);
  void remember_refusal(const TransactionId& id, Timestamp requested, Error error);
  // `held`: the tablets that have prepared it.
  Task<Result<void>> prepare_all(std::vector<Participant> participants,
                                 std::vector<TabletId>& held);
  Task<void> prepare_one(Participant participant, Instant deadline, Result<void>& out);
  Task<Result<Timestamp>> decide(TransactionId id, std::vector<TabletId> participants);
  void send_decision(const Decision& decision);
  Task<void> send_to_all(Decision decision);
  Task<void> send_to_one(TabletId tablet, TransactionId id, Timestamp commit, char& acknowledged);
  Task<void> abort_all(TransactionId id, std::vector<TabletId> participants);
  Task<void> abort_one(TabletId tablet, TransactionId id);
  // `sent`: writing of the entry has begun, so that a failure leaves the outcome unknown.
  Task<Result<void>> log(Decision decision, bool& sent);

  World world_;
  TabletCalls& calls_;
  TimestampSource& timestamps_;
  const CoordinatorOptions options_;
  State state_;
  std::unique_ptr<Leader> leader_;
  using Answer = OneShot<Result<Timestamp>>;
  std::map<TransactionId, std::vector<std::shared_ptr<Answer>>> undecided_;  // With their repeats.
  Event decided_{world_.executor};                                           // One of them.
  std::map<TransactionId, Error> refused_;
  std::deque<std::pair<TransactionId, Timestamp>> refused_order_;  // Oldest first.
  Timestamp refusals_forgotten_ = 0;  // Those requested up to here may be missing.
  std::size_t unacknowledged_ = 0;
  Timestamp newest_ = 0;  // The newest commit timestamp.
  TaskScope scope_;
};

}  // namespace moraine
