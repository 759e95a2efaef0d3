// What may be asked of one VDisk, by a proxy or by a neighbour, and what it answers.
//
// Promise    One request type for local and remote disks: DiskEndpoint hides which it is. Requests
//            are idempotent, so a lost reply may be answered by asking again.
// Limits     kPartQueriesMax queries per get, kRangeItemsMax items per range reply, kFlagsMax flags
//            per collect; replies stay under kFrameBytesMax.
// Format     protocol_codec.cpp has the byte grammar.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "blob/blob_id.h"
#include "blob/group/config.h"
#include "blob/group/quorum.h"
#include "blob/status.h"
#include "io/executor.h"
#include "io/task.h"

namespace moraine::blob {

inline constexpr std::size_t kPartQueriesMax = 10'000;
inline constexpr std::size_t kGetReplyBytesMax = std::size_t{24} << 20;
inline constexpr std::size_t kRangeItemsMax = 8'096;
inline constexpr std::size_t kFlagsMax = 10'000;
inline constexpr std::size_t kSyncFactsMax = 8'192;
inline constexpr std::size_t kExtraBlocksMax = 100;
inline constexpr std::size_t kCursorBytesMax = 256;
inline constexpr std::size_t kReasonBytesMax = 1'024;  // Longer reasons are cut on the wire.

struct TabletGeneration {
  TabletId tablet;
  Generation generation = 0;
  auto operator<=>(const TabletGeneration&) const = default;
};

// Index facts of one blob as merged by OR: flags, and which slot ever had which part.
struct Ingress {
  // bits 0-1: Keep, DoNotKeep; then presence and deletion bits; see ingress.h.
  std::uint32_t bits = 0;
  bool operator==(const Ingress&) const = default;
};

// --- Requests of proxies -----------------------------------------------------------------------

struct PutPart {
  BlobId id;  // With its part number.
  Slice data;
  // A restore or a handoff move: completes a blob that may belong to a fenced generation.
  bool ignore_block = false;
  std::vector<TabletGeneration> extra_blocks;  // Must not be blocked either.
};
struct PutPartReply {
  bool beyond_barrier = false;  // The blob is garbage already; nothing was stored.
  // With kError: a blob that differs in its size alone is stored here, so this one may not be.
  bool other_size = false;
};

struct PartQuery {
  BlobId id;                // Part 0 asks for every local part.
  std::uint32_t shift = 0;  // Within the part, not within the blob.
  std::uint32_t size = 0;   // 0: to the end of the part.
};
struct GetParts {
  std::vector<PartQuery> queries;
  bool index_only = false;
  // Recorded as a block (durably) before anything is read.
  std::optional<TabletGeneration> force_block;
  // The asking tablet: BLOCKED when its generation is fenced.
  std::optional<TabletGeneration> reader;
};
struct PartAnswer {
  std::uint32_t query = 0;  // Index into GetParts::queries.
  // kOk with data (or, index only, without), kNoData, kNotYet, kCorrupted, kError. A query of part
  // 0 gives one kOk answer per local part, or a single answer when there is none.
  Status status = Status::kError;
  std::uint32_t part = 0;
  Slice data;
  Ingress ingress;  // What this disk knows of the blob; zero when it knows nothing.
};
struct GetPartsReply {
  // In the order of the queries. Ends early, with truncated set, when the bytes would exceed
  // kGetReplyBytesMax: the caller asks again for the rest.
  std::vector<PartAnswer> answers;
  bool truncated = false;
};

struct BlockTablet {
  TabletId tablet;
  Generation generation = 0;  // This and every lower generation are rejected from now on.
  std::uint64_t issuer = 0;   // Random; lets a retry of the same block be recognised.
};
struct BlockTabletReply {
  Generation blocked = 0;
};

struct GetBlock {
  TabletId tablet;
};
struct GetBlockReply {
  Generation blocked = 0;  // 0: not blocked.
};

struct Collect {
  TabletId tablet;
  Channel channel = 0;
  Generation record_generation = 0;
  std::uint32_t counter = 0;
  std::optional<GenStep> barrier;
  bool hard = false;
  std::vector<BlobId> keep;
  std::vector<BlobId> do_not_keep;
};
struct CollectReply {};

struct RangeIndex {
  BlobId from;  // from > to: descending.
  BlobId to;
  std::uint32_t limit = kRangeItemsMax;
  std::optional<TabletGeneration> force_block;
};
struct RangeItem {
  BlobId id;
  Ingress ingress;
  std::uint8_t local_parts = 0;  // Bit part-1: data is here.
  bool not_yet = false;          // This disk should have a part that it has not.
};
struct RangeIndexReply {
  std::vector<RangeItem> items;  // In the asked order.
  bool more = false;             // The limit was reached before the end.
  Generation blocked = 0;
};

struct GetStatus {};
struct GetStatusReply {
  bool ready = false;       // Past guid recovery and initial sync.
  bool replicated = false;  // What was missing when the last pass began is here.
  std::uint64_t blobs = 0;
  std::uint64_t missing = 0;  // Parts still to be replicated.
  std::uint64_t live_bytes = 0;
  std::uint64_t capacity_bytes = 0;
  // From here on absent in the replies of older programs.
  bool broken = false;
  std::string reason;               // Why it does not serve.
  bool replicating = false;         // Parts are being restored, and were already for a while.
  std::uint64_t restored = 0;       // Parts, since that began.
  std::uint64_t damaged_found = 0;  // Parts with a wrong checksum, since the node started.
  std::uint64_t damaged_repaired = 0;
};

// Hands a newer group config to a disk that answered with an older generation.
struct Configure {
  GroupConfig config;
};
struct ConfigureReply {};

// --- Requests of neighbours --------------------------------------------------------------------

// Guid recovery: a disk asks what its neighbours remember of it, and has them remember.
enum class GuidState : std::uint8_t { kEmpty, kInProgress, kFinal };
struct ExchangeGuid {
  std::uint32_t order = 0;  // The asking disk.
  // kEmpty only asks; otherwise the neighbour durably remembers (guid, state).
  GuidState state = GuidState::kEmpty;
  std::uint64_t guid = 0;
};
struct ExchangeGuidReply {
  GuidState state = GuidState::kEmpty;  // As remembered after the exchange.
  std::uint64_t guid = 0;
  // How far the neighbour has read the asking disk's facts: in which log, up to where. A disk whose
  // own log ends before that is an old copy of itself.
  std::uint64_t log = 0;
  std::uint64_t position = 0;
};

struct BlobFact {
  BlobId id;
  Ingress ingress;
};
struct BlockFact {
  TabletId tablet;
  Generation generation = 0;
};
struct BarrierFact {
  TabletId tablet;
  Channel channel = 0;
  bool hard = false;
  Generation record_generation = 0;
  std::uint32_t counter = 0;
  GenStep barrier;
  DiskSet seen = 0;  // Disks known to have this record durably.
};
using IndexFact = std::variant<BlobFact, BlockFact, BarrierFact>;

// Pulls index facts. `after` is the last log position of the neighbour that the asker has durably;
// `log` names that neighbour's log (it changes with its guid). A neighbour whose log does not reach
// back to `after` answers with a full sync: the asker then pages with `cursor` until done.
struct PullFacts {
  std::uint32_t order = 0;  // The asking disk.
  std::uint64_t log = 0;
  std::uint64_t after = 0;
  Slice cursor;  // Empty: incremental, or the start of a full sync.
};
struct PullFactsReply {
  std::uint64_t log = 0;
  bool full = false;
  std::vector<IndexFact> facts;
  std::uint64_t position = 0;  // Once applied (at the end of a full sync), ask after this.
  Slice cursor;                // Full sync: the next page; empty when done.
  bool more = false;
};

// --- The envelope ------------------------------------------------------------------------------

using RequestBody = std::variant<PutPart, GetParts, BlockTablet, GetBlock, Collect, RangeIndex,
                                 GetStatus, Configure, ExchangeGuid, PullFacts>;
using ReplyBody = std::variant<std::monostate, PutPartReply, GetPartsReply, BlockTabletReply,
                               GetBlockReply, CollectReply, RangeIndexReply, GetStatusReply,
                               ConfigureReply, ExchangeGuidReply, PullFactsReply>;

struct DiskRequest {
  VDiskId target;  // With the sender's group generation.
  RequestBody body;
  // Of the sender's config: two configs of one generation are told apart by it. 0: not stated.
  std::uint32_t digest = 0;
};

struct DiskReply {
  Status status = Status::kError;
  std::string reason;  // For people; empty when kOk.
  // Changes when the disk was wiped; equal values mean that earlier answers still hold.
  std::uint64_t incarnation = 0;
  Colour colour = Colour::kGreen;  // Worst known in the group.
  // Set with kRace: the disk's config. Newer than the sender's: take it and start again. Older: the
  // disk is behind; it can be brought up with Configure. Of the same generation: one of the two is
  // wrong, and people have to say which.
  std::optional<GroupConfig> config;
  ReplyBody body;  // monostate unless the request was carried out.
};

// One VDisk as its callers see it. A reply always comes: transport errors arrive as kError (not
// reached, or lost) or kDeadline.
class DiskEndpoint {
 public:
  virtual ~DiskEndpoint() = default;
  virtual Task<DiskReply> call(DiskRequest request, Instant deadline) = 0;
};

// Finds the endpoint of an address: local VDisks directly, others over the network.
class EndpointResolver {
 public:
  virtual ~EndpointResolver() = default;
  virtual std::shared_ptr<DiskEndpoint> resolve(const DiskAddress& address) = 0;
};

Slice encode(const DiskRequest& request);
Slice encode(const DiskReply& reply);
Result<DiskRequest> decode_request(const Slice& bytes);
Result<DiskReply> decode_reply(const Slice& bytes);

}  // namespace moraine::blob
