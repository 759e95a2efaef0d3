// KafkaService: answers requests of the Kafka protocol, one frame at a time.
//
// Promise    Each frame is decoded, authorised and dispatched here, in this order. The batches of a
//            Produce are queued before handle() first suspends, so the order of calls is the order
//            of writes.
// Threading  The connection's lane.
// Limits     The budgets of KafkaOptions; those of the connections are in options.h.
// Errors     Inside the responses; for bytes that are no request the answer is kClose.
// Tests      connection_test.cpp, produce_test.cpp, fetch_test.cpp, admin_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gateway/kafka/server/context.h"

namespace moraine::kafka {

struct Answer {
  enum class Kind : std::uint8_t {
    kResponse,
    kSilence,  // The request has no response.
    kClose,    // The connection is to be closed; `reason` says why.
  };
  Kind kind = Kind::kResponse;
  std::vector<Slice> slices;  // A whole frame.
  std::string reason;
  ByteBudget::Lease room;  // The memory of the slices, if it was reserved before.
};

class KafkaService {
 public:
  KafkaService(const KafkaParts& parts, KafkaOptions options)
      : server_(parts, std::move(options)),
        requests_(parts.executor, server_.options.request_bytes_max) {}

  // The memory for handling a request, besides its frame. 0 when the frame is no request: handle()
  // returns the reason.
  static std::size_t handling_bytes(const Slice& frame);
  // `frame`: the bytes after the size. `memory` covers it and handling_bytes().
  Task<Answer> handle(Slice frame, std::shared_ptr<Client> client, RequestMemory memory);
  // Waits for writes whose requests have ended. Requires: no handle() runs.
  Task<void> stop();

  // Logs that a connection was closed because of an error of the client.
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
};

}  // namespace moraine::kafka
