#include "sim/nemesis.h"

#include <fmt/format.h>

#include <algorithm>

namespace moraine::sim {

using namespace moraine::blob;

namespace {

constexpr Duration kTick = 100ms;
constexpr int kStartsFailedMax = 8;         // After this many failed starts a disk is replaced.
constexpr std::uint64_t kRottenTicks = 50;  // How long a corrupt disk is kept, on average.

}  // namespace

Nemesis::Nemesis(SimWorld& world, Cluster& cluster, History& history, NemesisOptions options,
                 Hooks hooks)
    : world_(world),
      cluster_(cluster),
      history_(history),
      options_(options),
      hooks_(std::move(hooks)),
      random_(world.stream("nemesis")),
      members_(cluster.geometry().disks()) {
  schedule_tick();
}

void Nemesis::note(Trouble trouble, const std::string& what) {
  history_.tally.add(trouble);
  if (history_.verbose()) history_.say(fmt::format("nemesis: {} {}", to_string(trouble), what));
}

Duration Nemesis::some_time(Duration most) {
  return Duration(random_.below(static_cast<std::uint64_t>(most.count())) + 1);
}

void Nemesis::start() {
  troubling_ = true;
  next_trouble_ = history_.now() + some_time(options_.pause_between_max);
}

void Nemesis::schedule_tick() {
  world_.executor().schedule(world_.executor().now() + kTick, [this, alive = alive_] {
    if (!*alive) return;
    tick();
    schedule_tick();
  });
}

void Nemesis::tick() {
  record();
  for (std::uint32_t order = 0; order < members_.size(); ++order) watch(order);
  record();
  for (std::size_t client = 0; client < cluster_.clients(); ++client) {
    const std::size_t host = cluster_.client_host(client);
    if (cluster_.alive(host)) continue;
    cluster_.start(host);
    if (hooks_.client_started) hooks_.client_started(client);
  }
  // Once a moved member is complete its former host may be used for the next move, with an empty
  // disk or as it is.
  if (left_ && !members_[left_->order].fresh) {
    if (random_.one_in(2)) {
      recycle(left_->host);
    } else {
      cluster_.drive(left_->host).faults() = DiskFaults{};
    }
    left_.reset();
  }
  if (!troubling_ || history_.now() < next_trouble_) return;
  begin_something();
  record();
  next_trouble_ = history_.now() + some_time(options_.pause_between_max);
}

void Nemesis::watch(std::uint32_t order) {
  Member& member = members_[order];
  if (member.ill != Ill::kNo && history_.now() >= member.until) recover(order);
  if (member.ill != Ill::kNo) return;
  const std::size_t host = cluster_.host_of(order);
  if (!cluster_.alive(host)) {
    cluster_.start(host);
    return;
  }
  const auto disk = cluster_.vdisk(order);
  const bool broken = disk && disk->phase() == VDisk::Phase::kBroken;
  if (broken || cluster_.start_failure(host)) {
    if (history_.verbose()) {
      history_.say(
          fmt::format("disk {} is broken: {}", order,
                      disk ? disk->broken_reason() : cluster_.start_failure(host)->message()));
    }
    crash(order, CrashPolicy::kKeep);
    if (++member.starts_failed > kStartsFailedMax && member.rotten) replace(order);
    return;
  }
  if (!cluster_.ready(order)) return;
  member.starts_failed = 0;
  if (member.fresh && cluster_.replicated(order)) member.fresh = false;
  if (member.rotten && random_.one_in(kRottenTicks)) replace(order);
}

DiskSet Nemesis::lossy() const {
  DiskSet set = 0;
  for (std::uint32_t order = 0; order < members_.size(); ++order) {
    if (members_[order].rotten || members_[order].fresh) set |= disk_bit(order);
  }
  return set;
}

// Called after every change that the nemesis makes or notices.
void Nemesis::record() {
  const DiskSet now = failed();
  if (moments_.empty() || moments_.back().failed != now) {
    moments_.push_back({history_.now(), now});
  }
}

DiskSet Nemesis::troubled(std::size_t client, Instant since) const {
  DiskSet set = failed();
  for (auto at = moments_.rbegin(); at != moments_.rend(); ++at) {
    set |= at->failed;
    if (at->at < since) break;
  }
  for (const ClientCut& cut : client_cuts_) {
    if (cut.client == client && cut.until >= since) set |= disk_bit(cut.order);
  }
  return set;
}

DiskSet Nemesis::failed() const {
  DiskSet set = lossy();
  for (std::uint32_t order = 0; order < members_.size(); ++order) {
    if (members_[order].ill != Ill::kNo || !cluster_.ready(order)) set |= disk_bit(order);
  }
  return set;
}

bool Nemesis::allowed(DiskSet more) const {
  return tolerated(cluster_.geometry(), failed() | more);
}

std::uint32_t Nemesis::some_member() {
  return static_cast<std::uint32_t>(random_.below(members_.size()));
}

void Nemesis::begin_something() {
  const std::uint32_t order = some_member();
  Member& member = members_[order];
  const std::uint64_t dice = random_.below(100);
  if (options_.clients && dice < 12) return trouble_client();
  if (options_.blackouts && dice < 16) return blackout();
  const bool may_fail = lossless() || allowed(disk_bit(order));
  if (!may_fail || member.ill != Ill::kNo) return;
  if (dice < 36) {
    note(Trouble::kCrash, fmt::format("disk {}", order));
    crash(order, random_.one_in(4) ? CrashPolicy::kKeep : CrashPolicy::kRandom);
    member.ill = Ill::kDown;
    member.until = history_.now() + some_time(options_.trouble_max);
    return;
  }
  if (!cluster_.ready(order)) return;
  if (dice < 42) return make_ill(order, Ill::kPaused, Trouble::kPause);
  if (dice < 48) return make_ill(order, Ill::kCut, Trouble::kIsolate);
  if (dice < 54) return make_ill(order, Ill::kCut, Trouble::kOneWayCut);
  if (dice < 59) return make_ill(order, Ill::kStuck, Trouble::kStuck);
  if (dice < 64) return make_ill(order, Ill::kSlow, Trouble::kSlow);
  if (dice < 68) return fault_disk(order, Trouble::kWriteError);
  if (dice < 71) return fault_disk(order, Trouble::kReadError);
  if (dice < 73) return fault_disk(order, Trouble::kSyncError);
  if (dice < 76) return fault_disk(order, Trouble::kFull);
  if (dice < 77) return fault_disk(order, Trouble::kReadOnly);
  if (dice < 79) {
    note(Trouble::kClockJump, fmt::format("disk {}", order));
    const auto jump = std::chrono::milliseconds(random_.below(7'200'000)) - 1h;
    cluster_.node(cluster_.host_of(order))
        .clock()
        .jump(std::chrono::duration_cast<std::chrono::milliseconds>(jump));
    return;
  }
  if (lossless() || !options_.replace) return;
  if (dice < 85) return rot(order);
  if (dice < 87) return misdirect(order);
  if (dice < 90) return lie(order);
  return dice < 95 ? replace(order) : move(order);
}

void Nemesis::crash(std::uint32_t order, CrashPolicy policy) {
  const std::size_t host = cluster_.host_of(order);
  if (cluster_.alive(host)) cluster_.crash(host, policy);
}

void Nemesis::make_ill(std::uint32_t order, Ill ill, Trouble trouble) {
  Member& member = members_[order];
  const std::size_t host = cluster_.host_of(order);
  note(trouble, fmt::format("disk {}", order));
  member.ill = ill;
  member.until = history_.now() + some_time(options_.trouble_max);
  switch (ill) {
    case Ill::kPaused: cluster_.node(host).pause(); break;
    case Ill::kCut: cut(order, trouble == Trouble::kOneWayCut); break;
    case Ill::kStuck: cluster_.drive(host).set_stuck(true); break;
    case Ill::kSlow: cluster_.drive(host).faults().slow_factor = 10 + random_.below(500); break;
    default: break;
  }
}

void Nemesis::recover(std::uint32_t order) {
  Member& member = members_[order];
  const std::size_t host = cluster_.host_of(order);
  const Ill was = std::exchange(member.ill, Ill::kNo);
  if (history_.verbose()) history_.say(fmt::format("nemesis: disk {} recovers", order));
  switch (was) {
    case Ill::kNo: break;
    case Ill::kDown: cluster_.start(host); break;
    case Ill::kPaused:
      if (cluster_.alive(host)) cluster_.node(host).resume();
      break;
    case Ill::kCut: uncut(order); break;
    case Ill::kStuck: cluster_.drive(host).set_stuck(false); break;
    case Ill::kSlow:
    case Ill::kFailing:
    case Ill::kFull: cluster_.drive(host).faults() = DiskFaults{}; break;
  }
}

// All links of the member, or some of them in one direction.
void Nemesis::cut(std::uint32_t order, bool one_way) {
  const NodeId self = cluster_.node_id(cluster_.host_of(order));
  for (std::size_t other = 0; other < cluster_.hosts(); ++other) {
    const NodeId peer = cluster_.node_id(other);
    if (peer == self || (one_way && random_.one_in(3))) continue;
    const bool out = !one_way || random_.one_in(2);
    if (out) world_.network().block(self, peer);
    if (!one_way || !out) world_.network().block(peer, self);
  }
}

void Nemesis::uncut(std::uint32_t order) {
  const NodeId self = cluster_.node_id(cluster_.host_of(order));
  for (std::size_t other = 0; other < cluster_.hosts(); ++other) {
    world_.network().unblock(self, cluster_.node_id(other));
    world_.network().unblock(cluster_.node_id(other), self);
  }
}

void Nemesis::fault_disk(std::uint32_t order, Trouble trouble) {
  Member& member = members_[order];
  const std::size_t host = cluster_.host_of(order);
  DiskFaults& faults = cluster_.drive(host).faults();
  note(trouble, fmt::format("disk {}", order));
  member.ill = trouble == Trouble::kFull ? Ill::kFull : Ill::kFailing;
  member.until = history_.now() + some_time(options_.trouble_max);
  switch (trouble) {
    case Trouble::kWriteError: faults.write_error.next = 1; break;
    case Trouble::kReadError: faults.read_error.one_in = 1 + random_.below(5); break;
    case Trouble::kSyncError:
      // Opening a device syncs it.
      faults.sync_error.next = 1 + random_.below(3);
      crash(order, CrashPolicy::kRandom);
      cluster_.start(host);
      break;
    case Trouble::kReadOnly: faults.read_only = true; break;
    case Trouble::kFull: faults.capacity = cluster_.drive(host).allocated(); break;
    default: break;
  }
}

void Nemesis::rot(std::uint32_t order) {
  SimDrive& drive = cluster_.drive(cluster_.host_of(order));
  note(Trouble::kRot, fmt::format("disk {}", order));
  members_[order].rotten = true;
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

void Nemesis::misdirect(std::uint32_t order) {
  Member& member = members_[order];
  note(Trouble::kMisdirect, fmt::format("disk {}", order));
  DiskFaults& faults = cluster_.drive(cluster_.host_of(order)).faults();
  faults.misdirect.one_in = 2;
  member.rotten = true;
  crash(order, CrashPolicy::kRandom);
  faults.misdirect.one_in = 0;
  member.ill = Ill::kDown;
  member.until = history_.now() + some_time(1s);
}

// Acknowledges writes that it does not make, until it recovers. A crash then loses acknowledged
// writes, so the member counts as lossy from the first lie on.
void Nemesis::lie(std::uint32_t order) {
  note(Trouble::kLie, fmt::format("disk {}", order));
  members_[order].rotten = true;
  cluster_.drive(cluster_.host_of(order)).faults().lie.one_in = 1 + random_.below(6);
}

void Nemesis::replace(std::uint32_t order) {
  Member& member = members_[order];
  note(Trouble::kReplace, fmt::format("disk {}", order));
  crash(order, CrashPolicy::kRandom);
  cluster_.replace_disk(cluster_.host_of(order));
  cluster_.drive(cluster_.host_of(order)).faults() = DiskFaults{};
  member.rotten = false;
  member.fresh = true;
  member.starts_failed = 0;
  member.ill = Ill::kDown;
  member.until = history_.now() + some_time(2s);
}

void Nemesis::move(std::uint32_t order) {
  const auto target = cluster_.spare();
  if (left_ || !target || !cluster_.alive(*target)) return;
  std::vector<std::size_t> informed;
  for (std::size_t host = 0; host < cluster_.hosts(); ++host) {
    if (random_.one_in(4)) informed.push_back(host);
  }
  note(Trouble::kMove,
       fmt::format("disk {} to host {}, {} hosts informed", order, *target, informed.size()));
  members_[order].rotten = false;
  members_[order].fresh = true;
  left_ = Left{order, cluster_.host_of(order)};
  cluster_.move(order, *target, informed);
}

// Puts an empty disk into the host that a member has left, for the next move.
void Nemesis::recycle(std::size_t host) {
  if (cluster_.alive(host)) cluster_.crash(host);
  cluster_.replace_disk(host);
  cluster_.drive(host).faults() = DiskFaults{};
  cluster_.start(host);
}

void Nemesis::blackout() {
  note(Trouble::kBlackout, "");
  for (std::uint32_t order = 0; order < members_.size(); ++order) {
    Member& member = members_[order];
    if (member.ill != Ill::kNo) recover(order);
    crash(order, CrashPolicy::kRandom);
    member.ill = Ill::kDown;
    member.until = history_.now() + some_time(2s);
  }
}

void Nemesis::trouble_client() {
  const std::size_t client = random_.below(cluster_.clients());
  const std::size_t host = cluster_.client_host(client);
  if (!cluster_.alive(host) || cluster_.node(host).paused()) return;
  switch (random_.below(3)) {
    case 0:
      note(Trouble::kClientCrash, fmt::format("client {}", client));
      cluster_.crash(host);
      return;
    case 1: {
      const Duration pause = some_time(options_.trouble_max);
      note(Trouble::kClientPause, fmt::format("client {}", client));
      cluster_.node(host).pause();
      if (hooks_.client_paused) hooks_.client_paused(client, pause);
      world_.executor().schedule(history_.now() + pause, [this, host, alive = alive_] {
        if (*alive && cluster_.alive(host)) cluster_.node(host).resume();
      });
      return;
    }
    default: {
      note(Trouble::kClientCut, fmt::format("client {}", client));
      const NodeId self = cluster_.node_id(host);
      const std::uint32_t order = some_member();
      const NodeId peer = cluster_.node_id(cluster_.host_of(order));
      const Instant until = history_.now() + some_time(options_.trouble_max);
      client_cuts_.push_back({client, order, history_.now(), until});
      world_.network().partition({self}, {peer});
      world_.executor().schedule(until, [this, self, peer, alive = alive_] {
        if (!*alive) return;
        world_.network().unblock(self, peer);
        world_.network().unblock(peer, self);
      });
    }
  }
}

void Nemesis::heal() {
  troubling_ = false;
  for (std::uint32_t order = 0; order < members_.size(); ++order) {
    if (members_[order].ill != Ill::kNo) recover(order);
    cluster_.drive(cluster_.host_of(order)).faults() = DiskFaults{};
    if (members_[order].rotten) {
      replace(order);
      members_[order].until = history_.now();
    }
  }
  world_.network().heal();
  LinkFaults& links = world_.network().everywhere();
  links.loss = {};
  links.duplicate = {};
  links.delay = {};
}

}  // namespace moraine::sim
