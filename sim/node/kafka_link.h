// KafkaLink: a connection of one Kafka client.
//
// Promise    As ClientLink. Requests and answers are real frames.
// Threading  Events of the scenario. Answers are received in the order of the requests.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gateway/kafka/protocol/frame.h"
#include "gateway/kafka/protocol/messages.h"
#include "sim/node/client_link.h"

namespace moraine::sim {

class KafkaLink : public ClientLink {
 public:
  KafkaLink(SimWorld& world, Machines& machines, History& history, std::string client_id)
      : ClientLink(world, machines, history, Machines::Door::kKafka),
        client_id_(std::move(client_id)) {}

  // Sends a request without waiting for its answer. nullopt: the connection is lost.
  template <class Request>
  Task<std::optional<kafka::RequestHeader>> send(Request request);
  template <class Response>
  Task<std::optional<Response>> receive(kafka::RequestHeader header);
  template <class Request>
  Task<std::optional<typename Request::Response>> ask(Request request);

 private:
  Task<Result<Slice>> read_frame(std::shared_ptr<ByteStream> stream);
  static Task<Result<void>> read_full(ByteStream& stream, MutableByteSpan into);

  const std::string client_id_;
  std::int32_t correlation_ = 0;
};

// The newest version, but topics are named.
template <class Request>
std::int16_t version_of() {
  constexpr std::int16_t kFetchByName = 12;
  if (Request::kApi == kafka::ApiKey::kFetch) return kFetchByName;
  return kafka::api_info(Request::kApi).version_max;
}

template <class Request>
Task<std::optional<kafka::RequestHeader>> KafkaLink::send(Request request) {
  if (!connected()) co_return std::nullopt;
  const kafka::RequestHeader header{Request::kApi, version_of<Request>(), ++correlation_,
                                    client_id_};
  const auto written = co_await write(kafka::encode_request(header, request));
  if (written) co_return header;
  close();
  co_return std::nullopt;
}

template <class Response>
Task<std::optional<Response>> KafkaLink::receive(kafka::RequestHeader header) {
  if (!connected()) co_return std::nullopt;
  const auto frame = co_await read_frame(connection_.stream);
  if (!frame) {
    if (history_.verbose()) history_.say(client_id_ + ": " + frame.error().message());
    close();
    co_return std::nullopt;
  }
  const auto body = kafka::open_response(header, *frame);
  auto response =
      body ? kafka::decode_body<Response>(*body, header.version) : std::unexpected(body.error());
  if (response) co_return std::move(*response);
  history_.fail("an answer that is none: " + response.error().message());
  close();
  co_return std::nullopt;
}

template <class Request>
Task<std::optional<typename Request::Response>> KafkaLink::ask(Request request) {
  const auto header = co_await send(std::move(request));
  if (!header) co_return std::nullopt;
  co_return co_await receive<typename Request::Response>(*header);
}

}  // namespace moraine::sim
