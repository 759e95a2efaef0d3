// GuidRecovery: makes sure, before a disk serves, that its data is all there or is being got back.
//
// Promise    A disk that lost its data acknowledges nothing before it has every block, barrier and
//            blob fact that a quorum of the others knows.
// Why        Its neighbours' memory is written to, and read from, a quorum that does not count the
//            disk itself: after a wipe it could not speak for itself.
// Threading  The VDisk's executor.
#pragma once

#include <cstdint>
#include <optional>

#include "blob/vdisk/records.h"
#include "io/task.h"

namespace moraine::blob {

class VDisk;

class GuidRecovery {
 public:
  explicit GuidRecovery(VDisk& disk) : disk_(disk) {}
  Task<void> run();
  // Has another incarnation of this member taken our place since we became ready?
  Task<bool> superseded();

 private:
  struct Answers {
    DiskSet from = 0;
    DiskSet agreed = 0;  // Remember now what they were told.
    NeighbourGuid strongest;
    std::uint64_t read_up_to = 0;  // The furthest that one has read our log.
    std::uint32_t read_by = 0;
  };
  bool over() const;
  Task<void> run_alone();
  Task<bool> attempt();
  Task<bool> first_run(std::uint64_t guid);
  Task<bool> regain(std::uint64_t guid);
  std::uint64_t fresh_guid(std::uint64_t remembered);
  Task<std::optional<Answers>> ask_neighbours();
  void judge_good(const Answers& answers);
  void judge_inconsistent(NeighbourGuid remembered);
  Task<Answers> exchange(ExchangeGuid question);
  Task<void> exchange_with(std::uint32_t order, ExchangeGuid question, Answers& answers);
  Task<bool> have_remembered(GuidState state, std::uint64_t guid);
  Task<Result<void>> set_local(LocalState state, std::uint64_t guid);
  Task<DiskSet> pull_from_all(DiskSet already);
  Task<void> pull_from(std::uint32_t order, DiskSet& synced);

  VDisk& disk_;
};

}  // namespace moraine::blob
