#include "gateway/kafka/server/answer_room.h"

#include <algorithm>

#include "gateway/kafka/server/context.h"

namespace moraine::kafka {

Task<void> take_room(ServerContext& server, const Client& client, ByteBudget::Lease& lease,
                     std::size_t bytes) {
  if (lease.bytes() > 0) {
    co_await lease.budget()->grow(lease, bytes);
    co_return;
  }
  if (server.responses.grow_now(lease, bytes)) co_return;
  ByteBudget& reserved = server.reserved_responses;
  const bool first = bytes <= kShortFetchBytes || client.reads();
  const bool fits = bytes <= reserved.limit() / kFetchPartOfRest;
  co_await (first && fits ? reserved : server.responses).grow(lease, bytes);
}

std::size_t AnswerRoom::bytes_max() const {
  return server_.responses.limit() / kAnswerPart;
}

Task<bool> AnswerRoom::take(std::size_t bytes) {
  if (bytes > bytes_max() || taken_ > bytes_max() - bytes) co_return false;
  taken_ += bytes;
  since_turn_ += bytes;
  if (!has(taken_)) {
    const std::size_t needed = taken_ - lease_.bytes();
    co_await take_room(server_, *client_, lease_, std::max(needed, kAnswerStepBytes));
  }
  if (since_turn_ >= kAnswerTurnBytes) {
    since_turn_ = 0;
    co_await yield(server_.executor);
  }
  co_return !client_->disconnected();
}

Task<bool> AnswerRoom::take_in_all(std::size_t bytes) {
  if (has(bytes)) co_return true;
  const std::size_t more = bytes - lease_.bytes();
  if (more > bytes_max()) co_return false;
  co_await take_room(server_, *client_, lease_, more);
  co_return true;
}

}  // namespace moraine::kafka
