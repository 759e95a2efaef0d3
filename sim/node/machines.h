// Machines: three simulated machines with a whole node each, and the operator who runs them.
//
//   machine: SimNode -> Node on several lanes -> TopicsClaim -> KafkaDoor and HTTP on every lane
//
// Promise    Every process opens its disks, then tries to take the claim; the one that has it
//            starts the tablets and serves clients of Kafka, of HTTP and of tables, as `moraine
//            serve` does. A process that was stopped, or lost the claim, ends cleanly and is
//            started again.
// Threading  Events of the scenario; a process runs on the lanes of its machine.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/topics_claim.h"
#include "gateway/kafka/door.h"
#include "io/sim/sim_stream.h"
#include "node/node.h"
#include "sim/cluster.h"
#include "sim/history.h"
#include "sim/node/http_serving.h"
#include "sim/tables/service_tables.h"

namespace moraine::sim {

struct MachineOptions {
  Erasure erasure = Erasure::kMirror3dc;
  std::size_t lanes = 2;
  std::uint32_t segments = 24;
  NodeOptions node;
  ClaimOptions claim;
  SimStreamOptions streams;
};

class Machines {
 public:
  static constexpr std::size_t kMachines = 3;
  static constexpr blob::GroupId kGroup = Cluster::kGroup;

  // What serves a connection.
  enum class Door : std::uint8_t { kKafka, kHttp };
  // A connection of a client, and what it leads to.
  struct Connection {
    std::shared_ptr<ByteStream> stream;  // Null: no machine serves.
    std::uint64_t turn = 0;              // Of the process; see newest_turn().
  };

  Machines(SimWorld& world, History& history, MachineOptions options);
  ~Machines();
  Machines(const Machines&) = delete;
  Machines& operator=(const Machines&) = delete;

  const blob::GroupConfig& group() const { return group_; }
  SimNode& machine(std::size_t index) { return *machines_[index]; }
  bool alive(std::size_t machine) const { return machines_[machine]->alive(); }
  // Starts the machine if it is down, and a process on it.
  void start(std::size_t machine);
  void crash(std::size_t machine, CrashPolicy policy = CrashPolicy::kRandom);
  // Asks the process to end cleanly; another is started.
  void stop_process(std::size_t machine);
  // Why the process cannot serve its disks; empty: it does, or begins to.
  std::string broken(std::size_t machine);

  std::size_t machine_of(std::uint32_t order) const { return group_.disks[order].node.value - 1; }
  SimDrive& drive(std::uint32_t order);
  std::shared_ptr<blob::VDisk> vdisk(std::uint32_t order);
  bool ready(std::uint32_t order);
  bool replicated(std::uint32_t order);
  // Disks that do not serve, or miss parts; empty: none.
  std::string unsettled();

  std::size_t lanes() const { return options_.lanes; }
  // The machine that took the claim last and serves; nullopt: none.
  std::optional<std::size_t> server() const;
  // How many serve: a machine may not know yet that it has lost the claim.
  std::size_t servers() const;
  // Processes are numbered in the order in which they took the claim.
  std::uint64_t newest_turn() const { return turns_; }
  // To the newest process that serves, sometimes to an older one.
  Connection connect(Door door, SeededRandom& random);
  Connection connect_lane(Door door, std::size_t lane);
  // The tables of the newest process that serves; null: none.
  ServingTables* tables() const;
  // The wall clock of the newest process that serves; nullptr: none.
  const SimClock* server_clock() const;

 private:
  // One process.
  struct Life {
    Life(std::uint64_t its_number, std::size_t its_machine, std::vector<World> lanes,
         const MachineOptions& options, blob::ClusterConfig config, NodeId self);

    const std::uint64_t number;
    const std::size_t machine;
    Node node;
    std::unique_ptr<TopicsClaim> claim;
    std::unique_ptr<ServingTables> tables;
    std::unique_ptr<kafka::KafkaDoor> door;
    std::unique_ptr<HttpServing> http;
    std::vector<std::unique_ptr<TaskScope>> connections;  // By lane.
    std::vector<std::weak_ptr<ByteStream>> streams;       // The ends of the machine.
    std::optional<Error> failure;                         // The node does not open.
    bool opened = false;
    std::uint64_t turn = 0;  // 0: has not had the claim.
    bool serving = false;
    bool stop_wanted = false;
    OneShot<bool> end_wanted;
    std::shared_ptr<bool> over = std::make_shared<bool>(false);
    TaskScope tasks;
  };

  blob::ClusterConfig config() const;
  void begin(std::size_t machine);
  Life* find(std::uint64_t number) const;
  Life* newest() const;
  Connection connect_to(Life& life, Door door, std::size_t lane);
  static void cut_power(Life& life);

  // Coroutines of a process, on its control lane.
  Task<void> run(Life& life);
  Task<Result<void>> begin_serving(Life& life);
  Task<Result<void>> take_claim(Life& life);
  Task<Result<void>> open_door(Life& life);
  Task<Result<void>> repeat(Life& life, std::function<Task<Result<void>>(Instant)> attempt);
  static Task<void> end_topics(Life& life);
  static bool ends(const Life& life) { return *life.over || life.stop_wanted; }
  void say(const Life& life, const std::string& what) const;

  SimWorld& world_;
  History& history_;
  const MachineOptions options_;
  std::vector<SimNode*> machines_;
  blob::GroupConfig group_;
  std::uint64_t lives_begun_ = 0;
  std::uint64_t turns_ = 0;
  std::vector<std::unique_ptr<Life>> lives_;  // By machine; null: none.
};

}  // namespace moraine::sim
