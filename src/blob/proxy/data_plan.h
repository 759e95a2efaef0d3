// DataPlan: reads a byte range of one blob.
//
// Promise    block-4-2: reads the columns of the data parts that cover the range; when one is
//            missing, broken or late, it reads the same columns of other parts and computes it.
//            Mirrors: reads one disk at a time, mains before handoffs and fast disks before slow
//            ones; another one when a disk fails or is late, more when one has nothing. kNoData
//            only when judge() proves it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "blob/group/erasure.h"
#include "blob/group/quorum.h"
#include "blob/proxy/read_plan.h"
#include "blob/status.h"

namespace moraine::blob {

// Which disks (by order) to read last, and how the others compare.
struct ReadPreference {
  DiskSet avoid = 0;
  std::array<std::uint8_t, kGroupDisksMax> rank{};  // Lower is faster.
};

class DataPlan final : public ReadPlan {
 public:
  // Requires: shift < id.size(), 0 < size <= id.size() - shift.
  DataPlan(const Geometry& geometry, const BlobId& id, std::uint32_t shift, std::uint32_t size,
           const ReadPreference& preference);

  bool done() const override { return status_.has_value(); }
  void next(std::vector<ReadAsk>& asks) override;
  void answered(const ReadAsk& ask, std::span<const PartAnswer> answers,
                AnswerOrigin origin) override;
  void failed(const ReadAsk& ask) override;
  void late(std::uint32_t slot) override;

  // Requires: done(). kOk, kNoData or kError.
  Status status() const { return *status_; }
  const Slice& data() const { return data_; }
  // Parts whose checksum did not match.
  const PartLayout& broken() const { return broken_; }
  // Requires: done(). kError for wrong checksums alone: no disk failed in another way.
  bool damaged() const {
    return *status_ == Status::kError && broken_.slots() != 0 && (failed_ & ~broken_.slots()) == 0;
  }

 private:
  struct Piece {
    std::uint8_t part = 0;
    std::uint32_t offset = 0;
    Slice data;
    bool covers(const PartRange& range) const;
  };

  bool block42() const { return geometry_.species() == Species::kBlock42; }
  void ask(std::vector<ReadAsk>& asks, std::uint32_t slot, std::uint32_t part, PartRange range);
  void next_block42(std::vector<ReadAsk>& asks);
  void ask_columns(std::vector<ReadAsk>& asks);
  void next_mirror(std::vector<ReadAsk>& asks);
  void rank_slots(const ReadPreference& preference);
  bool expected(std::uint32_t slot, const PartRange& range) const;
  bool worth_asking(std::uint32_t slot, const PartRange& range) const;
  const Piece* piece_of(std::uint32_t part, const PartRange& range) const;
  void take(const ReadAsk& ask, const PartAnswer& answer);
  void settle();
  bool assemble();
  bool assemble_block42();
  std::optional<PartSet> columns() const;

  std::uint32_t shift_;
  std::uint32_t size_;
  std::array<PartRange, kPartsMax> needs_{};  // By part - 1; size 0: not needed.
  PartRange hull_;                            // Columns from which missing parts are computed.
  std::vector<Piece> pieces_;
  std::array<PartRange, kSlotsMax> asked_range_{};
  std::array<std::uint8_t, kSlotsMax> ranked_{};  // Mirrors: slots in the order of reading.
  DiskSet avoid_ = 0;
  DiskSet asked_ = 0;
  DiskSet in_flight_ = 0;
  DiskSet late_ = 0;
  DiskSet failed_ = 0;
  DiskSet definite_ = 0;  // Slots with a definite answer.
  PartLayout found_;
  PartLayout broken_;
  std::optional<Status> status_;
  Slice data_;
};

}  // namespace moraine::blob
