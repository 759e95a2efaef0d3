#include "gateway/kafka/protocol/api.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/invariant.h"

namespace moraine::kafka {
namespace {

constexpr std::int16_t kNever = std::numeric_limits<std::int16_t>::max();

// Minimum versions are 0 throughout, although clients of today start higher: librdkafka switches
// compression, groups and SASL off when version 0 is not offered.
constexpr std::array kApis{
    ApiInfo{ApiKey::kProduce, "Produce", 0, 9, 9},
    ApiInfo{ApiKey::kFetch, "Fetch", 0, 13, 12},
    ApiInfo{ApiKey::kListOffsets, "ListOffsets", 0, 8, 6},
    ApiInfo{ApiKey::kMetadata, "Metadata", 0, 12, 9},
    ApiInfo{ApiKey::kOffsetCommit, "OffsetCommit", 0, 8, 8},
    ApiInfo{ApiKey::kOffsetFetch, "OffsetFetch", 0, 8, 6},
    ApiInfo{ApiKey::kFindCoordinator, "FindCoordinator", 0, 4, 3},
    ApiInfo{ApiKey::kJoinGroup, "JoinGroup", 0, 7, 6},
    ApiInfo{ApiKey::kHeartbeat, "Heartbeat", 0, 4, 4},
    ApiInfo{ApiKey::kLeaveGroup, "LeaveGroup", 0, 4, 4},
    ApiInfo{ApiKey::kSyncGroup, "SyncGroup", 0, 5, 4},
    ApiInfo{ApiKey::kDescribeGroups, "DescribeGroups", 0, 5, 5},
    ApiInfo{ApiKey::kListGroups, "ListGroups", 0, 5, 3},
    ApiInfo{ApiKey::kSaslHandshake, "SaslHandshake", 0, 1, kNever},
    ApiInfo{ApiKey::kApiVersions, "ApiVersions", 0, 3, 3},
    ApiInfo{ApiKey::kCreateTopics, "CreateTopics", 0, 7, 5},
    ApiInfo{ApiKey::kDeleteTopics, "DeleteTopics", 0, 6, 4},
    ApiInfo{ApiKey::kDeleteRecords, "DeleteRecords", 0, 2, 2},
    ApiInfo{ApiKey::kInitProducerId, "InitProducerId", 0, 4, 2},
    ApiInfo{ApiKey::kOffsetForLeaderEpoch, "OffsetForLeaderEpoch", 0, 4, 4},
    ApiInfo{ApiKey::kAddPartitionsToTxn, "AddPartitionsToTxn", 0, 3, 3, ApiPart::kTransactions},
    ApiInfo{ApiKey::kAddOffsetsToTxn, "AddOffsetsToTxn", 0, 3, 3, ApiPart::kTransactions},
    ApiInfo{ApiKey::kEndTxn, "EndTxn", 0, 3, 3, ApiPart::kTransactions},
    ApiInfo{ApiKey::kTxnOffsetCommit, "TxnOffsetCommit", 0, 3, 3, ApiPart::kTransactions},
    ApiInfo{ApiKey::kDescribeAcls, "DescribeAcls", 0, 3, 2},
    ApiInfo{ApiKey::kDescribeConfigs, "DescribeConfigs", 0, 4, 4},
    ApiInfo{ApiKey::kAlterConfigs, "AlterConfigs", 0, 2, 2},
    ApiInfo{ApiKey::kDescribeLogDirs, "DescribeLogDirs", 0, 4, 2},
    ApiInfo{ApiKey::kSaslAuthenticate, "SaslAuthenticate", 0, 2, 2},
    ApiInfo{ApiKey::kCreatePartitions, "CreatePartitions", 0, 3, 2},
    ApiInfo{ApiKey::kDeleteGroups, "DeleteGroups", 0, 2, 2},
    ApiInfo{ApiKey::kElectLeaders, "ElectLeaders", 0, 2, 2},
    ApiInfo{ApiKey::kIncrementalAlterConfigs, "IncrementalAlterConfigs", 0, 1, 1},
    ApiInfo{ApiKey::kListPartitionReassignments, "ListPartitionReassignments", 0, 0, 0},
    ApiInfo{ApiKey::kOffsetDelete, "OffsetDelete", 0, 0, kNever},
    ApiInfo{ApiKey::kDescribeClientQuotas, "DescribeClientQuotas", 0, 1, 1},
    ApiInfo{ApiKey::kDescribeUserScramCredentials, "DescribeUserScramCredentials", 0, 0, 0},
    ApiInfo{ApiKey::kDescribeCluster, "DescribeCluster", 0, 1, 0},
    ApiInfo{ApiKey::kListTransactions, "ListTransactions", 0, 1, 0},
    ApiInfo{ApiKey::kDescribeTopicPartitions, "DescribeTopicPartitions", 0, 0, 0},
};
static_assert(std::ranges::is_sorted(kApis, {}, &ApiInfo::key));

}  // namespace

bool ServedParts::has(ApiPart part) const {
  switch (part) {
    case ApiPart::kCore: return true;
    case ApiPart::kTransactions: return transactions;
  }
  return false;
}

std::span<const ApiInfo> apis() {
  return kApis;
}

const ApiInfo* find_api(ApiKey key) {
  const auto* const found = std::ranges::lower_bound(kApis, key, {}, &ApiInfo::key);
  return found != kApis.end() && found->key == key ? found : nullptr;
}

const ApiInfo& api_info(ApiKey key) {
  const ApiInfo* const info = find_api(key);
  INVARIANT(info != nullptr, "API {} is not in the table", static_cast<int>(key));
  return *info;
}

}  // namespace moraine::kafka
