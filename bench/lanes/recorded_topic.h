// RecordedTopic: a topic whose partitions hold known batches: the requests that write and read
// them, and checks of the answers.
//
// A batch has kMessagesPerBatch events (event_text.h), compressed once. Batch n of a partition's
// log is its recorded batch n modulo kBatchesRecorded, at offset n * kMessagesPerBatch.
//
// Tests      recorded_topic_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "bench/lanes/recording.h"
#include "queue/kafka/compression.h"

namespace moraine::bench {

inline constexpr std::uint64_t kMessagesPerBatch = 100;
inline constexpr std::uint64_t kBatchesRecorded = 8;  // Of each partition.

class RecordedTopic {
 public:
  static Result<RecordedTopic> make(std::string name, std::uint32_t partitions,
                                    kafka::Compression codec);

  const std::string& name() const { return name_; }
  std::uint32_t partitions() const { return static_cast<std::uint32_t>(batches_.size()); }
  const Slice& batch(std::uint32_t partition, std::uint64_t number) const {
    return batches_[partition][number % kBatchesRecorded];
  }
  // Bytes of records for each byte of their batches.
  double compression() const { return plain_bytes_ / stored_bytes_; }

  // Whole frames. A Fetch returns whole batches from `number` on, `bytes_max` at most.
  std::vector<Slice> produce(std::uint32_t partition, std::uint64_t number) const;
  std::vector<Slice> fetch(std::uint32_t partition, std::uint64_t number,
                           std::uint32_t bytes_max) const;

  // Decode an answer to such a request and return the sizes that answers to it may have: a Produce
  // has one, a Fetch one for each number of batches from 1 on. `stored`: batches in the partition.
  // kCorrupt: the answer is wrong; other errors: what the server answered.
  Result<AnswerSize> check_produced(const Slice& answer, std::uint32_t partition,
                                    std::uint64_t number) const;
  Result<std::vector<AnswerSize>> check_fetched(const Slice& answer, std::uint32_t partition,
                                                std::uint64_t number, std::uint32_t bytes_max,
                                                std::uint64_t stored) const;

 private:
  std::string name_;
  std::vector<std::vector<Slice>> batches_;  // Of each partition.
  double plain_bytes_ = 0;
  double stored_bytes_ = 0;
};

}  // namespace moraine::bench
