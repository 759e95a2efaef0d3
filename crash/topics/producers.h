// Producers: idempotent librdkafka producers, each on its own thread, that send until they are
// paused.
//
// Promise    Every message is recorded in the truth before it is sent, every reply when it arrives.
//            A message is retried until the server replies to it. A producer with a permanent
//            failure sends no more. Codecs and batch sizes differ.
// Threading  The owner's thread.
// Limits     kMessagesWaitingMax per producer.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "crash/topics/kafka_handles.h"
#include "crash/topics/topic_truth.h"

namespace moraine::crash {

inline constexpr std::uint32_t kMessagesWaitingMax = 4'000;

class Producer {
 public:
  static Result<std::unique_ptr<Producer>> open(const std::string& address,
                                                const std::string& topic, TopicTruth& truth,
                                                std::uint32_t number, std::uint64_t seed);
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;
  ~Producer();

  void rest(bool resting) { resting_ = resting; }
  // It is paused, or has failed, and has nothing in flight.
  bool at_rest() const { return idle_; }

 private:
  Producer(TopicTruth& truth, std::uint32_t number, std::uint64_t seed)
      : truth_(truth), number_(number), random_(seed) {}
  static void delivered(rd_kafka_t* client, const rd_kafka_message_t* message, void* opaque);
  void run();
  bool failed() const;
  void burst();
  void send(std::int32_t partition);

  TopicTruth& truth_;
  const std::uint32_t number_;
  SeededRandom random_;  // Used by the thread.
  KafkaHandle<rd_kafka_t> client_;
  KafkaHandle<rd_kafka_topic_t> topic_;
  std::atomic<bool> resting_ = false;
  std::atomic<bool> idle_ = false;
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

class Producers {
 public:
  // As many as the truth has.
  static Result<Producers> open(const std::string& address, const std::string& topic,
                                TopicTruth& truth, Random& random);

  void rest(bool resting);
  bool at_rest() const;

 private:
  std::vector<std::unique_ptr<Producer>> producers_;
};

}  // namespace moraine::crash
