// TopicHosts: queue tablets on the client nodes of a cluster, started at random on several at once.
//
// Promise    Every tablet has a leader again soon after it lost one, and now and then several race
//            to be it. What a new incarnation has loaded is shown to the model.
// Threading  Incarnations live on their node; the rest are events of the scenario.
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
  std::size_t window_max = 5;  // Entries of a producer on their way.
  std::size_t producers = 3;   // Of a partition, that wait for answers.
  std::size_t pipelines = 2;   // Of a partition, that do not.
  bool sequences_wrap = false;
  std::size_t waiting_writes_max = queue::kInFlightWritesMax;
  queue::RefusalRules refusals = {};
  queue::PartitionConfig config;
  queue::SeededBug bug = queue::SeededBug::kNone;
};

class TopicHosts {
 public:
  // One incarnation that has booted.
  struct Served {
    std::size_t client = 0;
    std::uint64_t tablet = 0;
    std::uint64_t generation = 0;
    queue::QueueTablet* running = nullptr;  // Null once it is over.
    Executor* executor = nullptr;
    std::size_t adding = 0;  // Partitions on their way.
    bool retiring = false;
  };
  using Leader = std::shared_ptr<Served>;

  TopicHosts(SimWorld& world, Cluster& cluster, TopicModel& model, History& history,
             TopicOptions options);
  ~TopicHosts() { *alive_ = false; }

  // A node that has just been started may have tablets.
  void attach(std::size_t client);
  // No new incarnations from now on.
  void stop() { stopped_ = true; }

  // Incarnations on their way.
  std::size_t booting() const;

  // The newest that runs, and now and then an older one; null: there is none.
  Leader leader(std::uint64_t tablet, SeededRandom& random) const;
  std::size_t partitions(std::uint64_t tablet) const { return sizes_.at(tablet); }
  std::vector<queue::PartitionSetup> setups(std::uint64_t tablet) const;
  static TabletInfo info(std::uint64_t tablet) {
    return TabletInfo::simple(TabletId{tablet}, Cluster::kGroup, 3);
  }
  static LeaderOptions leader_options();

 private:
  // One life of one node.
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
  // Ends an incarnation that is not the leader any more, or is to give way.
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
  std::map<std::uint64_t, std::size_t> booting_;  // Incarnations on their way.
  std::map<std::uint64_t, std::vector<Leader>> served_;
  std::map<std::size_t, std::unique_ptr<Session>> sessions_;  // By client.
  Instant next_race_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace moraine::sim
