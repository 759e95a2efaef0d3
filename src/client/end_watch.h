// EndWatch: the one watch of a partition on which all requests of other nodes wait.
//
// Promise    After add(), the signal is set whenever the end has moved and when the partition
//            stops. The partition is held only while it is watched: until it stops, or its end
//            moves and nobody waits, or release().
// Threading  One executor, which need not be the partition's.
// Tests      remote_faults_test.cpp.
#pragma once

#include <memory>
#include <set>

#include "client/lane_partition.h"
#include "io/event.h"

namespace moraine {

class EndWatch : public std::enable_shared_from_this<EndWatch> {
 public:
  explicit EndWatch(Executor& executor) : executor_(executor) {}
  EndWatch(const EndWatch&) = delete;
  EndWatch& operator=(const EndWatch&) = delete;
  ~EndWatch() { release(); }

  // `waiting` is removed before it is destroyed.
  void add(const HomePartition& home, Signal& waiting);
  void remove(Signal& waiting) { waiting_.erase(&waiting); }
  void release();

 private:
  void moved();

  Executor& executor_;
  std::shared_ptr<queue::Partition> partition_;  // For `executor_`. Null: it is not watched.
  std::uint64_t watch_ = 0;
  std::set<Signal*> waiting_;
};

}  // namespace moraine
