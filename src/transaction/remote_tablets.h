// RemoteTablets: tablets, coordinators and the timestamp oracle of other nodes.
//
// Promise    As TabletCalls and TabletReads. Each request is sent once, to the last known leader of
//            the tablet, and never again by itself: callers decide what is safe to repeat. A lookup
//            of many keys is several requests. close() ends every call, however long its deadline.
// Threading  Any lane: requests are sent on the network's, and results are returned on the
//            caller's. The location of tablets is asked for on the network's lane.
// Limits     kCallTimeoutMax per request, whatever the deadline; those of tablet_messages.h;
//            kKeyBytesPerCallMax and kCellsPerCallMax in one request of a lookup.
// Errors     kNotHere: the tablet has no known leader, or does not run there. When no reply has
//            come: of reads kTimeout or kUnavailable, of all others kUnknownOutcome. kUnavailable
//            of a call that begins after close(): nothing was sent.
//            kInvalidArgument: the request or a row is too long for a message.
// Tests      tablet_forms_test.cpp, remote_tablets_test.cpp; node/remote_tables_test.cpp.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "io/sync.h"
#include "io/world.h"
#include "transaction/tablet_messages.h"

namespace moraine {

inline constexpr Duration kCallTimeoutMax = std::chrono::seconds{60};
inline constexpr std::size_t kKeyBytesPerCallMax = std::size_t{8} << 20;

class RemoteTablets final : public TabletCalls, public TabletReads {
 public:
  // nullopt: it has no known leader.
  using Locate = std::function<std::optional<NodeId>(TabletId)>;
  // `network`, used on `executor`, outlives the object.
  RemoteTablets(Executor& executor, Network& network, Locate locate)
      : executor_(executor), network_(network), locate_(std::move(locate)) {}

  // Calls in flight end without their replies; later ones are not sent. On the network's lane.
  void close();
  bool closed() const { return closed_; }

  Task<Result<Timestamp>> commit(TabletId tablet, TabletWrite write, Instant deadline) override;
  Task<Result<void>> prepare(TabletId tablet, TabletWrite write, TabletId coordinator,
                             Instant deadline) override;
  Task<Result<void>> commit_prepared(TabletId tablet, TransactionId id, Timestamp commit,
                                     Instant deadline) override;
  Task<Result<void>> abort_prepared(TabletId tablet, TransactionId id, Instant deadline) override;

  Task<Result<void>> lookup(TabletId tablet, SchemaPtr schema, table::LookupRequest request,
                            Rowset& rows, Instant deadline) override;
  Task<Result<table::OwnedVersionedRow>> lookup_versions(TabletId tablet, SchemaPtr schema,
                                                         std::string key, Timestamp timestamp,
                                                         Instant deadline) override;
  Task<Result<ScanPage>> scan(TabletId tablet, SchemaPtr schema, table::ScanRequest request,
                              Instant deadline) override;

  // As Coordinator::commit().
  Task<Result<Timestamp>> decide(TabletId coordinator, std::vector<Participant> participants,
                                 Instant deadline);
  Task<Result<TransactionOutcome>> outcome(TabletId coordinator, TransactionId id,
                                           Instant deadline);
  Task<Result<Timestamp>> next_timestamp(TabletId oracle, Instant deadline);

 private:
  using Answer = OneShot<Result<Slice>>;

  // Does not use the object: it may be gone when the network returns.
  static Task<void> deliver(Network& network, NodeId node, Slice frame, Instant deadline,
                            std::shared_ptr<Answer> answer);
  // Ends when there is a reply or close() is called.
  Task<Result<Slice>> exchange(NodeId node, Slice frame, Instant deadline);
  // The reply, if its status is OK.
  Task<Result<TabletReply>> call(TabletId tablet, TabletCall call, Instant deadline);
  Task<Result<TabletReply>> send(TabletId tablet, TabletCall call, Instant deadline);

  Executor& executor_;
  Network& network_;
  const Locate locate_;
  // Used on the network's lane.
  std::map<std::uint64_t, std::shared_ptr<Answer>> in_flight_;  // By turn.
  std::uint64_t last_turn_ = 0;
  bool closed_ = false;
};

// The timestamps of an oracle, wherever it runs. Retries until `timeout` has passed or `tablets`
// are closed. On any lane.
class RemoteTimestamps final : public TimestampSource {
 public:
  // All outlive the object.
  RemoteTimestamps(Executor& executor, RemoteTablets& tablets, TabletId oracle,
                   Duration timeout = 5s)
      : executor_(executor), tablets_(tablets), oracle_(oracle), timeout_(timeout) {}
  Task<Result<Timestamp>> next() override;

 private:
  Task<Result<Timestamp>> ask();

  Executor& executor_;
  RemoteTablets& tablets_;
  const TabletId oracle_;
  const Duration timeout_;
};

}  // namespace moraine
