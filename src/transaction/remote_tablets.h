// RemoteTablets: tablets, coordinators and the timestamp oracle of other nodes.
//
// Promise    Each call is sent once, to the last known leader of the tablet. Errors as TabletCalls;
//            kNotHere: the tablet has no known leader.
// Threading  The world's executor.
// Tests      remote_tablets_test.cpp.
#pragma once

#include <functional>
#include <optional>

#include "io/world.h"
#include "transaction/tablet_messages.h"

namespace moraine {

class RemoteTablets final : public TabletCalls {
 public:
  // nullopt: it has no known leader.
  using Locate = std::function<std::optional<NodeId>(TabletId)>;
  // `network` outlives the object.
  RemoteTablets(Network& network, Locate locate) : network_(network), locate_(std::move(locate)) {}

  Task<Result<Timestamp>> commit(TabletId tablet, TabletWrite write, Instant deadline) override;
  Task<Result<void>> prepare(TabletId tablet, TabletWrite write, TabletId coordinator,
                             Instant deadline) override;
  Task<Result<void>> commit_prepared(TabletId tablet, TransactionId id, Timestamp commit,
                                     Instant deadline) override;
  Task<Result<void>> abort_prepared(TabletId tablet, TransactionId id, Instant deadline) override;

  // As Coordinator::commit().
  Task<Result<Timestamp>> decide(TabletId coordinator, std::vector<Participant> participants,
                                 Instant deadline);
  Task<Result<TransactionOutcome>> outcome(TabletId coordinator, TransactionId id,
                                           Instant deadline);
  Task<Result<Timestamp>> next_timestamp(TabletId oracle, Instant deadline);
  // Row i answers key i.
  Task<Result<std::vector<FoundRow>>> lookup(TabletId tablet, LookupCall call, Instant deadline);
  struct ScanPage {
    std::vector<FoundRow> rows;
    bool more = false;  // There are rows above the last of `rows`.
  };
  Task<Result<ScanPage>> scan(TabletId tablet, ScanCall call, Instant deadline);

 private:
  // The reply, if its status is OK.
  Task<Result<TabletReply>> call(TabletId tablet, TabletCall call, Instant deadline);

  Network& network_;
  const Locate locate_;
};

// The timestamps of an oracle, wherever it runs. Retries until `timeout` has passed.
class RemoteTimestamps final : public TimestampSource {
 public:
  // All outlive the object.
  RemoteTimestamps(Executor& executor, RemoteTablets& tablets, TabletId oracle,
                   Duration timeout = 5s)
      : executor_(executor), tablets_(tablets), oracle_(oracle), timeout_(timeout) {}
  Task<Result<Timestamp>> next() override;

 private:
  Executor& executor_;
  RemoteTablets& tablets_;
  const TabletId oracle_;
  const Duration timeout_;
};

}  // namespace moraine
