// RemotePartition: a partition that runs on another node.
//
// Promise    As Partition; what becomes of changes when messages are lost says remote_changes.h.
//            committed(), all_committed(), info() and stopped() are as of the last reply: the
//            refresh calls ask for new ones, and while somebody watches, the end is known a moment
//            after it has moved. After abandon() all calls fail with kNotHere, and writes with
//            kStopped. configure() does nothing: the node that runs the partition follows the
//            scheme itself.
// Threading  The link's lane; what Partition allows on any thread, on any thread.
// Limits     Those of partition_messages.h, peer_link.h, remote_changes.h. kReadTimeout. A read
//            returns at most kPartitionPageBytes, or one message, which must fit a frame
//            (kFrameBytesMax). kNodeConsumersMax consumers.
// Errors     kNotHere: it does not run there. kOverloaded: too much is in flight. kUnsupported: the
//            other node has another version. Reads: kTimeout, kUnavailable when no reply has come.
//            Changes: those of remote_changes.h.
// Tests      partition_forms_test.cpp, remote_partition_test.cpp, remote_faults_test.cpp;
//            node/two_nodes_test.cpp.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "client/remote_changes.h"

namespace moraine {

inline constexpr Duration kReadTimeout = std::chrono::seconds{15};

class RemotePartition final : public queue::Partition,
                              public FollowedEnd,
                              public std::enable_shared_from_this<RemotePartition> {
 public:
  // `index` is that within the tablet.
  static std::shared_ptr<RemotePartition> make(PeerLinkPtr link, TabletId tablet,
                                               queue::PartitionIndex index);
  RemotePartition(const RemotePartition&) = delete;
  RemotePartition& operator=(const RemotePartition&) = delete;
  ~RemotePartition() override;

  NodeId node() const { return link_->node(); }
  // The partition runs elsewhere now. All changes are answered, and watches are called, before it
  // returns.
  void abandon();

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
  Task<Result<void>> refresh_info() override;
  Task<Result<void>> refresh_committed(std::string consumer) override;
  void configure(queue::PartitionConfig) override {}
  std::uint64_t watch(Callback moved) override;
  void unwatch(std::uint64_t watch) override;
  bool stopped() const override;

  WatchedEnd known_end() const override { return followed_; }
  void note_end(const MovedEnd& moved) override;

 private:
  using Reply = Result<PartitionReply>;
  struct Watch {
    Callback callback;
    bool active = true;  // False after unwatch().
  };
  struct Consumer {
    std::optional<queue::ConsumerOffset> offset;  // nullopt: forgotten during a refresh.
    std::uint64_t moment = 0;                     // PartitionReply::moment.
  };
  // What any thread may read.
  struct Mirror {
    mutable std::mutex mutex;
    // Guarded by mutex.
    queue::PartitionInfo info;
    std::uint64_t info_of = 0;                  // The incarnation.
    std::map<std::string, Consumer> consumers;  // All of `incarnation`, or with moment 0.
    bool forgotten = false;                     // Some consumer has no offset.
    std::uint64_t incarnation = 0;
    std::uint64_t earlier_incarnation = 0;
    bool stopped = false;
  };

  RemotePartition(PeerLinkPtr link, TabletId tablet, queue::PartitionIndex index);

  // For requests that change nothing: sent again while no reply comes. `bytes`: those of the
  // request and of its reply.
  Task<Reply> ask(PartitionCall call, std::size_t bytes);
  // For requests with a room, which is grown when it is too small.
  template <class Call>
  Task<Reply> ask_with_room(Call call, std::size_t room);
  template <class Call>
  Task<Result<std::optional<queue::StoredEntry>>> find(Call call);

  void note(const PartitionReply& reply);
  // Requires: the mutex is locked. False: the incarnation has ended.
  bool note_incarnation(std::uint64_t incarnation);
  // nullopt: there is none with this name. False: the reply's incarnation has ended.
  bool note_consumer(const std::string& name, std::optional<queue::ConsumerOffset> offset,
                     const PartitionReply& reply);
  Result<void> note_page(const std::string& after, PartitionReply& page);
  bool note_described(const std::string& name, PartitionReply& reply);
  Task<Result<void>> read_consumers();
  void end_refresh();
  void notify();

  const PeerLinkPtr link_;
  const TabletId tablet_;
  const queue::PartitionIndex index_;
  std::shared_ptr<RemoteChanges> changes_;
  Mirror mirror_;
  bool abandoned_ = false;

  std::map<std::uint64_t, std::shared_ptr<Watch>> watches_;
  std::uint64_t next_watch_ = 1;
  std::uint64_t follows_ = 0;  // PeerLink::follow(); 0: nobody watches.
  WatchedEnd followed_;        // What watchers were notified of.

  std::size_t refreshing_ = 0;
};

// Makes the remote partitions of one lane.
class RemotePartitions {
 public:
  // `network` is used on `lane`; both outlive the partitions. `waiter` differs from those of the
  // other lanes of the node.
  RemotePartitions(Executor& lane, Network& network, std::uint64_t waiter = 0)
      : lane_(lane), network_(network), waiter_(waiter) {}
  RemotePartitions(const RemotePartitions&) = delete;
  RemotePartitions& operator=(const RemotePartitions&) = delete;
  ~RemotePartitions() { close(); }

  // One object of a partition at a time; an earlier one was abandoned.
  std::shared_ptr<RemotePartition> make(NodeId node, TabletId tablet, queue::PartitionIndex index);
  // All calls fail from now on, also those in flight.
  void close();
  // Closes, and returns when nothing is in flight in the network: within kAttemptTimeout.
  Task<void> stop();

 private:
  Executor& lane_;
  Network& network_;
  const std::uint64_t waiter_;
  bool closed_ = false;
  std::map<NodeId, PeerLinkPtr> links_;
};

}  // namespace moraine
