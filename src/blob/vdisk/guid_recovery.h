// GuidRecovery: makes sure, before a disk serves, that its data is complete or is being recovered.
//
// Promise    A disk that lost its data acknowledges nothing before it has every block, barrier and
//            blob fact that a quorum of the others knows.
// Why        The guid is stored on, and read from, a quorum of neighbours that does not count the
//            disk itself: a wiped disk does not remember its guid.
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
  // Has another incarnation of this member replaced this one since it became ready?
  Task<bool> superseded();

 private:
  struct Answers {
    DiskSet from = 0;
    DiskSet agreed = 0;  // Now remember the guid and state that were sent.
    NeighbourGuid strongest;
    std::uint64_t read_up_to = 0;  // The highest position that one has read of this disk's log.
    std::uint32_t read_by = 0;
  };
  bool over() const;
  Task<void> run_alone();
  Task<bool> attempt();
  Task<bool> first_run(std::uint64_t guid);
  Task<bool> recover_index(std::uint64_t guid);
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
