#include "table/chunk/hunk_places.h"

#include <fmt/format.h>

#include <cstring>

#include "base/coding.h"
#include "base/invariant.h"

namespace moraine::table {
namespace {

constexpr std::uint32_t kFreshBit = 1u << 31;

}  // namespace

void encode_stored_hunk(const HunkRef& ref, HunkPlace place, std::byte* to) {
  HunkRef stored = ref;
  stored.blob = {};
  encode_hunk(stored, to);
  store(to, place.ordinal | (place.fresh ? kFreshBit : 0));
}

HunkPlaces::HunkPlaces(const std::vector<HunkUse>& hunks, std::size_t fresh) : fresh_(fresh) {
  INVARIANT(fresh <= hunks.size(), "{} fresh hunk blobs of {}", fresh, hunks.size());
  for (const HunkUse& use : hunks) blobs_.push_back(use.blob);
}

Result<void> HunkPlaces::complete(std::byte* at) const {
  const auto place = load<std::uint32_t>(at);
  const std::size_t ordinal = place & ~kFreshBit;
  const bool fresh = (place & kFreshBit) != 0;
  const std::size_t index = fresh ? ordinal : fresh_ + ordinal;
  if (index >= (fresh ? fresh_ : blobs_.size())) {
    return fail(Errc::kCorrupt, fmt::format("hunk blob {} of {}", index, blobs_.size()));
  }
  blobs_[index].encode(at);
  return {};
}

}  // namespace moraine::table
