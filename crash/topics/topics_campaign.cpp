#include "crash/topics/topics_campaign.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <thread>

#include "crash/servers.h"
#include "crash/topics/members.h"
#include "crash/topics/producers.h"
#include "crash/topics/read_back.h"

namespace moraine::crash {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kProducers = 5;
constexpr std::size_t kMembers = 3;
constexpr std::int32_t kPartitions = 6;
constexpr std::int32_t kPartitionsMax = 12;
constexpr std::uint64_t kDeviceBytes = std::uint64_t{4} << 30;
constexpr std::uint64_t kLoadMsMin = 50;
constexpr std::uint64_t kLoadMsMax = 500;
constexpr std::uint64_t kDownMsMax = 100;
constexpr std::chrono::seconds kProgressWithin{60};
constexpr std::chrono::milliseconds kPollEvery{5};
constexpr std::uint64_t kStopOneIn = 6;        // A graceful stop before the kill.
constexpr std::uint64_t kReplaceOneIn = 2;     // One member is replaced by another.
constexpr std::uint64_t kDieOneIn = 4;         // Of those: it dies.
constexpr std::uint64_t kGrowOneIn = 20;       // One partition more.
constexpr std::uint64_t kAwaitGroupOneIn = 2;  // The kill waits until the group makes progress.
const std::string kTopic = "crash";

class TopicsCampaign {
 public:
  TopicsCampaign(Servers& servers, Random& random, std::uint32_t check_every)
      : servers_(servers),
        random_(random),
        check_every_(check_every),
        truth_(kProducers, kPartitions) {}

  int run(std::uint32_t rounds) {
    auto outcome = run_rounds(rounds);
    if (outcome) outcome = servers_.stop_all();
    if (outcome) outcome = servers_.check();
    report_violations();
    if (!outcome) fmt::print(stderr, "moraine_crash: {}\n", outcome.error().message());
    summarize();
    if (violated()) return 1;
    return outcome ? 0 : 2;
  }

 private:
  Result<void> run_rounds(std::uint32_t rounds) {
    TRY_VOID(servers_.start_all());
    TRY_VOID(create_topic(servers_.kafka(), kTopic, kPartitions));
    TRY(Producers producers, Producers::open(servers_.kafka(), kTopic, truth_, random_));
    TRY(Members members, Members::open(servers_.kafka(), kTopic, truth_, kMembers, random_));
    for (std::uint32_t round = 1; round <= rounds; ++round) {
      TRY_VOID(run_round(round, members));
      // A violation is examined as it is.
      const bool last = round == rounds || violated();
      if (last || round % check_every_ == 0) {
        TRY_VOID(check_all(producers));
        producers.rest(last);
      }
      report_violations();
      if (last) break;
    }
    return {};
  }

  Result<void> run_round(std::uint32_t round, Members& members) {
    const TopicCounts before = truth_.counts();
    const bool stop = random_.one_in(kStopOneIn);
    if (stop) {
      TRY(const std::uint64_t ignored, load());
      (void)ignored;
      TRY_VOID(servers_.stop_all());
      ++stops_;
      TRY_VOID(servers_.start_all());
    }
    if (random_.one_in(kReplaceOneIn)) {
      TRY_VOID(members.replace_one(random_.one_in(kDieOneIn) ? Goodbye::kDies : Goodbye::kLeaves));
    }
    if (random_.one_in(kGrowOneIn)) {
      TRY_VOID(grow());
    }
    TRY(const std::uint64_t load_ms, load());
    for (const NodeId node : servers_.nodes()) servers_.kill(node);
    ++kills_;
    pause(random_.below(kDownMsMax));
    const Clock::time_point started = Clock::now();
    TRY_VOID(servers_.start_all());
    const auto start_ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - started);
    TRY_VOID(members.check_commits());
    show(round, stop, load_ms, static_cast<std::uint64_t>(start_ms.count()), before);
    return {};
  }

  // Returns after some time of load: how many milliseconds since the first progress.
  Result<std::uint64_t> load() {
    const TopicCounts before = truth_.counts();
    TRY_VOID(await("no message is acknowledged", [&] {
      return truth_.counts().acknowledged > before.acknowledged || violated();
    }));
    if (random_.one_in(kAwaitGroupOneIn)) {
      TRY_VOID(await("no commit is acknowledged",
                     [&] { return truth_.counts().commits > before.commits || violated(); }));
    }
    const std::uint64_t load_ms = kLoadMsMin + random_.below(kLoadMsMax - kLoadMsMin);
    pause(load_ms);
    return load_ms;
  }

  Result<void> grow() {
    const std::int32_t wanted = truth_.partitions() + 1;
    if (wanted > kPartitionsMax) return {};
    truth_.add_partition();
    return grow_topic(servers_.kafka(), kTopic, wanted);
  }

  // Pauses everything, reads all of it, and waits until the group has read it too.
  Result<void> check_all(Producers& producers) {
    producers.rest(true);
    TRY_VOID(await("messages stay in flight", [&] { return producers.at_rest(); }));
    TRY(const LogCheckCounts counts, read_back(servers_.kafka(), kTopic, truth_));
    TRY(const std::vector<std::int64_t> ends,
        log_ends(servers_.kafka(), kTopic, truth_.partitions()));
    TRY_VOID(await("the group does not reach the end", [&] { return group_is_at(ends); }));
    verified_ = counts.verified;
    const TopicCounts now = truth_.counts();
    fmt::print(
        "read everything: {} messages in {} partitions, {} of {} acknowledged verified; the group "
        "processed {}\n",
        counts.read, ends.size(), counts.verified, now.acknowledged, now.processed);
    std::fflush(stdout);
    return {};
  }

  bool violated() const { return truth_.counts().violations_in_all() > 0; }

  bool group_is_at(const std::vector<std::int64_t>& ends) const {
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (truth_.processed_to(static_cast<std::int32_t>(i)) < ends[i]) return false;
    }
    return true;
  }

  static Result<void> await(const char* otherwise, const std::function<bool()>& happened) {
    const Clock::time_point deadline = Clock::now() + kProgressWithin;
    while (!happened()) {
      if (Clock::now() > deadline) {
        return fail(Errc::kTimeout,
                    fmt::format("{} within {} s", otherwise, kProgressWithin.count()));
      }
      std::this_thread::sleep_for(kPollEvery);
    }
    return {};
  }

  static void pause(std::uint64_t milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  }

  void report_violations() {
    for (const std::string& text : truth_.take_violations()) fmt::print("{}\n", text);
    std::fflush(stdout);
  }

  void show(std::uint32_t round, bool stopped, std::uint64_t load_ms, std::uint64_t start_ms,
            const TopicCounts& before) const {
    const TopicCounts now = truth_.counts();
    fmt::print(
        "round {}:{} killed after {} ms, up again in {} ms; acknowledged {} (in all {}), in flight "
        "{}; processed {}, again {}, commits {}, resumes {}; violations {}\n",
        round, stopped ? " stopped, then" : "", load_ms, start_ms,
        now.acknowledged - before.acknowledged, now.acknowledged, now.in_flight(),
        now.processed - before.processed, now.reprocessed - before.reprocessed,
        now.commits - before.commits, now.resumes - before.resumes, now.violations_in_all());
    std::fflush(stdout);
  }

  void summarize() const {
    const TopicCounts now = truth_.counts();
    fmt::print(
        "{} kills, {} stops, {} partitions; {} sent, {} acknowledged ({} without an offset), {} "
        "verified; the group processed {}, {} again, after {} resumes and {} commits\n",
        kills_, stops_, truth_.partitions(), now.sent, now.acknowledged, now.without_offset,
        verified_, now.processed, now.reprocessed, now.resumes, now.commits);
    for (std::size_t i = 0; i < kViolationKinds; ++i) {
      if (now.violations[i] > 0) {
        fmt::print("{} {}\n", now.violations[i], to_string(static_cast<Violation>(i)));
      }
    }
    fmt::print("{} kills, {} lost, {} doubled, {} left out by the group\n", kills_,
               now.of(Violation::kLost), now.of(Violation::kDoubled), now.of(Violation::kSkipped));
  }

  Servers& servers_;
  Random& random_;
  const std::uint32_t check_every_;
  TopicTruth truth_;
  std::uint64_t kills_ = 0;
  std::uint64_t stops_ = 0;
  std::uint64_t verified_ = 0;
};

}  // namespace

int run_topics_campaign(const TopicsCampaignOptions& options) {
  SeededRandom random(options.seed);
  ServersOptions servers_options;
  servers_options.binary = options.binary;
  servers_options.folder = options.folder;
  servers_options.device_bytes = kDeviceBytes;
  servers_options.kafka = true;
  auto servers = Servers::prepare(servers_options, random);
  if (!servers) {
    fmt::print(stderr, "moraine_crash: {}\n", servers.error().message());
    return 2;
  }
  TopicsCampaign campaign(*servers, random, options.check_every);
  return campaign.run(options.rounds);
}

}  // namespace moraine::crash
