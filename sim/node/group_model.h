// GroupModel: what the members of one consumer group were promised, and what they saw.
//
// Promise    Reports to the history: a partition that two members own in one generation; a commit
//            that was accepted from an earlier generation than one that was assigned before; an
//            acknowledged offset that is lost, or replaced by one that nobody committed; records
//            that were passed over; a producer id that was allocated twice.
// Threading  The thread of the simulation.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/topics/topic_model.h"

namespace moraine::sim {

using Ticket = std::uint64_t;

class GroupModel {
 public:
  explicit GroupModel(History& history) : history_(history) {}

  void producer_id(std::int64_t id);

  // A SyncGroup was answered with this assignment.
  void assigned(std::int32_t generation, const std::string& member,
                const std::vector<PartitionName>& partitions);
  // The records [from, to) were returned to a member, in order.
  void delivered(const PartitionName& partition, queue::Offset from, queue::Offset to);

  Ticket commit_sent(const PartitionName& partition, std::int32_t generation, queue::Offset offset);
  // `judged`: the server that answered was not replaced meanwhile.
  void commit_done(Ticket ticket, bool judged);
  // The answer promised that nothing was stored.
  void commit_refused(Ticket ticket) { commits_.erase(ticket); }
  // The committed offset as the present server reports it.
  void committed(const PartitionName& partition, std::optional<queue::Offset> offset);

  std::uint64_t records_delivered() const { return records_delivered_; }

 private:
  struct Commit {
    PartitionName partition;
    std::int32_t generation = 0;
    queue::Offset offset = 0;
    std::int32_t newest_then = 0;  // The newest generation that was assigned when it was sent.
  };
  void fail(const PartitionName& partition, const std::string& what);

  History& history_;
  std::set<std::int64_t> producer_ids_;
  std::map<std::pair<std::int32_t, PartitionName>, std::string> owners_;
  std::int32_t newest_ = 0;
  std::map<PartitionName, queue::Offset> delivered_;  // Everything before it was.
  Ticket last_ticket_ = 0;
  std::map<Ticket, Commit> commits_;  // Sent, and neither acknowledged nor refused.
  std::map<PartitionName, Commit> durable_;
  std::uint64_t records_delivered_ = 0;
};

}  // namespace moraine::sim
