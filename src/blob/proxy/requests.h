// Commands of a client to a group, through its proxy, and their results.
//
// Promise    kOk means that the effect survives every tolerated failure set. kError and kDeadline
//            mean that the effect is unknown. kBlocked means that the caller's generation is fenced
//            and must stop.
// Limits     The constants below; past them the result is kError with the reason.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_chain.h"
#include "base/bytes.h"
#include "base/metrics.h"
#include "blob/blob_id.h"
#include "blob/protocol.h"
#include "blob/seeded_bug.h"
#include "blob/status.h"
#include "io/executor.h"

namespace moraine::blob {

inline constexpr std::size_t kGetQueriesMax = 1'000'000;
inline constexpr std::size_t kGetBytesMax = std::size_t{512} << 20;
inline constexpr std::size_t kRangeIdsMax = 1'000'000;
inline constexpr std::size_t kCollectFlagsMax = 1'000'000;

struct ProxyOptions {
  Duration timeout = 30s;      // For commands without a deadline.
  Duration ok_lifetime = 12s;  // A put does not count older acknowledgements.
  // Another disk is called when one is late: after the group's typical latency, in these bounds.
  Duration hedge_min = 10ms;
  Duration hedge_max = 1s;
  Duration hedge_initial = 200ms;  // While nothing was measured.
  Duration avoid_failed_for = 1s;  // Other disks are preferred to one that failed this recently.
  std::size_t collect_flags = kCollectFlagsMax;  // In one collect; more are refused.
  MetricRegistry* metrics = nullptr;             // Where commands are counted; outlives the proxy.
};

struct PutRequest {
  BlobId id;
  ByteChain data;
  Instant deadline = Instant::never();
  std::vector<TabletGeneration> extra_blocks;  // None of them may be blocked either.
};
struct PutResult {
  Status status = Status::kError;
  std::string reason;
  Colour colour = Colour::kGreen;  // Worst that a disk reported.
  bool beyond_barrier = false;     // The blob was garbage already when it was put.
};

struct GetQuery {
  BlobId id;
  std::uint32_t shift = 0;  // Below id.size().
  std::uint32_t size = 0;   // 0: to the end. Limited to the end of the blob.
};
struct GetRequest {
  std::vector<GetQuery> queries;
  Instant deadline = Instant::never();
  // Completes an unconfirmed blob before returning kOk: set when the caller relies on its presence.
  bool must_restore = false;
  bool index_only = false;
  std::optional<TabletGeneration> force_block;
  std::optional<TabletGeneration> reader;
};
struct GetItem {
  Status status = Status::kError;  // kOk, kNoData, kError, kDeadline, kBlocked.
  BlobId id;
  std::uint32_t shift = 0;
  Slice data;
  // As far as the disks that were read know.
  bool keep = false;
  bool do_not_keep = false;
  // kError: every disk answered, and what they have of the blob does not suffice because of wrong
  // checksums. Another get fails in the same way.
  bool damaged = false;
};
struct GetResult {
  // kOk also when single items have other statuses; otherwise every unfinished item has this one.
  Status status = Status::kError;
  std::string reason;
  std::vector<GetItem> items;  // One per query, in their order.
};

struct BlockRequest {
  TabletId tablet;
  // Generation of the starting tablet, at least 1: every lower one is rejected from now on.
  Generation generation = 0;
  Instant deadline = Instant::never();
  std::uint64_t issuer = 0;  // 0: a random one is drawn. A retry repeats it.

  Generation blocked() const { return generation - 1; }
};
struct BlockResult {
  Status status = Status::kError;
  std::string reason;
};

struct GetBlockRequest {
  TabletId tablet;
  Instant deadline = Instant::never();
};
struct GetBlockResult {
  Status status = Status::kError;
  std::string reason;
  Generation blocked = 0;  // 0: not blocked.
};

struct CollectRequest {
  TabletId tablet;
  Channel channel = 0;
  Generation record_generation = 0;
  // Flags past kFlagsMax are sent in separate messages, each with the next counter; the last has
  // the barrier. The caller's next counter is counter + counters_used.
  std::uint32_t counter = 0;
  std::optional<GenStep> barrier;
  bool hard = false;
  std::vector<BlobId> keep;
  std::vector<BlobId> do_not_keep;
  Instant deadline = Instant::never();
};
struct CollectResult {
  Status status = Status::kError;
  std::string reason;
  std::uint32_t counters_used = 0;  // Also for a command that failed midway.
};

struct RangeRequest {
  BlobId from;  // Same tablet and channel as `to`; from > to: descending.
  BlobId to;
  bool must_restore = false;  // Drops what was provably never confirmed, restores the rest.
  bool index_only = false;
  std::uint32_t limit = 0;  // 0: all; more than kRangeIdsMax ids are then an error.
  std::optional<TabletGeneration> force_block;
  Instant deadline = Instant::never();
};
struct RangeFound {
  BlobId id;
  Slice data;
  bool keep = false;
  bool do_not_keep = false;
};
struct RangeResult {
  Status status = Status::kError;
  std::string reason;
  std::vector<RangeFound> items;  // In the requested order.
  bool more = false;              // The limit was reached before the end.
  Generation blocked = 0;         // Generation of the tablet; 0: not blocked.
};

struct DiscoverRequest {
  TabletId tablet;
  Generation min_generation = 0;  // Older blobs do not count.
  // All confirmed blobs of channel 0, as a restoring range returns them and within its limits;
  // otherwise only the newest.
  bool list = false;
  bool read_body = false;  // With the content of what is returned.
  bool discover_blocked = false;
  Generation force_blocked_generation = 0;  // 0: none. Stored by each disk before it reads.
  Instant deadline = Instant::never();
};
struct DiscoverResult {
  Status status = Status::kError;  // kNoData: the tablet has no blob in channel 0.
  std::string reason;
  BlobId id;  // The newest restorable blob of channel 0.
  Slice body;
  std::vector<RangeFound> blobs;  // With list: newest first.
  Generation blocked = 0;         // With discover_blocked.
};

struct StatusRequest {
  // Once a quorum is ready, do not wait for disks that are slower than usual.
  bool quorum_is_enough = false;
  Instant deadline = Instant::never();
};
struct DiskState {
  Status status = Status::kError;  // Of the request.
  std::string reason;              // When not kOk.
  GetStatusReply state;            // When kOk.

  bool serves() const { return status == Status::kOk && state.ready; }
  bool whole() const { return serves() && state.replicated; }
};
struct StatusResult {
  Status status = Status::kError;  // kOk: a group quorum is ready.
  std::string reason;
  Colour colour = Colour::kGreen;
  std::optional<double> free_share;  // Smallest of the disks that answered; nullopt: none did.
  std::vector<DiskState> disks;      // By order.
};

}  // namespace moraine::blob
