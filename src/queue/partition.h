// Partition: one ordered, durable sequence of messages; the interface for its users.
//
// Promise    Offsets are dense. A write succeeds when it is durable; writes complete in the order
//            of the calls of write(). A read sees only durable writes, and the same offset always
//            returns the same bytes. When a write fails, everything queued behind it fails too.
// Threading  The executor of the tablet, or the lane that the object was made for
//            (client/lane_partition.h, client/remote_partition.h); read_cached(), committed(),
//            all_committed(), committed_after(), info() and stopped() on any thread.
// Limits     kPayloadBytesMax a write, kEntryBytesMax a message in parts, kSourceIdBytesMax;
//            kInFlightBytesMax and kInFlightWritesMax waiting.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "io/executor.h"
#include "io/sync.h"
#include "io/task.h"

namespace moraine::queue {

using Offset = std::uint64_t;
using PartitionIndex = std::uint32_t;

inline constexpr std::size_t kPayloadBytesMax = std::size_t{24} << 20;  // Of one write.
inline constexpr std::size_t kEntryBytesMax = std::size_t{64} << 20;    // Of all parts.
inline constexpr std::size_t kSourceIdBytesMax = 2'048;
inline constexpr std::size_t kConsumerNameBytesMax = 255;
inline constexpr std::size_t kConsumerMetadataBytesMax = 4'096;
inline constexpr std::size_t kInFlightBytesMax = std::size_t{128} << 20;
inline constexpr std::size_t kInFlightWritesMax = 65'536;

// The format of an entry's payload. An entry is the unit of writing and takes one offset for each
// of its messages.
enum class EntryFormat : std::uint8_t {
  kMessage = 0,  // One message, as it is.
  // A record batch; its first 8 bytes receive the offset, its bytes 12-15 a 0. Bytes 17-20 are
  // the checksum of the bytes after them.
  kKafkaBatch = 1,
};

enum class Numbering : std::uint8_t {
  kNone,  // Never a duplicate.
  // 64 bits, increasing, with gaps, one for an entry; a number that is not greater is a duplicate.
  kSeqNo,
  kSequence,  // 31 bits, dense, wrapping to 0, within an epoch: an idempotent Kafka producer.
};

struct Producer {
  std::string source_id;
  Numbering numbering = Numbering::kNone;
  std::uint64_t number = 0;  // Of the entry's first message.
  std::int32_t epoch = 0;    // kSequence only.
};

struct WriteRequest {
  Slice payload;
  EntryFormat format = EntryFormat::kMessage;
  std::uint32_t count = 1;            // Messages in it.
  std::int64_t max_timestamp_ms = 0;  // The newest client timestamp in it; searched by find_time().
  // kKafkaBatch: the batch's checksum was compared with its bytes, and may be relied on.
  bool checksum_verified = false;
  Producer producer;
  // A message too long for one request is sent in parts, in order, each with the same producer and
  // number. The message gets its offset with the last part; earlier parts are answered when
  // durable.
  std::uint32_t part = 0;
  std::uint32_t parts = 1;
};

enum class WriteStatus : std::uint8_t {
  kOk,
  // Not stored. kSequence: it was stored before. kSeqNo: `max_number`, which is not less, was; then
  // also this one if the source sends its numbers in order. `offset` is where, if it is remembered.
  kDuplicate,
  kOutOfOrder,   // kSequence: a gap, or an overlap that is no exact duplicate.
  kStaleEpoch,   // kSequence: a newer epoch has written.
  kInvalid,      // `detail` says what is wrong.
  kOverloaded,   // Too much is waiting.
  kFullByCount,  // The limits of the partition's config.
  kFullByBytes,
  kDiskFull,
  // A write queued before this one failed, or an earlier number of its source was refused and has
  // not been sent again; nothing of this write was stored.
  kFailedBefore,
  // The source was evicted, since more than PartitionConfig::sources_max have written: whether this
  // number was stored before is not known. If it is sent again, it is stored.
  kSourceForgotten,
  kUnknown,  // The outcome will be known after the tablet's restart.
  kStopped,  // Not served here now; nothing was stored.
};
std::string_view to_string(WriteStatus status);

struct WriteAnswer {
  WriteStatus status = WriteStatus::kOk;
  std::optional<Offset> offset;     // Of the first message.
  std::uint64_t max_number = 0;     // kSeqNo: the newest number of the source.
  std::uint64_t write_time_ms = 0;  // Given by the server.
  std::string detail;               // When it failed: a text for logs and messages.
  bool disk_full = false;           // It failed for lack of space; the status says how far it got.
};

struct StoredEntry {
  Offset offset = 0;
  std::uint32_t count = 1;
  EntryFormat format = EntryFormat::kMessage;
  std::int64_t max_timestamp_ms = 0;
  std::uint64_t write_time_ms = 0;
  std::string source_id;
  std::uint64_t number = 0;
  bool checksum_verified = false;  // As in WriteRequest; of entries that are being written only.
  Slice payload;                   // Payloads of neighbours in one blob are adjacent in memory.
};

struct ReadRequest {
  Offset offset = 0;  // Below the start: from the start on.
  std::size_t bytes_max = 0;
  std::size_t entries_max = 100'000;
};
struct ReadAnswer {
  // From the entry that contains the offset on; at least one when there is any, whatever its size.
  std::vector<StoredEntry> entries;
  Offset start = 0;
  Offset end = 0;
};

struct ConsumerOffset {
  std::string consumer;
  Offset offset = 0;
  std::string metadata;
  std::int32_t leader_epoch = -1;
  std::uint64_t committed_ms = 0;
};

struct PartitionConfig {
  std::optional<std::uint64_t> retention_ms;     // Older messages are removed.
  std::optional<std::uint64_t> retention_bytes;  // The oldest are removed while more remains.
  std::uint64_t count_max = 1'000'000'000'000;   // Past these, writes are refused.
  std::uint64_t bytes_max = std::uint64_t{1} << 40;
  std::uint64_t write_bytes_per_second = 0;  // 0: no quota.
  std::uint64_t source_lifetime_ms = 16ull * 24 * 3600 * 1000;
  std::uint64_t sources_max = 6'000'000;
  std::uint64_t low_watermark = 6u << 20;        // A head of this size becomes a body blob.
  std::vector<std::string> important_consumers;  // Nothing that one has not read is removed.
};

struct PartitionInfo {
  Offset start = 0;
  Offset end = 0;
  std::uint64_t bytes = 0;
  std::uint64_t head_blobs = 0;
  std::uint64_t body_blobs = 0;
  std::uint64_t sources = 0;
  // Since the start of this incarnation.
  std::uint64_t written_messages = 0;
  std::uint64_t written_bytes = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t read_messages = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t compactions = 0;
  std::uint64_t rewritten_bytes = 0;
  std::uint64_t removed_messages = 0;  // By retention and trim().
  std::uint64_t removed_bytes = 0;
};

class Partition {
 public:
  virtual ~Partition() = default;

  // Queues the write at once: the order of calls is the order of offsets.
  virtual std::shared_ptr<OneShot<WriteAnswer>> write(WriteRequest request) = 0;

  // kInvalidArgument: an offset past the end. kCorrupt: the entry at the offset is damaged, and a
  // retry does not help; the context says where reading can continue. At the end: no entries. A
  // payload may keep a whole piece in memory (Slice::held_bytes()): callers that keep it for long
  // count or release that (base/held_bytes.h).
  virtual Task<Result<ReadAnswer>> read(ReadRequest request) = 0;
  // What read() would return, if all of it is in memory: a plain call without a hop to the
  // partition's lane. nullopt: read() has to be called.
  virtual std::optional<ReadAnswer> read_cached(const ReadRequest& /*request*/) {
    return std::nullopt;
  }
  // Starts to load what a read from `offset` will need into the cache.
  virtual void read_ahead(Offset /*offset*/, std::size_t /*bytes*/) {}
  // The first entry whose max_timestamp_ms is at least `time_ms`; nullopt: there is none.
  virtual Task<Result<std::optional<StoredEntry>>> find_time(std::int64_t time_ms) = 0;
  // The same from the entry that holds `from` on.
  virtual Task<Result<std::optional<StoredEntry>>> find_time_from(Offset from,
                                                                  std::int64_t time_ms);
  // The entry with the greatest max_timestamp_ms.
  virtual Task<Result<std::optional<StoredEntry>>> find_newest() = 0;

  // Sets how far a consumer has read; backwards and past the end are allowed.
  virtual Task<Result<void>> commit(ConsumerOffset offset) = 0;
  virtual std::optional<ConsumerOffset> committed(const std::string& consumer) const = 0;
  virtual std::vector<ConsumerOffset> all_committed() const = 0;
  // The first `limit` consumers whose names are greater, by name.
  virtual std::vector<ConsumerOffset> committed_after(const std::string& name,
                                                      std::size_t limit) const;
  virtual Task<Result<void>> forget_consumer(std::string consumer) = 0;

  // Hides everything before `offset` from readers at once; returns the new start.
  // kInvalidArgument: past the end.
  virtual Task<Result<Offset>> trim(Offset offset) = 0;

  virtual PartitionInfo info() const = 0;
  // What committed(), all_committed() and info() return next is not older than this call. A
  // partition of this node needs no such call. The other two refresh info() only, and what
  // committed() returns for one consumer.
  virtual Task<Result<void>> refresh();
  virtual Task<Result<void>> refresh_info();
  virtual Task<Result<void>> refresh_committed(std::string consumer);
  virtual void configure(PartitionConfig config) = 0;

  // Calls `moved` whenever the end has moved, and when the partition stops.
  virtual std::uint64_t watch(Callback moved) = 0;
  virtual void unwatch(std::uint64_t watch) = 0;
  virtual bool stopped() const = 0;
};

}  // namespace moraine::queue
