// TopicClient: messages and consumers of topics, for callers on one lane.
//
// Promise    As moraine/topic.h says, wherever partitions run. Nothing is polled: a read that waits
//            is woken by its partition. The lane is not blocked by long compressed batches
//            (unpacking.h).
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
#include "client/unpacking.h"

namespace moraine::client {

inline constexpr std::size_t kWaitingReadsMax = 100'000;  // Of one client.

class TopicClient {
 public:
  // All outlive every call. `background` null: long batches are unpacked on the lane.
  TopicClient(Topics& topics, Executor& lane, BackgroundWork* background)
      : topics_(topics), lane_(lane), background_(background) {}
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
  class PartitionWatch;

  Result<PartitionPtr> find(const TopicInfo& topic, queue::PartitionIndex index);
  Task<Result<MessageBatch>> read_once(PartitionPtr partition, MessageReadOptions options);
  // As BatchReader::add(), without blocking the lane.
  Task<Result<bool>> add_entry(BatchReader& reader, const queue::StoredEntry& entry);

  Topics& topics_;
  Executor& lane_;
  BackgroundWork* const background_;
  std::set<PartitionWatch*> waits_;
  bool waits_ended_ = false;
};

}  // namespace moraine::client
