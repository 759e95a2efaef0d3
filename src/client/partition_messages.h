// Messages between nodes about partitions of topics: requests and the replies.
//
// clang-format off
//   request  = protocol u8 = 0x50  version u8 = 1  kind u8  tablet u64  partition u32
//              timeout_us u32  fields  crc32c u32
//   1 open       = session closed
//   2 close      = session closed
//   3 write      = change  count u32, each: write
//   4 commit     = change  consumer
//   5 forget     = change  name text
//   6 trim       = change  offset u64
//   7 read       = offset u64  bytes_max u32  entries_max u32  room u32
//   8 find time  = from u64  time_ms u64  room u32
//   9 newest     = room u32
//  10 wait       = waiter u64  count u32, each: watched           tablet, partition: 0
//  11 describe   = what u8 (Described)  name text
//   session  = incarnation u64  session u64
//   change   = session  number u64
//   write    = format u8  count u32  max_timestamp_ms u64  checksum_verified u8  source text
//              numbering u8  number u64  epoch u32  part u32  parts u32  payload text
//   watched  = tablet u64  partition u32  incarnation u64  end u64  stopped u8
//   consumer = name text  offset u64  metadata text  leader_epoch u32  committed_ms u64
//   reply    = protocol u8 = 0x50  version u8 = 1
//              kind u8 (that of the request; 0: the request could not be decoded)
//              refusal u8 (Refusal)  status u8 (0: OK, else 1 + number of the Errc)  context text
//              incarnation u64  session u64  known u8 (0 or 1)  last_change u64 (0 unless known)
//              moment u64  stopped u8  info  start u64  end u64  needs u64
//              count u32, each: answer                            of a write
//              count u32, each: entry                             of a read or a search
//              count u32, each: consumer  more u8                 of a description
//              count u32, each: moved                             of a wait
//              crc32c u32
//   info     = 15 * u64
//   answer   = status u8  known u8 (0 or 1)  offset u64 (0 unless known)  max_number u64
//              write_time_ms u64  detail text  disk_full u8
//   entry    = offset u64  count u32  format u8  max_timestamp_ms u64  write_time_ms u64
//              source text  number u64  checksum_verified u8  payload text
//   moved    = index u32  incarnation u64  stopped u8  info
//   text     = size u32, bytes
// clang-format on
//
// Promise    Pure. Each message has one encoding. Payloads of decoded messages are slices of the
//            message. What a write contains is not checked here: the partition that gets it does.
//            timeout_us is the time until the caller's deadline: nothing is begun after it.
// Limits     kWritesPerCallMax writes, kEntriesPerReplyMax entries, kConsumersPerReplyMax
//            consumers, kWatchedPerCallMax watched partitions.
// Errors     kCorrupt; kUnsupported: another version.
// Tests      partition_messages_test.cpp, partition_messages_fuzz.cpp.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "io/network.h"
#include "queue/partition.h"
#include "tablet/tablet_info.h"

namespace moraine {

inline constexpr std::uint8_t kPartitionsProtocol = 0x50;  // The first byte of every frame.
inline constexpr std::size_t kWritesPerCallMax = 1'000;
inline constexpr std::size_t kEntriesPerReplyMax = 10'000;
inline constexpr std::size_t kConsumersPerReplyMax = 500;
inline constexpr std::size_t kWatchedPerCallMax = 4'096;
inline constexpr std::size_t kPartitionPageBytes = std::size_t{4} << 20;  // What one read returns.
// The longest entries of a reply; the rest of the frame is for its other fields.
inline constexpr std::size_t kReplyRoomMax = kFrameBytesMax - (std::size_t{64} << 10);
inline constexpr std::size_t kConsumersReplyBytes =
    kConsumersPerReplyMax *
    (queue::kConsumerNameBytesMax + queue::kConsumerMetadataBytesMax + std::size_t{64});

struct SessionName {
  std::uint64_t incarnation = 0;  // The partition's.
  std::uint64_t session = 0;      // 0: none.
  bool operator==(const SessionName&) const = default;
};

// Changes are sent in a session, one after the other, with the numbers 1, 2, ...
struct ChangeNumber {
  SessionName in;
  std::uint64_t number = 0;
  bool operator==(const ChangeNumber&) const = default;
};

// Begins a session, and closes the caller's earlier one, if it belongs to this incarnation.
struct OpenSessionCall {
  SessionName closes;
};
// The reply's last_change is the last change of the session that is carried out.
struct CloseSessionCall {
  SessionName closes;
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
  // The bytes that the encoded entries may take. When the first takes more, the reply has none, and
  // `needs` says how many. The same below.
  std::uint32_t room = 0;
};
struct FindTimeCall {
  queue::Offset from = 0;
  std::int64_t time_ms = 0;
  std::uint32_t room = 0;
};
struct FindNewestCall {
  std::uint32_t room = 0;
};
// A partition, with what the caller knows of it.
struct WatchedEnd {
  TabletId tablet;
  queue::PartitionIndex partition = 0;
  std::uint64_t incarnation = 0;
  queue::Offset end = 0;
  bool stopped = false;
};
// Returns when one of the partitions is not as the caller knows it. It replaces the wait in flight
// of the same node and `waiter`, which returns at once.
struct WaitCall {
  std::uint64_t waiter = 0;
  std::vector<WatchedEnd> watched;
};
enum class Described : std::uint8_t {
  kFigures,    // No consumers.
  kConsumer,   // The one with this name.
  kConsumers,  // Those with greater names.
};
struct DescribeCall {
  Described what = Described::kFigures;
  std::string name;
};

// In the order of their kinds.
using PartitionCall =
    std::variant<OpenSessionCall, CloseSessionCall, WriteCall, CommitOffsetCall, ForgetConsumerCall,
                 TrimCall, ReadCall, FindTimeCall, FindNewestCall, WaitCall, DescribeCall>;

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
  kExpired,       // Its time was over before it was begun.
};

// A watched partition that is not as the caller knew it.
struct MovedEnd {
  std::uint32_t index = 0;        // In WaitCall::watched.
  std::uint64_t incarnation = 0;  // 0: it does not run here.
  bool stopped = false;
  queue::PartitionInfo info;
};

struct PartitionReply {
  std::size_t kind = 0;  // kind_of() the request; 0: it could not be decoded.
  Refusal refusal = Refusal::kNone;
  Result<void> status;  // What the partition's call returned.
  std::uint64_t incarnation = 0;
  std::uint64_t session = 0;
  // With kStaleSession, or of a close: the last change of that session that is carried out, if that
  // is remembered. Later ones of it are not carried out any more.
  std::optional<std::uint64_t> last_change;
  // Changes and descriptions of an incarnation are numbered: a description has seen the changes
  // with smaller numbers.
  std::uint64_t moment = 0;
  bool stopped = false;
  queue::PartitionInfo info;  // When the reply was made.
  // A read sets both, a trim `start`.
  queue::Offset start = 0;
  queue::Offset end = 0;
  std::uint64_t needs = 0;  // ReadCall::room has to be that much.
  std::vector<queue::WriteAnswer> answers;
  std::vector<queue::StoredEntry> entries;
  std::vector<queue::ConsumerOffset> consumers;  // By name.
  bool more = false;                             // There are more consumers.
  std::vector<MovedEnd> moved;
};

// As it is sent, from 1 on.
inline std::size_t kind_of(const PartitionCall& call) {
  return call.index() + 1;
}
// The bytes that it takes in a reply.
std::size_t encoded_size(const queue::StoredEntry& entry);

Slice encode(const PartitionRequest& request);
Result<PartitionRequest> decode_partition_request(const Slice& bytes);
Slice encode(const PartitionReply& reply);
Result<PartitionReply> decode_partition_reply(const Slice& bytes);

}  // namespace moraine
