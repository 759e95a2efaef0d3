// DiskService: the server side of one VDisk.
//
// Promise    handle() always returns a reply; requests after a stop get kError.
// Threading  handle() starts, runs and ends on executor(), any number of times at once; a call may
//            drop the last reference to its service there. executor() is called on any thread and
//            always returns the same one.
#pragma once

#include "blob/protocol.h"
#include "io/executor.h"
#include "io/task.h"

namespace moraine::blob {

class DiskService {
 public:
  virtual ~DiskService() = default;
  virtual Executor& executor() = 0;
  virtual Task<DiskReply> handle(DiskRequest request) = 0;
};

}  // namespace moraine::blob
