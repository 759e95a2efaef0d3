// KafkaService: answers requests of the Kafka protocol, one frame at a time.
//
// Promise    Each frame is decoded, authorised and called, in this order and by this one way. What
//            a Produce writes is queued before handle() first suspends, so frames that are handed
//            over in an order write in it.
// Threading  The node's executor.
// Limits     The budgets of KafkaOptions; those of the connections are in options.h.
// Errors     Inside the responses; bytes that are no request: the answer is to close.
// Tests      connection_test.cpp, produce_test.cpp, fetch_test.cpp, admin_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gateway/kafka/server/context.h"

namespace moraine::kafka {

inline constexpr std::size_t kCloseLinesMax = 10;
inline constexpr Duration kCloseLinesPeriod = 10s;

struct Answer {
  enum class Kind : std::uint8_t {
    kResponse,
    kSilence,  // The request has no response.
    kClose,    // The connection is to be closed; `reason` says why.
  };
  Kind kind = Kind::kResponse;
  std::vector<Slice> pieces;  // A whole frame.
  std::string reason;
  ByteBudget::Lease room;  // For the pieces, if it was taken before they were made.
};

class KafkaService {
 public:
  KafkaService(const KafkaParts& parts, KafkaOptions options)
      : server_(parts, std::move(options)),
        requests_(parts.executor, server_.options.request_bytes_max) {}

  // `frame`: what follows the size.
  Task<Answer> handle(Slice frame, std::shared_ptr<Client> client, RequestMemory memory);
  // Waits for writes that nobody waits for any more. Requires: no handle() runs.
  Task<void> stop();

  // Tells people that a connection was closed for what the client did; at most kCloseLinesMax
  // lines in kCloseLinesPeriod.
  void closed_for_cause(const std::string& peer, const std::string& reason);

  ServerContext& context() { return server_; }
  KafkaMetrics& metrics() { return server_.metrics; }
  Executor& executor() { return server_.executor; }
  ByteBudget& requests() { return requests_; }
  ByteBudget& responses() { return server_.responses; }
  ByteBudget& reserved_responses() { return server_.reserved_responses; }

 private:
  ServerContext server_;
  ByteBudget requests_;
  Instant close_lines_since_;
  std::size_t close_lines_ = 0;
};

}  // namespace moraine::kafka
