// The supported APIs: one table of versions, for answering ApiVersions, for refusing everything
// else, and for choosing between the two encodings.
//
// Promise    Every version in [version_min, version_max] of a listed API can be read and written.
// Invariants A version is flexible from flexible_from on: compact lengths, and a tag section at the
//            end of every structure.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace moraine::kafka {

enum class ApiKey : std::int16_t {
  kProduce = 0,
  kFetch = 1,
  kListOffsets = 2,
  kMetadata = 3,
  kOffsetCommit = 8,
  kOffsetFetch = 9,
  kFindCoordinator = 10,
  kJoinGroup = 11,
  kHeartbeat = 12,
  kLeaveGroup = 13,
  kSyncGroup = 14,
  kDescribeGroups = 15,
  kListGroups = 16,
  kSaslHandshake = 17,
  kApiVersions = 18,
  kCreateTopics = 19,
  kDeleteTopics = 20,
  kDeleteRecords = 21,
  kInitProducerId = 22,
  kOffsetForLeaderEpoch = 23,
  kAddPartitionsToTxn = 24,
  kAddOffsetsToTxn = 25,
  kEndTxn = 26,
  kTxnOffsetCommit = 28,
  kDescribeAcls = 29,
  kDescribeConfigs = 32,
  kAlterConfigs = 33,
  kDescribeLogDirs = 35,
  kSaslAuthenticate = 36,
  kCreatePartitions = 37,
  kDeleteGroups = 42,
  kElectLeaders = 43,
  kIncrementalAlterConfigs = 44,
  kListPartitionReassignments = 46,
  kOffsetDelete = 47,
  kDescribeClientQuotas = 48,
  kDescribeUserScramCredentials = 50,
  kDescribeCluster = 60,
  kListTransactions = 66,
  kDescribeTopicPartitions = 75,
};

// APIs that a server offers together or not at all: clients take an offered API for a working one.
enum class ApiPart : std::uint8_t { kCore, kTransactions };

struct ServedParts {
  bool transactions = false;

  bool has(ApiPart part) const;
};
inline constexpr ServedParts kEveryPart{.transactions = true};

struct ApiInfo {
  ApiKey key;
  std::string_view name;
  std::int16_t version_min;
  std::int16_t version_max;
  std::int16_t flexible_from;
  ApiPart part = ApiPart::kCore;

  bool supports(std::int16_t version) const {
    return version >= version_min && version <= version_max;
  }
  bool flexible(std::int16_t version) const { return version >= flexible_from; }
};

// In the order of their keys.
std::span<const ApiInfo> apis();
// nullptr: not supported.
const ApiInfo* find_api(ApiKey key);
// Requires: `key` is in the table.
const ApiInfo& api_info(ApiKey key);

}  // namespace moraine::kafka
