// Coordinator: the tablet that decides transactions over several tablets.
//
// commit(): every participant prepares; a timestamp is drawn; the decision is made durable, and
// that is the moment at which the transaction is committed; the client is answered; participants
// are told until each has heard. Nothing is written for a transaction that is not committed: what
// the coordinator has no record of is aborted.
//
// Promise    A transaction has one outcome for ever, whatever dies when. OK: committed at that
//            timestamp. kAborted: changed nothing, anywhere. Repeating a commit with the same id
//            gives the same answer, also while it is being decided; of a refused one as long as
//            this incarnation remembers it.
// Invariants (1) A decision is forgotten only when every participant has acknowledged it. Commits
//            that were first requested (TabletWrite::requested) before the newest forgotten one was
//            committed, and are not listed, may be among the forgotten: they fail with
//            kUnknownOutcome. Later ones were never decided, however long ago the transaction
//            began. (2) outcome() says aborted only of transactions that this incarnation is not
//            deciding and that no incarnation has decided.
// Threading  The world's executor.
// Limits     kParticipantsMax tablets, kUndecidedMax transactions at once. An acknowledged decision
//            is remembered for kRepeatMax, so that its client may repeat the request, or until
//            kHeardMax newer ones are; refusals: the last kRefusedMax.
// Errors     kUnknownOutcome: the decision may be durable; outcome() of a later incarnation says.
//            All others (kAborted, kOverloaded, kNoSpace, kReadOnly, ...): this call has changed
//            nothing. A repeated commit settles the first one by OK or kAborted only.
// Tests      coordinator_test.cpp.
#pragma once

#include <deque>
#include <map>
#include <memory>

#include "table/tablet/seeded_bug.h"
#include "tablet/leader.h"
#include "transaction/decision.h"
#include "transaction/tablet_calls.h"

namespace moraine {

inline constexpr std::size_t kUndecidedMax = 10'000;
inline constexpr std::size_t kHeardMax = 1'000'000;
inline constexpr std::chrono::seconds kRepeatMax = std::chrono::seconds{60};
inline constexpr std::size_t kRefusedMax = 10'000;

struct CoordinatorOptions {
  LeaderOptions leader;
  Duration prepare_timeout = 10s;
  Duration retry_min = 50ms;  // Of telling a participant, doubling.
  Duration retry_max = 5s;
  std::size_t heard_max = kHeardMax;
  std::chrono::seconds repeat_max = kRepeatMax;
  std::size_t refused_max = kRefusedMax;
  table::SeededBug bug{};
};

struct Participant {
  TabletId tablet;
  TabletWrite write;
};

class Coordinator {
 public:
  // `calls` and `timestamps` outlive it.
  static Task<Result<std::unique_ptr<Coordinator>>> boot(World world, BlobGroups& groups,
                                                         TabletInfo info, TabletCalls& calls,
                                                         TimestampSource& timestamps,
                                                         CoordinatorOptions options = {});
  ~Coordinator();

  // Gives the commit timestamp. All writes are of one transaction.
  Task<Result<Timestamp>> commit(std::vector<Participant> participants);
  TransactionOutcome outcome(const TransactionId& id) const;
  // OK: when this was called no other incarnation had begun. An outcome() of before is then true
  // wherever else the coordinator might run by now.
  Task<Result<void>> confirm_lead() { return leader_->confirm_lead(); }

  std::size_t undecided() const { return undecided_.size(); }
  std::size_t untold() const { return untold_; }
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
        : heard_max_(options.heard_max), repeat_max_(options.repeat_max) {}

    std::map<TransactionId, Decision> decisions;
    std::map<Timestamp, TransactionId> heard;  // By commit.
    Timestamp forgotten = 0;
    void add(const Decision& decision);
    Result<void> restore(const std::vector<Slice>& pages) override;
    Result<void> replay(const Slice& body) override;
    std::vector<Slice> snapshot() const override;
    std::vector<BlobId> live_blobs() const override { return {}; }

   private:
    bool may_forget_oldest() const;

    const std::size_t heard_max_;
    const std::chrono::seconds repeat_max_;
  };

  Coordinator(World world, TabletCalls& calls, TimestampSource& timestamps,
              CoordinatorOptions options);

  Result<void> admit(const std::vector<Participant>& participants) const;
  // The first that asks has it decided, the others follow.
  Task<Result<Timestamp>> commit_new(TransactionId id, std::vector<Participant> participants);
  void remember_refusal(const TransactionId& id, Timestamp requested, Error error);
  // `held`: those that prepared it.
  Task<Result<void>> prepare_all(std::vector<Participant> participants,
                                 std::vector<TabletId>& held);
  Task<void> prepare_one(Participant participant, Instant deadline, Result<void>& out);
  Task<Result<Timestamp>> decide(TransactionId id, std::vector<TabletId> participants);
  void tell(const Decision& decision);
  Task<void> tell_all(Decision decision);
  Task<void> tell_one(TabletId tablet, TransactionId id, Timestamp commit, char& heard);
  Task<void> abort_all(TransactionId id, std::vector<TabletId> participants);
  Task<void> abort_one(TabletId tablet, TransactionId id);
  // `sent`: the entry was begun, so that a failure leaves the outcome unknown.
  Task<Result<void>> log(Decision decision, bool& sent);
  Task<void> pause(Duration duration);

  World world_;
  TabletCalls& calls_;
  TimestampSource& timestamps_;
  const CoordinatorOptions options_;
  State state_;
  std::unique_ptr<Leader> leader_;
  using Answer = OneShot<Result<Timestamp>>;
  std::map<TransactionId, std::vector<std::shared_ptr<Answer>>> undecided_;  // Who follows them.
  std::map<TransactionId, Error> refused_;
  std::deque<std::pair<TransactionId, Timestamp>> refused_order_;  // Oldest first.
  Timestamp refusals_forgotten_ = 0;  // Those requested up to here may be missing.
  std::size_t untold_ = 0;
  Timestamp newest_ = 0;  // Commit timestamp seen.
  TaskScope scope_;
};

}  // namespace moraine
