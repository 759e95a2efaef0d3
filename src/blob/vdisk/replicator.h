// Replicator: gets parts that this disk should have and has not, and brings handoff parts home.
//
// Promise    Once neighbours are reachable, every kept blob ends up with its part on every main;
//            then handoffs let their copies go. A part is let go only after its main has it
//            (mirror-3-dc: after all mains have theirs).
// Threading  The VDisk's executor.
// Limits     kReplicateBatch blobs are worked on at once.
#pragma once

#include <cstdint>
#include <vector>

#include "blob/group/erasure.h"
#include "blob/ingress.h"
#include "blob/vdisk/state.h"
#include "io/sync.h"

namespace moraine::blob {

class VDisk;

inline constexpr std::size_t kReplicateBatch = 16;

class Replicator {
 public:
  explicit Replicator(VDisk& disk) : disk_(disk) {}

  Task<void> run();
  void stop() { stopped_ = true; }

  std::uint64_t moved_home() const { return moved_home_; }

 private:
  // Where the parts of one blob are, as its subgroup says now.
  struct Survey {
    PartLayout found;
    DiskSet unknown = 0;  // Slots without a definite answer.
    DiskSet lost = 0;     // Slots that should have a part and have not.
    Ingress told;         // By all of them.
    OwnIngresses own{};
    PartSet data;
  };
  bool over() const;
  Task<std::size_t> pass();
  Task<void> restore(BlobId id);
  Task<void> send_home(BlobId id);
  Task<bool> bring_to_main(BlobId id, std::uint32_t part, const Survey& survey);
  Task<Survey> survey(BlobId id);
  Task<void> survey_slot(BlobId id, std::uint32_t slot, std::uint32_t order, Survey& survey);
  Task<bool> fetch(BlobId id, Survey& survey);
  Task<void> fetch_part(BlobId id, std::uint32_t part, std::uint32_t order, Slice& data);
  Task<void> judge_absent(BlobId id, const Survey& seen);
  Task<void> conclude_absent(BlobId id);
  // `known`: facts about the mains that make it dispensable.
  Task<void> drop_local(BlobId id_with_part, Ingress known);

  VDisk& disk_;
  bool stopped_ = false;
  std::uint64_t moved_home_ = 0;
};

}  // namespace moraine::blob
