// RemoteServices: timestamps, commits and reads for a client whose tablets all run on other nodes.
//
// Promise    As TransactionServices, by messages (transaction/remote_tablets.h). A transaction over
//            several tablets is committed by the coordinator, wherever it runs. Nothing is repeated
//            but requests for timestamps.
// Threading  Any lane of the node.
// Tests      node/remote_tables_test.cpp.
#pragma once

#include "client/tables.h"
#include "transaction/remote_tablets.h"

namespace moraine::client {

class RemoteServices final : public TransactionServices {
 public:
  // `network`, used on `executor`, outlives the object. `locate` is called on `executor`.
  RemoteServices(Executor& executor, Network& network, RemoteTablets::Locate locate,
                 TabletId oracle, TabletId coordinator)
      : tablets_(executor, network, std::move(locate)),
        timestamps_(executor, tablets_, oracle),
        coordinator_(coordinator) {}

  TimestampSource& timestamps() override { return timestamps_; }
  std::optional<Timestamp> try_timestamp() override { return std::nullopt; }
  CommitParts commit_parts() override {
    return {tablets_, timestamps_, [this](std::vector<Participant> participants) {
              return tablets_.decide(coordinator_, std::move(participants), Instant::never());
            }};
  }
  TabletReads& reads() override { return tablets_; }
  OpenCounts& open_counts() override { return open_counts_; }

 private:
  RemoteTablets tablets_;
  RemoteTimestamps timestamps_;
  const TabletId coordinator_;
  OpenCounts open_counts_;
};

}  // namespace moraine::client
