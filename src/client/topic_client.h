// TopicClient: messages and consumers of topics, for callers on one lane.
//
// Promise    As moraine/topic.h says, wherever partitions run. Nothing is polled: a read that waits
//            is woken by its partition.
// Threading  `lane`.
// Limits     kWaitingReadsMax; those of moraine/topic.h.
// Tests      topic_client_test.cpp; embed/topic_test.cpp, embed/topic_wait_test.cpp.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "client/topic_batch.h"
#include "client/topics.h"

namespace moraine::client {

inline constexpr std::size_t kWaitingReadsMax = 100'000;  // Of one client.

class TopicClient {
 public:
  // `topics` and `lane` outlive every call.
  TopicClient(Topics& topics, Executor& lane) : topics_(topics), lane_(lane) {}
  TopicClient(const TopicClient&) = delete;
  TopicClient& operator=(const TopicClient&) = delete;

  Topics& topics() { return topics_; }
  // The object outlives the calls below.
  Task<Result<Written>> write(TopicPtr topic, NewBatch batch);
  Task<Result<MessageBatch>> read(TopicPtr topic, MessageReadOptions options);
  Task<Result<void>> commit(TopicPtr topic, queue::PartitionIndex partition,
                            queue::ConsumerOffset offset);
  Task<Result<std::optional<CommittedOffset>>> committed(TopicPtr topic,
                                                         queue::PartitionIndex partition,
                                                         std::string consumer);
  Task<Result<PartitionFigures>> figures(TopicPtr topic, queue::PartitionIndex partition);

  // Reads that wait fail with kUnavailable, now and from now on.
  void end_waits();

 private:
  using PartitionPtr = std::shared_ptr<queue::Partition>;
  class Wait;

  Result<PartitionPtr> find(const TopicInfo& topic, queue::PartitionIndex index);
  Task<Result<MessageBatch>> read_once(PartitionPtr partition, MessageReadOptions options);

  Topics& topics_;
  Executor& lane_;
  std::set<Wait*> waits_;
  bool waits_ended_ = false;
};

}  // namespace moraine::client
