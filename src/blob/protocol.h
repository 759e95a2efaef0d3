// Requests to one VDisk, from a proxy or a neighbour, and its replies.
//
// Promise    One request type for local and remote disks: DiskEndpoint hides which it is. Requests
//            are idempotent, so a request whose reply was lost may be sent again.
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

#include "base/byte_chain.h"
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
inline constexpr std::size_t kReasonBytesMax = 1'024;  // Longer reasons are truncated on the wire.

struct TabletGeneration {
  TabletId tablet;
  Generation generation = 0;
  auto operator<=>(const TabletGeneration&) const = default;
};

// Index facts of one blob, merged by OR: flags, and which slot ever had which part.
struct Ingress {
  // bits 0-1: Keep, DoNotKeep; then presence and deletion bits; see ingress.h.
  std::uint32_t bits = 0;
  bool operator==(const Ingress&) const = default;
};

// --- Requests of proxies -----------------------------------------------------------------------

struct PutPart {
  BlobId id;  // With its part number.
  ByteChain data;
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
  BlobId id;                // Part 0: every local part.
  std::uint32_t shift = 0;  // Within the part, not within the blob.
  std::uint32_t size = 0;   // 0: to the end of the part.
};
struct GetParts {
  std::vector<PartQuery> queries;
  bool index_only = false;
  // Stored durably as a block before anything is read.
  std::optional<TabletGeneration> force_block;
  // The reading tablet: BLOCKED when its generation is fenced.
  std::optional<TabletGeneration> reader;
};
struct PartAnswer {
  std::uint32_t query = 0;  // Index into GetParts::queries.
  // kOk with data (without data for index_only), kNoData, kNotYet, kCorrupted, kError. A query of
  // part 0 returns one kOk answer per local part, or a single other answer when there is none.
  Status status = Status::kError;
  std::uint32_t part = 0;
  Slice data;
  Ingress ingress;  // What this disk knows about the blob; zero when it knows nothing.
};
struct GetPartsReply {
  // In the order of the queries. Ends early, with truncated set, when the bytes would exceed
  // kGetReplyBytesMax: the caller sends the remaining queries again.
  std::vector<PartAnswer> answers;
  bool truncated = false;
};

struct BlockTablet {
  TabletId tablet;
  Generation generation = 0;  // This and every lower generation are rejected from now on.
  std::uint64_t issuer = 0;   // Random; identifies a retry of the same block.
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
  std::uint8_t local_parts = 0;  // Bit part-1: this disk has the data.
  bool not_yet = false;          // This disk lacks a part that it should have.
};
struct RangeIndexReply {
  std::vector<RangeItem> items;  // In the requested order.
  bool more = false;             // The limit was reached before the end.
  Generation blocked = 0;
};

struct GetStatus {};
struct GetStatusReply {
  bool ready = false;       // Past guid recovery and initial sync.
  bool replicated = false;  // Everything missing when the last pass began is replicated.
  std::uint64_t blobs = 0;
  std::uint64_t missing = 0;  // Parts still to be replicated.
  std::uint64_t live_bytes = 0;
  std::uint64_t capacity_bytes = 0;
  // Replies of older programs end before these.
  bool broken = false;
  std::string reason;               // Why it does not serve.
  bool replicating = false;         // Parts have been restored for a while and still are.
  std::uint64_t restored = 0;       // Parts restored since that began.
  std::uint64_t damaged_found = 0;  // Parts with a wrong checksum, since the node started.
  std::uint64_t damaged_repaired = 0;
};

// Sends a newer group config to a disk that replied with an older generation.
struct Configure {
  GroupConfig config;
};
struct ConfigureReply {};

// --- Requests of neighbours --------------------------------------------------------------------

// Guid recovery: a disk reads what its neighbours remember about it, or updates that.
enum class GuidState : std::uint8_t { kEmpty, kInProgress, kFinal };
struct ExchangeGuid {
  std::uint32_t order = 0;  // The asking disk.
  // kEmpty only reads; otherwise the neighbour durably stores (guid, state).
  GuidState state = GuidState::kEmpty;
  std::uint64_t guid = 0;
};
struct ExchangeGuidReply {
  GuidState state = GuidState::kEmpty;  // As stored after the exchange.
  std::uint64_t guid = 0;
  // How far the neighbour has read the asking disk's facts: which log, and the position in it. A
  // disk whose own log ends before that is an old copy of itself.
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
  std::uint64_t position = 0;  // `after` of the next pull, once applied; at the end of a full sync.
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
  // Digest of the sender's config: distinguishes two configs of one generation. 0: not stated.
  std::uint32_t digest = 0;
};

struct DiskReply {
  Status status = Status::kError;
  std::string reason;  // Readable text; empty when kOk.
  // Changes when the disk was wiped; while it stays equal, earlier answers are still valid.
  std::uint64_t incarnation = 0;
  Colour colour = Colour::kGreen;  // Worst known in the group.
  // Set with kRace: the disk's config. Newer than the sender's: adopt it and start again. Older:
  // send the disk the newer one with Configure. Same generation: the two contradict each other, and
  // an operator has to decide which one is right.
  std::optional<GroupConfig> config;
  ReplyBody body;  // monostate unless the request was carried out.
};

// The caller's interface to one VDisk. Every call returns a reply: transport errors are kError (not
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
