// VDiskEvents: events of one VDisk that an operator must know, as counts and as log lines.
//
// Promise    One line for each change of its state. Frequent events (damaged parts) are logged at
//            once when they begin, then once per kEventLinePeriod with the number since the last
//            line. Nothing here changes what the VDisk does.
// Threading  The VDisk's executor.
// Limits     kDamagedKnownMax damaged parts are remembered, so that their repair is counted.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "blob/blob_id.h"
#include "blob/group/config.h"
#include "io/executor.h"

namespace moraine::blob {

inline constexpr Duration kEventLinePeriod = 10s;
// Between two lines about a running replication: at first, and the maximum after doubling.
inline constexpr Duration kReplicationLinePeriod = 30s;
inline constexpr Duration kReplicationLinePeriodMax = 600s;
// This many missing blobs are logged even when they may be restored within one pass.
inline constexpr std::size_t kReplicationNoticed = 100;
inline constexpr std::size_t kDamagedKnownMax = 100'000;

class VDiskEvents {
 public:
  VDiskEvents(Executor& executor, std::string path);
  VDiskEvents(const VDiskEvents&) = delete;
  VDiskEvents& operator=(const VDiskEvents&) = delete;
  ~VDiskEvents();

  // Sets the name in the lines; called whenever the config changes.
  void set_name(const GroupConfig& config, std::uint32_t order);

  void broken(std::string_view reason);
  void retired(const GroupConfig& config, const DiskAddress& to);
  // It lacks data that it should have by the group's memory. Repeated before ready(): no line.
  void data_lost(std::string_view why, Duration silence);
  void ready(bool after_loss);

  // A part whose checksum is wrong; repeated for the same part it changes nothing.
  void damaged(const BlobId& id_with_part, std::string_view why);
  // Called for every stored part: counts the repair of a damaged one.
  void stored(const BlobId& id_with_part);

  // Replication: before and after each pass over `missing` blobs, and sometimes inside one.
  void pass_begins(std::size_t missing);
  void part_restored() { ++restored_; }
  void pass_progress(std::size_t missing);
  // `left_over`: those still missing of the blobs that were missing when the pass began.
  void pass_ended(std::size_t left_over);

  std::uint64_t damaged_found() const { return damaged_.total; }
  std::uint64_t damaged_repaired() const { return repaired_.total; }
  std::uint64_t restored() const { return restored_; }
  bool replicating() const { return replicating_; }
  // Parts restored since the running replication began.
  std::uint64_t restored_now() const { return replicating_ ? restored_ - restored_before_ : 0; }

 private:
  // A frequent event: its lines are rate-limited.
  struct FrequentEvent {
    std::uint64_t total = 0;
    std::uint64_t logged = 0;  // Those that a line has counted.
    std::string first;         // Since the last line.
  };
  void count(FrequentEvent& event, std::string what);
  void log_frequent();
  void log_later();
  void log_progress(std::size_t missing);

  Executor& executor_;
  const std::string path_;
  std::string name_ = "?";
  bool alone_ = false;  // No other disk of the group could restore anything.
  bool loss_logged_ = false;
  FrequentEvent damaged_;
  FrequentEvent repaired_;
  TimerId line_timer_;
  bool line_due_ = false;  // The timer runs: lines wait for it.
  std::set<BlobId> damaged_parts_;

  std::uint64_t restored_ = 0;
  std::uint64_t passes_ = 0;
  std::size_t left_over_ = 0;  // By the last pass.
  bool replicating_ = false;   // As last logged.
  std::uint64_t restored_before_ = 0;
  Instant began_;
  Instant progress_line_at_;
  Duration progress_period_{0};
};

}  // namespace moraine::blob
