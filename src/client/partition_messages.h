// Messages between nodes about partitions of topics: requests and the replies.
//
// clang-format off
//   request  = protocol u8 = 0x50  version u8 = 1  kind u8  tablet u64  partition u32
//              timeout_us u32  fields  crc32c u32
//   1 open       = incarnation u64  closes u64
//   2 write      = change  count u32, each: write
//   3 commit     = change  consumer
//   4 forget     = change  name text
//   5 trim       = change  offset u64
//   6 read       = offset u64  bytes_max u32  entries_max u32
//   7 find time  = from u64  time_ms u64
//   8 newest     = nothing
//   9 wait       = incarnation u64  end u64            until the end is another one
//  10 describe   = after text                          the consumers with greater names
//   change   = incarnation u64  session u64  number u64
//   write    = format u8  count u32  max_timestamp_ms u64  checksum_verified u8  source text
//              numbering u8  number u64  epoch u32  part u32  parts u32  payload text
//   consumer = name text  offset u64  metadata text  leader_epoch u32  committed_ms u64
//   reply    = protocol u8 = 0x50  version u8 = 1  kind u8 (of the request)
//              refusal u8 (Refusal)  status u8 (0: OK, else 1 + number of the Errc)  context text
//              incarnation u64  session u64  stopped u8  info (15 * u64)  start u64  end u64
//              count u32, each: answer   of a write
//              count u32, each: entry    of a read or a search
//              count u32, each: consumer  more u8      of a description
//              crc32c u32
//   answer   = status u8  known u8 (0 or 1)  offset u64 (0 unless known)  max_number u64
//              write_time_ms u64  detail text  disk_full u8
//   entry    = offset u64  count u32  format u8  max_timestamp_ms u64  write_time_ms u64
//              source text  number u64  checksum_verified u8  payload text
//   text     = size u32, bytes
// clang-format on
//
// Promise    Pure. Each message has one encoding. Payloads of decoded messages are slices of the
//            message. What a write contains is not checked here: the partition that gets it does.
//            timeout_us is what is left until the caller's deadline.
// Limits     kWritesPerCallMax writes, kEntriesPerReplyMax entries, kConsumersPerReplyMax
//            consumers.
// Errors     kCorrupt; kUnsupported: another version.
// Tests      partition_messages_test.cpp, partition_messages_fuzz.cpp.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "queue/partition.h"
#include "tablet/tablet_info.h"

namespace moraine {

inline constexpr std::uint8_t kPartitionsProtocol = 0x50;  // The first byte of every frame.
inline constexpr std::size_t kWritesPerCallMax = 1'000;
inline constexpr std::size_t kEntriesPerReplyMax = 10'000;
inline constexpr std::size_t kConsumersPerReplyMax = 500;
inline constexpr std::size_t kPartitionPageBytes = std::size_t{4} << 20;  // Of one read.

// Changes are sent in a session, one after the other, with the numbers 1, 2, ...
struct ChangeNumber {
  std::uint64_t incarnation = 0;  // Of the partition.
  std::uint64_t session = 0;
  std::uint64_t number = 0;
  bool operator==(const ChangeNumber&) const = default;
};

// Begins a session, and closes the caller's earlier one, if it belongs to this incarnation.
struct OpenSessionCall {
  std::uint64_t incarnation = 0;
  std::uint64_t closes = 0;  // 0: none.
};
struct WriteCall {
  ChangeNumber change;
  std::vector<queue::WriteRequest> writes;
};
struct CommitOffsetCall {
  ChangeNumber change;
  queue::ConsumerOffset offset;
};
struct ForgetConsumerCall {
  ChangeNumber change;
  std::string consumer;
};
struct TrimCall {
  ChangeNumber change;
  queue::Offset offset = 0;
};
struct ReadCall {
  queue::Offset offset = 0;
  std::uint32_t bytes_max = 0;
  std::uint32_t entries_max = 0;
};
struct FindTimeCall {
  queue::Offset from = 0;
  std::int64_t time_ms = 0;
};
struct FindNewestCall {};
// Returns at once when the incarnation is another one.
struct WaitCall {
  std::uint64_t incarnation = 0;
  queue::Offset end = 0;
};
struct DescribeCall {
  std::string after;
};

// In the order of their kinds.
using PartitionCall =
    std::variant<OpenSessionCall, WriteCall, CommitOffsetCall, ForgetConsumerCall, TrimCall,
                 ReadCall, FindTimeCall, FindNewestCall, WaitCall, DescribeCall>;

// Null: the call changes nothing.
ChangeNumber* change_of(PartitionCall& call);

struct PartitionRequest {
  TabletId tablet;
  queue::PartitionIndex partition = 0;  // Within the tablet.
  std::uint32_t timeout_us = 0;
  PartitionCall call;
};

// Why the request, as it was delivered this time, did not reach the partition.
enum class Refusal : std::uint8_t {
  kNone,
  kNotHere,       // The partition does not run here.
  kStaleSession,  // The session is not known, or is closed.
  kOverloaded,    // Too many requests are being served.
};

struct PartitionReply {
  std::size_t kind = 0;  // The index of the request's kind.
  Refusal refusal = Refusal::kNone;
  Result<void> status;  // Of the partition's call.
  std::uint64_t incarnation = 0;
  std::uint64_t session = 0;
  bool stopped = false;
  queue::PartitionInfo info;  // When the reply was made.
  // Of a read; `start` also of a trim.
  queue::Offset start = 0;
  queue::Offset end = 0;
  std::vector<queue::WriteAnswer> answers;
  std::vector<queue::StoredEntry> entries;
  std::vector<queue::ConsumerOffset> consumers;  // By name.
  bool more = false;                             // There are more consumers.
};

Slice encode(const PartitionRequest& request);
Result<PartitionRequest> decode_partition_request(const Slice& bytes);
Slice encode(const PartitionReply& reply);
Result<PartitionReply> decode_partition_reply(const Slice& bytes);

}  // namespace moraine
