// KeyValueHost: keeps a key-value tablet running on this node.
//
// Promise    As TabletHost: one incarnation at a time, a new one when it has ended by itself.
// Threading  The world's executor. A caller keeps its pointer to the tablet while it awaits a call;
//            calls of a tablet that has ended fail.
// Tests      key_value_host_test.cpp.
#pragma once

#include <memory>

#include "keyvalue/key_value.h"
#include "node/tablet_host.h"

namespace moraine {

class KeyValueHost {
 public:
  // `groups` outlives the host.
  KeyValueHost(World world, BlobGroups& groups, TabletInfo info, LeaderOptions options = {},
               Placement* placement = nullptr);

  void start() { host_.start(); }
  // Null while the tablet is not running.
  std::shared_ptr<KeyValue> get() const { return host_.get(); }
  // Null: the deadline has passed, or the host was stopped.
  Task<std::shared_ptr<KeyValue>> wait(Instant deadline) { return host_.wait(deadline); }
  Task<void> stop() { return host_.stop(); }
  void abandon() { host_.abandon(); }

 private:
  Task<Result<std::unique_ptr<KeyValue>>> boot();

  World world_;
  BlobGroups& groups_;
  const TabletInfo info_;
  const LeaderOptions options_;
  TabletHost<KeyValue> host_;
};

}  // namespace moraine
