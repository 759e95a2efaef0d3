// Sources: the producers of a partition and their newest numbers, so that a message sent twice is
// stored once.
//
// Promise    judge() decides from what is durable and what the same batch has accepted before.
// Invariants A source's state changes only by accept(); a failed batch changes nothing.
// Threading  The executor of the tablet.
// Limits     kSequenceWindow batches of a Kafka producer are remembered with their offsets; of a
//            source with SeqNos, the newest number.
//
// clang-format off
//   source   version u8 = 1, numbering u8, max number u64, offset u64, written u64 (ms), epoch i32,
//            count u8, count * (first u32, last u32, offset u64), crc u32 (of all before it)
// clang-format on
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "queue/partition.h"

namespace moraine::queue {

inline constexpr std::size_t kSequenceWindow = 5;
// A Kafka producer takes a new id when it restarts: an id that is idle for so long is dead.
inline constexpr std::uint64_t kSequenceLifetimeMs = 24ull * 3600 * 1000;
// How many evicted sources are remembered as evicted, in memory only.
inline constexpr std::size_t kForgottenSourcesMax = 16'384;
inline constexpr std::uint32_t kSequenceEnd = 0x80000000u;  // Sequences are below.

struct SentBatch {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  Offset offset = 0;
  bool operator==(const SentBatch&) const = default;
};

struct Source {
  Numbering numbering = Numbering::kSeqNo;
  std::uint64_t max_number = 0;  // The newest.
  Offset offset = 0;             // Where that is.
  std::uint64_t written_ms = 0;
  std::int32_t epoch = 0;
  std::deque<SentBatch> window;  // kSequence: the newest ones, oldest first.
  bool operator==(const Source&) const = default;
};

Slice encode_source(const Source& source);
Result<Source> decode_source(ByteSpan bytes);

struct Judgement {
  WriteStatus status = WriteStatus::kOk;
  std::optional<Offset> offset;  // Of a duplicate, if it is remembered.
  std::string detail;
};

// Whether an entry is to be stored. `known`: null when its source is unknown.
Judgement judge(const Source* known, const Producer& producer, std::uint32_t count);
// The state of the source after the entry was stored at `offset`.
Source after(const Source* known, const Producer& producer, std::uint32_t count, Offset offset,
             std::uint64_t now_ms);

class Sources {
 public:
  const Source* find(const std::string& id) const;
  void set(const std::string& id, Source source);
  void erase(const std::string& id);
  // Evicts a source because there are too many.
  void forget_by_count(const std::string& id);
  // Whether the source was lately evicted by count. The call takes it off the list.
  bool take_forgotten(const std::string& id);
  std::size_t size() const { return sources_.size(); }

  // Ids that may be dropped, those with the lowest offsets first, at most `most`. More than
  // PartitionConfig::sources_max or `allowed` are too many.
  struct Stale {
    std::string id;
    bool by_count = false;  // Evicted by count; it was neither idle nor without messages.
  };
  std::vector<Stale> stale(Offset start, std::uint64_t now_ms, const PartitionConfig& config,
                           std::size_t most,
                           std::uint64_t allowed = std::numeric_limits<std::uint64_t>::max()) const;

 private:
  std::map<std::string, Source> sources_;
  using ByOffset = std::set<std::pair<Offset, std::string>>;

  static bool idle(const Source& source, std::uint64_t now_ms, const PartitionConfig& config);

  ByOffset by_offset_;
  ByOffset sequences_;  // Those of kSequence: they expire sooner.
  // Hashes of ids evicted by count.
  std::unordered_set<std::size_t> forgotten_;
  std::deque<std::size_t> forgotten_order_;  // Oldest first; some may be taken already.
};

}  // namespace moraine::queue
