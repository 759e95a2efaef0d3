#include "blob/vdisk/vdisk_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"

namespace moraine::blob {
namespace {

std::int64_t milliseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

}  // namespace

VDiskEvents::VDiskEvents(Executor& executor, std::string path)
    : executor_(executor), path_(std::move(path)) {}

VDiskEvents::~VDiskEvents() {
  if (line_due_) executor_.cancel(line_timer_);
}

void VDiskEvents::set_name(const GroupConfig& config, std::uint32_t order) {
  name_ = config.vdisk(order).to_string();
  alone_ = config.geometry.disks() == 1;
}

void VDiskEvents::broken(std::string_view reason) {
  log_error("VDisk broken: it does not serve until its device is repaired or replaced",
            {{"vdisk", name_}, {"path", path_}, {"reason", reason}});
}

void VDiskEvents::retired(const GroupConfig& config, const DiskAddress& to) {
  log_info("VDisk retired: the group has moved it elsewhere, and it does not serve here any more",
           {{"vdisk", name_},
            {"path", path_},
            {"generation", config.generation},
            {"now_on_node", to.node.value},
            {"device", to.device},
            {"slot", to.slot}});
}

void VDiskEvents::data_lost(std::string_view why, Duration silence) {
  if (std::exchange(loss_logged_, true)) return;
  log_warning(
      "VDisk lacks data that the group remembers: it waits, then recovers the index from the group "
      "and replicates",
      {{"vdisk", name_}, {"path", path_}, {"why", why}, {"silent_ms", milliseconds(silence)}});
}

void VDiskEvents::ready(bool after_loss) {
  loss_logged_ = false;
  if (after_loss) {
    log_info("VDisk has recovered the group's index and serves; its data is being replicated",
             {{"vdisk", name_}, {"path", path_}});
  } else {
    log_debug("VDisk serves", {{"vdisk", name_}, {"path", path_}});
  }
}

void VDiskEvents::damaged(const BlobId& id, std::string_view why) {
  if (damaged_parts_.contains(id)) return;
  if (damaged_parts_.size() < kDamagedKnownMax) damaged_parts_.insert(id);
  count(damaged_, fmt::format("{}: {}", id.to_string(), why));
}

void VDiskEvents::stored(const BlobId& id) {
  if (damaged_parts_.empty() || damaged_parts_.erase(id) == 0) return;
  count(repaired_, id.to_string());
}

void VDiskEvents::count(FrequentEvent& event, std::string what) {
  if (event.total++ == event.logged) event.first = std::move(what);
  if (!line_due_) log_frequent();
}

void VDiskEvents::log_frequent() {
  bool logged = false;
  if (damaged_.total > damaged_.logged) {
    const LogLevel level = alone_ ? LogLevel::kError : LogLevel::kWarning;
    log(level,
        alone_ ? "damaged data found: a checksum is wrong, and the group has no other copy"
               : "damaged data found: a checksum is wrong; it is restored from the group",
        {{"vdisk", name_},
         {"path", path_},
         {"parts", damaged_.total - damaged_.logged},
         {"since_start", damaged_.total},
         {"first", damaged_.first}});
    logged = true;
  }
  if (repaired_.total > repaired_.logged) {
    log_info("damaged data repaired", {{"vdisk", name_},
                                       {"path", path_},
                                       {"parts", repaired_.total - repaired_.logged},
                                       {"since_start", repaired_.total},
                                       {"not_yet", damaged_parts_.size()},
                                       {"first", repaired_.first}});
    logged = true;
  }
  damaged_.logged = damaged_.total;
  repaired_.logged = repaired_.total;
  if (logged) log_later();
}

void VDiskEvents::log_later() {
  line_due_ = true;
  line_timer_ = executor_.schedule(executor_.now() + kEventLinePeriod, [this] {
    line_due_ = false;
    log_frequent();
  });
}

// Single parts go missing and are restored while clients write. Logged are parts still missing
// after a whole pass, parts missing when the VDisk began to serve, and large numbers.
void VDiskEvents::pass_begins(std::size_t missing) {
  const bool first = passes_++ == 0;
  if (replicating_ || missing == 0) return;
  if (!first && left_over_ == 0 && missing < kReplicationNoticed) return;
  replicating_ = true;
  restored_before_ = restored_;
  began_ = executor_.now();
  progress_period_ = kReplicationLinePeriod;
  progress_line_at_ = began_ + progress_period_;
  log_info("replication began", {{"vdisk", name_}, {"path", path_}, {"missing", missing}});
}

void VDiskEvents::pass_progress(std::size_t missing) {
  if (replicating_ && executor_.now() >= progress_line_at_) log_progress(missing);
}

void VDiskEvents::log_progress(std::size_t missing) {
  log_info("replication continues", {{"vdisk", name_},
                                     {"path", path_},
                                     {"missing", missing},
                                     {"restored", restored_now()},
                                     {"took_ms", milliseconds(executor_.now() - began_)}});
  progress_period_ = std::min(progress_period_ * 2, Duration(kReplicationLinePeriodMax));
  progress_line_at_ = executor_.now() + progress_period_;
}

void VDiskEvents::pass_ended(std::size_t left_over) {
  left_over_ = left_over;
  if (!replicating_ || left_over > 0) {
    pass_progress(left_over);
    return;
  }
  log_info("replication ended", {{"vdisk", name_},
                                 {"path", path_},
                                 {"restored", restored_now()},
                                 {"took_ms", milliseconds(executor_.now() - began_)}});
  replicating_ = false;
}

}  // namespace moraine::blob
