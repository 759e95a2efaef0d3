#include "crash/truth.h"

#include <algorithm>
#include <cstring>

#include "base/invariant.h"

namespace moraine::crash {
namespace {

constexpr std::uint64_t kKeepOneIn = 10;
constexpr blob::Channel kChannel = 0;

}  // namespace

Slice bytes_of(const blob::BlobId& id) {
  SeededRandom random(id.raw()[0] ^ id.raw()[1] * 31 ^ id.raw()[2] * 17);
  Buffer buffer(id.size());
  std::size_t at = 0;
  while (at < buffer.size()) {
    const std::uint64_t word = random.next();
    const std::size_t count = std::min(sizeof word, buffer.size() - at);
    std::memcpy(buffer.data() + at, &word, count);
    at += count;
  }
  return std::move(buffer).freeze();
}

// Mostly small, some large, every order of magnitude up to 1 MiB.
std::uint32_t draw_size(Random& random) {
  const std::uint64_t kind = random.below(100);
  const std::uint64_t most = kind < 25 ? 200 : kind < 60 ? 4096 : kind < 88 ? 64u << 10 : 1u << 20;
  return static_cast<std::uint32_t>(1 + random.below(most));
}

blob::BlobId TabletTruth::begin_put(std::uint32_t size, std::uint32_t round) {
  const blob::BlobId id(tablet_, generation_, step_++, kChannel, size, 0);
  blobs_[id].round = round;
  live_bytes_ += size;
  return id;
}

void TabletTruth::put_ended(const blob::BlobId& id, blob::Status status) {
  const auto found = blobs_.find(id);
  INVARIANT(found != blobs_.end() && found->second.fate == Fate::kInFlight, "{} is not in flight",
            id.to_string());
  found->second.fate = status == blob::Status::kOk ? Fate::kStored : Fate::kDoubt;
}

std::optional<blob::BlobId> TabletTruth::oldest_in_flight() const {
  for (const auto& [id, blob] : blobs_) {
    if (blob.fate == Fate::kInFlight) return id;
  }
  return std::nullopt;
}

std::optional<blob::CollectRequest> TabletTruth::begin_collect(Random& random) {
  if (busy_ || blocking_ || blobs_.empty()) return std::nullopt;
  if (collect_) {
    busy_ = true;
    return collect_;
  }
  auto middle = std::next(blobs_.begin(), static_cast<std::ptrdiff_t>(blobs_.size() / 2));
  // Puts in flight may arrive on either side of a barrier.
  const auto oldest = oldest_in_flight();
  if (oldest && *oldest <= middle->first) middle = blobs_.find(*oldest);
  if (middle == blobs_.begin()) return std::nullopt;
  blob::CollectRequest request;
  request.tablet = tablet_;
  request.channel = kChannel;
  request.record_generation = generation_;
  request.counter = counter_;
  request.barrier = std::prev(middle)->first.gen_step();
  for (auto at = blobs_.begin(); at != middle; ++at) {
    BlobTruth& blob = at->second;
    if (blob.fate == Fate::kStored && blob.keep) {
      if (random.one_in(2)) continue;
      request.do_not_keep.push_back(at->first);
      blob.fate = Fate::kFading;
    } else if (blob.fate == Fate::kStored && random.one_in(kKeepOneIn)) {
      request.keep.push_back(at->first);
      blob.keep = true;
    } else {
      blob.fate = Fate::kFading;
    }
  }
  collect_ = std::move(request);
  busy_ = true;
  return collect_;
}

void TabletTruth::collect_ended(const blob::CollectResult& result) {
  busy_ = false;
  if (result.status != blob::Status::kOk) return;
  counter_ += std::max(1u, result.counters_used);
  collect_.reset();
  std::vector<blob::BlobId> ended;
  for (const auto& [id, blob] : blobs_) {
    if (blob.fate == Fate::kFading) ended.push_back(id);
  }
  for (const blob::BlobId& id : ended) {
    erase(id);
    if (gone_.size() < kGoneRememberedMax) gone_.push_back(id);
  }
}

std::optional<blob::Generation> TabletTruth::begin_block() {
  if (busy_ || collect_) return std::nullopt;
  busy_ = true;
  blocking_ = true;
  return generation_;
}

void TabletTruth::block_ended(blob::Status status) {
  busy_ = false;
  // ALREADY: an attempt whose reply was lost had done it.
  if (status != blob::Status::kOk && status != blob::Status::kAlready) return;
  blocking_ = false;
  fenced_ = generation_;
  ++generation_;
}

blob::BlobId TabletTruth::fenced_id(std::uint32_t size) {
  return blob::BlobId(tablet_, fenced_, step_++, kChannel, size, 0);
}

void TabletTruth::put_in_doubt(const blob::BlobId& id, std::uint32_t round) {
  blobs_[id] = {Fate::kDoubt, false, round};
  live_bytes_ += id.size();
}

void TabletTruth::found(const blob::BlobId& id) {
  const auto found = blobs_.find(id);
  if (found != blobs_.end() && found->second.fate == Fate::kDoubt) {
    found->second.fate = Fate::kStored;
  }
}

void TabletTruth::absent(const blob::BlobId& id) {
  erase(id);
}

void TabletTruth::erase(const blob::BlobId& id) {
  if (blobs_.erase(id) > 0) live_bytes_ -= id.size();
}

}  // namespace moraine::crash
