// PartitionServer: serves the partitions of this node to others.
//
// Changes (writes, consumer offsets, trims) come in sessions, one at a time, and are numbered. The
// network may deliver a request twice, and late: a change with the newest number of its session
// gets the answer of the first delivery, and one of another number, of a session that is closed or
// of another incarnation of the partition is refused. So a change is carried out once, in the order
// of its session, and never after the session that replaces its own was opened.
//
// Promise    As above. An open request is answered when no change of the session that it closes is
//            in flight. Reads return at most kPartitionPageBytes, or one entry.
// Threading  The network's executor; partitions are called on theirs.
// Limits     kPartitionCallsMax requests in flight, of kPartitionCallBytesMax bytes with the pages
//            that are being read, of which at
//            most kPartitionWaitsMax wait, past which requests are refused; kSessionsMax sessions
//            of a partition, past which idle ones are forgotten; waits of kServedWaitMax.
// Tests      partition_forms_test.cpp, remote_partition_test.cpp; node/two_nodes_test.cpp.
#pragma once

#include <functional>
#include <memory>

#include "client/lane_partition.h"
#include "client/partition_messages.h"
#include "io/world.h"

namespace moraine {

inline constexpr std::size_t kPartitionCallsMax = 8'192;
inline constexpr std::size_t kPartitionCallBytesMax = std::size_t{128} << 20;
inline constexpr std::size_t kPartitionWaitsMax = 4'096;
inline constexpr std::size_t kSessionsMax = 256;
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
  // Requests are refused from now on; those in flight continue.
  void close();
  // Waits until none is in flight. Waits end when their partitions stop.
  Task<void> join();

 private:
  struct Change;
  struct Session;
  struct Served;
  struct State;
  using StatePtr = std::shared_ptr<State>;
  using ServedPtr = std::shared_ptr<Served>;

  static Task<Slice> answer(StatePtr state, Slice frame);
  static Task<Slice> answer_counted(StatePtr state, PartitionRequest request, std::size_t bytes);
  static Task<Slice> open(ServedPtr served, OpenSessionCall call, PartitionReply reply);
  static Task<Slice> change(StatePtr state, ServedPtr served, HomePartition home,
                            PartitionCall call, std::size_t bytes, PartitionReply reply);

  StatePtr state_;
};

}  // namespace moraine
