// Calls of a partition for another node: a request is carried out, and its reply encoded.
//
// Promise    Nothing is begun after the deadline. A reply has the entries that have room in it.
// Tests      remote_faults_test.cpp, partition_forms_test.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "client/lane_partition.h"
#include "client/partition_messages.h"

namespace moraine {

struct CallOutcome {
  Slice reply;
  bool begun = true;
};

// A change, read, search or description; on the partition's lane, as everything that uses
// `moments`, the number of the last one.
Task<CallOutcome> call_partition(HomePartition home, std::shared_ptr<std::uint64_t> moments,
                                 PartitionCall call, Instant deadline, PartitionReply reply);
// The memory that its reply may take, as read and as encoded.
std::size_t reply_room(const PartitionCall& call);

// The two below on any thread.
Slice refuse_call(PartitionReply reply, Refusal refusal, std::string why);
// Adds the figures of the partition.
Slice finish_reply(PartitionReply reply, const queue::Partition& partition);

}  // namespace moraine
