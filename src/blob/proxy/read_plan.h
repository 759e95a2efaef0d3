// ReadPlan: what to read from the disks of one blob next, until it is decided. ReadSession carries
// out the plans of many blobs together.
//
// Threading  None: values without I/O.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "blob/group/geometry.h"
#include "blob/ingress.h"
#include "blob/protocol.h"

namespace moraine::blob {

// One PartQuery to the disk in `slot`.
struct ReadAsk {
  std::uint8_t slot = 0;
  std::uint8_t part = 0;     // 0: every part there.
  std::uint32_t offset = 0;  // Within the part.
  std::uint32_t size = 0;    // 0: to the end of the part.
};

// The incarnation that answered, and the time of the request: an answer is as old as its request.
struct AnswerOrigin {
  std::uint64_t incarnation = 0;
  Instant at;
};

class ReadPlan {
 public:
  ReadPlan(const Geometry& geometry, const BlobId& id)
      : geometry_(geometry), id_(id), subgroup_(geometry.subgroup(id)) {}
  virtual ~ReadPlan() = default;

  const BlobId& id() const { return id_; }
  const Geometry::Subgroup& subgroup() const { return subgroup_; }
  Ingress ingress() const { return ingress_; }  // Merged over all answers.

  virtual bool done() const = 0;
  // Appends the next reads. Requires: !done(). Afterwards the plan is done, or a read is in flight.
  virtual void next(std::vector<ReadAsk>& asks) = 0;
  // Exactly one of these ends each read. `answers` are all answers of one disk to it.
  virtual void answered(const ReadAsk& ask, std::span<const PartAnswer> answers,
                        AnswerOrigin origin) = 0;
  virtual void failed(const ReadAsk& ask) = 0;
  // The slot is late with its answer: continue without it, if possible.
  virtual void late(std::uint32_t slot) = 0;

 protected:
  DiskSet all_slots() const { return disk_bit(geometry_.slots()) - 1; }
  void add_ingress(std::uint32_t slot, Ingress reported) {
    ingress_ = merge(ingress_, reported);
    own_[slot] = merge(own_[slot], reported);
  }
  // The slots with a definite answer that is not out of date.
  DiskSet up_to_date(DiskSet definite) const {
    return definite & ~out_of_date(geometry_, ingress_, own_);
  }
  // The others; each slot is returned once, to be read again.
  DiskSet to_ask_again(DiskSet definite) {
    const DiskSet again = definite & ~up_to_date(definite) & ~asked_again_;
    asked_again_ |= again;
    return again;
  }

  Geometry geometry_;
  BlobId id_;
  Geometry::Subgroup subgroup_;
  Ingress ingress_;
  OwnIngresses own_{};
  DiskSet asked_again_ = 0;
};

}  // namespace moraine::blob
