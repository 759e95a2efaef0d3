// PartitionServer: serves the partitions of this node to others.
//
// Changes (writes, consumer offsets, trims) come in sessions (change_sessions.h): whatever the
// network repeats and delays, a change is carried out once, in the order of its session, and never
// after the session was closed or another incarnation of the partition has begun. Requests that
// change nothing are carried out as often as they are delivered.
//
// Promise    As above. An open or close request is answered when no change of the session that it
//            closes is in flight. Nothing is begun after the request's time is over. A node has
//            one wait in flight for each of its waiters.
// Threading  The network's executor; partitions are called on theirs.
// Limits     kPartitionCallsMax requests in flight of kPartitionCallBytesMax bytes; replies that
//            are being made take kPartitionReplyBytesMax, twice the room of each: as read and as
//            encoded. kPartitionWaitsMax requests of one node wait, for kServedWaitMax. Past these,
//            requests are refused with kOverloaded. Those of change_sessions.h.
// Tests      partition_forms_test.cpp, remote_partition_test.cpp, remote_faults_test.cpp;
//            node/two_nodes_test.cpp.
#pragma once

#include <functional>
#include <memory>

#include "client/lane_partition.h"
#include "client/partition_messages.h"
#include "io/served_requests.h"
#include "io/world.h"

namespace moraine {

inline constexpr std::size_t kPartitionCallsMax = 8'192;
inline constexpr std::size_t kPartitionCallBytesMax = std::size_t{128} << 20;
inline constexpr std::size_t kPartitionReplyBytesMax = std::size_t{256} << 20;
// One for each lane of the other node. All its requests share what is served at once.
inline constexpr std::size_t kPartitionWaitsMax = 256;
static_assert(kPartitionWaitsMax <= kServedRequestsMax / 4);
inline constexpr Duration kServedWaitMax = std::chrono::seconds{10};

class PartitionServer {
 public:
  // The partition that runs on this node, with its lane. Null: it does not run here.
  using Find = std::function<HomePartition(TabletId, queue::PartitionIndex)>;

  // Becomes the handler of `network`, which is used on `executor`, as is `random`. `find` is called
  // until close().
  PartitionServer(Network& network, Executor& executor, Random& random, Find find);
  ~PartitionServer();
  PartitionServer(const PartitionServer&) = delete;
  PartitionServer& operator=(const PartitionServer&) = delete;

  // Requests in flight.
  std::size_t calls() const;
  // Bytes that requests and their replies take.
  std::size_t bytes() const;
  // Requests are refused from now on. Waits end; others that are in flight continue.
  void close();
  // Waits until none is in flight.
  Task<void> join();

 private:
  struct Served;
  struct State;
  struct Waiting;
  // Where a request comes from, and until when it is begun.
  struct Delivery {
    NodeId from;
    std::size_t bytes = 0;
    Instant deadline;
  };
  using StatePtr = std::shared_ptr<State>;
  using ServedPtr = std::shared_ptr<Served>;

  static Task<Slice> answer(StatePtr state, NodeId from, Slice frame);
  static Task<Slice> serve(StatePtr state, PartitionRequest request, Delivery delivery);
  static Task<Slice> serve_read(StatePtr state, ServedPtr served, HomePartition home,
                                PartitionCall call, Delivery delivery, PartitionReply reply);
  static Task<Slice> serve_session(ServedPtr served, PartitionCall call, PartitionReply reply);
  static Task<Slice> serve_change(StatePtr state, ServedPtr served, HomePartition home,
                                  PartitionCall call, Delivery delivery, PartitionReply reply);
  static Task<Slice> serve_wait(StatePtr state, WaitCall call, Delivery delivery,
                                PartitionReply reply);

  StatePtr state_;
};

}  // namespace moraine
