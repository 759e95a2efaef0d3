// AnswerRoom: the memory of one answer while it is built and encoded.
//
// Promise    take() returns true when the bytes are reserved in the budget of answers; it waits
//            while the budget is used up. It returns false when the answer would need more than
//            bytes_max(), or its client has disconnected: the handler then answers with an error. A
//            handler reserves memory for what its answer has beyond the request; what only repeats
//            the request is covered by the request's own memory (request_cost.h).
// Invariants Reserved memory is not returned while waiting for more, so that one waiter can finish
//            (ByteBudget).
// Threading  The executor. Yields to other requests every kAnswerTurnBytes.
// Limits     bytes_max(); kSmallAnswerBytes are reserved without waiting.
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

// Waits until `lease` has `bytes` more of the memory for answers. A share is reserved for short
// answers and for clients that are known to read.
Task<void> take_room(ServerContext& server, const Client& client, ByteBudget::Lease& lease,
                     std::size_t bytes);

class AnswerRoom {
 public:
  AnswerRoom(ServerContext& server, std::shared_ptr<const Client> client)
      : server_(server), client_(std::move(client)) {}
  AnswerRoom(const AnswerRoom&) = delete;
  AnswerRoom& operator=(const AnswerRoom&) = delete;

  // Reserves `bytes` more.
  Task<bool> take(std::size_t bytes);
  // Reserves up to `bytes` in all.
  Task<bool> take_in_all(std::size_t bytes);
  // Whether take_in_all() would return at once.
  bool has(std::size_t bytes) const { return bytes <= lease_.bytes() + kSmallAnswerBytes; }
  // Adds memory that was reserved before.
  void adopt(ByteBudget::Lease lease) { lease_ = std::move(lease); }
  ByteBudget::Lease release() { return std::move(lease_); }

  std::size_t bytes_max() const;
  // There is no memory for an answer, not even for the error.
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
