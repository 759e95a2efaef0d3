// KafkaClient: one connection to a server of the Kafka protocol, one request at a time.
//
// Promise    call() sends a request in the highest version that both sides support and returns its
//            response. After an error of the connection every call fails until reconnect().
// Threading  Blocks; one thread.
// Limits     kRequestBytesMax of frame.h for requests, kKafkaResponseBytesMax for responses.
// Errors     kUnavailable: not reachable, no Kafka server, or the connection broke: the outcome of
//            the request is unknown. kUnsupported: no version in common. Refusals of the server are
//            inside the responses.
// Tests      cli_topic_test.cpp
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/socket.h"
#include "base/result.h"
#include "gateway/kafka/protocol/messages.h"
#include "io/real/tcp_socket.h"

namespace moraine::app {

inline constexpr std::size_t kKafkaResponseBytesMax = std::size_t{256} << 20;

class KafkaClient {
 public:
  static Result<KafkaClient> connect(const TcpAddress& address, Duration timeout);

  template <class Request>
  Result<typename Request::Response> call(const Request& request) {
    TRY(kafka::RequestHeader header, begin(Request::kApi));
    TRY(const Slice body, exchange(header, kafka::encode_request(header, request)));
    auto response = kafka::decode_body<typename Request::Response>(body, header.version);
    if (!response) return std::unexpected(broken(std::move(response).error().message()));
    return response;
  }

  // A new connection to the same server.
  Result<void> reconnect();
  // To the same server at another address.
  Result<void> reconnect(TcpAddress address) {
    address_ = std::move(address);
    return reconnect();
  }

  const TcpAddress& address() const { return address_; }
  Duration timeout() const { return timeout_; }

 private:
  KafkaClient(TcpAddress address, Duration timeout)
      : address_(std::move(address)), timeout_(timeout) {}

  // The header of the next request of this API.
  Result<kafka::RequestHeader> begin(kafka::ApiKey api);
  Result<Slice> exchange(const kafka::RequestHeader& header, const std::vector<Slice>& frame);
  // Closes the connection: it may be in the middle of a frame.
  Error broken(std::string_view why);

  TcpAddress address_;
  Duration timeout_;
  Socket socket_;
  std::map<kafka::ApiKey, std::int16_t> versions_;
  std::int32_t next_id_ = 1;
};

}  // namespace moraine::app
