#include "sim/history.h"

#include <fmt/format.h>

#include <cstdio>

#include "queue/partition.h"

namespace moraine::sim {

std::string_view to_string(Command command) {
  switch (command) {
    case Command::kPut: return "put";
    case Command::kRePut: return "re-put";
    case Command::kFencedPut: return "fenced put";
    case Command::kGet: return "get";
    case Command::kGetRange: return "get range";
    case Command::kGetMany: return "get many";
    case Command::kRestoringGet: return "restoring get";
    case Command::kIndexGet: return "index get";
    case Command::kBlock: return "block";
    case Command::kBlockedGeneration: return "blocked generation";
    case Command::kCollect: return "collect";
    case Command::kRange: return "range";
    case Command::kDiscover: return "discover";
    case Command::kForcedDiscover: return "forced discover";
    case Command::kStatus: return "status";
  }
  return "unknown";
}

std::string_view to_string(TopicCommand command) {
  switch (command) {
    case TopicCommand::kBoot: return "boot";
    case TopicCommand::kAddPartition: return "add partition";
    case TopicCommand::kWriteSeqNo: return "write, SeqNo";
    case TopicCommand::kWriteSequence: return "write, sequence";
    case TopicCommand::kWritePlain: return "write, plain";
    case TopicCommand::kWriteParts: return "write, in parts";
    case TopicCommand::kRead: return "read";
    case TopicCommand::kCommit: return "commit";
    case TopicCommand::kTrim: return "trim";
    case TopicCommand::kJoin: return "join a group";
    case TopicCommand::kChangeTopic: return "change of a topic";
  }
  return "unknown";
}

std::string_view to_string(TopicAnswer answer) {
  if (answer == TopicAnswer::kTimeout) return "timeout";
  if (answer == TopicAnswer::kFailed) return "failed";
  return queue::to_string(static_cast<queue::WriteStatus>(answer));
}

std::string_view to_string(TableCommand command) {
  switch (command) {
    case TableCommand::kBoot: return "boot";
    case TableCommand::kMaintain: return "flush or compact";
    case TableCommand::kTimestamp: return "timestamp";
    case TableCommand::kTransferOne: return "transfer, 1 tablet";
    case TableCommand::kTransferMany: return "transfer, several";
    case TableCommand::kRegister: return "registers";
    case TableCommand::kLockedRegister: return "registers, locked";
    case TableCommand::kDelta: return "deltas";
    case TableCommand::kHalves: return "halves";
    case TableCommand::kRead: return "read";
    case TableCommand::kOldRead: return "read of the past";
    case TableCommand::kLastCommitted: return "last committed";
    case TableCommand::kAudit: return "audit";
    case TableCommand::kMount: return "mount or unmount";
    case TableCommand::kReshard: return "reshard";
    case TableCommand::kAlter: return "alter";
  }
  return "unknown";
}

std::string_view to_string(TableAnswer answer) {
  switch (answer) {
    case TableAnswer::kOk: return "OK";
    case TableAnswer::kAborted: return "aborted";
    case TableAnswer::kRefused: return "refused";
    case TableAnswer::kUnknown: return "unknown";
    case TableAnswer::kTimeout: return "timeout";
    case TableAnswer::kFailed: return "failed";
  }
  return "unknown";
}

std::string_view to_string(TreeCommand command) {
  switch (command) {
    case TreeCommand::kGet: return "get";
    case TreeCommand::kWatch: return "watch";
    case TreeCommand::kMake: return "create";
    case TreeCommand::kSet: return "set";
    case TreeCommand::kAttribute: return "set attribute";
    case TreeCommand::kRemove: return "remove";
    case TreeCommand::kCopy: return "copy";
    case TreeCommand::kMove: return "move";
    case TreeCommand::kLink: return "link";
    case TreeCommand::kLock: return "lock";
    case TreeCommand::kAppend: return "append";
    case TreeCommand::kBegin: return "begin";
    case TreeCommand::kPing: return "ping";
    case TreeCommand::kCommit: return "commit";
    case TreeCommand::kAbort: return "abort";
    case TreeCommand::kRepeat: return "repeated mutation";
    case TreeCommand::kExpiring: return "expiring node";
    case TreeCommand::kWriteRows: return "http write";
    case TreeCommand::kCommitRows: return "http commit";
    case TreeCommand::kLookup: return "http lookup";
    case TreeCommand::kSelect: return "http select";
  }
  return "unknown";
}

std::string_view to_string(TreeAnswer answer) {
  switch (answer) {
    case TreeAnswer::kOk: return "OK";
    case TreeAnswer::kConflict: return "conflict";
    case TreeAnswer::kRefused: return "refused";
    case TreeAnswer::kUnknown: return "unknown";
  }
  return "unknown";
}

std::string_view to_string(Trouble trouble) {
  switch (trouble) {
    case Trouble::kCrash: return "crash";
    case Trouble::kBlackout: return "blackout";
    case Trouble::kClientCrash: return "client crash";
    case Trouble::kPause: return "pause";
    case Trouble::kClientPause: return "client pause";
    case Trouble::kIsolate: return "isolate";
    case Trouble::kOneWayCut: return "one-way cut";
    case Trouble::kClientCut: return "client cut";
    case Trouble::kStuck: return "stuck disk";
    case Trouble::kSlow: return "slow disk";
    case Trouble::kWriteError: return "write error";
    case Trouble::kReadError: return "read errors";
    case Trouble::kSyncError: return "sync error";
    case Trouble::kFull: return "full disk";
    case Trouble::kReadOnly: return "read-only disk";
    case Trouble::kRot: return "bit rot";
    case Trouble::kMisdirect: return "misdirected writes";
    case Trouble::kLie: return "lying disk";
    case Trouble::kReplace: return "disk replaced";
    case Trouble::kMove: return "member moved";
    case Trouble::kClockJump: return "clock jump";
  }
  return "unknown";
}

namespace {

template <std::size_t kRows, std::size_t kColumns>
using Counts = std::array<std::array<std::uint64_t, kColumns>, kRows>;

template <std::size_t kRows, std::size_t kColumns>
void add_counts(Counts<kRows, kColumns>& to, const Counts<kRows, kColumns>& from) {
  for (std::size_t row = 0; row < kRows; ++row) {
    for (std::size_t i = 0; i < kColumns; ++i) to[row][i] += from[row][i];
  }
}

// A line for each command, with the answers that it got.
template <class Command, class Answer, std::size_t kRows, std::size_t kColumns>
std::string text_of(const Counts<kRows, kColumns>& counts) {
  std::string text;
  for (std::size_t row = 0; row < kRows; ++row) {
    std::string line;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kColumns; ++i) {
      if (counts[row][i] == 0) continue;
      sum += counts[row][i];
      line += fmt::format("  {} {}", to_string(static_cast<Answer>(i)), counts[row][i]);
    }
    text += fmt::format("  {:<19}{:>9} {}\n", to_string(static_cast<Command>(row)), sum, line);
  }
  return text;
}

}  // namespace

Tally& Tally::operator+=(const Tally& other) {
  add_counts(commands, other.commands);
  add_counts(topics, other.topics);
  add_counts(tables, other.tables);
  add_counts(trees, other.trees);
  for (std::size_t t = 0; t < kTroubles; ++t) troubles[t] += other.troubles[t];
  faults += other.faults;
  virtual_ns += other.virtual_ns;
  blobs_checked += other.blobs_checked;
  messages_checked += other.messages_checked;
  rows_checked += other.rows_checked;
  trees_checked += other.trees_checked;
  queries += other.queries;
  query_features += other.query_features;
  runs += other.runs;
  return *this;
}

std::string Tally::to_string() const {
  if (queries > 0) {
    return fmt::format("queries: {}\n{}", queries, query_features.to_string());
  }
  std::string text = "commands:\n";
  const bool of_tables = tables != decltype(tables){};
  const bool of_topics = messages_checked > 0;
  if (of_topics) text += text_of<TopicCommand, TopicAnswer>(topics);
  if (of_tables) text += text_of<TableCommand, TableAnswer>(tables);
  if (trees_checked > 0) text += text_of<TreeCommand, TreeAnswer>(trees);
  if (!of_topics && !of_tables) text += text_of<Command, blob::Status>(commands);
  text += "nemesis:\n ";
  for (std::size_t t = 0; t < kTroubles; ++t) {
    if (troubles[t] == 0) continue;
    text += fmt::format(" {} {},", sim::to_string(static_cast<Trouble>(t)), troubles[t]);
  }
  if (text.back() == ',') text.pop_back();
  text += fmt::format("\nfaults met:\n  {}\n", faults.to_string());
  return text;
}

std::string History::at() const {
  const double seconds = std::chrono::duration<double>(now().since_start).count();
  return fmt::format("seed {} at {:.6f} s", world_.seed(), seconds);
}

void History::fail(std::string what) {
  if (failure_) return;
  failure_ = fmt::format("{}: {}", at(), what);
  say("FAILED: " + what);
}

void History::say(const std::string& line) const {
  if (verbose_) fmt::print(stderr, "{} {}\n", at(), line);
}

}  // namespace moraine::sim
