#include "sim/node/machine_nemesis.h"

#include <fmt/format.h>

#include "blob/group/quorum.h"

namespace moraine::sim {

using namespace moraine::blob;

namespace {

constexpr Duration kTick = 100ms;
constexpr std::uint64_t kRottenTicks = 50;  // How long a corrupt disk is kept, on average.

}  // namespace

MachineNemesis::MachineNemesis(SimWorld& world, Machines& machines, History& history,
                               MachineNemesisOptions options)
    : world_(world),
      machines_(machines),
      history_(history),
      options_(options),
      random_(world.stream("machine nemesis")),
      patients_(Machines::kMachines),
      disks_(machines.group().geometry.disks()) {
  schedule_tick();
}

void MachineNemesis::note(Trouble trouble, const std::string& what) {
  history_.tally.add(trouble);
  if (history_.verbose()) history_.say(fmt::format("nemesis: {} {}", to_string(trouble), what));
}

Duration MachineNemesis::some_time(Duration most) {
  return Duration(random_.below(static_cast<std::uint64_t>(most.count())) + 1);
}

void MachineNemesis::start() {
  troubling_ = true;
  next_trouble_ = history_.now() + some_time(options_.pause_between_max);
}

void MachineNemesis::schedule_tick() {
  world_.executor().schedule(world_.executor().now() + kTick, [this, alive = alive_] {
    if (!*alive) return;
    tick();
    schedule_tick();
  });
}

void MachineNemesis::tick() {
  for (std::size_t machine = 0; machine < patients_.size(); ++machine) watch_machine(machine);
  for (std::uint32_t order = 0; order < disks_.size(); ++order) watch_disk(order);
  if (!troubling_ || history_.now() < next_trouble_) return;
  begin_something();
  next_trouble_ = history_.now() + some_time(options_.pause_between_max);
}

void MachineNemesis::watch_machine(std::size_t machine) {
  Patient& patient = patients_[machine];
  if (patient.ill != Ill::kNo && history_.now() >= patient.until) recover_machine(machine);
  if (patient.ill != Ill::kNo) return;
  const std::string broken = machines_.broken(machine);
  if (!broken.empty()) {
    if (history_.verbose()) history_.say(fmt::format("machine {}: {}", machine, broken));
    machines_.crash(machine, CrashPolicy::kKeep);
  }
  machines_.start(machine);
}

void MachineNemesis::watch_disk(std::uint32_t order) {
  Disk& disk = disks_[order];
  if (disk.ill != Ill::kNo && history_.now() >= disk.until) recover_disk(order);
  if (disk.ill != Ill::kNo || patients_[machines_.machine_of(order)].ill != Ill::kNo) return;
  if (disk.fresh && machines_.replicated(order)) disk.fresh = false;
  const bool due = disk.rotten && random_.one_in(kRottenTicks);
  if (due && allowed(disks_of(machines_.machine_of(order)))) replace(order);
}

DiskSet MachineNemesis::disks_of(std::size_t machine) const {
  DiskSet set = 0;
  for (std::uint32_t order = 0; order < disks_.size(); ++order) {
    if (machines_.machine_of(order) == machine) set |= disk_bit(order);
  }
  return set;
}

DiskSet MachineNemesis::failed() {
  DiskSet set = 0;
  for (std::size_t machine = 0; machine < patients_.size(); ++machine) {
    if (patients_[machine].ill != Ill::kNo) set |= disks_of(machine);
  }
  for (std::uint32_t order = 0; order < disks_.size(); ++order) {
    const Disk& disk = disks_[order];
    const bool ill = disk.ill != Ill::kNo || disk.rotten || disk.fresh;
    if (ill || !machines_.ready(order)) set |= disk_bit(order);
  }
  return set;
}

bool MachineNemesis::allowed(DiskSet more) {
  return lossless() || tolerated(machines_.group().geometry, failed() | more);
}

void MachineNemesis::begin_something() {
  const std::size_t machine = random_.below(patients_.size());
  const auto order = static_cast<std::uint32_t>(random_.below(disks_.size()));
  const std::uint64_t dice = random_.below(100);
  if (options_.blackouts && dice < 4) return blackout();
  if (dice < 12) return jump_clock(machine);
  // The operator restarts the process that serves.
  if (dice < 20) {
    const auto server = machines_.server();
    if (server && patients_[*server].ill == Ill::kNo) machines_.stop_process(*server);
    return;
  }
  const bool whole_machine = dice < 65;
  const DiskSet more = whole_machine ? disks_of(machine) : disk_bit(order);
  const std::size_t at = whole_machine ? machine : machines_.machine_of(order);
  if (patients_[at].ill != Ill::kNo || !machines_.alive(at) || !allowed(more)) return;
  if (whole_machine) return trouble_machine(machine, dice);
  if (disks_[order].ill == Ill::kNo && machines_.ready(order)) trouble_disk(order, dice);
}

void MachineNemesis::trouble_machine(std::size_t machine, std::uint64_t dice) {
  Patient& patient = patients_[machine];
  const std::string name = fmt::format("machine {}", machine);
  if (dice < 40) {
    note(Trouble::kCrash, name);
    const CrashPolicy policy = random_.one_in(4) ? CrashPolicy::kKeep : CrashPolicy::kRandom;
    return take_down(machine, policy, options_.trouble_max);
  }
  patient.until = history_.now() + some_time(options_.trouble_max);
  if (dice < 48) {
    note(Trouble::kPause, name);
    patient.ill = Ill::kPaused;
    return machines_.machine(machine).pause();
  }
  const bool one_way = dice < 56;
  note(one_way ? Trouble::kOneWayCut : Trouble::kIsolate, name);
  patient.ill = Ill::kCut;
  cut(machine, one_way);
}

void MachineNemesis::trouble_disk(std::uint32_t order, std::uint64_t dice) {
  Disk& disk = disks_[order];
  const std::size_t machine = machines_.machine_of(order);
  const std::string name = fmt::format("disk {} of machine {}", order, machine);
  DiskFaults& faults = machines_.drive(order).faults();
  if (dice >= 92) {
    if (lossless()) return;
    if (dice < 96) return rot(order);
    if (dice < 98) return replace(order);
    note(Trouble::kLie, name);
    disk.rotten = true;
    faults.lie.one_in = 1 + random_.below(6);
    return;
  }
  disk.ill = Ill::kFailing;
  disk.until = history_.now() + some_time(options_.trouble_max);
  if (dice < 70) {
    note(Trouble::kStuck, name);
    disk.ill = Ill::kStuck;
    machines_.drive(order).set_stuck(true);
  } else if (dice < 76) {
    note(Trouble::kSlow, name);
    faults.slow_factor = 10 + random_.below(500);
  } else if (dice < 80) {
    note(Trouble::kWriteError, name);
    faults.write_error.next = 1;
  } else if (dice < 84) {
    note(Trouble::kReadError, name);
    faults.read_error.one_in = 1 + random_.below(5);
  } else if (dice < 87) {
    note(Trouble::kSyncError, name);
    faults.sync_error.next = 1 + random_.below(3);
  } else if (dice < 90) {
    note(Trouble::kFull, name);
    faults.capacity = machines_.drive(order).allocated();
  } else {
    note(Trouble::kReadOnly, name);
    faults.read_only = true;
  }
}

void MachineNemesis::take_down(std::size_t machine, CrashPolicy policy, Duration most) {
  if (machines_.alive(machine)) machines_.crash(machine, policy);
  patients_[machine].ill = Ill::kDown;
  patients_[machine].until = history_.now() + some_time(most);
}

void MachineNemesis::recover_machine(std::size_t machine) {
  const Ill was = std::exchange(patients_[machine].ill, Ill::kNo);
  if (history_.verbose()) history_.say(fmt::format("nemesis: machine {} recovers", machine));
  if (was == Ill::kPaused && machines_.alive(machine)) machines_.machine(machine).resume();
  if (was != Ill::kCut) return;
  const NodeId self = machines_.machine(machine).id();
  for (std::size_t other = 0; other < patients_.size(); ++other) {
    const NodeId peer = machines_.machine(other).id();
    world_.network().unblock(self, peer);
    world_.network().unblock(peer, self);
  }
}

void MachineNemesis::recover_disk(std::uint32_t order) {
  const Ill was = std::exchange(disks_[order].ill, Ill::kNo);
  if (was == Ill::kStuck) machines_.drive(order).set_stuck(false);
  machines_.drive(order).faults() = DiskFaults{};
}

// All links of the machine, or some of them in one direction.
void MachineNemesis::cut(std::size_t machine, bool one_way) {
  const NodeId self = machines_.machine(machine).id();
  for (std::size_t other = 0; other < patients_.size(); ++other) {
    const NodeId peer = machines_.machine(other).id();
    if (peer == self || (one_way && random_.one_in(3))) continue;
    const bool out = !one_way || random_.one_in(2);
    if (out) world_.network().block(self, peer);
    if (!one_way || !out) world_.network().block(peer, self);
  }
}

void MachineNemesis::rot(std::uint32_t order) {
  SimDrive& drive = machines_.drive(order);
  note(Trouble::kRot, fmt::format("disk {}", order));
  disks_[order].rotten = true;
  const DiskImage image = drive.snapshot();
  for (std::uint64_t flips = 1 + random_.below(12); flips > 0; --flips) {
    // The superblock and the roots have copies; both of a pair are not hit at once.
    const std::uint64_t from =
        kSegmentsOffset + align_down(random_.below(image.size() - kSegmentsOffset), kSectorSize);
    const auto sector = image.written_sector_from(from);
    if (!sector) continue;
    drive.corrupt(*sector + random_.below(kSectorSize), static_cast<unsigned>(random_.below(8)));
  }
}

void MachineNemesis::replace(std::uint32_t order) {
  const std::size_t machine = machines_.machine_of(order);
  note(Trouble::kReplace, fmt::format("disk {} of machine {}", order, machine));
  take_down(machine, CrashPolicy::kRandom, 2s);
  if (disks_[order].ill != Ill::kNo) recover_disk(order);
  machines_.drive(order).remove();
  machines_.drive(order).faults() = DiskFaults{};
  disks_[order].rotten = false;
  disks_[order].fresh = true;
}

void MachineNemesis::blackout() {
  note(Trouble::kBlackout, "");
  for (std::size_t machine = 0; machine < patients_.size(); ++machine) {
    if (patients_[machine].ill != Ill::kNo) recover_machine(machine);
    take_down(machine, CrashPolicy::kRandom, 2s);
  }
}

void MachineNemesis::jump_clock(std::size_t machine) {
  note(Trouble::kClockJump, fmt::format("machine {}", machine));
  const auto most = static_cast<std::uint64_t>(options_.clock_jump_max.count());
  const auto jump = std::chrono::milliseconds(random_.below(2 * most + 1));
  machines_.machine(machine).clock().jump(jump - options_.clock_jump_max);
}

void MachineNemesis::heal() {
  troubling_ = false;
  for (std::uint32_t order = 0; order < disks_.size(); ++order) {
    if (disks_[order].ill != Ill::kNo) recover_disk(order);
    machines_.drive(order).faults() = DiskFaults{};
  }
  for (std::size_t machine = 0; machine < patients_.size(); ++machine) {
    if (patients_[machine].ill != Ill::kNo) recover_machine(machine);
  }
  for (std::uint32_t order = 0; order < disks_.size(); ++order) {
    if (disks_[order].rotten) replace(order);
  }
  world_.network().heal();
  LinkFaults& links = world_.network().everywhere();
  links.loss = {};
  links.duplicate = {};
  links.delay = {};
}

}  // namespace moraine::sim
