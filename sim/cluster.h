// Cluster: a whole group in a simulated world: one node per VDisk, spare nodes, and client nodes.
//
// Promise    Every VDisk and proxy is the real one, and they communicate over the simulated
//            network. Hosts crash and restart; a host's knowledge of the group survives restarts.
// Invariants Hosts 0..disks-1 held the members of the first generation, in order; then come the
//            spares, then the clients.
// Threading  The thread of the simulation. Calls come from outside the loop or from its own events.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "blob/node/blob_node.h"
#include "io/request_router.h"
#include "io/sim/sim_world.h"

namespace moraine::sim {

enum class Erasure : std::uint8_t { kNone, kBlock42, kBlock42Spare, kMirror3dc };
inline constexpr std::size_t kErasures = 4;
std::string_view to_string(Erasure erasure);  // "none", "block-4-2", "block-4-2-spare", ...
Result<Erasure> parse_erasure(std::string_view text);
blob::Geometry geometry_of(Erasure erasure);

struct ClusterOptions {
  Erasure erasure = Erasure::kBlock42;
  std::uint32_t segment_bytes = blob::kSegmentBytesMin;
  std::uint32_t segments = 40;
  std::size_t spares = 1;
  std::size_t clients = 2;
  blob::BlobNodeOptions node;
};

// Times scaled to minutes of virtual time, thresholds to small devices.
blob::BlobNodeOptions quick_node_options();

class Cluster {
 public:
  static constexpr blob::GroupId kGroup{0x82000000};

  Cluster(SimWorld& world, ClusterOptions options);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  const blob::Geometry& geometry() const { return config_.geometry; }
  // The newest generation of the group.
  const blob::GroupConfig& config() const { return config_; }
  std::size_t hosts() const { return hosts_.size(); }
  std::size_t clients() const { return options_.clients; }
  std::size_t client_host(std::size_t client) const { return hosts_.size() - clients() + client; }
  // The host of member `order` in the newest generation.
  std::size_t host_of(std::uint32_t order) const { return config_.disks[order].node.value - 1; }
  // Member `order` lives on host_of(order).
  SimNode& node(std::size_t host) { return *hosts_[host]->node; }
  NodeId node_id(std::size_t host) const { return hosts_[host]->node->id(); }
  SimDrive& drive(std::size_t host) { return node(host).disks().drive(kDevicePath); }
  bool alive(std::size_t host) const { return hosts_[host]->node->alive(); }

  // Starts what is not running; missing devices are formatted.
  void start(std::size_t host);
  void crash(std::size_t host, CrashPolicy policy = CrashPolicy::kRandom);
  // Why the last start failed; null when it did not (or is in progress).
  const std::optional<Error>& start_failure(std::size_t host) const {
    return hosts_[host]->start_failure;
  }
  // Replaces the host's disk by an empty one; the host then knows the newest generation. Requires:
  // the host is down.
  void replace_disk(std::size_t host);

  // Dispatches requests to other services of a host. Requires: the host is alive.
  RequestRouter& router(std::size_t host) { return *hosts_[host]->router; }
  // Null while the host is down.
  blob::BlobNode* blob_node(std::size_t host) { return hosts_[host]->blob.get(); }
  // The member as the newest generation places it; null while it is not running.
  std::shared_ptr<blob::VDisk> vdisk(std::uint32_t order);
  blob::Device* device(std::uint32_t order);
  // Requires: the client's host is alive.
  blob::Proxy& proxy(std::size_t client) { return *blob_node(client_host(client))->proxy(kGroup); }

  // The next generation places `order` on `host`, which must be a spare that is alive. Only the
  // hosts in `informed` (and the new one) are informed.
  void move(std::uint32_t order, std::size_t host, const std::vector<std::size_t>& informed);
  // The config that the host starts with the next time.
  void set_known(std::size_t host, blob::GroupConfig config) {
    hosts_[host]->known = std::move(config);
  }
  // The host without a member, or nothing.
  std::optional<std::size_t> spare() const;

  bool ready(std::uint32_t order);
  // It serves, and has all parts that it missed when its last pass began.
  bool replicated(std::uint32_t order);
  bool all_ready();
  // All members serve, and none misses a part.
  bool all_replicated();
  // What keeps all_replicated() from being true, and which parts are not on their mains.
  std::string unsettled();
  // Runs the world until all_replicated() and no handoff holds a part; false: timed out.
  bool settle(Duration bound);

 private:
  static constexpr const char* kDevicePath = "device";
  struct Host {
    SimNode* node = nullptr;
    bool client = false;
    blob::GroupConfig known;
    std::unique_ptr<RequestRouter> router;
    std::unique_ptr<blob::BlobNode> blob;
    std::optional<Error> start_failure;
  };
  blob::ClusterConfig cluster_config(const blob::GroupConfig& group) const;
  static Task<void> run_start(Host& host);
  static Task<void> run_reconfigure(Host& host, blob::GroupConfig config);
  std::vector<std::string> troubles(bool handoffs);

  SimWorld& world_;
  const ClusterOptions options_;
  std::vector<std::unique_ptr<Host>> hosts_;
  blob::GroupConfig config_;
};

// The bytes of a blob are derived from its id.
Slice blob_bytes(const blob::BlobId& id);
// Equal to blob_bytes(id).sub(shift, data.size())?
bool right_bytes(const blob::BlobId& id, std::uint32_t shift, ByteSpan data);

}  // namespace moraine::sim
