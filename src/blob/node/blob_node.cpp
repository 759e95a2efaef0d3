#include "blob/node/blob_node.h"

#include "base/log.h"

namespace moraine::blob {

BlobNode::BlobNode(World world, ClusterConfig config, NodeId self, BlobNodeOptions options)
    : world_(world),
      config_(std::move(config)),
      self_(self),
      options_(options),
      endpoints_(world_.network, world_.executor, services_),
      proxies_(world_, config_.groups, services_, proxy_options()) {}

BlobNode::~BlobNode() = default;

Task<Result<void>> BlobNode::start() {
  CO_TRY_VOID(check(config_));
  const NodeConfig* node = config_.node(self_);
  if (!node) {
    co_return fail(Errc::kInvalidArgument, fmt::format("the config has no node {}", self_.value));
  }
  for (const DeviceConfig& device : node->devices) {
    if (world_.executor.now() >= options_.open_deadline) {
      co_return fail(Errc::kTimeout, "the devices were not opened in time");
    }
    auto opened = co_await open_device(device);
    if (opened) continue;
    // A group with other members works without this one, as without a disk that breaks later. A
    // node without any usable device does not start.
    const bool last = broken_.size() + 1 == node->devices.size();
    if (needed_alone(device.id) || last) co_return opened;
    log_error("device not usable", {{"path", device.path}, {"error", opened.error()}});
    broken_.insert(device.id);
  }
  for (const GroupConfig& group : config_.groups) {
    CO_TRY_VOID(co_await start_vdisks(group));
  }
  co_await start_retired();
  service_ = std::make_unique<NodeService>(world_.network, world_.executor, services_);
  co_await settle();
  co_return Result<void>();
}

Task<void> BlobNode::start_retired() {
  for (const auto& [id, device] : devices_) {
    for (const auto& [slot, owner] : device->owners()) {
      const DiskAddress address{self_, id, static_cast<std::uint32_t>(slot) - 1};
      auto disk = std::static_pointer_cast<VDisk>(owner);
      if (vdisks_.contains(address) || !disk->state().configured()) continue;
      const MetaState& meta = disk->state().meta();
      const GroupConfig* group = config_.group(meta.config->id);
      if (!group) {
        log_warning("ignored a VDisk on the device: its group is not in the config",
                    {{"group", fmt::format("{:x}", meta.config->id.value)},
                     {"device", device->path()},
                     {"slot", address.slot}});
        continue;
      }
      if (meta.state == LocalState::kEmpty) continue;
      const auto started = co_await disk->start(*group, address, endpoints_);
      if (!started) {
        log_warning("a VDisk that its group has moved elsewhere does not start",
                    {{"device", device->path()}, {"error", started.error()}});
        continue;
      }
      services_.add(address, disk);
      vdisks_[address] = std::move(disk);
    }
  }
}

// Waits for groups of one disk, which need no other disk: they serve as soon as start() returns.
Task<void> BlobNode::settle() {
  for (const auto& [address, disk] : vdisks_) {
    if (disk->state().geometry().disks() == 1)
      co_await disk->wait_while_recovering(Instant::never());
  }
}

Task<void> BlobNode::wait_while_recovering(Instant deadline) {
  const auto disks = vdisks_;
  for (const auto& [address, disk] : disks) co_await disk->wait_while_recovering(deadline);
}

bool BlobNode::needed_alone(std::uint32_t device) const {
  for (const GroupConfig& group : config_.groups) {
    if (group.geometry.disks() > 1) continue;
    if (group.disks[0].node == self_ && group.disks[0].device == device) return true;
  }
  return false;
}

Task<Result<void>> BlobNode::open_device(const DeviceConfig& config) {
  Device::OwnerFactory factory = [vdisk = options_.vdisk](Device& device, OwnerSlot slot) {
    return std::make_shared<VDisk>(device, slot, vdisk);
  };
  DeviceOptions options = options_.device;
  options.only_copy = needed_alone(config.id);
  auto opened = co_await Device::open(world_, config.path, options, factory);
  if (!opened && opened.error().code == Errc::kNotFound && options_.format_missing) {
    FormatOptions format;
    format.size = config.size;
    if (config.segment_size != 0) {
      format.segment_bytes = static_cast<std::uint32_t>(config.segment_size);
    }
    format.prefill_segments = options_.prefill_segments;
    CO_TRY(const Superblock superblock, co_await Device::format(world_, config.path, format));
    log_info("device formatted", {{"path", config.path}, {"segments", superblock.segments}});
    opened = co_await Device::open(world_, config.path, options, factory);
  }
  if (!opened) co_return std::unexpected(std::move(opened).error());
  for (const std::string& damage : (*opened)->damage()) {
    log_warning("device damaged", {{"path", config.path}, {"what", damage}});
  }
  devices_[config.id] = std::move(*opened);
  co_return Result<void>();
}

Task<Result<void>> BlobNode::start_vdisks(const GroupConfig& group) {
  for (const DiskAddress& address : group.disks) {
    if (address.node != self_ || vdisks_.contains(address)) continue;
    if (address.slot >= kOwnersMax) {
      co_return fail(Errc::kInvalidArgument,
                     fmt::format("slot {} is above {}", address.slot, kOwnersMax - 1));
    }
    Device* host = device(address.device);
    if (broken_.contains(address.device)) continue;
    if (!host) {
      co_return fail(Errc::kInvalidArgument,
                     fmt::format("group {:x} uses device {}, which node {} does not have",
                                 group.id.value, address.device, self_.value));
    }
    auto disk = std::static_pointer_cast<VDisk>(host->attach(owner_slot(address)));
    CO_TRY_VOID(co_await disk->start(group, address, endpoints_));
    services_.add(address, disk);
    vdisks_[address] = std::move(disk);
  }
  co_return Result<void>();
}

Task<void> BlobNode::stop() {
  co_await proxies_.stop();
  service_.reset();
  for (auto& [address, disk] : vdisks_) services_.remove(address);
  // All of them first, so that their background tasks end in parallel.
  for (auto& [address, disk] : vdisks_) disk->abandon();
  for (auto& [address, disk] : vdisks_) co_await disk->stop();
  vdisks_.clear();
  for (auto& [id, device] : devices_) co_await device->stop();
  devices_.clear();
}

void BlobNode::abandon() {
  for (auto& [address, disk] : vdisks_) disk->abandon();
  for (auto& [id, device] : devices_) device->abandon();
}

ProxyOptions BlobNode::proxy_options() {
  ProxyOptions options = options_.proxy;
  if (!options.metrics) options.metrics = &metrics_;
  return options;
}

std::unique_ptr<GroupProxies> BlobNode::make_proxies(World lane) {
  return std::make_unique<GroupProxies>(lane, config_.groups, services_, proxy_options());
}

std::optional<DirectPlace> BlobNode::locate(GroupId group, const BlobId& id) const {
  const GroupConfig* config = config_.group(group);
  if (!config || config->disks.size() != 1) return std::nullopt;
  const auto found = vdisks_.find(config->disks[0]);
  return found == vdisks_.end() ? std::nullopt : found->second->locate(id);
}

// A node may have missed generations that its disks and the group know; for those its disks decide.
// So does the disk of a group of one: it may not be moved away only where its data is.
Result<void> BlobNode::check_newer(const GroupConfig& known, const GroupConfig& newer) const {
  if (contradict(known, newer)) return fail(Errc::kConflict, contradiction(known, newer));
  if (known.id != newer.id || newer.generation <= known.generation) return {};
  if (known.disks.size() > 1 && newer.generation == known.generation + 1) {
    TRY_VOID(check_change(known, newer));
  }
  for (const auto& [address, disk] : vdisks_) {
    TRY_VOID(disk->check_config(newer));
  }
  return {};
}

Task<Result<void>> BlobNode::reconfigure(GroupConfig newer) {
  CO_TRY_VOID(check(newer));
  for (GroupConfig& group : config_.groups) {
    if (auto sound = check_newer(group, newer); !sound) {
      log_error("config refused", {{"reason", sound.error().message()}});
      co_return sound;
    }
    if (group.id != newer.id || group.generation >= newer.generation) continue;
    group = newer;
    CO_TRY_VOID(co_await start_vdisks(newer));
    for (auto& [address, disk] : vdisks_) {
      if (disk->state().meta().config->id == newer.id) {
        CO_TRY_VOID(co_await disk->adopt_config(newer));
      }
    }
    proxies_.reconfigure(newer);
    if (hook_) hook_(newer);
  }
  co_return Result<void>();
}

Device* BlobNode::device(std::uint32_t id) {
  const auto found = devices_.find(id);
  return found == devices_.end() ? nullptr : found->second.get();
}

std::shared_ptr<VDisk> BlobNode::vdisk(std::uint32_t device, std::uint32_t slot) {
  const auto found = vdisks_.find({self_, device, slot});
  return found == vdisks_.end() ? nullptr : found->second;
}

}  // namespace moraine::blob
