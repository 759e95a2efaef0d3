#include "sim/cluster.h"

#include <fmt/format.h>

#include <cstring>

#include "base/invariant.h"

namespace moraine::sim {

using namespace moraine::blob;

std::string_view to_string(Erasure erasure) {
  switch (erasure) {
    case Erasure::kNone: return "none";
    case Erasure::kBlock42: return "block-4-2";
    case Erasure::kBlock42Spare: return "block-4-2-spare";
    case Erasure::kMirror3dc: return "mirror-3-dc";
  }
  return "unknown";
}

Result<Erasure> parse_erasure(std::string_view text) {
  for (std::size_t i = 0; i < kErasures; ++i) {
    const auto erasure = static_cast<Erasure>(i);
    if (text == to_string(erasure)) return erasure;
  }
  return fail(Errc::kInvalidArgument, fmt::format("unknown erasure {}", text));
}

Geometry geometry_of(Erasure erasure) {
  switch (erasure) {
    case Erasure::kNone: return Geometry::standard(Species::kNone);
    case Erasure::kBlock42: return Geometry::standard(Species::kBlock42);
    case Erasure::kBlock42Spare: return *Geometry::make(Species::kBlock42, 1, 9, 1);
    case Erasure::kMirror3dc: break;
  }
  return Geometry::standard(Species::kMirror3dc);
}

BlobNodeOptions quick_node_options() {
  BlobNodeOptions options;
  options.device.checkpoint_log_bytes = 384u << 10;
  options.vdisk.sync_period = 400ms;
  options.vdisk.replication_period = 700ms;
  options.vdisk.loss_delay = 6s;
  options.vdisk.ask_timeout = 2s;
  options.vdisk.cache_bytes = 256u << 10;
  options.proxy.ok_lifetime = 4s;
  return options;
}

Cluster::Cluster(SimWorld& world, ClusterOptions options) : world_(world), options_(options) {
  config_.id = kGroup;
  config_.geometry = geometry_of(options.erasure);
  const std::size_t disks = config_.geometry.disks();
  for (std::size_t i = 0; i < disks + options.spares + options.clients; ++i) {
    auto host = std::make_unique<Host>();
    host->node = &world.add_node();
    host->client = i >= disks + options.spares;
    if (i < disks) config_.disks.push_back({host->node->id(), 1, 0});
    hosts_.push_back(std::move(host));
  }
  for (auto& host : hosts_) host->known = config_;
  for (std::size_t i = 0; i < hosts_.size(); ++i) start(i);
}

Cluster::~Cluster() {
  world_.shutdown();
}

ClusterConfig Cluster::cluster_config(const GroupConfig& group) const {
  ClusterConfig config;
  config.name = "sim";
  for (const auto& host : hosts_) {
    NodeConfig node;
    node.id = host->node->id();
    node.host = fmt::format("node{}", node.id.value);
    if (!host->client) {
      const std::uint64_t size =
          kSegmentsOffset + std::uint64_t{options_.segments} * options_.segment_bytes;
      node.devices.push_back({1, kDevicePath, size, options_.segment_bytes});
    }
    config.nodes.push_back(std::move(node));
  }
  config.groups.push_back(group);
  return config;
}

void Cluster::start(std::size_t index) {
  Host& host = *hosts_[index];
  if (host.blob) return;
  if (!host.node->alive()) host.node->restart();
  host.start_failure.reset();
  const World outer = host.node->world();
  host.router = std::make_unique<RequestRouter>(outer.network);
  const World world{outer.executor, outer.clock, outer.random, outer.disks, host.router->rest()};
  host.blob =
      std::make_unique<BlobNode>(world, cluster_config(host.known), host.node->id(), options_.node);
  host.node->on_stop([&host] { host.blob->abandon(); });
  host.node->on_crash([&host] {
    host.blob.reset();
    host.router.reset();
  });
  world.executor.post([&host] { spawn(run_start(host)); });
}

Task<void> Cluster::run_start(Host& host) {
  auto started = co_await host.blob->start();
  if (!started) {
    host.start_failure = std::move(started).error();
  } else if (!host.client && !host.blob->device(1)) {
    host.start_failure = Error{Errc::kIo, "the device could not be opened"};
  }
}

void Cluster::crash(std::size_t host, CrashPolicy policy) {
  if (node(host).paused()) node(host).resume();
  node(host).crash(policy);
}

void Cluster::replace_disk(std::size_t host) {
  INVARIANT(!alive(host), "host {} is running", host);
  drive(host).remove();
  hosts_[host]->known = config_;
}

std::shared_ptr<VDisk> Cluster::vdisk(std::uint32_t order) {
  BlobNode* running = blob_node(host_of(order));
  return running ? running->vdisk(1, config_.disks[order].slot) : nullptr;
}

Device* Cluster::device(std::uint32_t order) {
  BlobNode* running = blob_node(host_of(order));
  return running ? running->device(1) : nullptr;
}

void Cluster::move(std::uint32_t order, std::size_t host,
                   const std::vector<std::size_t>& informed) {
  INVARIANT(alive(host), "host {} is down", host);
  ++config_.generation;
  config_.disks[order] = {node_id(host), 1, 0};
  std::vector<std::size_t> reached = informed;
  reached.push_back(host);
  for (const std::size_t one : reached) {
    hosts_[one]->known = config_;
    if (!alive(one)) continue;
    Host& listener = *hosts_[one];
    node(one).world().executor.post(
        [&listener, config = config_] { spawn(run_reconfigure(listener, config)); });
  }
}

Task<void> Cluster::run_reconfigure(Host& host, GroupConfig config) {
  if (!host.blob) co_return;
  auto informed = co_await host.blob->reconfigure(std::move(config));
  if (!informed) host.start_failure = std::move(informed).error();
}

std::optional<std::size_t> Cluster::spare() const {
  for (std::size_t host = 0; host + clients() < hosts_.size(); ++host) {
    const bool used = std::ranges::any_of(
        config_.disks, [&](const DiskAddress& at) { return at.node == node_id(host); });
    if (!used) return host;
  }
  return std::nullopt;
}

bool Cluster::ready(std::uint32_t order) {
  const auto disk = vdisk(order);
  return disk && disk->phase() == VDisk::Phase::kReady;
}

bool Cluster::replicated(std::uint32_t order) {
  const auto disk = vdisk(order);
  return disk && disk->phase() == VDisk::Phase::kReady && disk->replicated();
}

bool Cluster::all_ready() {
  for (std::uint32_t order = 0; order < geometry().disks(); ++order) {
    if (!ready(order)) return false;
  }
  return true;
}

bool Cluster::all_replicated() {
  return troubles(false).empty();
}

std::vector<std::string> Cluster::troubles(bool handoffs) {
  std::vector<std::string> found;
  for (std::uint32_t order = 0; order < geometry().disks(); ++order) {
    const auto disk = vdisk(order);
    if (!disk) {
      const auto& failure = start_failure(host_of(order));
      found.push_back(
          fmt::format("disk {} does not run: {}", order, failure ? failure->message() : "down"));
    } else if (disk->phase() != VDisk::Phase::kReady) {
      found.push_back(fmt::format("disk {} is in phase {} {}", order,
                                  static_cast<int>(disk->phase()), disk->broken_reason()));
    } else if (!replicated(order) || !disk->state().missing().empty()) {
      const auto& missing = disk->state().missing();
      found.push_back(fmt::format("disk {} misses {} parts, {} first", order, missing.size(),
                                  missing.empty() ? "none" : missing.begin()->to_string()));
    } else if (handoffs && !disk->state().handoffs().empty()) {
      found.push_back(fmt::format("disk {} holds {} parts for others, {} first", order,
                                  disk->state().handoffs().size(),
                                  disk->state().handoffs().begin()->to_string()));
    }
  }
  return found;
}

std::string Cluster::unsettled() {
  return fmt::format("{}", fmt::join(troubles(true), "; "));
}

bool Cluster::settle(Duration bound) {
  const Instant end = world_.executor().now() + bound;
  while (world_.executor().now() < end) {
    if (troubles(true).empty()) return true;
    world_.run_for(200ms);
  }
  return troubles(true).empty();
}

namespace {

// The 8 bytes at `index` of the blob's infinite stream.
std::uint64_t word_at(std::uint64_t key, std::uint64_t index) {
  std::uint64_t x = key + (index + 1) * 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

std::uint64_t stream_key(const BlobId& id) {
  return word_at(word_at(id.raw()[0], id.raw()[1]), id.raw()[2]);
}

}  // namespace

Slice blob_bytes(const BlobId& id) {
  Buffer bytes(align_up(id.size(), sizeof(std::uint64_t)));
  const std::uint64_t key = stream_key(id);
  for (std::uint64_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = word_at(key, at / sizeof(word));
    std::memcpy(bytes.data() + at, &word, sizeof(word));
  }
  return std::move(bytes).freeze().sub(0, id.size());
}

bool right_bytes(const BlobId& id, std::uint32_t shift, ByteSpan data) {
  if (std::uint64_t{shift} + data.size() > id.size()) return false;
  return equal(blob_bytes(id).sub(shift, data.size()), data);
}

}  // namespace moraine::sim
