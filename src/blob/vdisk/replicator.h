// Replicator: restores parts that this disk lacks, and moves handoff parts to their mains.
//
// Promise    Once neighbours are reachable, every kept blob ends up with its part on every main;
//            then handoffs drop their copies. A part is dropped only after its main has it
//            (mirror-3-dc: after all mains have theirs).
// Threading  The VDisk's executor.
// Limits     kReplicateBatch blobs at once.
#pragma once

#include <cstdint>
#include <vector>

#include "blob/group/erasure.h"
#include "blob/ingress.h"
#include "blob/vdisk/state.h"
#include "io/event.h"

namespace moraine::blob {

class VDisk;

inline constexpr std::size_t kReplicateBatch = 16;

class Replicator {
 public:
  explicit Replicator(VDisk& disk) : disk_(disk) {}

  Task<void> run();
  void stop() { stopped_ = true; }

  std::uint64_t moved_to_mains() const { return moved_to_mains_; }

 private:
  // Where the parts of one blob are, by the current answers of its subgroup.
  struct Survey {
    PartLayout found;
    DiskSet unknown = 0;  // Slots without a definite answer.
    DiskSet lost = 0;     // Slots that lack a part that they should have.
    Ingress ingress;      // Merged over all of them.
    OwnIngresses own{};
    PartSet data;
  };
  bool over() const;
  Task<std::size_t> pass();
  Task<void> restore(BlobId id);
  Task<void> move_to_mains(BlobId id);
  Task<bool> bring_to_main(BlobId id, std::uint32_t part, const Survey& survey);
  Task<Survey> survey(BlobId id);
  Task<void> survey_slot(BlobId id, std::uint32_t slot, std::uint32_t order, Survey& survey);
  Task<bool> fetch(BlobId id, Survey& survey);
  Task<void> fetch_part(BlobId id, std::uint32_t part, std::uint32_t order, Slice& data);
  Task<void> judge_absent(BlobId id, const Survey& seen);
  Task<void> conclude_absent(BlobId id);
  // `known`: facts about the mains that make the local part unnecessary.
  Task<void> drop_local(BlobId id_with_part, Ingress known);

  VDisk& disk_;
  bool stopped_ = false;
  std::uint64_t moved_to_mains_ = 0;
};

}  // namespace moraine::blob
