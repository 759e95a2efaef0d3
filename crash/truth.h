// Truth: what the killed program has promised, kept outside of it.
//
// Promise    stored: acknowledged, must exist byte for byte. doubt: sent, no reply; absent or
//            whole. fading: a collect that covers it was sent; either is right. gone: that collect
//            was acknowledged; must not be readable.
// Invariants (1) An id is used once. (2) The bytes of a blob are derived from its id. (3) A tablet
//            has one collect or block in flight, repeated until it is acknowledged.
// Threading  One executor.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "blob/proxy/requests.h"
#include "io/random.h"

namespace moraine::crash {

inline constexpr std::size_t kGoneRememberedMax = 20'000;

enum class Fate : std::uint8_t { kInFlight, kDoubt, kStored, kFading };

struct BlobTruth {
  Fate fate = Fate::kInFlight;
  bool keep = false;
  std::uint32_t round = 0;  // In which it was put.
};

Slice bytes_of(const blob::BlobId& id);
std::uint32_t draw_size(Random& random);

class TabletTruth {
 public:
  explicit TabletTruth(blob::TabletId tablet) : tablet_(tablet) {}

  blob::TabletId id() const { return tablet_; }

  blob::BlobId begin_put(std::uint32_t size, std::uint32_t round);
  void put_ended(const blob::BlobId& id, blob::Status status);

  // The collect to send now: the one without a reply, or a new one over the older half. nullopt:
  // nothing to collect, or one is in flight.
  std::optional<blob::CollectRequest> begin_collect(Random& random);
  void collect_ended(const blob::CollectResult& result);

  // The generation to block now; nullopt while something else is in flight.
  std::optional<blob::Generation> begin_block();
  void block_ended(blob::Status status);
  // A block was sent and got no reply.
  bool block_unfinished() const { return blocking_ && !busy_; }
  // A generation that must be refused; 0: none yet.
  blob::Generation fenced() const { return fenced_; }
  // An id of the fenced generation, never used before.
  blob::BlobId fenced_id(std::uint32_t size);
  void put_in_doubt(const blob::BlobId& id, std::uint32_t round);

  // After a read with must-restore.
  void found(const blob::BlobId& id);
  void absent(const blob::BlobId& id);

  std::uint64_t live_bytes() const { return live_bytes_; }
  const std::map<blob::BlobId, BlobTruth>& blobs() const { return blobs_; }
  const std::vector<blob::BlobId>& gone() const { return gone_; }

 private:
  void erase(const blob::BlobId& id);
  std::optional<blob::BlobId> oldest_in_flight() const;

  const blob::TabletId tablet_;
  blob::Generation generation_ = 2;
  blob::Generation fenced_ = 0;
  blob::Step step_ = 1;
  std::uint32_t counter_ = 1;
  bool busy_ = false;
  bool blocking_ = false;  // The block of generation_ was sent and not acknowledged.
  std::optional<blob::CollectRequest> collect_;
  std::map<blob::BlobId, BlobTruth> blobs_;
  std::vector<blob::BlobId> gone_;
  std::uint64_t live_bytes_ = 0;
};

}  // namespace moraine::crash
