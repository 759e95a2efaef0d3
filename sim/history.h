// History: what one simulated run did, and the first failure in it.
//
// Promise    The first failure is kept, with the seed and the virtual time; the driver of the run
//            checks failed() and stops.
// Threading  The thread of the simulation.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "blob/status.h"
#include "io/sim/sim_world.h"
#include "sim/query/features.h"

namespace moraine::sim {

enum class Command : std::uint8_t {
  kPut,
  kRePut,
  kFencedPut,
  kGet,
  kGetRange,
  kGetMany,
  kRestoringGet,
  kIndexGet,
  kBlock,
  kBlockedGeneration,
  kCollect,
  kRange,
  kDiscover,
  kForcedDiscover,
  kStatus,
};
inline constexpr std::size_t kCommands = static_cast<std::size_t>(Command::kStatus) + 1;
inline constexpr std::size_t kStatuses = 32;  // Status numbers are below this.

// Commands of clients of topics.
enum class TopicCommand : std::uint8_t {
  kBoot,
  kAddPartition,
  kWriteSeqNo,
  kWriteSequence,
  kWritePlain,
  kWriteParts,
  kRead,
  kCommit,
  kTrim,
  kJoin,
  kChangeTopic,
};
inline constexpr std::size_t kTopicCommands =
    static_cast<std::size_t>(TopicCommand::kChangeTopic) + 1;
// A queue::WriteStatus, or one of these.
enum class TopicAnswer : std::uint8_t { kOk = 0, kTimeout = 14, kFailed = 15 };
inline constexpr std::size_t kTopicAnswers = 16;

// Commands of clients of tables.
enum class TableCommand : std::uint8_t {
  kBoot,
  kMaintain,
  kTimestamp,
  kTransferOne,   // In one tablet.
  kTransferMany,  // Over several.
  kRegister,
  kLockedRegister,
  kDelta,
  kHalves,
  kRead,
  kOldRead,
  kLastCommitted,
  kAudit,
  kMount,
  kReshard,
  kAlter,
};
inline constexpr std::size_t kTableCommands = static_cast<std::size_t>(TableCommand::kAlter) + 1;
enum class TableAnswer : std::uint8_t { kOk, kAborted, kRefused, kUnknown, kTimeout, kFailed };
inline constexpr std::size_t kTableAnswers = static_cast<std::size_t>(TableAnswer::kFailed) + 1;

// Commands of HTTP clients: on the tree, on rows.
enum class TreeCommand : std::uint8_t {
  kGet,
  kWatch,  // Of a whole directory, while others change it.
  kMake,
  kSet,
  kAttribute,
  kRemove,
  kCopy,
  kMove,
  kLink,
  kLock,
  kAppend,
  kBegin,
  kPing,
  kCommit,
  kAbort,
  kRepeat,  // Of a change that was made before.
  kExpiring,
  kWriteRows,
  kCommitRows,
  kLookup,
  kSelect,
};
inline constexpr std::size_t kTreeCommands = static_cast<std::size_t>(TreeCommand::kSelect) + 1;
enum class TreeAnswer : std::uint8_t { kOk, kConflict, kRefused, kUnknown };
inline constexpr std::size_t kTreeAnswers = static_cast<std::size_t>(TreeAnswer::kUnknown) + 1;

// What the nemesis did; the resulting faults are in FaultCounters.
enum class Trouble : std::uint8_t {
  kCrash,
  kBlackout,
  kClientCrash,
  kPause,
  kClientPause,
  kIsolate,
  kOneWayCut,
  kClientCut,
  kStuck,
  kSlow,
  kWriteError,
  kReadError,
  kSyncError,
  kFull,
  kReadOnly,
  kRot,
  kMisdirect,
  kLie,
  kReplace,
  kMove,
  kClockJump,
};
inline constexpr std::size_t kTroubles = static_cast<std::size_t>(Trouble::kClockJump) + 1;

std::string_view to_string(Command command);
std::string_view to_string(TopicCommand command);
std::string_view to_string(TopicAnswer answer);
std::string_view to_string(TableCommand command);
std::string_view to_string(TableAnswer answer);
std::string_view to_string(TreeCommand command);
std::string_view to_string(TreeAnswer answer);
std::string_view to_string(Trouble trouble);

// Sums over seeds.
struct Tally {
  std::array<std::array<std::uint64_t, kStatuses>, kCommands> commands{};
  std::array<std::array<std::uint64_t, kTopicAnswers>, kTopicCommands> topics{};
  std::array<std::array<std::uint64_t, kTableAnswers>, kTableCommands> tables{};
  std::array<std::array<std::uint64_t, kTreeAnswers>, kTreeCommands> trees{};
  std::array<std::uint64_t, kTroubles> troubles{};
  FaultCounters faults;
  std::uint64_t virtual_ns = 0;
  std::uint64_t blobs_checked = 0;
  std::uint64_t messages_checked = 0;
  std::uint64_t rows_checked = 0;
  std::uint64_t trees_checked = 0;  // Answers to HTTP clients.
  std::uint64_t queries = 0;        // Compared with another engine.
  FeatureCounts query_features;
  std::uint64_t runs = 0;

  void add(Command command, blob::Status status) {
    ++commands[static_cast<std::size_t>(command)][static_cast<std::size_t>(status) % kStatuses];
  }
  void add(TopicCommand command, TopicAnswer answer) {
    ++topics[static_cast<std::size_t>(command)][static_cast<std::size_t>(answer)];
  }
  void add(TableCommand command, TableAnswer answer) {
    ++tables[static_cast<std::size_t>(command)][static_cast<std::size_t>(answer)];
  }
  void add(TreeCommand command, TreeAnswer answer) {
    ++trees[static_cast<std::size_t>(command)][static_cast<std::size_t>(answer)];
  }
  void add(Trouble trouble) { ++troubles[static_cast<std::size_t>(trouble)]; }
  Tally& operator+=(const Tally& other);
  // Printable, several lines.
  std::string to_string() const;
};

class History {
 public:
  explicit History(SimWorld& world, bool verbose = false) : world_(world), verbose_(verbose) {}

  void fail(std::string what);
  bool failed() const { return failure_.has_value(); }
  const std::optional<std::string>& failure() const { return failure_; }

  bool verbose() const { return verbose_; }
  // A line of a verbose run.
  void say(const std::string& line) const;
  Instant now() const { return world_.executor().now(); }

  Tally tally;

 private:
  std::string at() const;

  SimWorld& world_;
  const bool verbose_;
  std::optional<std::string> failure_;
};

}  // namespace moraine::sim
