// AnswerRoom: the memory of one answer while it is built and encoded.
//
// Promise    take() returns true when the bytes are out of the budget of answers; it waits while
//            others hold it. It returns false when the answer would need more than bytes_max(), or
//            its client is gone: the handler then answers with an error. A handler takes room for
//            all that is longer than what was asked with; what only repeats the request is paid for
//            by the request's own memory (request_cost.h).
// Invariants What was taken stays taken, so that one that waits can finish (ByteBudget).
// Threading  The executor. Other requests get their turn every kAnswerTurnBytes.
// Limits     bytes_max(); kSmallAnswerBytes are taken without waiting.
// Tests      longest_requests_test.cpp
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "gateway/kafka/server/budget.h"
#include "gateway/kafka/server/client.h"
#include "gateway/kafka/server/options.h"
#include "io/task.h"

namespace moraine::kafka {

struct ServerContext;

// Waits until `lease` has `bytes` more of the memory for answers. Short ones, and those of clients
// that were seen to read, get some that is kept for them.
Task<void> take_room(ServerContext& server, const Client& client, ByteBudget::Lease& lease,
                     std::size_t bytes);

class AnswerRoom {
 public:
  AnswerRoom(ServerContext& server, std::shared_ptr<const Client> client)
      : server_(server), client_(std::move(client)) {}
  AnswerRoom(const AnswerRoom&) = delete;
  AnswerRoom& operator=(const AnswerRoom&) = delete;

  // For `bytes` more.
  Task<bool> take(std::size_t bytes);
  // For `bytes` in all; what was taken counts.
  Task<bool> take_in_all(std::size_t bytes);
  // Whether take_in_all() would return at once.
  bool has(std::size_t bytes) const { return bytes <= lease_.bytes() + kSmallAnswerBytes; }
  // Room that was taken before.
  void adopt(ByteBudget::Lease lease) { lease_ = std::move(lease); }
  ByteBudget::Lease release() { return std::move(lease_); }

  std::size_t bytes_max() const;
  // There is no answer: not even the error has room.
  void give_up() { given_up_ = true; }
  bool given_up() const { return given_up_; }

 private:
  ServerContext& server_;
  const std::shared_ptr<const Client> client_;
  ByteBudget::Lease lease_;
  std::size_t taken_ = 0;
  std::size_t since_turn_ = 0;
  bool given_up_ = false;
};

}  // namespace moraine::kafka
