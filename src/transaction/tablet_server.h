// TabletServer: serves the tablets, coordinators and the oracle of this node to others.
//
// The network may deliver a request twice, also after the incarnation that got it first has ended.
// An incarnation remembers its answers to commits, and accepts only commits that were first
// requested after it began: an older one that it does not remember fails with kUnknownOutcome. So
// no transaction is committed after its client got the reply that it was not.
//
// Promise    A commit is executed once, whatever the network repeats, and all repetitions get the
//            same answer. Results of reads and "not committed" are returned only if no other
//            incarnation had started when they were computed. Scans leave nothing behind: a page
//            says where the next one begins.
// Threading  The network's executor; tablets are called on theirs.
// Limits     kAnswersMax answers remembered per tablet; kServedCallsMax requests of
//            kServedBytesMax bytes in flight, whose replies take kServedReplyBytesMax, past which
//            requests fail with kOverloaded. A page is counted twice, as read and as encoded; a
//            key of a lookup as kKeyReplyBytes, twice too. Single rows may be longer. A lookup
//            is answered for its first keys only when their rows have more than kRowBytesPerReply;
//            no more keys are read than seem to fit.
// Errors     kNotHere: the tablet is not running here, nothing was done.
// Tests      tablet_forms_test.cpp, remote_tablets_test.cpp; node/remote_tables_test.cpp.
#pragma once

#include <map>
#include <memory>

#include "transaction/tablet_messages.h"
#include "transaction/timestamp_oracle.h"

namespace moraine {

inline constexpr std::size_t kAnswersMax = 100'000;
inline constexpr std::size_t kServedCallsMax = 4'096;
inline constexpr std::size_t kServedBytesMax = std::size_t{128} << 20;
inline constexpr std::size_t kRowBytesPerReply = std::size_t{4} << 20;
inline constexpr std::size_t kServedReplyBytesMax = std::size_t{256} << 20;
inline constexpr std::size_t kKeyReplyBytes = std::size_t{8} << 10;

class TabletServer {
 public:
  // Becomes the handler of `network`, which is used on `executor`.
  TabletServer(Network& network, Executor& executor);
  ~TabletServer();
  TabletServer(const TabletServer&) = delete;
  TabletServer& operator=(const TabletServer&) = delete;

  // Serves it, in place of an earlier incarnation; commits once a timestamp was acquired.
  Task<Result<void>> add(TabletId id, std::shared_ptr<table::TableTablet> tablet,
                         TimestampSource& timestamps);
  Task<Result<void>> add(TabletId id, std::shared_ptr<Coordinator> coordinator,
                         TimestampSource& timestamps);
  void add(TabletId id, std::shared_ptr<TimestampOracle> oracle);
  // Requests in flight continue.
  void remove(const void* served);
  // Requests in flight.
  std::size_t calls(const void* served) const;
  std::size_t calls() const;
  // Requests fail with kNotHere from now on; those in flight continue.
  void close();
  // Returns when no request is in flight. Call after close().
  Task<void> wait_idle();

 private:
  struct Served;
  struct State;
  using Hold = std::shared_ptr<Served>;

  Task<Result<void>> open(TabletId id, Hold served, TimestampSource& timestamps);
  static Task<Slice> answer(std::shared_ptr<State> state, Slice frame);
  static Task<TabletReply> serve(Hold served, TabletCall call, Instant deadline);
  static Task<TabletReply> serve_table(Hold served, TabletCall call, Instant deadline);
  static Task<TabletReply> serve_coordinator(Hold served, TabletCall call);
  static Task<TabletReply> look_up(Hold served, LookupCall call, Instant deadline);
  static Task<TabletReply> scan(Hold served, ScanCall call, Instant deadline);
  static Task<TabletReply> versions(Hold served, VersionsCall call, Instant deadline);
  static Task<TabletReply> once(Hold served, TransactionId id, Timestamp requested,
                                Task<Result<Timestamp>> work);

  std::shared_ptr<State> state_;
};

}  // namespace moraine
