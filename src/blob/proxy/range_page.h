// One page of a range over all disks of a group: requests, and merging of the answers.
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

// The merged answers of the disks about one blob.
struct SeenBlob {
  BlobId id;
  PartLayout layout;    // Parts that disks have.
  DiskSet unknown = 0;  // Slots without a definite answer.
  Ingress ingress;
  OwnIngresses own{};
  DiskSet listed_by = 0;     // Disks, by order, whose answers contained it.
  DiskSet confirmed_by = 0;  // Those whose own index says that it was confirmed.
};

// Merges the answers of disks to one RangeIndex.
//
// Promise    ids() are complete up to the end of the page: the page ends before any id that a disk
//            may have left out because of its limit.
class RangeMerge {
 public:
  RangeMerge(const Geometry& geometry, BlobId from, BlobId to)
      : geometry_(geometry), from_(from), to_(to) {}

  // False, and nothing is added, when the items are not in the requested order and range.
  bool add(std::uint32_t order, const RangeIndexReply& reply);

  struct Page {
    std::vector<SeenBlob> blobs;  // In the requested order.
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
  std::optional<BlobId> horizon_;  // The earliest last id of the disks that have more.
  std::map<BlobId, SeenBlob> blobs_;
};

struct RangeAsk {
  BlobId from;
  BlobId to;
  std::uint32_t limit = 0;
  std::optional<TabletGeneration> force_block;
  // Disks, by order, to wait for beyond a quorum, for at most half of ProxyOptions::ok_lifetime.
  DiskSet wait_for = 0;
  Instant deadline;
};
struct RangePage {
  Status status = Status::kError;  // kRace: start again.
  std::string reason;
  RangeMerge::Page page;
  DiskSet answered = 0;    // Disks, by order, whose answers are in the page.
  Generation blocked = 0;  // Highest that a disk returned.
};
// Waits for a group quorum of answers, and for the other disks as long as they usually take. An
// answer counts for ProxyOptions::ok_lifetime, as an acknowledgement does.
Task<RangePage> ask_range(ProxyContext& context, ViewPtr view, RangeAsk ask);

}  // namespace moraine::blob
