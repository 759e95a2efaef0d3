// The fields of every message, described once for both directions (protocol_wire.h).
//
// Promise    A message that the reader accepts is within the limits of protocol.h, has only known
//            values of enumerations, and part numbers in range.
// Format     protocol_codec.cpp has the byte grammar.
#pragma once

#include "blob/protocol.h"
#include "blob/protocol_wire.h"

namespace moraine::blob::wire {

// Smallest size of an item on the wire.
constexpr std::size_t kTabletGenerationBytes = 12;
constexpr std::size_t kQueryBytes = kBlobIdBytes + 8;
constexpr std::size_t kAnswerBytes = 14;
constexpr std::size_t kItemBytes = kBlobIdBytes + 6;
constexpr std::size_t kFactBytes = 13;

inline bool known(Status status) {
  switch (status) {
    case Status::kOk:
    case Status::kError:
    case Status::kAlready:
    case Status::kRace:
    case Status::kNoData:
    case Status::kBlocked:
    case Status::kNotReady:
    case Status::kDeadline:
    case Status::kCorrupted:
    case Status::kOutOfSpace:
    case Status::kNotYet:
    case Status::kNoGroup: return true;
  }
  return false;
}
inline bool known(Colour colour) {
  return colour <= Colour::kBlack;
}
inline bool known(GuidState state) {
  return state <= GuidState::kFinal;
}

// --- Items -------------------------------------------------------------------------------------

template <class Io>
void fields(Io& io, Like<Io, TabletGeneration>& m) {
  io.integer(m.tablet.value);
  io.integer(m.generation);
}

template <class Io>
void fields(Io& io, Like<Io, GenStep>& m) {
  io.integer(m.generation);
  io.integer(m.step);
}

template <class Io>
void fields(Io& io, Like<Io, VDiskId>& m) {
  io.integer(m.group.value);
  io.integer(m.generation);
  io.bounded(m.at.realm, "realm", kGroupDisksMax - 1);
  io.bounded(m.at.domain, "domain", kGroupDisksMax - 1);
  io.bounded(m.at.vdisk, "vdisk", kGroupDisksMax - 1);
}

template <class Io>
void fields(Io& io, Like<Io, PartQuery>& m) {
  io.part_id(m.id, 0, kPartsMax);
  io.bounded(m.shift, "shift", kBlobSizeMax);
  io.bounded(m.size, "size", kBlobSizeMax);
}

template <class Io>
void fields(Io& io, Like<Io, PartAnswer>& m) {
  io.bounded(m.query, "query", kPartQueriesMax - 1);
  io.choice(m.status, "status", known);
  auto part = static_cast<std::uint8_t>(m.part);
  io.bounded(part, "part", kPartsMax);
  if constexpr (Io::kReads) m.part = part;
  io.bulk(m.data, "data", kBlobSizeMax);
  io.integer(m.ingress.bits);
}

template <class Io>
void fields(Io& io, Like<Io, RangeItem>& m) {
  io.part_id(m.id, 0, 0);
  io.integer(m.ingress.bits);
  io.bounded(m.local_parts, "local parts", (1u << kPartsMax) - 1);
  io.flag(m.not_yet);
}

template <class Io>
void fields(Io& io, Like<Io, BlobFact>& m) {
  io.part_id(m.id, 0, 0);
  io.integer(m.ingress.bits);
}

template <class Io>
void fields(Io& io, Like<Io, BlockFact>& m) {
  io.integer(m.tablet.value);
  io.integer(m.generation);
}

template <class Io>
void fields(Io& io, Like<Io, BarrierFact>& m) {
  io.integer(m.tablet.value);
  io.integer(m.channel);
  io.flag(m.hard);
  io.integer(m.record_generation);
  io.integer(m.counter);
  fields(io, m.barrier);
  io.integer(m.seen);
}

template <class Io>
void whole_id(Io& io, Like<Io, BlobId>& id) {
  io.part_id(id, 0, 0);
}

// --- Bodies ------------------------------------------------------------------------------------

constexpr auto kEach = [](auto& io, auto& item) { fields(io, item); };
constexpr auto kEachWholeId = [](auto& io, auto& id) { whole_id(io, id); };

template <class Io>
void fields(Io& io, Like<Io, PutPart>& m) {
  io.part_id(m.id, 1, kPartsMax);
  io.bulk(m.data, "data", kBlobSizeMax);
  io.flag(m.ignore_block);
  io.list(m.extra_blocks, "extra blocks", kExtraBlocksMax, kTabletGenerationBytes, kEach);
}
template <class Io>
void fields(Io& io, Like<Io, PutPartReply>& m) {
  io.flag(m.beyond_barrier);
  io.flag(m.other_size);
}

template <class Io>
void fields(Io& io, Like<Io, GetParts>& m) {
  io.list(m.queries, "queries", kPartQueriesMax, kQueryBytes, kEach);
  io.flag(m.index_only);
  io.optional(m.force_block, kEach);
  io.optional(m.reader, kEach);
}
template <class Io>
void fields(Io& io, Like<Io, GetPartsReply>& m) {
  io.list(m.answers, "answers", kPartQueriesMax * kPartsMax, kAnswerBytes, kEach);
  io.flag(m.truncated);
  if constexpr (Io::kReads) {
    std::size_t total = 0;
    for (const PartAnswer& answer : m.answers) total += answer.data.size();
    if (total > kGetReplyBytesMax) {
      io.wrong(fmt::format("data of {} bytes, over the maximum {}", total, kGetReplyBytesMax));
    }
  }
}

template <class Io>
void fields(Io& io, Like<Io, BlockTablet>& m) {
  io.integer(m.tablet.value);
  io.integer(m.generation);
  io.integer(m.issuer);
}
template <class Io>
void fields(Io& io, Like<Io, BlockTabletReply>& m) {
  io.integer(m.blocked);
}

template <class Io>
void fields(Io& io, Like<Io, GetBlock>& m) {
  io.integer(m.tablet.value);
}
template <class Io>
void fields(Io& io, Like<Io, GetBlockReply>& m) {
  io.integer(m.blocked);
}

template <class Io>
void fields(Io& io, Like<Io, Collect>& m) {
  io.integer(m.tablet.value);
  io.integer(m.channel);
  io.integer(m.record_generation);
  io.integer(m.counter);
  io.optional(m.barrier, kEach);
  io.flag(m.hard);
  io.list(m.keep, "keep flags", kFlagsMax, kBlobIdBytes, kEachWholeId);
  io.list(m.do_not_keep, "do-not-keep flags", kFlagsMax, kBlobIdBytes, kEachWholeId);
  if constexpr (Io::kReads) {
    const std::size_t flags = m.keep.size() + m.do_not_keep.size();
    if (flags > kFlagsMax) io.wrong(fmt::format("{} flags, over the maximum {}", flags, kFlagsMax));
  }
}
template <class Io>
void fields(Io&, Like<Io, CollectReply>&) {}

template <class Io>
void fields(Io& io, Like<Io, RangeIndex>& m) {
  io.blob_id(m.from);
  io.blob_id(m.to);
  io.bounded(m.limit, "limit", kRangeItemsMax);
  io.optional(m.force_block, kEach);
}
template <class Io>
void fields(Io& io, Like<Io, RangeIndexReply>& m) {
  io.list(m.items, "items", kRangeItemsMax, kItemBytes, kEach);
  io.flag(m.more);
  io.integer(m.blocked);
}

template <class Io>
void fields(Io&, Like<Io, GetStatus>&) {}
template <class Io>
void fields(Io& io, Like<Io, GetStatusReply>& m) {
  io.flag(m.ready);
  io.flag(m.replicated);
  io.integer(m.blobs);
  io.integer(m.missing);
  io.integer(m.live_bytes);
  io.integer(m.capacity_bytes);
  io.flag(m.broken);
  io.text(m.reason, "reason", kReasonBytesMax);
  io.flag(m.replicating);
  io.integer(m.restored);
  io.integer(m.damaged_found);
  io.integer(m.damaged_repaired);
}

template <class Io>
void fields(Io& io, Like<Io, Configure>& m) {
  io.config(m.config);
}
template <class Io>
void fields(Io&, Like<Io, ConfigureReply>&) {}

template <class Io>
void fields(Io& io, Like<Io, ExchangeGuid>& m) {
  io.bounded(m.order, "order", kGroupDisksMax - 1);
  io.choice(m.state, "guid state", known);
  io.integer(m.guid);
}
template <class Io>
void fields(Io& io, Like<Io, ExchangeGuidReply>& m) {
  io.choice(m.state, "guid state", known);
  io.integer(m.guid);
  io.integer(m.log);
  io.integer(m.position);
}

template <class Io>
void fields(Io&, Like<Io, std::monostate>&) {}

// A variant: its tag, `first` for the first alternative, then the fields of the alternative.
template <class Io, class Variant>
void tagged(Io& io, Variant& body, std::string_view name, std::uint8_t first);

template <class Io>
void fields(Io& io, Like<Io, PullFacts>& m) {
  io.bounded(m.order, "order", kGroupDisksMax - 1);
  io.integer(m.log);
  io.integer(m.after);
  io.bytes(m.cursor, "cursor", kCursorBytesMax);
}
template <class Io>
void fields(Io& io, Like<Io, PullFactsReply>& m) {
  io.integer(m.log);
  io.flag(m.full);
  io.list(m.facts, "facts", kSyncFactsMax, kFactBytes,
          [](auto& each_io, auto& fact) { tagged(each_io, fact, "fact", 0); });
  io.integer(m.position);
  io.bytes(m.cursor, "cursor", kCursorBytesMax);
  io.flag(m.more);
}

template <std::size_t I, class Variant>
void read_alternative(WireReader& io, Variant& body, std::size_t index) {
  if constexpr (I < std::variant_size_v<Variant>) {
    if (index == I) return fields(io, body.template emplace<I>());
    read_alternative<I + 1>(io, body, index);
  }
}

template <class Io, class Variant>
void tagged(Io& io, Variant& body, std::string_view name, std::uint8_t first) {
  auto tag = static_cast<std::uint8_t>(body.index() + first);
  io.integer(tag);
  if constexpr (Io::kReads) {
    if (tag < first || tag - first >= static_cast<int>(std::variant_size_v<Variant>)) {
      return io.wrong(fmt::format("{} {} is unknown", name, tag));
    }
    read_alternative<0>(io, body, tag - first);
  } else {
    std::visit([&](const auto& alternative) { fields(io, alternative); }, body);
  }
}

// --- Envelopes ---------------------------------------------------------------------------------

template <class Io>
void fields(Io& io, Like<Io, DiskRequest>& m) {
  fields(io, m.target);
  io.integer(m.digest);
  tagged(io, m.body, "request tag", 1);
}

template <class Io>
void fields(Io& io, Like<Io, DiskReply>& m) {
  io.choice(m.status, "status", known);
  io.choice(m.colour, "colour", known);
  io.integer(m.incarnation);
  io.text(m.reason, "reason", kReasonBytesMax);
  io.optional(m.config, [](auto& each_io, auto& config) { each_io.config(config); });
  tagged(io, m.body, "reply tag", 0);
}

}  // namespace moraine::blob::wire
