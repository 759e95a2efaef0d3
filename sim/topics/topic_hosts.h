// TopicHosts: queue tablets on the client nodes of a cluster, started at random on several at once.
//
// Promise    Every tablet has a leader again soon after it lost one, and sometimes several race to
//            lead it. What a new incarnation has loaded is passed to the model.
// Threading  Incarnations run on their node; the rest are events of the scenario.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <vector>

#include "queue/queue_tablet.h"
#include "sim/cluster.h"
#include "sim/topics/topic_model.h"

namespace moraine::sim {

struct TopicOptions {
  std::size_t tablets = 1;
  std::size_t partitions = 2;      // Of a tablet, at first.
  std::size_t partitions_max = 3;  // They grow up to this.
  Duration boots_every = 4s;       // At most; races for the lead.
  Duration think_max = 150ms;
  std::size_t message_bytes_max = 2'000;
  std::size_t window_max = 5;  // Entries of a producer in flight.
  std::size_t producers = 3;   // Per partition, that wait for replies.
  std::size_t pipelines = 2;   // Per partition, that do not.
  bool sequences_wrap = false;
  std::size_t waiting_writes_max = queue::kInFlightWritesMax;
  queue::RefusalRules refusals = {};
  queue::PartitionConfig config;
};

class TopicHosts {
 public:
  // A booted incarnation.
  struct Served {
    std::size_t client = 0;
    std::uint64_t tablet = 0;
    std::uint64_t generation = 0;
    queue::QueueTablet* running = nullptr;  // Null once it has ended.
    Executor* executor = nullptr;
    std::size_t adding = 0;  // Partitions being added.
    bool retiring = false;
  };
  using Leader = std::shared_ptr<Served>;

  TopicHosts(SimWorld& world, Cluster& cluster, TopicModel& model, History& history,
             TopicOptions options);
  ~TopicHosts() { *alive_ = false; }

  // A node that has just been started may get tablets.
  void attach(std::size_t client);
  // No new incarnations from now on.
  void stop() { stopped_ = true; }

  // Incarnations being booted.
  std::size_t booting() const;

  // The newest running one, and sometimes an older one; null: none.
  Leader leader(std::uint64_t tablet, SeededRandom& random) const;
  std::size_t partitions(std::uint64_t tablet) const { return sizes_.at(tablet); }
  std::vector<queue::PartitionSetup> setups(std::uint64_t tablet) const;
  static TabletInfo info(std::uint64_t tablet) {
    return TabletInfo::simple(TabletId{tablet}, Cluster::kGroup, 3);
  }
  static LeaderOptions leader_options();

 private:
  // One run of one node.
  struct Session final : BlobGroups {
    Session(std::size_t which, World its_world, blob::Proxy& its_proxy)
        : client(which), world(its_world), proxy(its_proxy) {}
    blob::Proxy* group(blob::GroupId) override { return &proxy; }

    const std::size_t client;
    const World world;
    blob::Proxy& proxy;
    queue::BlobCache cache{4u << 20};
    std::list<std::unique_ptr<queue::QueueTablet>> tablets;
    TaskScope scope;
    bool over = false;
  };

  void tick();
  void schedule_tick();
  void boot_somewhere(std::uint64_t tablet);
  Task<void> boot(Session& session, std::uint64_t tablet);
  // Ends an incarnation that no longer leads, or has to step down.
  Task<void> retire(Session& session, Leader served, queue::QueueTablet* tablet);
  void grow(std::uint64_t tablet);
  static Task<void> add(Leader served, queue::PartitionSetup setup);
  queue::PartitionSetup setup_of(std::size_t index) const;
  void forget(const Leader& served);

  SimWorld& world_;
  Cluster& cluster_;
  TopicModel& model_;
  History& history_;
  const TopicOptions options_;
  SeededRandom random_;
  bool stopped_ = false;
  std::map<std::uint64_t, std::size_t> sizes_;    // Partitions of each tablet.
  std::map<std::uint64_t, std::size_t> booting_;  // Incarnations being booted.
  std::map<std::uint64_t, std::vector<Leader>> served_;
  std::map<std::size_t, std::unique_ptr<Session>> sessions_;  // By client.
  Instant next_race_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace moraine::sim
