// RemoteChanges: the changes that a lane makes to a partition of another node.
//
// They wait in a queue and are sent one message at a time, in a session of the partition
// (change_sessions.h); writes that wait share a message. What becomes of a change when no reply
// comes:
//
//   write with a producer and number   sent again, to a later incarnation too: the partition knows
//                                      duplicates
//   commit, forget, trim               sent again in the same session, where it is carried out once
//   other writes                       not sent again: kUnknown, and the writes that wait behind it
//                                      fail with kFailedBefore
//
// What the other node has refused was not carried out, and is sent again if there is time.
//
// Promise    Changes are carried out in the order of the calls. One that was given up with an
//            unknown outcome is carried out before the next change of the lane, or not at all. A
//            write that failed is remembered (queue/refusals.h) before its caller sees that.
// Threading  `link`'s lane.
// Limits     kWriteCallBytesMax a message, unless it is one write; kInFlightWritesMax changes that
//            wait; kChangeTimeout.
// Errors     kNotHere, WriteStatus::kStopped: the partition does not run there, or no session could
//            be opened; nothing was changed, as with kOverloaded and kUnsupported (the node has
//            another version). kTimeout, kUnavailable: no session could be opened; nothing was
//            changed. kUnknownOutcome, WriteStatus::kUnknown: it may have been changed.
// Tests      remote_faults_test.cpp, remote_partition_test.cpp; node/two_nodes_test.cpp.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "client/peer_link.h"
#include "queue/refusals.h"

namespace moraine {

inline constexpr std::size_t kWriteCallBytesMax = std::size_t{4} << 20;
inline constexpr Duration kChangeTimeout = std::chrono::seconds{30};

class RemoteChanges : public std::enable_shared_from_this<RemoteChanges> {
 public:
  using Reply = Result<PartitionReply>;
  // Called with every reply.
  using Note = std::function<void(const PartitionReply&)>;

  RemoteChanges(PeerLinkPtr link, TabletId tablet, queue::PartitionIndex index, Note note);
  RemoteChanges(const RemoteChanges&) = delete;
  RemoteChanges& operator=(const RemoteChanges&) = delete;

  std::shared_ptr<OneShot<queue::WriteAnswer>> write(queue::WriteRequest request);
  // Waits for its turn, and for the reply. `texts`: their bytes.
  Task<Reply> change(PartitionCall call, std::size_t texts);
  // Another incarnation than that of the session runs.
  void note_incarnation(std::uint64_t incarnation);
  // The partition runs elsewhere now: what is in flight has an unknown outcome, and nothing is sent
  // any more. All callers are answered before it returns.
  void abandon();

 private:
  using Written = std::shared_ptr<OneShot<queue::WriteAnswer>>;
  // A change that waits: a write, or another one.
  struct Item {
    PartitionCall call;  // A WriteCall has one write.
    Written written;
    std::shared_ptr<OneShot<Reply>> done;
    std::size_t bytes = 0;
  };
  // The changes of one message.
  struct Batch {
    PartitionCall call;
    std::vector<Item> items;  // Without their calls.
    std::vector<queue::Producer> producers;
    bool at_most_once = false;     // Not sent again when no reply comes.
    bool any_incarnation = false;  // Sent again to later incarnations.
    bool lost = false;             // An attempt of an earlier session got no reply.
    bool lost_in_session = false;  // One of this session.
    bool attempted = false;        // Sent in this session: it may be delivered again.
    bool attempting = false;       // A reply is awaited.

    bool may_be_done() const { return lost || lost_in_session || attempting; }
  };
  enum class Next : std::uint8_t { kDone, kAgain, kGiveUp };

  void push(Item item);
  static Task<void> send_changes(std::shared_ptr<RemoteChanges> self);
  Batch take_batch();
  // Both end early after abandon().
  Task<void> carry_out();
  Task<Result<void>> open_session(Instant deadline);
  // What an attempt says about the batch in flight.
  Next judge(Attempt attempt, Error& error);
  void judge_stale(const PartitionReply& reply);
  void leave_session();
  // Asks the partition to close the session to be closed. True: the change with this number is
  // certainly not carried out.
  Task<bool> close_now(std::uint64_t number);
  void finish(PartitionReply reply);
  void give_up(Error error);
  // Takes the writes that wait out of the queue, to fail them.
  std::vector<Written> take_waiting();
  void refuse(const queue::Producer& producer) { refusals_.refused(producer, true, link_->now()); }

  const PeerLinkPtr link_;
  const TabletId tablet_;
  const queue::PartitionIndex index_;
  const Note note_;
  std::deque<Item> waiting_;
  std::optional<Batch> in_flight_;
  queue::Refusals refusals_;  // Writes that were not sent, or failed.
  bool sending_ = false;
  bool abandoned_ = false;
  SessionName session_;
  std::uint64_t number_ = 0;  // The last change that was answered.
  SessionName closing_;       // A session that the next one closes.
};

}  // namespace moraine
