#include "sim/node/group_model.h"

#include <fmt/format.h>

namespace moraine::sim {

using queue::Offset;

void GroupModel::fail(const PartitionName& partition, const std::string& what) {
  history_.fail(
      fmt::format("group, topic {} partition {}: {}", partition.tablet, partition.index, what));
}

void GroupModel::producer_id(std::int64_t id) {
  if (producer_ids_.insert(id).second) return;
  history_.fail(fmt::format("producer id {} was allocated twice", id));
}

void GroupModel::assigned(std::int32_t generation, const std::string& member,
                          const std::vector<PartitionName>& partitions) {
  newest_ = std::max(newest_, generation);
  for (const PartitionName& partition : partitions) {
    const auto [at, fresh] = owners_.try_emplace({generation, partition}, member);
    if (fresh || at->second == member) continue;
    fail(partition, fmt::format("in generation {} it is assigned to {} and to {}", generation,
                                at->second, member));
  }
}

void GroupModel::delivered(const PartitionName& partition, Offset from, Offset to) {
  Offset& end = delivered_[partition];
  if (from > end) {
    fail(partition, fmt::format("{} is delivered; {} was the next one", from, end));
  }
  records_delivered_ += to - from;
  end = std::max(end, to);
}

Ticket GroupModel::commit_sent(const PartitionName& partition, std::int32_t generation,
                               Offset offset) {
  commits_[++last_ticket_] = {partition, generation, offset, newest_};
  return last_ticket_;
}

void GroupModel::commit_done(Ticket ticket, bool judged) {
  const Commit done = commits_.at(ticket);
  commits_.erase(ticket);
  if (judged && done.generation < done.newest_then) {
    fail(done.partition,
         fmt::format("a commit of generation {} was accepted after generation {} was assigned",
                     done.generation, done.newest_then));
  }
  const auto known = durable_.find(done.partition);
  // An answer that arrives late is older than one to a later generation.
  if (known != durable_.end() && known->second.generation > done.generation) return;
  durable_[done.partition] = done;
  std::erase_if(commits_, [&](const auto& one) {
    return one.second.partition == done.partition && one.second.generation < done.generation;
  });
}

void GroupModel::committed(const PartitionName& partition, std::optional<Offset> offset) {
  const auto known = durable_.find(partition);
  const std::optional<Offset> durable =
      known == durable_.end() ? std::nullopt : std::optional(known->second.offset);
  if (offset == durable) return;
  for (const auto& [ticket, sent] : commits_) {
    if (offset && sent.partition == partition && sent.offset == *offset) return;
  }
  const auto text = [](std::optional<Offset> one) {
    return one ? std::to_string(*one) : std::string("none");
  };
  fail(partition,
       fmt::format("the committed offset is {}; {} was acknowledged", text(offset), text(durable)));
}

}  // namespace moraine::sim
