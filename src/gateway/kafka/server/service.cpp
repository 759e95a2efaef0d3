#include "gateway/kafka/server/service.h"

#include <array>
#include <utility>

#include "base/log.h"
#include "gateway/kafka/server/handlers.h"

namespace moraine::kafka {
namespace {

Answer close_because(std::string reason) {
  return {Answer::Kind::kClose, {}, std::move(reason), {}};
}

// Whether the client may do what it asks for: the one place between decoding and doing.
template <class Request>
Result<void> authorize(const Request&, const Client&) {
  return {};
}

Task<Answer> call(ServerContext& server, RequestHeader header, ProduceRequest request,
                  RequestContext about) {
  const bool silent = request.acks == 0;
  const ProduceOutcome outcome = co_await produce(server, std::move(request), std::move(about));
  if (!silent) {
    co_return Answer{Answer::Kind::kResponse, encode_response(header, outcome.response), {}, {}};
  }
  // The one way to tell a producer that waits for nothing.
  if (outcome.failed) co_return close_because("a Produce without acknowledgement failed");
  co_return Answer{Answer::Kind::kSilence, {}, {}, {}};
}

Task<Answer> call(ServerContext& server, RequestHeader header, FetchRequest request,
                  RequestContext about) {
  FetchOutcome outcome = co_await fetch(server, std::move(request), std::move(about));
  Answer answer;
  answer.pieces = encode_response(header, outcome.response);
  answer.room = std::move(outcome.room);
  co_return answer;
}

template <class Request>
Task<Answer> call(ServerContext& server, RequestHeader header, Request request,
                  RequestContext about) {
  const auto response = co_await serve(server, std::move(request), std::move(about));
  co_return Answer{Answer::Kind::kResponse, encode_response(header, response), {}, {}};
}

using Call = Task<Answer> (*)(ServerContext&, IncomingRequest, std::shared_ptr<Client>,
                              RequestMemory);

template <class Request>
Task<Answer> decode_and_call(ServerContext& server, IncomingRequest incoming,
                             std::shared_ptr<Client> client, RequestMemory memory) {
  Result<Request> request = decode_body<Request>(incoming.body, incoming.header.version);
  if (!request) co_return close_because(request.error().message());
  incoming.body = {};
  if (auto allowed = authorize(*request, *client); !allowed) {
    co_return close_because(allowed.error().message());
  }
  RequestContext about;
  about.version = incoming.header.version;
  about.client_id = incoming.header.client_id.value_or("");
  about.client = std::move(client);
  about.memory = std::move(memory);
  co_return co_await call(server, std::move(incoming.header), std::move(*request),
                          std::move(about));
}

struct Handler {
  ApiKey api;
  Call call;
};
template <class... Request>
constexpr auto handlers_of() {
  return std::array{Handler{Request::kApi, &decode_and_call<Request>}...};
}
// All but transactions and SASL, which are not offered.
constexpr auto kHandlers = handlers_of<
    ProduceRequest, FetchRequest, ListOffsetsRequest, MetadataRequest, OffsetCommitRequest,
    OffsetFetchRequest, FindCoordinatorRequest, JoinGroupRequest, HeartbeatRequest,
    LeaveGroupRequest, SyncGroupRequest, DescribeGroupsRequest, ListGroupsRequest,
    ApiVersionsRequest, CreateTopicsRequest, DeleteTopicsRequest, DeleteRecordsRequest,
    InitProducerIdRequest, OffsetForLeaderEpochRequest, DescribeConfigsRequest, AlterConfigsRequest,
    CreatePartitionsRequest, DeleteGroupsRequest, IncrementalAlterConfigsRequest,
    OffsetDeleteRequest, DescribeClusterRequest, DescribeAclsRequest, DescribeLogDirsRequest,
    ElectLeadersRequest, ListPartitionReassignmentsRequest, DescribeClientQuotasRequest,
    DescribeUserScramCredentialsRequest, ListTransactionsRequest, DescribeTopicPartitionsRequest>();

Call find_call(ApiKey api) {
  for (const Handler& handler : kHandlers) {
    if (handler.api == api) return handler.call;
  }
  return nullptr;
}

}  // namespace

Task<Answer> KafkaService::handle(Slice frame, std::shared_ptr<Client> client,
                                  RequestMemory memory) {
  const Instant started = server_.executor.now();
  Result<IncomingRequest> incoming = open_request(frame, {});
  frame = {};
  if (!incoming) co_return close_because(incoming.error().message());
  if (!incoming->version_supported) {
    co_return Answer{
        Answer::Kind::kResponse, encode_unsupported_version(incoming->header, {}), {}, {}};
  }
  const ApiKey api = incoming->header.api;
  const Call call = find_call(api);
  if (call == nullptr) co_return close_because("an API that is not served");
  server_.metrics.of(api).requests->add();
  Answer answer =
      co_await call(server_, std::move(*incoming), std::move(client), std::move(memory));
  const Duration took = server_.executor.now() - started;
  server_.metrics.of(api).latency->observe(static_cast<std::uint64_t>(took.count()));
  co_return answer;
}

void KafkaService::closed_for_cause(const std::string& peer, const std::string& reason) {
  server_.metrics.closed_for_cause.add();
  const Instant now = server_.executor.now();
  if (close_lines_since_ + kCloseLinesPeriod <= now) {
    if (close_lines_ > kCloseLinesMax) {
      log_warning("more kafka clients closed", {{"count", close_lines_ - kCloseLinesMax}});
    }
    close_lines_since_ = now;
    close_lines_ = 0;
  }
  if (++close_lines_ > kCloseLinesMax) return;
  log_warning("kafka client closed", {{"peer", peer}, {"reason", reason}});
}

Task<void> KafkaService::stop() {
  co_await server_.writes.join();
}

}  // namespace moraine::kafka
