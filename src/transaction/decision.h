// Decision: a commit decision of a coordinator, as bytes of its log.
//
// clang-format off
//   record   = version u8 = 1  kind u8  decision  crc32c u32
//              kind 1: decided, 2: all participants have acknowledged
//   decision = id (16)  commit u64  count u32  tablet u64 *
//   page     = version u8 = 1  forgotten u64  count u32  (acknowledged u8  decision)*  crc32c u32
//              of a snapshot
// clang-format on
//
// Promise    Pure. Equal decisions have equal bytes.
// Limits     kParticipantsMax tablets of a transaction.
// Errors     kCorrupt; kUnsupported: another version.
// Tests      decision_test.cpp, decision_fuzz.cpp.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "table/tablet/transaction_id.h"

namespace moraine {

inline constexpr std::size_t kParticipantsMax = 1'000;

struct Decision {
  table::TransactionId id;
  Timestamp commit = 0;
  std::vector<TabletId> participants;
  bool acknowledged = false;  // By every participant.
  bool operator==(const Decision&) const = default;
};

Slice encode_decision(const Decision& decision);
Result<Decision> decode_decision(ByteSpan bytes);
struct Decisions {
  Timestamp forgotten = 0;  // Decisions up to this commit timestamp may be missing.
  std::vector<Decision> known;
};
// Pages of at most kSnapshotPageMax.
std::vector<Slice> encode_decisions(const Decisions& decisions);
Result<Decisions> decode_decisions(ByteSpan page);

}  // namespace moraine
