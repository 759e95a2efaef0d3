// Recording: the requests of one connection, encoded once, and the sizes of their right answers.
// AnswerStream: the ends of answers in a stream of bytes.
//
// Promise    The bytes of consecutive requests are adjacent, so that one call can send several.
// Threading  None: values.
// Tests      recording_test.cpp
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "gateway/kafka/protocol/frame.h"

namespace moraine::bench {

// Sizes of answers are those without the four bytes of their size.
struct AnswerSize {
  std::size_t bytes = 0;
  std::uint64_t messages = 0;  // Acknowledged or carried by an answer of this size.
  std::uint64_t record_bytes = 0;
};

class Recording {
 public:
  // A whole request with its size.
  void add(const std::vector<Slice>& frame);
  // Right answers to this request, ascending.
  void expect(std::size_t request, std::vector<AnswerSize> sizes);

  std::size_t requests() const { return ends_.size(); }
  std::size_t begin(std::size_t request) const { return request == 0 ? 0 : ends_[request - 1]; }
  std::size_t end(std::size_t request) const { return ends_[request]; }
  ByteSpan bytes() const { return bytes_; }
  // Null: an answer of this size is wrong.
  const AnswerSize* match(std::size_t request, std::size_t bytes) const;

 private:
  std::vector<std::byte> bytes_;
  std::vector<std::size_t> ends_;  // Of each request, in bytes_.
  std::vector<std::vector<AnswerSize>> expected_;
};

class AnswerStream {
 public:
  // Calls done(bytes) for each answer that ends in this part.
  template <class Done>
  void add(ByteSpan part, Done done) {
    while (!part.empty()) {
      std::size_t used = 1;
      if (prefix_ < kafka::kSizePrefixBytes) {
        size_ = size_ << 8 | std::to_integer<std::size_t>(part.front());
        if (++prefix_ == kafka::kSizePrefixBytes) left_ = size_;
      } else {
        used = std::min(left_, part.size());
        left_ -= used;
      }
      part = part.subspan(used);
      end_answer(done);
    }
  }
  // Bytes of the current answer's size that are still to come, and of the rest once that is known.
  std::size_t prefix_left() const { return kafka::kSizePrefixBytes - prefix_; }
  std::size_t left() const { return left_; }
  // The next `count` bytes were dropped. Requires: 0 < count <= left().
  template <class Done>
  void skip(std::size_t count, Done done) {
    left_ -= count;
    end_answer(done);
  }

 private:
  template <class Done>
  void end_answer(Done& done) {
    if (prefix_ < kafka::kSizePrefixBytes || left_ > 0) return;
    prefix_ = 0;
    done(std::exchange(size_, 0));
  }

  std::size_t prefix_ = 0;  // Bytes of the size that have arrived.
  std::size_t size_ = 0;
  std::size_t left_ = 0;
};

}  // namespace moraine::bench
