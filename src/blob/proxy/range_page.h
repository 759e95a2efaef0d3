// One page of a range over all disks of a group: asking, and merging what they say.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "blob/group/quorum.h"
#include "blob/ingress.h"
#include "blob/protocol.h"
#include "blob/proxy/context.h"

namespace moraine::blob {

// What the disks that answered say together of one blob.
struct SeenBlob {
  BlobId id;
  PartLayout layout;    // Data is there.
  DiskSet unknown = 0;  // Slots that gave no definite answer.
  Ingress ingress;
  OwnIngresses own{};
  DiskSet listed_by = 0;     // Disks, by order, in whose answer it was.
  DiskSet confirmed_by = 0;  // Those that know by themselves that it was confirmed.
};

// Merges the answers of disks to one RangeIndex.
//
// Promise    ids() are complete up to where the page ends: an id that a disk left out because of
//            its limit is not reported before that disk could tell.
class RangeMerge {
 public:
  RangeMerge(const Geometry& geometry, BlobId from, BlobId to)
      : geometry_(geometry), from_(from), to_(to) {}

  // False, and nothing taken, when the items are not in the asked order and range.
  bool add(std::uint32_t order, const RangeIndexReply& reply);

  struct Page {
    std::vector<SeenBlob> blobs;  // In the asked order.
    std::optional<BlobId> next;   // Where the next page begins; nullopt: this was the last.
  };
  Page finish() const;

 private:
  bool descending() const { return to_ < from_; }
  bool before(const BlobId& a, const BlobId& b) const { return descending() ? b < a : a < b; }

  Geometry geometry_;
  BlobId from_;
  BlobId to_;
  DiskSet answered_ = 0;
  std::optional<BlobId> horizon_;  // The first last id of a disk that has more.
  std::map<BlobId, SeenBlob> blobs_;
};

struct RangeAsk {
  BlobId from;
  BlobId to;
  std::uint32_t limit = 0;
  std::optional<TabletGeneration> force_block;
  // Disks, by order, that are waited for beyond a quorum, half of ProxyOptions::ok_lifetime long.
  DiskSet wait_for = 0;
  Instant deadline;
};
struct RangePage {
  Status status = Status::kError;  // kRace: start again.
  std::string reason;
  RangeMerge::Page page;
  DiskSet answered = 0;    // Disks, by order, whose answers are in the page.
  Generation blocked = 0;  // Highest that a disk told.
};
// Takes a group quorum of answers, and those of the others that come as soon as they usually do. An
// answer counts for ProxyOptions::ok_lifetime, as an acknowledgement does.
Task<RangePage> ask_range(ProxyContext& context, ViewPtr view, RangeAsk ask);

}  // namespace moraine::blob
