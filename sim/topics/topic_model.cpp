#include "sim/topics/topic_model.h"

#include <fmt/format.h>

#include <charconv>

namespace moraine::sim {

using queue::Offset;

namespace {

std::string to_string(const MessageName& name) {
  return fmt::format("message {} of producer {}", name.index, name.producer);
}

std::optional<MessageName> parse_name(std::string_view payload) {
  MessageName name;
  const char* const end = payload.data() + payload.size();
  const auto [colon, error] = std::from_chars(payload.data(), end, name.producer);
  if (error != std::errc() || colon == end || *colon != ':') return std::nullopt;
  const auto [after, second_error] = std::from_chars(colon + 1, end, name.index);
  if (second_error != std::errc() || after == end || *after != ':') return std::nullopt;
  return name;
}

}  // namespace

std::string payload_of(const MessageName& name, std::size_t size) {
  std::string text = fmt::format("{}:{}:", name.producer, name.index);
  std::uint64_t x = name.producer * 1'000'003ull + name.index;
  while (text.size() < size) {
    x = x * 6364136223846793005ull + 1442695040888963407ull;
    text += static_cast<char>('a' + (x >> 33) % 26);
  }
  return text;
}

void TopicModel::fail(const PartitionName& partition, const std::string& what) {
  history_.fail(fmt::format("tablet {} partition {}: {}", partition.tablet, partition.index, what));
}

void TopicModel::sent(const PartitionName& partition, const MessageName& name,
                      SentMessage message) {
  records_[partition].messages.try_emplace(name, message);
}

void TopicModel::acknowledged(const PartitionName& partition, const MessageName& name,
                              std::optional<Offset> offset) {
  SentMessage& message = records_[partition].messages[name];
  if (!message.acknowledged) ++messages_acknowledged_;
  message.acknowledged = true;
  if (offset) place(partition, name, *offset);
}

void TopicModel::refused(const PartitionName& partition, const MessageName& name) {
  SentMessage& message = records_[partition].messages[name];
  message.refused = true;
  if (message.offset) fail(partition, to_string(name) + " was refused, but exists");
}

void TopicModel::place(const PartitionName& partition, const MessageName& name, Offset offset) {
  Record& record = records_[partition];
  SentMessage& message = record.messages[name];
  const auto [at, fresh] = record.contents.try_emplace(offset, name);
  if (!fresh && at->second != name) {
    return fail(partition, fmt::format("offset {} returned {} and then {}", offset,
                                       to_string(at->second), to_string(name)));
  }
  if (message.offset && *message.offset != offset) {
    return fail(partition, fmt::format("{} exists twice, at {} and {}", to_string(name),
                                       *message.offset, offset));
  }
  if (message.refused) fail(partition, to_string(name) + " was refused, but exists");
  if (message.offset) return;
  message.offset = offset;
  check_order(partition, name, offset);
}

// Among messages of the same producer with a known offset.
void TopicModel::check_order(const PartitionName& partition, const MessageName& name,
                             Offset offset) {
  const auto& messages = records_[partition].messages;
  const auto here = messages.find(name);
  for (auto at = here; at != messages.begin();) {
    --at;
    if (at->first.producer != name.producer) break;
    if (!at->second.offset) continue;
    if (*at->second.offset > offset) {
      fail(partition, fmt::format("{} is at {}, before an earlier one at {}", to_string(name),
                                  offset, *at->second.offset));
    }
    break;
  }
  for (auto at = std::next(here); at != messages.end(); ++at) {
    if (at->first.producer != name.producer) break;
    if (!at->second.offset) continue;
    if (*at->second.offset < offset) {
      fail(partition, fmt::format("{} is at {}, behind a later one at {}", to_string(name), offset,
                                  *at->second.offset));
    }
    break;
  }
}

void TopicModel::seen(const PartitionName& partition, const queue::StoredEntry& entry) {
  ++history_.tally.messages_checked;
  const auto name = parse_name(entry.payload.text());
  Record& record = records_[partition];
  const auto found = name ? record.messages.find(*name) : record.messages.end();
  if (found == record.messages.end()) {
    return fail(partition,
                fmt::format("offset {} returns a message that was never sent", entry.offset));
  }
  const SentMessage& message = found->second;
  if (entry.payload.text() != payload_of(*name, message.size) || entry.count != message.count ||
      entry.number != message.number) {
    return fail(partition,
                fmt::format("offset {} returns {}, changed", entry.offset, to_string(*name)));
  }
  place(partition, *name, entry.offset);
}

void TopicModel::commit_sent(const PartitionName& partition, const std::string& consumer,
                             Offset offset) {
  records_[partition].consumers[consumer].maybe.insert(offset);
}

void TopicModel::commit_done(const PartitionName& partition, const std::string& consumer,
                             Offset offset) {
  Commits& commits = records_[partition].consumers[consumer];
  commits.durable = offset;
  commits.maybe.clear();
}

Offset TopicModel::committed(const PartitionName& partition, const std::string& consumer) {
  return records_[partition].consumers[consumer].durable.value_or(0);
}

void TopicModel::check_start(const PartitionName& partition, Offset start) {
  const Commits& commits = records_[partition].consumers[kAuditor];
  Offset read = commits.durable.value_or(0);
  if (!commits.maybe.empty()) read = std::max(read, *commits.maybe.rbegin());
  if (start <= read) return;
  fail(partition,
       fmt::format("starts at {}; the important consumer has read up to {}", start, read));
}

void TopicModel::bounds(const PartitionName& partition, std::uint64_t generation, Offset start,
                        Offset end) {
  Record& record = records_[partition];
  auto& [shown_start, shown_end] = record.shown[generation];
  if (start < shown_start || end < shown_end || start > end) {
    fail(partition, fmt::format("generation {} showed [{}, {}) and then [{}, {})", generation,
                                shown_start, shown_end, start, end));
  }
  shown_start = start;
  shown_end = end;
  record.start = std::max(record.start, start);
  record.end = std::max(record.end, end);
  check_start(partition, start);
}

void TopicModel::booted(const PartitionName& partition, std::uint64_t generation,
                        const queue::Partition& loaded) {
  Record& record = records_[partition];
  const queue::PartitionInfo info = loaded.info();
  // This incarnation does not know what a newer one has done since.
  if (generation < record.newest) return;
  record.newest = generation;
  if (info.start < record.start || info.end < record.end) {
    fail(partition, fmt::format("generation {} begins with [{}, {}) after [{}, {})", generation,
                                info.start, info.end, record.start, record.end));
  }
  if (!record.contents.empty() && info.end <= record.contents.rbegin()->first) {
    fail(partition, fmt::format("generation {} ends at {}; offset {} was acknowledged or read",
                                generation, info.end, record.contents.rbegin()->first));
  }
  for (const auto& [consumer, commits] : record.consumers) {
    const auto committed = loaded.committed(consumer);
    const std::optional<Offset> offset =
        committed ? std::optional(committed->offset) : std::nullopt;
    if (offset == commits.durable || (offset && commits.maybe.contains(*offset))) continue;
    fail(partition, fmt::format("consumer {} is at {}; {} was acknowledged", consumer,
                                offset.value_or(0), commits.durable.value_or(0)));
  }
  bounds(partition, generation, info.start, info.end);
}

void TopicModel::finished(const PartitionName& partition, Offset end) {
  for (const auto& [name, message] : records_[partition].messages) {
    if (!message.acknowledged) continue;
    if (!message.offset) {
      fail(partition, to_string(name) + " was acknowledged, and is lost");
    } else if (*message.offset >= end) {
      fail(partition, fmt::format("{} was acknowledged at {}, past the end {}", to_string(name),
                                  *message.offset, end));
    }
  }
}

}  // namespace moraine::sim
