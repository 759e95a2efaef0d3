#include "gateway/kafka/server/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "base/held_bytes.h"
#include "base/log.h"
#include "gateway/kafka/server/handlers.h"
#include "gateway/kafka/server/request_cost.h"

namespace moraine::kafka {
namespace {

Answer close_because(std::string reason) {
  return {Answer::Kind::kClose, {}, std::move(reason), {}};
}

// Whether the client may make the request: the only check between decoding and handling.
template <class Request>
Result<void> authorize(const Request&, const Client&) {
  return {};
}

Answer close_for_length(const RequestHeader& header, const AnswerRoom& room) {
  return close_because(
      fmt::format("the answer to {} needs more than {} bytes of memory; request less at a time",
                  api_info(header.api).name, room.bytes_max()));
}

// Encodes an answer when there is memory for it.
template <class Response>
Task<Answer> encode_within(AnswerRoom& room, const RequestHeader& header,
                           const Response& response) {
  Answer answer;
  if (!room.given_up()) answer.slices = encode_response(header, response);
  if (answer.slices.empty()) co_return close_for_length(header, room);
  const std::size_t held = HeldBytes(answer.slices).total();
  if (!room.has(held)) {
    // Not held while it waits.
    answer.slices.clear();
    if (!co_await room.take_in_all(held)) co_return close_for_length(header, room);
    answer.slices = encode_response(header, response);
  }
  answer.room = room.release();
  co_return answer;
}

Task<Answer> call(ServerContext& server, RequestHeader header, ProduceRequest request,
                  RequestContext about) {
  const bool no_answer = request.acks == 0;
  AnswerRoom& room = *about.room;
  const ProduceOutcome outcome = co_await produce(server, std::move(request), std::move(about));
  if (!no_answer) co_return co_await encode_within(room, header, outcome.response);
  // The only way to notify a producer that does not wait for an answer.
  if (outcome.failed) co_return close_because("a Produce without acknowledgement failed");
  co_return Answer{Answer::Kind::kSilence, {}, {}, {}};
}

Task<Answer> call(ServerContext& server, RequestHeader header, FetchRequest request,
                  RequestContext about) {
  AnswerRoom& room = *about.room;
  FetchOutcome outcome = co_await fetch(server, std::move(request), std::move(about));
  room.adopt(std::move(outcome.room));
  co_return co_await encode_within(room, header, outcome.response);
}

template <class Request>
Task<Answer> call(ServerContext& server, RequestHeader header, Request request,
                  RequestContext about) {
  AnswerRoom& room = *about.room;
  const auto response = co_await serve(server, std::move(request), std::move(about));
  co_return co_await encode_within(room, header, response);
}

using Call = Task<Answer> (*)(ServerContext&, IncomingRequest, std::shared_ptr<Client>,
                              RequestMemory);
using Measure = Result<DecodedSize> (*)(const Slice&, std::int16_t);

template <class Request>
Task<Answer> decode_and_call(ServerContext& server, IncomingRequest incoming,
                             std::shared_ptr<Client> client, RequestMemory memory) {
  Result<Request> request = decode_body<Request>(incoming.body, incoming.header.version);
  if (!request) co_return close_because(request.error().context);
  const std::size_t body_bytes = incoming.body.size();
  incoming.body = {};
  // Only records are parts of the frame; others may wait for long without it.
  if (!std::is_same_v<Request, ProduceRequest>) {
    memory->settle(memory->bytes() - std::min(memory->bytes(), body_bytes));
  }
  if (auto allowed = authorize(*request, *client); !allowed) {
    co_return close_because(allowed.error().context);
  }
  AnswerRoom room(server, client);
  RequestContext about;
  about.version = incoming.header.version;
  about.client_id = incoming.header.client_id.value_or("");
  about.client = std::move(client);
  about.memory = std::move(memory);
  about.room = &room;
  co_return co_await call(server, std::move(incoming.header), std::move(*request),
                          std::move(about));
}

struct Handler {
  ApiKey api;
  Call call;
  Measure measure;
};
template <class... Request>
constexpr auto handlers_of() {
  return std::array{Handler{Request::kApi, &decode_and_call<Request>, &measure_body<Request>}...};
}
// All but transactions, which are not offered.
constexpr auto kHandlers = handlers_of<
    ProduceRequest, FetchRequest, ListOffsetsRequest, MetadataRequest, OffsetCommitRequest,
    OffsetFetchRequest, FindCoordinatorRequest, JoinGroupRequest, HeartbeatRequest,
    LeaveGroupRequest, SyncGroupRequest, DescribeGroupsRequest, ListGroupsRequest,
    SaslHandshakeRequest, ApiVersionsRequest, CreateTopicsRequest, DeleteTopicsRequest,
    DeleteRecordsRequest, InitProducerIdRequest, OffsetForLeaderEpochRequest,
    DescribeConfigsRequest, AlterConfigsRequest, SaslAuthenticateRequest, CreatePartitionsRequest,
    DeleteGroupsRequest, IncrementalAlterConfigsRequest, OffsetDeleteRequest,
    DescribeClusterRequest, DescribeAclsRequest, DescribeLogDirsRequest, ElectLeadersRequest,
    ListPartitionReassignmentsRequest, DescribeClientQuotasRequest,
    DescribeUserScramCredentialsRequest, ListTransactionsRequest, DescribeTopicPartitionsRequest>();

const Handler* find_handler(ApiKey api) {
  const auto found = std::ranges::find(kHandlers, api, &Handler::api);
  return found == kHandlers.end() ? nullptr : &*found;
}

}  // namespace

std::size_t KafkaService::handling_bytes(const Slice& frame) {
  const Result<IncomingRequest> incoming = open_request(frame, {});
  if (!incoming || !incoming->version_supported) return 0;
  const Handler* const handler = find_handler(incoming->header.api);
  if (handler == nullptr) return 0;
  const auto size = handler->measure(incoming->body, incoming->header.version);
  return size ? request_cost(*size) : 0;
}

Task<Answer> KafkaService::handle(Slice frame, std::shared_ptr<Client> client,
                                  RequestMemory memory) {
  const Instant started = server_.executor.now();
  Result<IncomingRequest> incoming = open_request(frame, {});
  frame = {};
  if (!incoming) co_return close_because(incoming.error().context);
  if (!incoming->version_supported) {
    co_return Answer{
        Answer::Kind::kResponse, encode_unsupported_version(incoming->header, {}), {}, {}};
  }
  const ApiKey api = incoming->header.api;
  const Handler* const handler = find_handler(api);
  if (handler == nullptr) co_return close_because("an API that is not served");
  server_.metrics.of(api).requests->add();
  Answer answer =
      co_await handler->call(server_, std::move(*incoming), std::move(client), std::move(memory));
  const Duration took = server_.executor.now() - started;
  server_.metrics.of(api).latency->observe(static_cast<std::uint64_t>(took.count()));
  co_return answer;
}

void KafkaService::closed_for_cause(const std::string& peer, const std::string& reason) {
  server_.metrics.closed_for_cause.add();
  server_.closed_clients.write(server_.executor.now(), {{"peer", peer}, {"reason", reason}});
}

Task<void> KafkaService::stop() {
  co_await server_.writes.join();
}

}  // namespace moraine::kafka
