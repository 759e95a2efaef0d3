// MachineNemesis: injects faults into machines and their disks, within the group's failure model.
//
// Promise    At any time the disks that are down, cut off, stuck, failing, corrupt, or replaced and
//            not yet replicated are a tolerated set, except in a blackout, which loses nothing that
//            was durable. A group of one disk loses no data, only time. heal() ends all faults;
//            corrupt disks have then been replaced. Machines that cannot serve their disks are
//            restarted.
// Threading  Events of the scenario.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/node/machines.h"

namespace moraine::sim {

struct MachineNemesisOptions {
  Duration pause_between_max = 2s;  // Between two faults.
  Duration trouble_max = 5s;        // Maximum duration of a fault.
  bool blackouts = true;
  std::chrono::milliseconds clock_jump_max{20'000};
};

class MachineNemesis {
 public:
  MachineNemesis(SimWorld& world, Machines& machines, History& history,
                 MachineNemesisOptions options);
  ~MachineNemesis() { *alive_ = false; }

  // Injects faults from now on until heal().
  void start();
  // Keeps watching, so that machines whose start fails are started again.
  void heal();

 private:
  enum class Ill : std::uint8_t { kNo, kDown, kPaused, kCut, kStuck, kFailing };
  struct Patient {
    Ill ill = Ill::kNo;
    Instant until;
  };
  struct Disk : Patient {
    bool rotten = false;  // Until it is replaced.
    bool fresh = false;   // Replaced, and not replicated yet.
  };

  void tick();
  void schedule_tick();
  void watch_machine(std::size_t machine);
  void watch_disk(std::uint32_t order);
  void begin_something();
  bool lossless() const { return machines_.group().geometry.species() == blob::Species::kNone; }
  blob::DiskSet disks_of(std::size_t machine) const;
  blob::DiskSet failed();
  bool allowed(blob::DiskSet more);

  void trouble_machine(std::size_t machine, std::uint64_t dice);
  void trouble_disk(std::uint32_t order, std::uint64_t dice);
  void recover_machine(std::size_t machine);
  void recover_disk(std::uint32_t order);
  void take_down(std::size_t machine, CrashPolicy policy, Duration most);
  void cut(std::size_t machine, bool one_way);
  void rot(std::uint32_t order);
  void replace(std::uint32_t order);
  void blackout();
  void jump_clock(std::size_t machine);
  void note(Trouble trouble, const std::string& what);
  Duration some_time(Duration most);

  SimWorld& world_;
  Machines& machines_;
  History& history_;
  const MachineNemesisOptions options_;
  SeededRandom random_;
  bool troubling_ = false;
  Instant next_trouble_;
  std::vector<Patient> patients_;  // By machine.
  std::vector<Disk> disks_;        // By order.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace moraine::sim
