// RemotePartition: a partition that runs on another node.
//
// Changes wait in a queue and are sent one message at a time, in a session of the partition
// (partition_server.h); writes that wait share a message. What becomes of a change when no reply
// comes:
//
//   write with a producer and number   sent again, to a later incarnation too: the partition knows
//                                      duplicates
//   commit, forget, trim               sent again in the same session, where it is carried out once
//   other writes                       not sent again: kUnknown, and the writes that wait behind it
//                                      fail with kFailedBefore
//
// Promise    As Partition. A change that was given up with an unknown outcome is carried out before
//            the next change of this object, or not at all. committed(), all_committed(), info()
//            and stopped() are as of the last reply: refresh() asks for new ones, and while
//            somebody watches, the end is known a moment after it has moved. configure() does
//            nothing: the node that runs the partition follows the scheme itself.
// Threading  `lane`; what Partition allows on any thread, on any thread.
// Limits     Those of partition_messages.h; kPeerBytesMax of requests and of pages that are being
//            read, of all partitions of a lane on one node, past which calls fail with kOverloaded;
//            kInFlightWritesMax changes that wait. kChangeTimeout, kReadTimeout. A read returns at
//            most kPartitionPageBytes, or one message, which must fit a frame (kFrameBytesMax).
// Errors     kNotHere, WriteStatus::kStopped: it does not run there, or no session could be opened;
//            nothing was changed. kUnknownOutcome, WriteStatus::kUnknown: it may have been changed.
//            kTimeout, kUnavailable: of reads, no reply has come.
// Tests      partition_forms_test.cpp, remote_partition_test.cpp; node/two_nodes_test.cpp.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>

#include "client/partition_messages.h"
#include "io/event.h"
#include "io/network.h"
#include "queue/refusals.h"

namespace moraine {

inline constexpr std::size_t kPeerBytesMax = std::size_t{128} << 20;
inline constexpr std::size_t kWriteCallBytesMax = std::size_t{4} << 20;  // Unless it is one write.
inline constexpr Duration kChangeTimeout = std::chrono::seconds{30};
inline constexpr Duration kReadTimeout = std::chrono::seconds{15};
inline constexpr Duration kAttemptTimeout = std::chrono::seconds{4};  // Of one message.
inline constexpr Duration kEndWait = std::chrono::seconds{5};         // Of one wait for the end.

// What the remote partitions of a lane share, for one node.
struct PeerLink {
  PeerLink(Executor& its_lane, Network& its_network, NodeId its_node)
      : lane(its_lane), network(its_network), node(its_node), pause(its_lane) {}
  // False: too much is in flight.
  bool reserve(std::size_t more);

  Executor& lane;
  Network& network;  // Used on `lane`.
  const NodeId node;
  Event pause;  // Notified when it is closed.
  std::size_t bytes = 0;
  bool closed = false;
};
using PeerLinkPtr = std::shared_ptr<PeerLink>;

class RemotePartition final : public queue::Partition,
                              public std::enable_shared_from_this<RemotePartition> {
 public:
  // `index` is that within the tablet.
  RemotePartition(PeerLinkPtr link, TabletId tablet, queue::PartitionIndex index);
  RemotePartition(const RemotePartition&) = delete;
  RemotePartition& operator=(const RemotePartition&) = delete;

  NodeId node() const { return link_->node; }

  std::shared_ptr<OneShot<queue::WriteAnswer>> write(queue::WriteRequest request) override;
  Task<Result<queue::ReadAnswer>> read(queue::ReadRequest request) override;
  Task<Result<std::optional<queue::StoredEntry>>> find_time(std::int64_t time_ms) override;
  Task<Result<std::optional<queue::StoredEntry>>> find_time_from(queue::Offset from,
                                                                 std::int64_t time_ms) override;
  Task<Result<std::optional<queue::StoredEntry>>> find_newest() override;
  Task<Result<void>> commit(queue::ConsumerOffset offset) override;
  std::optional<queue::ConsumerOffset> committed(const std::string& consumer) const override;
  std::vector<queue::ConsumerOffset> all_committed() const override;
  Task<Result<void>> forget_consumer(std::string consumer) override;
  Task<Result<queue::Offset>> trim(queue::Offset offset) override;
  queue::PartitionInfo info() const override;
  Task<Result<void>> refresh() override;
  void configure(queue::PartitionConfig) override {}
  std::uint64_t watch(Callback moved) override;
  void unwatch(std::uint64_t watch) override;
  bool stopped() const override;

 private:
  using Reply = Result<PartitionReply>;
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
    bool once = false;      // Not sent again.
    bool anywhere = false;  // Sent again to later incarnations.
  };
  struct Watch {
    Callback callback;
    bool active = true;  // False after unwatch().
  };
  // What any thread may read.
  struct Mirror {
    mutable std::mutex mutex;
    // Guarded by mutex.
    queue::PartitionInfo info;
    std::map<std::string, queue::ConsumerOffset> consumers;
    std::uint64_t incarnation = 0;
    bool stopped = false;
  };

  static Task<Reply> send(PeerLinkPtr link, TabletId tablet, queue::PartitionIndex index,
                          PartitionCall call, Instant deadline);
  // For requests that change nothing: sent again while no reply comes.
  Task<Reply> ask(PartitionCall call, std::size_t bytes);
  // Waits for its turn, and for the reply.
  Task<Reply> change(PartitionCall call);
  Task<Result<std::optional<queue::StoredEntry>>> find(PartitionCall call);

  void push(Item item);
  static Task<void> send_changes(std::shared_ptr<RemotePartition> self);
  Batch take_batch();
  Task<void> carry_out(Batch batch);
  Task<Result<void>> open_session(Instant deadline);
  void close_session();
  void finish(Batch batch, PartitionReply reply);
  // `sent`: it may have reached the partition.
  void give_up(Batch batch, bool sent, Error error);
  // Takes the writes that wait out of the queue, to fail them.
  std::vector<Written> take_waiting();
  void note(const PartitionReply& reply);
  // A consumer was changed by this object. nullopt: it was forgotten.
  void note_consumer(const std::string& consumer, std::optional<queue::ConsumerOffset> offset);

  static Task<void> follow_end(std::weak_ptr<RemotePartition> weak, PeerLinkPtr link);
  void note_end(const Reply& reply);
  void notify();

  const PeerLinkPtr link_;
  const TabletId tablet_;
  const queue::PartitionIndex index_;
  Mirror mirror_;

  std::deque<Item> waiting_;
  queue::Refusals refusals_;  // Of writes that were not sent.
  bool sending_ = false;
  std::uint64_t incarnation_ = 0;  // Of the session.
  std::uint64_t session_ = 0;      // 0: none.
  std::uint64_t number_ = 0;       // Of the last change that was answered.
  std::uint64_t closing_ = 0;      // A session that the next one closes.

  std::map<std::uint64_t, std::shared_ptr<Watch>> watches_;
  std::uint64_t next_watch_ = 1;
  bool following_ = false;
  WaitCall followed_;  // What watchers were notified of.
  bool followed_stopped_ = false;

  std::size_t refreshing_ = 0;
  // Changed while a refresh is in flight.
  std::map<std::string, std::optional<queue::ConsumerOffset>> changed_consumers_;
};

// Makes the remote partitions of one lane.
class RemotePartitions {
 public:
  // `network` is used on `lane`; both outlive the partitions.
  RemotePartitions(Executor& lane, Network& network) : lane_(lane), network_(network) {}
  RemotePartitions(const RemotePartitions&) = delete;
  RemotePartitions& operator=(const RemotePartitions&) = delete;
  ~RemotePartitions() { close(); }

  std::shared_ptr<RemotePartition> make(NodeId node, TabletId tablet, queue::PartitionIndex index);
  // Nothing is sent from now on.
  void close();

 private:
  Executor& lane_;
  Network& network_;
  bool closed_ = false;
  std::map<NodeId, PeerLinkPtr> links_;
};

}  // namespace moraine
