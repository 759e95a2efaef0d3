// TopicTruth: what clients of a killed server were promised, kept outside of it.
//
// Promise    acknowledged: exists once, at the acknowledged offset. in flight or given up: once or
//            not at all. A consumer of the group resumes at a commit that was sent, not below the
//            last one that was acknowledged, and never skips a message.
// Invariants (1) A number of a producer is used once. (2) A commit is recorded before it is sent.
// Threading  Any thread.
// Limits     Texts of kViolationTextsMax violations of each kind; all are counted.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crash/topics/message.h"

namespace moraine::crash {

inline constexpr std::uint64_t kViolationTextsMax = 20;

enum class Violation : std::uint8_t {
  kLost,        // Acknowledged, but missing.
  kDoubled,     // Stored twice.
  kMoved,       // Not at the acknowledged offset.
  kDisordered,  // Before an earlier message of its producer.
  kForeign,     // Never sent, or not to this partition.
  kChanged,     // Other bytes, or another message than a consumer saw there.
  kHole,        // An offset without a message.
  kSkipped,     // The group skipped messages.
  kWentBack,    // The group is behind an acknowledged commit, or a consumer went back.
  kRefused,     // A producer's message was permanently refused.
};
inline constexpr std::size_t kViolationKinds = 10;
const char* to_string(Violation kind);

struct SentMessage {
  enum class Fate : std::uint8_t { kInFlight, kAcknowledged, kGivenUp };
  std::int32_t partition = 0;
  std::uint32_t size = 0;
  Fate fate = Fate::kInFlight;
  std::int64_t offset = -1;  // -1: unknown.
};

struct TopicCounts {
  std::uint64_t sent = 0;
  std::uint64_t acknowledged = 0;
  std::uint64_t without_offset = 0;  // Of the acknowledged.
  std::uint64_t given_up = 0;
  std::uint64_t processed = 0;
  std::uint64_t reprocessed = 0;
  std::uint64_t commits = 0;  // Acknowledged.
  std::uint64_t resumes = 0;
  std::array<std::uint64_t, kViolationKinds> violations{};

  std::uint64_t in_flight() const { return sent - acknowledged - given_up; }
  std::uint64_t of(Violation kind) const { return violations[static_cast<std::size_t>(kind)]; }
  std::uint64_t violations_in_all() const;
};

// A partition assigned to one member of the group, from assignment to revocation.
struct Assignment {
  std::int32_t partition = 0;
  std::int64_t floor = 0;      // The last acknowledged commit when it was assigned.
  std::int64_t next = -1;      // -1: no message yet.
  std::int64_t committed = 0;  // By this member, acknowledged.
};

class TopicTruth {
 public:
  TopicTruth(std::uint32_t producers, std::int32_t partitions);

  std::uint32_t producers() const { return static_cast<std::uint32_t>(messages_.size()); }
  std::int32_t partitions() const;
  void add_partition();

  MessageId begin_send(std::uint32_t producer, std::int32_t partition, std::uint32_t size);
  void acknowledged(const MessageId& id, std::int32_t partition, std::int64_t offset);
  void gave_up(const MessageId& id, const std::string& why);
  // Of one producer, in the order of numbers.
  std::vector<SentMessage> messages(std::uint32_t producer) const;

  Assignment assigned(std::int32_t partition);
  void processed(Assignment& assignment, std::int64_t offset, std::string_view bytes);
  // Up to, not including, the offset.
  void begin_commit(std::int32_t partition, std::int64_t offset);
  void committed(Assignment& assignment, std::int64_t offset);
  // The last acknowledged commit.
  std::int64_t commit_floor(std::int32_t partition) const;
  // The server, asked for the commit after commit_floor() was taken, returned `offset`.
  void found_commit(std::int32_t partition, std::int64_t floor, std::int64_t offset);
  // How far the group has read: every offset below was processed.
  std::int64_t processed_to(std::int32_t partition) const;
  // What a member of the group saw there.
  std::optional<MessageId> processed_at(std::int32_t partition, std::int64_t offset) const;

  void violate(Violation kind, std::string what);
  TopicCounts counts() const;
  // The texts since the last call.
  std::vector<std::string> take_violations();

 private:
  struct PartitionTruth {
    std::vector<std::optional<MessageId>> processed;  // By offset.
    std::int64_t commit_sent = 0;                     // The highest.
    std::int64_t commit_acknowledged = 0;
  };
  PartitionTruth& of(std::int32_t partition);
  const PartitionTruth& of(std::int32_t partition) const;
  void violate_locked(Violation kind, std::string what);
  void check_position(const Assignment& assignment, std::int64_t offset);
  void remember(std::int32_t partition, std::int64_t offset, std::string_view bytes);

  mutable std::mutex mutex_;
  std::vector<std::vector<SentMessage>> messages_;  // By producer and number.
  std::vector<PartitionTruth> partitions_;
  TopicCounts counts_;
  std::vector<std::string> texts_;
};

}  // namespace moraine::crash
