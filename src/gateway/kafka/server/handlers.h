// The handlers: one function for each API, from a decoded request to its response.
//
// Promise    The order in which produce() is started for the requests of a connection is the order
//            of their data, also while some of them are unpacked in the background.
// Threading  The connection's lane.
// Errors     Error codes inside the responses.
#pragma once

#include <optional>

#include "gateway/kafka/server/context.h"

namespace moraine::kafka {

struct ProduceOutcome {
  ProduceResponse response;
  bool failed = false;  // Some partition has an error.
};
Task<ProduceOutcome> produce(ServerContext& server, ProduceRequest request, RequestContext about);
struct FetchOutcome {
  FetchResponse response;
  ByteBudget::Lease room;  // The memory of the records.
};
Task<FetchOutcome> fetch(ServerContext& server, FetchRequest request, RequestContext about);
Task<ListOffsetsResponse> serve(ServerContext& server, ListOffsetsRequest request,
                                RequestContext about);
Task<OffsetForLeaderEpochResponse> serve(ServerContext& server, OffsetForLeaderEpochRequest request,
                                         RequestContext about);

Task<ApiVersionsResponse> serve(ServerContext& server, ApiVersionsRequest request,
                                RequestContext about);
// Clients of a listener without SASL cannot authenticate.
Task<SaslHandshakeResponse> serve(ServerContext& server, SaslHandshakeRequest request,
                                  RequestContext about);
Task<SaslAuthenticateResponse> serve(ServerContext& server, SaslAuthenticateRequest request,
                                     RequestContext about);
Task<MetadataResponse> serve(ServerContext& server, MetadataRequest request, RequestContext about);
Task<FindCoordinatorResponse> serve(ServerContext& server, FindCoordinatorRequest request,
                                    RequestContext about);
Task<DescribeClusterResponse> serve(ServerContext& server, DescribeClusterRequest request,
                                    RequestContext about);
Task<InitProducerIdResponse> serve(ServerContext& server, InitProducerIdRequest request,
                                   RequestContext about);

Task<OffsetCommitResponse> serve(ServerContext& server, OffsetCommitRequest request,
                                 RequestContext about);
Task<OffsetFetchResponse> serve(ServerContext& server, OffsetFetchRequest request,
                                RequestContext about);
Task<OffsetDeleteResponse> serve(ServerContext& server, OffsetDeleteRequest request,
                                 RequestContext about);

Task<JoinGroupResponse> serve(ServerContext& server, JoinGroupRequest request,
                              RequestContext about);
Task<SyncGroupResponse> serve(ServerContext& server, SyncGroupRequest request,
                              RequestContext about);
Task<HeartbeatResponse> serve(ServerContext& server, HeartbeatRequest request,
                              RequestContext about);
Task<LeaveGroupResponse> serve(ServerContext& server, LeaveGroupRequest request,
                               RequestContext about);
Task<DescribeGroupsResponse> serve(ServerContext& server, DescribeGroupsRequest request,
                                   RequestContext about);
Task<ListGroupsResponse> serve(ServerContext& server, ListGroupsRequest request,
                               RequestContext about);
Task<DeleteGroupsResponse> serve(ServerContext& server, DeleteGroupsRequest request,
                                 RequestContext about);

Task<CreateTopicsResponse> serve(ServerContext& server, CreateTopicsRequest request,
                                 RequestContext about);
Task<DeleteTopicsResponse> serve(ServerContext& server, DeleteTopicsRequest request,
                                 RequestContext about);
Task<CreatePartitionsResponse> serve(ServerContext& server, CreatePartitionsRequest request,
                                     RequestContext about);
Task<DeleteRecordsResponse> serve(ServerContext& server, DeleteRecordsRequest request,
                                  RequestContext about);

Task<DescribeConfigsResponse> serve(ServerContext& server, DescribeConfigsRequest request,
                                    RequestContext about);
Task<AlterConfigsResponse> serve(ServerContext& server, AlterConfigsRequest request,
                                 RequestContext about);
Task<IncrementalAlterConfigsResponse> serve(ServerContext& server,
                                            IncrementalAlterConfigsRequest request,
                                            RequestContext about);

Task<DescribeAclsResponse> serve(ServerContext& server, DescribeAclsRequest request,
                                 RequestContext about);
Task<DescribeLogDirsResponse> serve(ServerContext& server, DescribeLogDirsRequest request,
                                    RequestContext about);
Task<ElectLeadersResponse> serve(ServerContext& server, ElectLeadersRequest request,
                                 RequestContext about);
Task<ListPartitionReassignmentsResponse> serve(ServerContext& server,
                                               ListPartitionReassignmentsRequest request,
                                               RequestContext about);
Task<DescribeClientQuotasResponse> serve(ServerContext& server, DescribeClientQuotasRequest request,
                                         RequestContext about);
Task<DescribeUserScramCredentialsResponse> serve(ServerContext& server,
                                                 DescribeUserScramCredentialsRequest request,
                                                 RequestContext about);
Task<ListTransactionsResponse> serve(ServerContext& server, ListTransactionsRequest request,
                                     RequestContext about);
Task<DescribeTopicPartitionsResponse> serve(ServerContext& server,
                                            DescribeTopicPartitionsRequest request,
                                            RequestContext about);

}  // namespace moraine::kafka
