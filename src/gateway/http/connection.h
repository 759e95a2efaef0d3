// HttpConnection: one client's requests and answers, in order.
//
// Promise    While it waits for a request it holds no buffer and no earlier request. The unread
//            rest of a request's body is read and dropped; if it is long or slow, the connection is
//            closed.
// Invariants Nothing is written before the previous answer is complete. The room of an answer is
//            taken before its handler is called; then it is what is not sent yet: the body of a
//            whole answer, if it is sent; for one that streams the part that is being sent, and at
//            least what was taken.
// Threading  The service's executor.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/http/exchange.h"
#include "gateway/http/request_parser.h"
#include "gateway/http/service.h"
#include "io/watchdog.h"

namespace moraine::http {

class HttpConnection final : private Exchange {
 public:
  HttpConnection(HttpService& service, std::shared_ptr<ByteStream> stream);
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;
  ~HttpConnection();

  // Serves until the stream ends or must be closed.
  Task<void> run();
  // Answers 503: too many connections.
  Task<void> turn_away();
  // Whether it waits for its client to send the rest of a request that began kArrivalGrace ago.
  bool is_slow(Instant now) const;
  // Closes a connection that is idle or slow; its task ends soon.
  void evict();

 private:
  enum class Answer : std::uint8_t { kNone, kBegun, kWhole };

  const Request& request() const override { return request_; }
  Task<Result<Slice>> read() override;
  Task<Result<void>> reply(Reply reply) override;
  Task<Result<void>> begin(Head head) override;
  Task<Result<void>> write(Slice bytes) override;
  Task<Result<void>> end(Fields trailers) override;

  // False: the stream has ended, or the request was refused.
  Task<bool> read_header();
  Task<bool> wait_for_request();
  // Reads more of what the client sends; false at the end. `ready`: readable() has just returned.
  Task<Result<bool>> read_more(std::size_t at_least, bool ready);
  void move_to(HttpService::Connections& list);
  Task<void> finish();
  Task<void> refuse(Refusal refusal);
  // Calls the handler, if its answer has room.
  Task<void> handle();
  Task<bool> drain();
  Task<Result<void>> send(std::vector<Slice> slices);
  std::string head_text(const Head& head, std::optional<std::uint64_t> length);
  bool has_body(const Head& head) const;
  void close();

  HttpService& service_;
  const std::shared_ptr<ByteStream> stream_;
  Watchdog watchdog_;
  Slice ahead_;  // Bytes that were read and not parsed yet.
  std::unique_ptr<RequestParser> parser_;
  Request request_;
  Answer answer_ = Answer::kNone;
  AnswerRoom room_;
  bool keep_alive_ = true;
  bool chunked_ = false;
  bool awaits_continue_ = false;  // The client sends its body after "100 Continue".
  bool closed_ = false;
  bool awaits_bytes_ = false;       // Of the request.
  Instant arrival_{};               // When the request began to arrive.
  HttpService::Connections* list_;  // That it is in.
  HttpService::Connections::iterator place_;
};

}  // namespace moraine::http
