// The records that a VDisk keeps in its device's log, as inline bytes beside the data.
//
// clang-format off
//   put      = id (25, with part)  ingress u32  lsn u64          data: the part
//   facts    = version u8 = 1  lsn u64  count u32  fact*         lsn is the last fact's
//   drop     = id (25, with part)  ingress u32  lsn u64          the local part moved to its main
//   lost     = id (25, with part)                                the local part cannot be read
//   not_mine = id (25)                                           provably nothing to replicate here
//   meta     = version u8 = 1  MetaState
//   reset    = version u8 = 1  MetaState                         all records before it are void
//
//   fact     = 1 id (25) ingress u32
//            | 2 tablet u64 generation u32
//            | 3 tablet u64 channel u8 hard u8 generation u32 counter u32
//                barrier (generation u32 step u32) seen u32
//            | 4 order u32 log u64 position u64                  how far a neighbour's log was read
//            | 5 id (25)                                         parts may have been lost here
// clang-format on
//
// Kinds, below device/record_kinds.h. Batches are checksummed by the device.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "blob/device/small_bytes.h"
#include "blob/protocol.h"

namespace moraine::blob {

enum class RecordKind : std::uint8_t {
  kPut = 1,
  kFacts = 2,
  kDrop = 3,
  kLost = 4,
  kNotMine = 5,
  kMeta = 6,
  kReset = 7,
};

struct PutRecord {
  BlobId id;
  Ingress ingress;
  std::uint64_t lsn = 0;  // 0: moved by cleaning; nothing new for the neighbours.
};

// How far this disk has read a neighbour's log.
struct SyncPosition {
  std::uint32_t order = 0;
  std::uint64_t log = 0;
  std::uint64_t position = 0;
};
// This disk lost its data, and may have acknowledged parts of the blob before that. Not sent to
// neighbours: it is no proof that it did.
struct ClaimFact {
  BlobId id;
};
using Fact = std::variant<BlobFact, BlockFact, BarrierFact, SyncPosition, ClaimFact>;
inline constexpr std::size_t kFactsPerRecordMax = 512;

struct FactsRecord {
  std::uint64_t lsn = 0;
  std::vector<Fact> facts;
};

// What a disk knows about itself: its place in the group and whether its data is complete.
// kRetired: the group has moved this member elsewhere; the data is outdated.
enum class LocalState : std::uint8_t { kEmpty, kSelected, kLost, kFinal, kRetired };
struct NeighbourGuid {
  GuidState state = GuidState::kEmpty;
  std::uint64_t guid = 0;
};
struct MetaState {
  std::optional<GroupConfig> config;
  std::uint32_t order = 0;
  LocalState state = LocalState::kEmpty;
  std::uint64_t guid = 0;
  std::map<std::uint32_t, NeighbourGuid> neighbours;  // By order: as this disk knows them.
};

SmallBytes encode_put(const PutRecord& record);
Result<PutRecord> decode_put(ByteSpan bytes);
SmallBytes encode_id(const BlobId& id);
Result<BlobId> decode_id(ByteSpan bytes);
SmallBytes encode_facts(const FactsRecord& record);
Result<FactsRecord> decode_facts(ByteSpan bytes);
SmallBytes encode_meta(const MetaState& meta);
Result<MetaState> decode_meta_state(ByteSpan bytes);

}  // namespace moraine::blob
