// KafkaConnection: one client's stream of requests and answers.
//
// Promise    Answers are sent in the order of the requests. A request begins when all before it are
//            done, except that a Produce may begin while earlier Produces and Fetches run; so
//            pipelined requests have the effect of sequential ones.
// Invariants (1) Requests begin in their order. (2) Only the writer touches the front of the queue.
// Threading  The connection's lane.
// Limits     kPipelinedRequestsMax, kUnsentBytesMax, the budgets of the service, the timeouts of
//            options.h; slow_readers.h decides which connections are closed when memory is short.
// Tests      connection_test.cpp, kafka_connection_fuzz.cpp
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "gateway/kafka/server/frame_input.h"
#include "gateway/kafka/server/service.h"
#include "io/event.h"
#include "io/stream.h"
#include "io/watchdog.h"

namespace moraine::kafka {

// The function that serves the connections of a listener. `service` outlives its tasks.
StreamHandler serve_kafka(KafkaService& service);

class KafkaConnection {
 public:
  KafkaConnection(KafkaService& service, std::shared_ptr<ByteStream> stream);
  KafkaConnection(const KafkaConnection&) = delete;
  KafkaConnection& operator=(const KafkaConnection&) = delete;
  ~KafkaConnection();

  // Serves until the stream ends or must be closed, and every request is done.
  Task<void> run();

 private:
  struct Request {
    ApiKey api = {};
    bool done = false;
    Answer answer;
    ByteBudget::Lease unsent;  // The memory of the answer.
  };

  bool may_begin(ApiKey api) const;
  void begin(RequestFrame frame);
  Task<void> handle(Request& request, RequestFrame frame);
  void count(ApiKey api, std::ptrdiff_t change);
  void count_unsent(std::ptrdiff_t change);

  // Sends the answers that are ready; one runs at a time.
  Task<void> write_ready();
  // Moves the slices of one write out of the queue; false: the connection is to be closed.
  bool collect(std::vector<Slice>& slices, std::vector<ByteBudget::Lease>& leases);
  Task<bool> send(std::vector<Slice> slices);

  void expired(std::string_view reason);
  void fail_with(const std::string& reason);

  KafkaService& service_;
  const std::shared_ptr<ByteStream> stream_;
  const std::shared_ptr<Client> client_;
  Watchdog watchdog_;
  SlowReaders::Writer writer_;
  FrameInput input_;
  std::list<Request> queue_;
  std::size_t unfinished_ = 0;  // Requests that are being handled; of these:
  std::size_t produces_ = 0;
  std::size_t fetches_ = 0;
  std::size_t unsent_bytes_ = 0;
  bool writing_ = false;
  bool closed_ = false;
  Event changed_{service_.executor()};  // Whether the next request may begin.
  TaskScope tasks_;
};

}  // namespace moraine::kafka
