// All messages, and a request or response whose API is known only at run time.
#pragma once

#include <variant>

#include "gateway/kafka/protocol/cluster_messages.h"
#include "gateway/kafka/protocol/config_messages.h"
#include "gateway/kafka/protocol/data_messages.h"
#include "gateway/kafka/protocol/frame.h"
#include "gateway/kafka/protocol/group_messages.h"
#include "gateway/kafka/protocol/offset_messages.h"
#include "gateway/kafka/protocol/sasl_messages.h"
#include "gateway/kafka/protocol/tool_messages.h"
#include "gateway/kafka/protocol/topic_messages.h"
#include "gateway/kafka/protocol/transaction_messages.h"

namespace moraine::kafka {

using AnyRequest = std::variant<
    ProduceRequest, FetchRequest, ListOffsetsRequest, MetadataRequest, OffsetCommitRequest,
    OffsetFetchRequest, FindCoordinatorRequest, JoinGroupRequest, HeartbeatRequest,
    LeaveGroupRequest, SyncGroupRequest, DescribeGroupsRequest, ListGroupsRequest,
    SaslHandshakeRequest, ApiVersionsRequest, CreateTopicsRequest, DeleteTopicsRequest,
    DeleteRecordsRequest, InitProducerIdRequest, OffsetForLeaderEpochRequest,
    AddPartitionsToTxnRequest, AddOffsetsToTxnRequest, EndTxnRequest, TxnOffsetCommitRequest,
    DescribeConfigsRequest, AlterConfigsRequest, SaslAuthenticateRequest, CreatePartitionsRequest,
    DeleteGroupsRequest, IncrementalAlterConfigsRequest, OffsetDeleteRequest,
    DescribeClusterRequest, DescribeAclsRequest, DescribeLogDirsRequest, ElectLeadersRequest,
    ListPartitionReassignmentsRequest, DescribeClientQuotasRequest,
    DescribeUserScramCredentialsRequest, ListTransactionsRequest, DescribeTopicPartitionsRequest>;

// The response of each alternative of AnyRequest, at the same index.
template <class>
struct ResponsesOf;
template <class... Request>
struct ResponsesOf<std::variant<Request...>> {
  using type = std::variant<typename Request::Response...>;
};
using AnyResponse = ResponsesOf<AnyRequest>::type;

// The alternative of `api`. Errors: as decode_body(), and kUnsupported for an unknown API.
Result<AnyRequest> decode_any_request(ApiKey api, std::int16_t version, const Slice& body);
Result<AnyResponse> decode_any_response(ApiKey api, std::int16_t version, const Slice& body);

ApiKey api_of(const AnyRequest& request);
ApiKey api_of(const AnyResponse& response);
void encode_any_body(Writer& to, const AnyRequest& request, std::int16_t version);
void encode_any_body(Writer& to, const AnyResponse& response, std::int16_t version);

}  // namespace moraine::kafka
