// BlobNode: the blob storage of one process: its devices, its VDisks, and proxies to every group.
//
// Promise    start() opens (or, when new, formats) the devices of this node in the config and
//            serves their VDisks to its own proxies and to other nodes. stop() ends cleanly.
// Threading  The world's executor.
// Limits     kOwnersMax VDisks a device.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "blob/cluster_config.h"
#include "blob/device/device.h"
#include "blob/endpoint/disk_services.h"
#include "blob/endpoint/node_service.h"
#include "blob/endpoint/resolver.h"
#include "blob/node/group_proxies.h"
#include "blob/vdisk/vdisk.h"
#include "io/world.h"

namespace moraine::blob {

struct BlobNodeOptions {
  DeviceOptions device;
  VDiskOptions vdisk;
  ProxyOptions proxy;
  bool format_missing = true;          // Format devices whose file does not exist.
  std::uint32_t prefill_segments = 0;  // For devices formatted here.
  // No further device is opened after this: start() then fails with kTimeout.
  Instant open_deadline = Instant::never();
};

class BlobNode {
 public:
  BlobNode(World world, ClusterConfig config, NodeId self, BlobNodeOptions options = {});
  ~BlobNode();
  BlobNode(const BlobNode&) = delete;
  BlobNode& operator=(const BlobNode&) = delete;

  Task<Result<void>> start();
  Task<void> stop();
  // Returns when no VDisk here recovers any more, or the deadline has passed.
  Task<void> wait_while_recovering(Instant deadline);
  // For a simulated power cut: asks every background task to end. The world's calls fail from now
  // on.
  void abandon();

  // The proxy to a group of the config, made on first use; null when there is no such group.
  Proxy* proxy(GroupId group) { return proxies_.proxy(group); }
  // Proxies for the clients on another lane, in the world of that lane. They are stopped before
  // this node; the hook of on_reconfigure() passes newer generations to them.
  std::unique_ptr<GroupProxies> make_proxies(World lane);
  // Called with every newer generation of a group, on this node's executor.
  void on_reconfigure(std::function<void(const GroupConfig&)> hook) { hook_ = std::move(hook); }
  // Where threads of this process may read a blob directly: only in a group of one disk, which is
  // here. nullopt: read through the proxy.
  std::optional<DirectPlace> locate(GroupId group, const BlobId& id) const;
  const ClusterConfig& config() const { return config_; }
  // Metrics of the proxies.
  const MetricRegistry& metrics() const { return metrics_; }

  // Adopts a newer generation of a group: starts the VDisks that it places here, and passes it to
  // those that run already. Older generations change nothing. kConflict, and nothing changes:
  // another config of the known generation, or one that could lose data (see check_change()).
  Task<Result<void>> reconfigure(GroupConfig newer);

  Device* device(std::uint32_t id);
  const std::map<std::uint32_t, std::unique_ptr<Device>>& devices() const { return devices_; }
  // Null when none runs there.
  std::shared_ptr<VDisk> vdisk(std::uint32_t device, std::uint32_t slot);
  const std::map<DiskAddress, std::shared_ptr<VDisk>>& vdisks() const { return vdisks_; }

 private:
  Result<void> check_newer(const GroupConfig& known, const GroupConfig& newer) const;
  Task<Result<void>> open_device(const DeviceConfig& config);
  Task<Result<void>> start_vdisks(const GroupConfig& group);
  // VDisks on the devices whose group has moved them elsewhere.
  Task<void> start_retired();
  Task<void> settle();
  // Does the device have the only disk of a group?
  bool needed_alone(std::uint32_t device) const;
  ProxyOptions proxy_options();
  // Owner slot 0 of a device is the device itself.
  static OwnerSlot owner_slot(const DiskAddress& address) {
    return static_cast<OwnerSlot>(address.slot + 1);
  }

  World world_;
  ClusterConfig config_;
  const NodeId self_;
  const BlobNodeOptions options_;
  MetricRegistry metrics_;
  DiskServices services_;
  NodeEndpoints endpoints_;
  std::map<std::uint32_t, std::unique_ptr<Device>> devices_;
  std::map<DiskAddress, std::shared_ptr<VDisk>> vdisks_;
  GroupProxies proxies_;
  std::function<void(const GroupConfig&)> hook_;
  std::unique_ptr<NodeService> service_;
  std::set<std::uint32_t> broken_;  // Devices that could not be opened.
};

}  // namespace moraine::blob
