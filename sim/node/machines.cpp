#include "sim/node/machines.h"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/tablet_ids.h"
#include "io/run_on.h"

namespace moraine::sim {

using namespace moraine::blob;

namespace {

constexpr std::uint32_t kSegmentBytes = 32u << 20;
constexpr Duration kTurn = 1s;                    // Of one attempt to start something.
constexpr std::uint64_t kRefusedPauseMs = 3'000;  // At most, until a refused claim is tried again.
constexpr std::uint64_t kRestartPauseMs = 2'000;  // At most, until a process is started again.
constexpr Duration kEndPoll = 1ms;
constexpr std::uint64_t kOldServer = 6;  // One connection in this many may go to an older process.

// Devices of a machine.
std::size_t devices_of(Erasure erasure, std::size_t machine) {
  if (erasure == Erasure::kNone) return machine == 0 ? 1 : 0;
  return (geometry_of(erasure).disks() + Machines::kMachines - 1) / Machines::kMachines;
}

std::string path_of(std::uint32_t device) {
  return fmt::format("device{}", device);
}

}  // namespace

Machines::Life::Life(std::uint64_t its_number, std::size_t its_machine, std::vector<World> lanes,
                     const MachineOptions& options, ClusterConfig config, NodeId self)
    : number(its_number),
      machine(its_machine),
      node(lanes, lanes.front().executor, std::move(config), self, options.node) {
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    connections.push_back(std::make_unique<TaskScope>());
  }
}

Machines::Machines(SimWorld& world, History& history, MachineOptions options)
    : world_(world), history_(history), options_(std::move(options)), lives_(kMachines) {
  for (std::size_t i = 0; i < kMachines; ++i) machines_.push_back(&world.add_node());
  group_.id = kGroup;
  group_.geometry = geometry_of(options_.erasure);
  // The disks of a realm are on one machine.
  const std::uint32_t disks = group_.geometry.disks();
  const std::uint32_t per_machine = (disks + kMachines - 1) / kMachines;
  for (std::uint32_t order = 0; order < disks; ++order) {
    const NodeId node = machines_[order / per_machine]->id();
    group_.disks.push_back({node, order % per_machine + 1, 0});
  }
  for (std::size_t i = 0; i < kMachines; ++i) start(i);
}

Machines::~Machines() {
  world_.shutdown();
}

ClusterConfig Machines::config() const {
  ClusterConfig config;
  config.name = "sim";
  for (std::size_t i = 0; i < kMachines; ++i) {
    NodeConfig node;
    node.id = machines_[i]->id();
    node.host = fmt::format("node{}", node.id.value);
    for (std::uint32_t device = 1; device <= devices_of(options_.erasure, i); ++device) {
      const std::uint64_t size = kSegmentsOffset + std::uint64_t{options_.segments} * kSegmentBytes;
      node.devices.push_back({device, path_of(device), size, kSegmentBytes});
    }
    config.nodes.push_back(std::move(node));
  }
  config.groups.push_back(group_);
  return config;
}

void Machines::say(const Life& life, const std::string& what) const {
  if (!history_.verbose()) return;
  history_.say(fmt::format("machine {}, process {}: {}", life.machine, life.number, what));
}

void Machines::start(std::size_t machine) {
  SimNode& node = *machines_[machine];
  if (!node.alive()) node.restart();
  if (!lives_[machine]) begin(machine);
}

void Machines::begin(std::size_t machine) {
  SimNode& node = *machines_[machine];
  const std::uint64_t number = ++lives_begun_;
  lives_[machine] = std::make_unique<Life>(number, machine, node.lanes(options_.lanes), options_,
                                           config(), node.id());
  node.on_stop([this, number] {
    if (Life* const life = find(number)) cut_power(*life);
  });
  node.on_crash([this, number] {
    if (Life* const life = find(number)) lives_[life->machine].reset();
  });
  Life& life = *lives_[machine];
  node.world().executor.post([this, &life, over = life.over] {
    if (!*over) life.tasks.spawn(run(life));
  });
}

void Machines::cut_power(Life& life) {
  *life.over = true;
  life.serving = false;
  for (const auto& stream : life.streams) {
    if (const auto open = stream.lock()) open->close();
  }
  if (life.door) life.door->stop_groups();
  if (life.claim) life.claim->abandon();
  life.node.abandon();
  life.end_wanted.set(true);
}

void Machines::crash(std::size_t machine, CrashPolicy policy) {
  if (machines_[machine]->paused()) machines_[machine]->resume();
  machines_[machine]->crash(policy);
}

void Machines::stop_process(std::size_t machine) {
  Life* const life = lives_[machine].get();
  if (!life || *life->over) return;
  life->node.lane(0).executor.post([life, over = life->over] {
    if (*over) return;
    life->stop_wanted = true;
    life->end_wanted.set(true);
  });
}

std::string Machines::broken(std::size_t machine) {
  Life* const life = lives_[machine].get();
  if (!life || *life->over) return {};
  if (life->failure) return life->failure->message();
  if (!life->opened) return {};
  for (std::uint32_t device = 1; device <= devices_of(options_.erasure, machine); ++device) {
    if (!life->node.storage().device(device)) return path_of(device) + " could not be opened";
  }
  for (const auto& [at, disk] : life->node.storage().vdisks()) {
    if (disk->phase() == VDisk::Phase::kBroken) return disk->broken_reason();
  }
  return {};
}

Machines::Life* Machines::find(std::uint64_t number) const {
  for (const auto& life : lives_) {
    if (life && life->number == number) return life.get();
  }
  return nullptr;
}

Machines::Life* Machines::newest() const {
  Life* newest = nullptr;
  for (const auto& life : lives_) {
    if (life && life->serving && (!newest || life->turn > newest->turn)) newest = life.get();
  }
  return newest;
}

std::optional<std::size_t> Machines::server() const {
  const Life* const life = newest();
  return life ? std::optional(life->machine) : std::nullopt;
}

std::size_t Machines::servers() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(lives_, [](const auto& life) { return life && life->serving; }));
}

const SimClock* Machines::server_clock() const {
  const Life* const life = newest();
  return life ? &machines_[life->machine]->clock() : nullptr;
}

ServingTables* Machines::tables() const {
  const Life* const life = newest();
  return life ? life->tables.get() : nullptr;
}

Machines::Connection Machines::connect(Door door, SeededRandom& random) {
  Life* life = newest();
  const auto& other = lives_[random.below(kMachines)];
  if (random.one_in(kOldServer) && other && other->serving) life = other.get();
  return life ? connect_to(*life, door, random.below(options_.lanes)) : Connection();
}

Machines::Connection Machines::connect_lane(Door door, std::size_t lane) {
  Life* const life = newest();
  return life ? connect_to(*life, door, lane) : Connection();
}

Machines::Connection Machines::connect_to(Life& life, Door door, std::size_t lane) {
  Executor& executor = life.node.lane(lane).executor;
  auto [client, server] = make_sim_streams(world_.executor(), executor, options_.streams);
  std::erase_if(life.streams, [](const auto& stream) { return stream.expired(); });
  life.streams.push_back(server);
  executor.post([&life, door, lane, over = life.over, accepted = server] {
    if (*over || !life.serving) return accepted->close();
    const StreamHandler serve =
        door == Door::kHttp ? life.http->streams(lane) : life.door->streams(lane);
    life.connections[lane]->spawn(serve(accepted));
  });
  return {std::move(client), life.turn};
}

SimDrive& Machines::drive(std::uint32_t order) {
  return machines_[machine_of(order)]->disks().drive(path_of(group_.disks[order].device));
}

std::shared_ptr<VDisk> Machines::vdisk(std::uint32_t order) {
  Life* const life = lives_[machine_of(order)].get();
  if (!life || *life->over) return nullptr;
  return life->node.storage().vdisk(group_.disks[order].device, group_.disks[order].slot);
}

bool Machines::ready(std::uint32_t order) {
  const auto disk = vdisk(order);
  return disk && disk->phase() == VDisk::Phase::kReady;
}

bool Machines::replicated(std::uint32_t order) {
  return ready(order) && vdisk(order)->replicated();
}

std::string Machines::unsettled() {
  for (std::uint32_t order = 0; order < group_.geometry.disks(); ++order) {
    if (!ready(order)) return fmt::format("disk {} does not serve", order);
    if (!replicated(order) || !vdisk(order)->state().missing().empty()) {
      return fmt::format("disk {} misses parts", order);
    }
  }
  return {};
}

Task<void> Machines::run(Life& life) {
  Executor& executor = life.node.lane(0).executor;
  Random& random = life.node.lane(0).random;
  const auto opened = co_await life.node.open();
  if (!opened) {
    life.failure = opened.error();
    co_await life.end_wanted;
    if (*life.over) co_return;
  }
  life.opened = opened.has_value();
  while (opened && !ends(life)) {
    const auto begun = co_await begin_serving(life);
    if (begun || ends(life)) break;
    say(life, begun.error().message());
    if (life.claim) break;
    co_await sleep_for(executor, Duration(1ms) * (1 + random.below(kRefusedPauseMs)));
  }
  if (life.serving) co_await life.end_wanted;
  co_await yield(executor);
  if (*life.over) co_return;
  co_await end_topics(life);
  if (*life.over) co_return;
  say(life, "ends");
  co_await sleep_for(executor, Duration(1ms) * random.below(kRestartPauseMs));
  if (life.claim) co_await life.claim->stop();
  co_await life.node.stop();
  if (*life.over) co_return;
  *life.over = true;
  world_.executor().post([this, number = life.number] {
    Life* const ended = find(number);
    if (!ended) return;
    const std::size_t machine = ended->machine;
    lives_[machine].reset();
    if (machines_[machine]->alive()) begin(machine);
  });
}

// Repeats an attempt that fails because of a timeout.
Task<Result<void>> Machines::repeat(Life& life,
                                    std::function<Task<Result<void>>(Instant)> attempt) {
  Executor& executor = life.node.lane(0).executor;
  while (!ends(life)) {
    const Instant turn = executor.now() + kTurn;
    const Result<void> done = co_await attempt(turn);
    if (done) co_return done;
    const Errc code = done.error().code;
    if (code == Errc::kCorrupt) history_.fail(done.error().message());
    const bool later =
        code == Errc::kTimeout || code == Errc::kUnavailable || code == Errc::kNotHere;
    if (!later) co_return done;
    if (life.claim && life.claim->lost()) co_return done;
    if (executor.now() < turn) co_await sleep_for(executor, turn - executor.now());
  }
  co_return fail(Errc::kUnavailable, "the process ends");
}

Task<Result<void>> Machines::begin_serving(Life& life) {
  CO_TRY_VOID(co_await repeat(
      life, [&life](Instant deadline) { return life.node.locate_system(deadline); }));
  CO_TRY_VOID(co_await repeat(life, [this, &life](Instant) { return take_claim(life); }));
  life.turn = ++turns_;
  say(life, "has the claim");
  CO_TRY_VOID(
      co_await repeat(life, [&life](Instant deadline) { return life.node.start(deadline); }));
  life.tables = std::make_unique<ServingTables>(life.node.lane(0), life.node.tables());
  life.tables->over = life.over;
  for (std::size_t i = 0; i < options_.lanes; ++i) {
    life.tables->lanes.push_back(&life.node.lane(i).executor);
  }
  life.http = std::make_unique<HttpServing>(life.node);
  CO_TRY_VOID(co_await open_door(life));
  history_.tally.add(TopicCommand::kBoot, TopicAnswer::kOk);
  say(life, "serves");
  if (life.claim->lost()) {
    life.end_wanted.set(true);
  } else {
    life.claim->on_lost([&life] { life.end_wanted.set(true); });
  }
  life.tables->ready = true;
  life.serving = true;
  co_return Result<void>();
}

Task<Result<void>> Machines::take_claim(Life& life) {
  ClaimHolder self;
  self.node = machines_[life.machine]->id().value;
  self.address = fmt::format("machine{}", life.machine);
  Proxy& group = *life.node.storage().proxy(life.node.places().at(kSchemeTabletId));
  CO_TRY(life.claim, co_await TopicsClaim::take(life.node.lane(0), group, self, options_.claim));
  TopicsClaim& claim = *life.claim;
  life.node.set_confirm([&claim] { return claim.confirm(); });
  if (*life.over) claim.abandon();
  co_return Result<void>();
}

Task<Result<void>> Machines::open_door(Life& life) {
  std::vector<kafka::KafkaDoor::Lane> lanes;
  for (std::size_t i = 0; i < options_.lanes; ++i) {
    lanes.push_back({life.node.lane(i), life.node.topics(i), &life.node.background()});
  }
  life.door = std::make_unique<kafka::KafkaDoor>(
      std::move(lanes), [&node = life.node] { return node.gateway_state(); });
  const auto load = [&life](Instant deadline) -> Task<Result<void>> {
    if (!co_await life.node.wait_gateway_state(deadline)) {
      co_return fail(Errc::kTimeout, "the tablet of consumer groups has not started");
    }
    const Result<void> loaded = co_await life.door->load();
    if (!loaded && loaded.error().code == Errc::kCorrupt) co_return loaded;
    if (!loaded) co_return fail(Errc::kTimeout, loaded.error().message());
    co_return loaded;
  };
  CO_TRY_VOID(co_await repeat(life, load));
  (void)co_await life.node.wait_topics(life.node.lane(0).executor.now() + kTurn);
  if (ends(life)) co_return fail(Errc::kUnavailable, "the process ends");
  kafka::KafkaOptions options;
  options.node_id = static_cast<std::int32_t>(machines_[life.machine]->id().value);
  options.auto_create_topics = false;
  life.door->open(std::move(options));
  co_return Result<void>();
}

Task<void> Machines::end_topics(Life& life) {
  Executor& executor = life.node.lane(0).executor;
  life.serving = false;
  if (life.tables) life.tables->ending = true;
  if (life.door) life.door->stop_groups();
  TaskScope stops;
  stops.spawn(life.node.stop_tablets());
  for (const auto& stream : life.streams) {
    if (const auto open = stream.lock()) open->close();
  }
  co_await stops.join();
  for (std::size_t i = 0; i < life.connections.size(); ++i) {
    const auto join = [&life, i]() -> Task<void> { co_await life.connections[i]->join(); };
    co_await run_on(life.node.lane(i).executor, executor, join);
  }
  if (life.door) co_await life.door->stop();
  while (life.tables && life.tables->calls > 0 && !*life.over) {
    co_await sleep_for(executor, kEndPoll);
  }
}

}  // namespace moraine::sim
