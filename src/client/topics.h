// Topics: the topics of a node, by name and by id.
//
// Promise    A change is durable when create, alter or remove returns OK. A partition is null while
//            its tablet is being started, or runs on another node.
// Threading  The lane that it is for (Node::topics()).
// Limits     kPartitionsPerTopicMax, kTopicsMax; the names of topics as in check_topic_name().
// Errors     kAlreadyExists, kNotFound, kInvalidArgument, kOverloaded; kNotHere: the scheme's
//            tablet is not running here, nothing was changed; kUnknownOutcome: the change may or
//            may not have been made; kTimeout: it is stored, but partitions do not run yet.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/task.h"
#include "queue/partition.h"
#include "scheme/topic.h"

namespace moraine {

class Topics {
 public:
  virtual ~Topics() = default;

  virtual Task<Result<TopicPtr>> create(std::string name, TopicSpec spec) = 0;
  virtual Task<Result<TopicPtr>> alter(std::string name, TopicChange change) = 0;
  virtual Task<Result<void>> remove(std::string name) = 0;

  // Null when there is none.
  virtual TopicPtr find(const std::string& name) const = 0;
  virtual TopicPtr find(const TopicId& id) const = 0;
  virtual std::vector<TopicPtr> list() const = 0;  // By name.

  virtual std::shared_ptr<queue::Partition> partition(const TopicId& topic,
                                                      queue::PartitionIndex index) = 0;
  // The same wherever it runs: when another node does, by messages (remote_partition.h).
  virtual std::shared_ptr<queue::Partition> partition_anywhere(const TopicId& topic,
                                                               queue::PartitionIndex index) {
    return partition(topic, index);
  }
  // Why the last boot of a partition's tablet failed. nullopt: it runs, or was not booted yet.
  virtual std::optional<Error> start_error(const TopicId& topic,
                                           queue::PartitionIndex index) const = 0;
};

}  // namespace moraine
