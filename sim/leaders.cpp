#include "sim/leaders.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/log.h"
#include "sim/history.h"
#include "sim/incarnation.h"
#include "sim/nemesis.h"

namespace moraine::sim {
namespace {

constexpr std::size_t kNodes = 3;
constexpr Duration kTrouble = 25s;
constexpr Duration kStep = 10ms;
constexpr Duration kFirstStart = 60s;
constexpr Duration kSettleTime = 10min;  // Within it everything ends, and a last boot must succeed.
constexpr std::size_t kOnOneNodeMax = 3;
constexpr int kRepeatedBoots = 4;
constexpr int kFinalBootsMax = 20;

using Words = std::vector<std::string>;

bool begins_with(const Words& all, const Words& beginning) {
  return beginning.size() <= all.size() &&
         std::equal(beginning.begin(), beginning.end(), all.begin());
}

class LeadersRun {
 public:
  explicit LeadersRun(std::uint64_t seed)
      : world_(seed, world_options(seed)),
        history_(world_),
        cluster_(world_, cluster_options()),
        nemesis_(world_, cluster_, history_, nemesis_options(), {}),
        random_(world_.stream("leaders")) {}

  LeadersReport run_all() {
    run_while(kFirstStart, [&] { return !cluster_.all_ready(); });
    if (!cluster_.all_ready()) history_.fail("the group did not start: " + cluster_.unsettled());
    nemesis_.start();
    const Instant end = history_.now() + kTrouble;
    while (history_.now() < end && !history_.failed()) {
      trouble();
      world_.run_for(kStep);
      check_generations();
    }
    end_faults();
    if (!history_.failed()) judge();
    world_.shutdown();
    return report();
  }

 private:
  static SimOptions world_options(std::uint64_t seed) {
    SeededRandom random(stream_seed(seed, "leaders plan"));
    SimOptions options;
    options.jitter_max = random.one_in(2) ? Duration(20us) : Duration(0);
    if (random.one_in(2)) {
      options.network.loss.one_in = 200 + random.below(2'000);
      options.network.duplicate.one_in = 20 + random.below(500);
      options.network.delay.one_in = 20 + random.below(500);
      options.network.delay_max = 20ms + Duration(1ms) * random.below(500);
    }
    return options;
  }
  static ClusterOptions cluster_options() {
    ClusterOptions options;
    options.clients = kNodes;
    options.segments = 60;
    options.node = quick_node_options();
    return options;
  }
  static NemesisOptions nemesis_options() {
    NemesisOptions options;
    options.pause_between_max = 3s;
    options.trouble_max = 4s;
    return options;
  }

  template <class Condition>
  void run_while(Duration time, Condition keep_running) {
    const Instant end = history_.now() + time;
    while (history_.now() < end && !history_.failed() && keep_running()) world_.run_for(kStep);
  }

  // Occasionally affects a node: starts a leader there, or makes the node fail.
  void trouble() {
    if (!random_.one_in(40)) return;
    const std::size_t client = random_.below(kNodes);
    const std::size_t host = cluster_.client_host(client);
    if (!cluster_.alive(host) || cluster_.node(host).paused()) return;
    switch (random_.below(8)) {
      case 0: cluster_.crash(host); break;  // The nemesis restarts it.
      case 1: pause(host); break;
      case 2: cut(host); break;
      case 3: start_everywhere(); break;
      default: start_leader(client); break;
    }
  }

  // Concurrent boots choose the same generation.
  void start_everywhere() {
    for (std::size_t client = 0; client < kNodes; ++client) {
      const std::size_t host = cluster_.client_host(client);
      if (cluster_.alive(host) && !cluster_.node(host).paused()) start_leader(client);
    }
  }

  void start_leader(std::size_t client) {
    const auto living = std::ranges::count_if(
        incarnations_, [&](const auto& one) { return !one.second->over() && one.first == client; });
    if (static_cast<std::size_t>(living) >= kOnOneNodeMax) return;
    const Duration life = 200ms + Duration(1ms) * random_.below(8'000);
    add(client, life);
  }
  std::shared_ptr<Incarnation> add(std::size_t client, Duration life) {
    auto one = std::make_shared<Incarnation>(
        cluster_, client, fmt::format("{}@{}", incarnations_.size(), client), life);
    incarnations_.emplace_back(client, one);
    Incarnation::start(one);
    return one;
  }

  Duration some_time() { return 100ms + Duration(1ms) * random_.below(4'000); }

  void pause(std::size_t host) {
    cluster_.node(host).pause();
    world_.executor().schedule(history_.now() + some_time(), [this, host] {
      if (cluster_.alive(host) && cluster_.node(host).paused()) cluster_.node(host).resume();
    });
  }
  // Cuts it off from some members, one way or both.
  void cut(std::size_t host) {
    const NodeId self = cluster_.node_id(host);
    const Duration time = some_time();
    for (std::uint32_t order = 0; order < cluster_.geometry().disks(); ++order) {
      if (!random_.one_in(2)) continue;
      const NodeId peer = cluster_.node_id(cluster_.host_of(order));
      const bool there = !random_.one_in(3);
      const bool back = !there || !random_.one_in(3);
      if (there) world_.network().block(self, peer);
      if (back) world_.network().block(peer, self);
      world_.executor().schedule(history_.now() + time, [this, self, peer] {
        world_.network().unblock(self, peer);
        world_.network().unblock(peer, self);
      });
    }
  }

  void check_generations() {
    for (const auto& [client, one] : incarnations_) {
      if (!one->booted()) continue;
      const auto [at, fresh] = leaders_.emplace(one->generation(), one.get());
      if (fresh || at->second == one.get()) continue;
      history_.fail(fmt::format("{} and {} are both leaders of generation {}", at->second->name(),
                                one->name(), one->generation()));
    }
  }

  // Ends all faults; the remaining leaders run to their ends.
  void end_faults() {
    nemesis_.heal();
    run_while(kSettleTime, [&] {
      for (std::size_t client = 0; client < kNodes; ++client) {
        const std::size_t host = cluster_.client_host(client);
        if (cluster_.alive(host) && cluster_.node(host).paused()) cluster_.node(host).resume();
        if (!cluster_.alive(host)) return true;
      }
      return !std::ranges::all_of(incarnations_,
                                  [](const auto& one) { return one.second->over(); });
    });
    check_generations();
    if (history_.failed()) return;
    if (!std::ranges::all_of(incarnations_, [](const auto& one) { return one.second->over(); })) {
      history_.fail("a leader did not end");
    } else if (!cluster_.settle(kSettleTime)) {
      history_.fail("the group did not settle: " + cluster_.unsettled());
    }
  }

  // A boot after all faults have ended, sometimes with members down.
  std::shared_ptr<Incarnation> boot_after_faults(std::size_t client) {
    for (int attempt = 1;; ++attempt) {
      const auto one = add(client, Duration(0));
      run_while(kSettleTime, [&] { return !one->over(); });
      check_generations();
      if (one->booted() || history_.failed()) return one;
      if (attempt == kFinalBootsMax) {
        history_.fail("no leader can boot: " + one->refusal());
        return one;
      }
      world_.run_for(1s);
    }
  }

  void judge() {
    const auto last = boot_after_faults(0);
    if (history_.failed()) return;
    const Words words = last->view().words;
    for (const auto& [client, one] : incarnations_) {
      if (!one->booted()) continue;
      if (!begins_with(words, one->found())) {
        history_.fail(
            fmt::format("generation {} found a history that is not a prefix of the final one",
                        one->generation()));
      }
      if (!begins_with(words, one->view().words)) {
        history_.fail(fmt::format("generation {} confirmed entries that are not in the final state",
                                  one->generation()));
      }
    }
    judge_acknowledged(words);
    judge_repeated(words);
    if (!history_.failed()) judge_blobs(last->view().blobs);
  }

  void judge_acknowledged(const Words& words) {
    const std::set<std::string> known(words.begin(), words.end());
    if (known.size() != words.size()) history_.fail("a word is in the final state twice");
    for (const auto& [client, one] : incarnations_) {
      for (const std::string& word : one->acknowledged()) {
        if (!known.contains(word)) history_.fail("acknowledged and lost: " + word);
      }
    }
  }

  void judge_repeated(const Words& words) {
    for (int boot = 0; boot < kRepeatedBoots && !history_.failed(); ++boot) {
      const auto order = static_cast<std::uint32_t>(random_.below(cluster_.geometry().disks()));
      const std::uint32_t other = (order + 3) % cluster_.geometry().disks();
      for (const std::uint32_t down : {order, other}) cluster_.crash(cluster_.host_of(down));
      const auto one = boot_after_faults(static_cast<std::size_t>(boot) % kNodes);
      if (!history_.failed() && one->found() != words) {
        history_.fail(fmt::format("generation {} sees a different history", one->generation()));
      }
      for (const std::uint32_t down : {order, other}) cluster_.start(cluster_.host_of(down));
      if (!cluster_.settle(kSettleTime)) history_.fail("not settled: " + cluster_.unsettled());
    }
  }

  void judge_blobs(const std::vector<BlobId>& blobs) {
    for (const BlobId& id : blobs) {
      blob::GetRequest request;
      request.queries.push_back({id, 0, 0});
      const auto answer = world_.run(cluster_.proxy(0).get(std::move(request)));
      if (answer.items.size() == 1 && answer.items[0].status == blob::Status::kOk) continue;
      history_.fail(fmt::format("{}, which the state refers to, cannot be read: {}", id.to_string(),
                                answer.reason));
    }
  }

  LeadersReport report() {
    LeadersReport report;
    report.failure = history_.failure();
    for (const auto& [client, one] : incarnations_) {
      ++(one->booted() ? report.boots : report.refused);
      report.acknowledged += one->acknowledged().size();
      if (one->booted() && one->view().restored) ++report.snapshots;
    }
    report.trace_hash = world_.trace_hash();
    return report;
  }

  SimWorld world_;
  History history_;
  // By client. Must outlive the cluster: a crash of its nodes ends them.
  std::vector<std::pair<std::size_t, std::shared_ptr<Incarnation>>> incarnations_;
  std::map<blob::Generation, const Incarnation*> leaders_;
  Cluster cluster_;
  Nemesis nemesis_;
  SeededRandom random_;
};

}  // namespace

LeadersReport run_leaders(std::uint64_t seed) {
  const ScopedLogCapture silence(0);
  return LeadersRun(seed).run_all();
}

}  // namespace moraine::sim
