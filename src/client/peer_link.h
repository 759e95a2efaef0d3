// PeerLink: what the remote partitions of a lane share, for one node: calls, their bounds, and one
// wait for the ends of all partitions that are watched.
//
// Promise    call() returns the reply, or an error; `sent` is false when the request has certainly
//            not reached the other node, or that could not decode it: it was not carried out.
//            close() ends all calls at once; join() returns when the network has ended them too.
//            While a partition is followed, it is called whenever its end is another than it knows.
// Threading  `lane`.
// Limits     kPeerBytesMax of requests, and of replies that are awaited; one wait of
//            kWatchedPerCallMax partitions, which lasts kEndWait; more are waited for in turn.
// Tests      remote_faults_test.cpp.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "client/partition_messages.h"
#include "io/event.h"
#include "io/network.h"

namespace moraine {

inline constexpr std::size_t kPeerBytesMax = std::size_t{128} << 20;
inline constexpr Duration kAttemptTimeout = std::chrono::seconds{4};  // For one message.
inline constexpr Duration kEndWait = std::chrono::seconds{3};

struct Attempt {
  Result<PartitionReply> reply;
  bool sent = false;
};

// A partition whose end is followed.
class FollowedEnd {
 public:
  virtual ~FollowedEnd() = default;
  virtual WatchedEnd known_end() const = 0;
  virtual void note_end(const MovedEnd& moved) = 0;
};

class PeerLink : public std::enable_shared_from_this<PeerLink> {
 public:
  // `network` is used on `lane`. `waiter` differs from those of the other lanes of this node.
  PeerLink(Executor& lane, Network& network, NodeId node, std::uint64_t waiter)
      : lane_(lane), network_(network), node_(node), waiter_(waiter), pause_(lane), idle_(lane) {}
  PeerLink(const PeerLink&) = delete;
  PeerLink& operator=(const PeerLink&) = delete;

  Executor& lane() { return lane_; }
  NodeId node() const { return node_; }
  Instant now() const { return lane_.now(); }

  // False: too much is in flight.
  bool reserve(std::size_t more);
  void release(std::size_t bytes) { bytes_ -= bytes; }
  std::size_t bytes() const { return bytes_; }

  Task<Attempt> call(TabletId tablet, queue::PartitionIndex index, PartitionCall call,
                     Instant deadline);
  // Ends early when the link is closed.
  auto pause_until(Instant until) { return pause_.wait_until(closed_ ? now() : until); }

  std::uint64_t follow(std::weak_ptr<FollowedEnd> partition);
  void unfollow(std::uint64_t id) { followed_.erase(id); }

  // Sessions of partitions that were given up here while a change may have been in flight: the next
  // session of the partition closes it.
  void keep_unclosed(TabletId tablet, queue::PartitionIndex index, SessionName session) {
    unclosed_[{tablet, index}] = session;
  }
  SessionName take_unclosed(TabletId tablet, queue::PartitionIndex index);
  void note_closed(TabletId tablet, queue::PartitionIndex index, SessionName session);

  void close();
  bool closed() const { return closed_; }
  // Call after close(). The calls in flight end within kAttemptTimeout.
  static Task<void> join(std::shared_ptr<PeerLink> link);

 private:
  using Answer = std::shared_ptr<OneShot<Result<Slice>>>;

  Answer begin_call(Slice frame, Instant deadline);
  static Task<void> carry(std::shared_ptr<PeerLink> self, Slice frame, Instant deadline,
                          std::uint64_t id, Answer answer);
  static Task<void> follow_ends(std::shared_ptr<PeerLink> self);
  // The partitions are in the order of the call.
  WaitCall next_wait(std::vector<std::uint64_t>& ids);
  Task<bool> wait_once();

  Executor& lane_;
  Network& network_;
  const NodeId node_;
  const std::uint64_t waiter_;
  Event pause_;  // Notified when it is closed.
  Event idle_;   // No call is in flight.
  std::size_t bytes_ = 0;
  std::size_t calls_ = 0;
  bool closed_ = false;
  bool ends_wait_ = false;  // join() asks the peer to end the wait in flight.
  std::map<std::uint64_t, Answer> pending_;
  std::uint64_t next_call_ = 1;

  std::map<std::uint64_t, std::weak_ptr<FollowedEnd>> followed_;
  std::uint64_t next_followed_ = 1;
  std::uint64_t waited_to_ = 0;  // The last one of the last wait.
  bool following_ = false;
  Answer wait_;  // Null: none is in flight.
  std::map<std::pair<TabletId, queue::PartitionIndex>, SessionName> unclosed_;
};
using PeerLinkPtr = std::shared_ptr<PeerLink>;

}  // namespace moraine
