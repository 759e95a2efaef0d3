// Nemesis: injects faults into a cluster, within its failure model.
//
// Promise    At any time the members that are down, cut off, stuck, corrupt, or replaced and not
//            yet replicated are a tolerated set. (A blackout stops all of them at once, and loses
//            nothing that was durable.) A group without redundancy loses no data, only time.
//            troubled() returns them, now and in the past. heal() ends all faults; corrupt disks
//            have then been replaced.
// Threading  Events of the scenario.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "sim/cluster.h"
#include "sim/history.h"

namespace moraine::sim {

struct NemesisOptions {
  Duration pause_between_max = 2s;  // Between two faults.
  Duration trouble_max = 5s;        // Maximum duration of a fault.
  // Enables faults that lose disks: bit rot, misdirected writes, disks that lie, replacement,
  // moves.
  bool replace = true;
  bool blackouts = true;
  bool clients = true;
};

class Nemesis {
 public:
  // Notifications to the workload.
  struct Hooks {
    std::function<void(std::size_t client)> client_started;
    std::function<void(std::size_t client, Duration pause)> client_paused;
  };

  Nemesis(SimWorld& world, Cluster& cluster, History& history, NemesisOptions options, Hooks hooks);
  ~Nemesis() { *alive_ = false; }

  // Injects faults from now on until heal().
  void start();
  // Ends all faults and starts what is down; corrupt disks are replaced. Keeps watching, so that
  // hosts whose start fails are started again.
  void heal();
  blob::DiskSet failed() const;
  // Members that were faulty at some time since then, or that this client was cut off from.
  blob::DiskSet troubled(std::size_t client, Instant since) const;
  // Members whose data was lost and is not restored yet.
  blob::DiskSet lossy() const;

 private:
  enum class Ill : std::uint8_t { kNo, kDown, kPaused, kCut, kStuck, kSlow, kFailing, kFull };
  struct Member {
    Ill ill = Ill::kNo;
    Instant until;
    bool rotten = false;  // Until it is replaced.
    bool fresh = false;   // Replaced or moved, and not replicated yet.
    int starts_failed = 0;
  };

  void tick();
  void schedule_tick();
  void watch(std::uint32_t order);
  void begin_something();
  // May `more` become faulty, besides those that are?
  bool allowed(blob::DiskSet more) const;
  std::uint32_t some_member();
  bool lossless() const { return cluster_.geometry().species() == blob::Species::kNone; }

  void make_ill(std::uint32_t order, Ill ill, Trouble trouble);
  void recover(std::uint32_t order);
  void crash(std::uint32_t order, CrashPolicy policy);
  void cut(std::uint32_t order, bool one_way);
  void uncut(std::uint32_t order);
  void fault_disk(std::uint32_t order, Trouble trouble);
  void rot(std::uint32_t order);
  void misdirect(std::uint32_t order);
  void lie(std::uint32_t order);
  void replace(std::uint32_t order);
  void move(std::uint32_t order);
  void blackout();
  void trouble_client();
  void recycle(std::size_t host);
  void note(Trouble trouble, const std::string& what);
  void record();
  Duration some_time(Duration most);

  SimWorld& world_;
  Cluster& cluster_;
  History& history_;
  const NemesisOptions options_;
  const Hooks hooks_;
  SeededRandom random_;
  bool troubling_ = false;
  Instant next_trouble_;
  std::vector<Member> members_;  // By order.
  struct Left {
    std::uint32_t order;
    std::size_t host;
  };
  struct Moment {
    Instant at;
    blob::DiskSet failed;
  };
  std::vector<Moment> moments_;  // Values of failed(), and since when.
  struct ClientCut {
    std::size_t client;
    std::uint32_t order;
    Instant from;
    Instant until;
  };
  std::vector<ClientCut> client_cuts_;
  std::optional<Left> left_;  // A member moved away from that host; its old copy is still there.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace moraine::sim
