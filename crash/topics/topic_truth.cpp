#include "crash/topics/topic_truth.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/invariant.h"

namespace moraine::crash {

const char* to_string(Violation kind) {
  switch (kind) {
    case Violation::kLost: return "LOST";
    case Violation::kDoubled: return "DOUBLED";
    case Violation::kMoved: return "MOVED";
    case Violation::kDisordered: return "DISORDERED";
    case Violation::kForeign: return "FOREIGN";
    case Violation::kChanged: return "CHANGED";
    case Violation::kHole: return "HOLE";
    case Violation::kSkipped: return "SKIPPED";
    case Violation::kWentBack: return "WENT BACK";
    case Violation::kRefused: return "REFUSED";
  }
  return "?";
}

std::uint64_t TopicCounts::violations_in_all() const {
  return std::accumulate(violations.begin(), violations.end(), std::uint64_t{0});
}

TopicTruth::TopicTruth(std::uint32_t producers, std::int32_t partitions)
    : messages_(producers), partitions_(static_cast<std::size_t>(partitions)) {}

TopicTruth::PartitionTruth& TopicTruth::of(std::int32_t partition) {
  return partitions_.at(static_cast<std::size_t>(partition));
}

const TopicTruth::PartitionTruth& TopicTruth::of(std::int32_t partition) const {
  return partitions_.at(static_cast<std::size_t>(partition));
}

std::int32_t TopicTruth::partitions() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::int32_t>(partitions_.size());
}

void TopicTruth::add_partition() {
  const std::lock_guard lock(mutex_);
  partitions_.emplace_back();
}

MessageId TopicTruth::begin_send(std::uint32_t producer, std::int32_t partition,
                                 std::uint32_t size) {
  const std::lock_guard lock(mutex_);
  auto& messages = messages_.at(producer);
  const MessageId id{producer, messages.size()};
  messages.push_back({partition, size, SentMessage::Fate::kInFlight, -1});
  ++counts_.sent;
  return id;
}

void TopicTruth::acknowledged(const MessageId& id, std::int32_t partition, std::int64_t offset) {
  const std::lock_guard lock(mutex_);
  SentMessage& message = messages_.at(id.producer).at(id.number);
  INVARIANT(message.fate == SentMessage::Fate::kInFlight && message.partition == partition,
            "{} is not in flight to partition {}", to_string(id), partition);
  message.fate = SentMessage::Fate::kAcknowledged;
  message.offset = std::max<std::int64_t>(offset, -1);
  ++counts_.acknowledged;
  if (offset < 0) ++counts_.without_offset;
}

void TopicTruth::gave_up(const MessageId& id, const std::string& why) {
  const std::lock_guard lock(mutex_);
  SentMessage& message = messages_.at(id.producer).at(id.number);
  message.fate = SentMessage::Fate::kGivenUp;
  ++counts_.given_up;
  violate_locked(Violation::kRefused,
                 fmt::format("{} to partition {}: {}", to_string(id), message.partition, why));
}

std::vector<SentMessage> TopicTruth::messages(std::uint32_t producer) const {
  const std::lock_guard lock(mutex_);
  return messages_.at(producer);
}

Assignment TopicTruth::assigned(std::int32_t partition) {
  const std::lock_guard lock(mutex_);
  return {partition, of(partition).commit_acknowledged, -1, 0};
}

void TopicTruth::check_position(const Assignment& assignment, std::int64_t offset) {
  const PartitionTruth& truth = of(assignment.partition);
  const auto end = static_cast<std::int64_t>(truth.processed.size());
  const std::string at = fmt::format("partition {}: offset {}", assignment.partition, offset);
  if (assignment.next >= 0 && offset != assignment.next) {
    violate_locked(offset < assignment.next ? Violation::kWentBack : Violation::kSkipped,
                   fmt::format("{} follows {}", at, assignment.next - 1));
  } else if (offset > end) {
    violate_locked(Violation::kSkipped, fmt::format("{} comes, processed is up to {}", at, end));
  } else if (assignment.next < 0 && offset < assignment.floor) {
    violate_locked(Violation::kWentBack,
                   fmt::format("{} is resumed at, committed is {}", at, assignment.floor));
  } else if (assignment.next < 0 && offset > truth.commit_sent) {
    violate_locked(Violation::kSkipped, fmt::format("{} is resumed at, the highest commit is {}",
                                                    at, truth.commit_sent));
  }
}

void TopicTruth::remember(std::int32_t partition, std::int64_t offset, std::string_view bytes) {
  auto& seen = of(partition).processed;
  const auto id = message_id(bytes);
  const auto at = static_cast<std::size_t>(offset);
  if (at < seen.size()) {
    ++counts_.reprocessed;
    if (seen[at] && seen[at] != id) {
      violate_locked(Violation::kChanged,
                     fmt::format("partition {} offset {}: {} was read, now {}", partition, offset,
                                 to_string(*seen[at]), id ? to_string(*id) : "something else"));
    }
    return;
  }
  seen.resize(at + 1);
  seen[at] = id;
  ++counts_.processed;
}

void TopicTruth::processed(Assignment& assignment, std::int64_t offset, std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  if (offset < 0) {
    violate_locked(Violation::kForeign,
                   fmt::format("partition {}: offset {}", assignment.partition, offset));
    return;
  }
  check_position(assignment, offset);
  if (assignment.next < 0) ++counts_.resumes;
  remember(assignment.partition, offset, bytes);
  assignment.next = offset + 1;
}

void TopicTruth::begin_commit(std::int32_t partition, std::int64_t offset) {
  const std::lock_guard lock(mutex_);
  of(partition).commit_sent = std::max(of(partition).commit_sent, offset);
}

void TopicTruth::committed(Assignment& assignment, std::int64_t offset) {
  const std::lock_guard lock(mutex_);
  PartitionTruth& truth = of(assignment.partition);
  truth.commit_acknowledged = std::max(truth.commit_acknowledged, offset);
  assignment.committed = offset;
  ++counts_.commits;
}

std::int64_t TopicTruth::commit_floor(std::int32_t partition) const {
  const std::lock_guard lock(mutex_);
  return of(partition).commit_acknowledged;
}

void TopicTruth::found_commit(std::int32_t partition, std::int64_t floor, std::int64_t offset) {
  const std::lock_guard lock(mutex_);
  const std::int64_t sent = of(partition).commit_sent;
  if (offset >= floor && offset <= sent) return;
  violate_locked(offset < floor ? Violation::kWentBack : Violation::kSkipped,
                 fmt::format("partition {}: the commit is {}, acknowledged was {}, sent {}",
                             partition, offset, floor, sent));
}

std::int64_t TopicTruth::processed_to(std::int32_t partition) const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::int64_t>(of(partition).processed.size());
}

std::optional<MessageId> TopicTruth::processed_at(std::int32_t partition,
                                                  std::int64_t offset) const {
  const std::lock_guard lock(mutex_);
  const auto& seen = of(partition).processed;
  const auto at = static_cast<std::size_t>(offset);
  return at < seen.size() ? seen[at] : std::nullopt;
}

void TopicTruth::violate(Violation kind, std::string what) {
  const std::lock_guard lock(mutex_);
  violate_locked(kind, std::move(what));
}

void TopicTruth::violate_locked(Violation kind, std::string what) {
  const std::uint64_t count = ++counts_.violations[static_cast<std::size_t>(kind)];
  if (count > kViolationTextsMax) return;
  texts_.push_back(fmt::format("{} {}", to_string(kind), what));
}

TopicCounts TopicTruth::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::vector<std::string> TopicTruth::take_violations() {
  const std::lock_guard lock(mutex_);
  return std::exchange(texts_, {});
}

}  // namespace moraine::crash
