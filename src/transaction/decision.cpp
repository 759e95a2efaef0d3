#include "transaction/decision.h"

#include <algorithm>

#include "base/coding.h"
#include "base/sealed.h"
#include "tablet/leader.h"

namespace moraine {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kDecided = 1;
constexpr std::uint8_t kAcknowledged = 2;
constexpr std::size_t kDecisionBytesMin = 16 + 8 + 4;
constexpr std::size_t kDecisionsPerPage = 2'000;
static_assert(kDecisionsPerPage * (kDecisionBytesMin + 1) < kSnapshotPageMax);

void append(Encoder& encoder, const Decision& decision) {
  encoder.raw(std::as_bytes(std::span(decision.id.bytes))).u64(decision.commit);
  encoder.u32(static_cast<std::uint32_t>(decision.participants.size()));
  for (const TabletId tablet : decision.participants) encoder.u64(tablet.value);
}

Decision take(Decoder& decoder) {
  Decision decision;
  const ByteSpan id = decoder.raw(decision.id.bytes.size());
  if (!decoder.failed()) std::memcpy(decision.id.bytes.data(), id.data(), id.size());
  decision.commit = decoder.u64();
  const std::uint32_t count = decoder.count(sizeof(std::uint64_t));
  for (std::uint32_t i = 0; i < count; ++i) decision.participants.push_back({decoder.u64()});
  return decision;
}

// What follows the version.
Result<ByteSpan> body_of(ByteSpan bytes) {
  TRY(const ByteSpan body, unseal(bytes));
  const std::uint8_t version = body.empty() ? 0 : static_cast<std::uint8_t>(body[0]);
  if (version != kVersion) {
    return fail(Errc::kUnsupported, fmt::format("decisions of version {}", version));
  }
  return body.subspan(1);
}

}  // namespace

Slice encode_decision(const Decision& decision) {
  Encoder encoder;
  encoder.u8(kVersion).u8(decision.acknowledged ? kAcknowledged : kDecided);
  append(encoder, decision);
  return seal(std::move(encoder));
}

Result<Decision> decode_decision(ByteSpan bytes) {
  TRY(const ByteSpan body, body_of(bytes));
  Decoder decoder(body);
  const std::uint8_t kind = decoder.u8();
  Decision decision = take(decoder);
  decision.acknowledged = kind == kAcknowledged;
  const bool known = kind == kDecided || kind == kAcknowledged;
  if (!decoder.finished() || !known || decision.participants.size() > kParticipantsMax) {
    return fail(Errc::kCorrupt, "a decision");
  }
  return decision;
}

std::vector<Slice> encode_decisions(const Decisions& decisions) {
  const std::vector<Decision>& all = decisions.known;
  std::vector<Slice> pages;
  std::size_t at = 0;
  do {
    std::size_t count = 0;
    std::size_t bytes = 0;
    for (std::size_t i = at; i < all.size() && count < kDecisionsPerPage; ++i, ++count) {
      bytes += kDecisionBytesMin + 1 + all[i].participants.size() * sizeof(std::uint64_t);
      if (count > 0 && bytes > kSnapshotPageMax / 2) break;
    }
    Encoder encoder;
    encoder.u8(kVersion).u64(decisions.forgotten).u32(static_cast<std::uint32_t>(count));
    for (const std::size_t end = at + count; at < end; ++at) {
      encoder.flag(all[at].acknowledged);
      append(encoder, all[at]);
    }
    pages.push_back(seal(std::move(encoder)));
  } while (at < all.size());
  return pages;
}

Result<Decisions> decode_decisions(ByteSpan page) {
  TRY(const ByteSpan body, body_of(page));
  Decoder decoder(body);
  Decisions decisions;
  decisions.forgotten = decoder.u64();
  const std::uint32_t count = decoder.count(kDecisionBytesMin + 1);
  for (std::uint32_t i = 0; i < count && !decoder.failed(); ++i) {
    const bool acknowledged = decoder.flag();
    decisions.known.push_back(take(decoder));
    decisions.known.back().acknowledged = acknowledged;
    if (decisions.known.back().participants.size() > kParticipantsMax) {
      return fail(Errc::kCorrupt, "a decision with too many participants");
    }
  }
  if (!decoder.finished()) return fail(Errc::kCorrupt, "a page of decisions");
  return decisions;
}

}  // namespace moraine
