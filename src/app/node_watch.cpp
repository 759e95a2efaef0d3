#include "app/node_watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"

namespace moraine::app {

std::size_t recovering_vdisks(const blob::BlobNode& node) {
  return static_cast<std::size_t>(std::ranges::count_if(node.vdisks(), [](const auto& entry) {
    return entry.second->phase() == blob::VDisk::Phase::kRecovering;
  }));
}

NodeWatch::NodeWatch(Executor& executor, blob::BlobNode& node, const blob::NodeConfig& own)
    : executor_(executor), node_(node) {
  for (const blob::DeviceConfig& device : own.devices) healthy_devices_.push_back(device.id);
  schedule_poll();
}

void NodeWatch::poll() {
  check_failures();
  check_space();
  check_recovery();
  schedule_poll();
}

void NodeWatch::schedule_poll() {
  timer_ = executor_.schedule(executor_.now() + kWatchPoll, [this] { poll(); });
}

void NodeWatch::check_recovery() {
  const std::size_t recovering = recovering_vdisks(node_);
  if (recovering == recovering_) return;
  if (recovering > recovering_) {
    log_info(
        "VDisks are recovering: each serves once enough of its group has answered; one whose "
        "device was replaced first waits 15 s",
        {{"recovering", recovering}, {"of", node_.vdisks().size()}});
  } else if (recovering == 0) {
    log_info("no VDisk is recovering any more", {{"vdisks", node_.vdisks().size()}});
  }
  recovering_ = recovering;
}

// Topics take no writes from yellow on.
void NodeWatch::check_space() {
  blob::Colour worst = blob::Colour::kGreen;
  for (const std::uint32_t id : healthy_devices_) {
    if (const blob::Device* device = node_.device(id)) worst = std::max(worst, device->colour());
  }
  const bool full = worst >= blob::Colour::kYellow;
  if (full == full_) return;
  full_ = full;
  if (full) {
    log_warning("devices are nearly full: topics take no writes until space is free",
                {{"colour", to_string(worst)}, {"why", why_full()}});
  } else {
    log_info("devices have space again: topics take writes again", {{"colour", to_string(worst)}});
  }
}

std::string NodeWatch::why_full() const {
  for (const std::uint32_t id : healthy_devices_) {
    const blob::Device* device = node_.device(id);
    if (device && device->file_system_full()) {
      return fmt::format("the file system under {} has no space for its next segment",
                         device->path());
    }
  }
  return "the devices are filled with data";
}

void NodeWatch::check_failures() {
  std::erase_if(healthy_devices_, [this](std::uint32_t id) {
    const blob::Device* device = node_.device(id);
    if (!device || !device->failure()) return false;
    log_error("device failed; nothing more is written to it until the next start",
              {{"path", device->path()}, {"why", *device->failure()}});
    return true;
  });
}

}  // namespace moraine::app
