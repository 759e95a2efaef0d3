// Members: a consumer group of librdkafka consumers, each on its own thread, commits by hand.
//
// Promise    A message is recorded in the truth as processed before a commit that covers it is
//            sent.
// Threading  The owner's thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "crash/topics/kafka_handles.h"
#include "crash/topics/topic_truth.h"

namespace moraine::crash {

enum class Goodbye : std::uint8_t {
  kLeaves,  // The group is informed immediately.
  kDies,    // The group notices missing heartbeats.
};

class Member {
 public:
  static Result<std::unique_ptr<Member>> open(const std::string& address, const std::string& topic,
                                              TopicTruth& truth, std::uint64_t seed);
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  ~Member() { end(Goodbye::kLeaves); }

  void end(Goodbye goodbye);

 private:
  Member(std::string topic, TopicTruth& truth, std::uint64_t seed)
      : topic_(std::move(topic)), truth_(truth), random_(seed) {}
  static void rebalanced(rd_kafka_t* client, rd_kafka_resp_err_t code,
                         rd_kafka_topic_partition_list_t* partitions, void* opaque);
  Result<void> subscribe();
  void run();
  void take(const rd_kafka_message_t& message);
  void commit();

  const std::string topic_;
  TopicTruth& truth_;
  SeededRandom random_;                          // This and the next two: used by the thread.
  std::map<std::int32_t, Assignment> assigned_;  // By partition.
  std::uint64_t until_commit_ = 1;
  rd_kafka_t* client_ = nullptr;
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

class Members {
 public:
  static Result<Members> open(const std::string& address, const std::string& topic,
                              TopicTruth& truth, std::size_t count, Random& random);

  // Compares the commits that the server has with the truth.
  Result<void> check_commits() const;
  // One ends and another replaces it.
  Result<void> replace_one(Goodbye goodbye);

 private:
  Members(std::string address, std::string topic, TopicTruth& truth, Random& random)
      : address_(std::move(address)), topic_(std::move(topic)), truth_(&truth), random_(&random) {}

  std::string address_;
  std::string topic_;
  TopicTruth* truth_;
  Random* random_;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace moraine::crash
