#include "crash/topics/log_check.h"

#include <fmt/format.h>

#include <algorithm>

namespace moraine::crash {

using Fate = SentMessage::Fate;

LogCheck::LogCheck(TopicTruth& truth) : truth_(truth) {
  for (std::uint32_t producer = 0; producer < truth.producers(); ++producer) {
    auto& known = known_.emplace_back();
    for (const SentMessage& sent : truth.messages(producer)) known.push_back({sent, -1});
  }
  logs_.resize(static_cast<std::size_t>(truth.partitions()));
  for (PartitionLog& log : logs_) log.last_number.assign(known_.size(), -1);
}

std::int64_t LogCheck::next(std::int32_t partition) const {
  return logs_.at(static_cast<std::size_t>(partition)).next;
}

void LogCheck::see(std::int32_t partition, std::int64_t offset, std::string_view bytes) {
  ++counts_.read;
  PartitionLog& log = logs_.at(static_cast<std::size_t>(partition));
  const std::string at = fmt::format("partition {} offset {}", partition, offset);
  if (offset != log.next) {
    truth_.violate(Violation::kHole, fmt::format("{} comes, {} is next", at, log.next));
  }
  log.next = offset + 1;
  const auto id = message_id(bytes);
  if (!id || id->producer >= known_.size() || id->number >= known_[id->producer].size()) {
    truth_.violate(Violation::kForeign,
                   fmt::format("{}: {} bytes that were never sent", at, bytes.size()));
    return;
  }
  Known& known = known_[id->producer][id->number];
  if (known.sent.partition != partition) {
    truth_.violate(Violation::kForeign, fmt::format("{}: {} was sent to partition {}", at,
                                                    to_string(*id), known.sent.partition));
    return;
  }
  if (bytes != message_bytes(*id, partition, known.sent.size)) {
    truth_.violate(Violation::kChanged, fmt::format("{}: {} has {} bytes of {}, or others", at,
                                                    to_string(*id), bytes.size(), known.sent.size));
    return;
  }
  check_known(known, *id, partition, offset);
}

void LogCheck::check_known(Known& known, const MessageId& id, std::int32_t partition,
                           std::int64_t offset) {
  const std::string at =
      fmt::format("partition {} offset {}: {}", partition, offset, to_string(id));
  if (known.seen_at >= 0) {
    truth_.violate(Violation::kDoubled, fmt::format("{} is also at {}", at, known.seen_at));
    return;
  }
  known.seen_at = offset;
  auto& last = logs_[static_cast<std::size_t>(partition)].last_number[id.producer];
  if (static_cast<std::int64_t>(id.number) < last) {
    truth_.violate(Violation::kDisordered, fmt::format("{} follows its message {}", at, last));
  }
  last = std::max(last, static_cast<std::int64_t>(id.number));
  if (known.sent.offset >= 0 && known.sent.offset != offset) {
    truth_.violate(Violation::kMoved,
                   fmt::format("{} was acknowledged at {}", at, known.sent.offset));
  }
  const auto processed = truth_.processed_at(partition, offset);
  if (processed && processed != id) {
    truth_.violate(Violation::kChanged,
                   fmt::format("{}; the group read {} there", at, to_string(*processed)));
  }
  if (known.sent.fate == Fate::kAcknowledged) ++counts_.verified;
}

LogCheckCounts LogCheck::finish() {
  for (std::uint32_t producer = 0; producer < known_.size(); ++producer) {
    for (std::uint64_t number = 0; number < known_[producer].size(); ++number) {
      const Known& known = known_[producer][number];
      if (known.sent.fate != Fate::kAcknowledged || known.seen_at >= 0) continue;
      truth_.violate(Violation::kLost,
                     fmt::format("{} of {} bytes, acknowledged in partition {} at {}",
                                 to_string(MessageId{producer, number}), known.sent.size,
                                 known.sent.partition, known.sent.offset));
    }
  }
  return counts_;
}

}  // namespace moraine::crash
