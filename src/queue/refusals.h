// Refusals: the writes that a partition has refused. Nothing newer of the same source is stored
// before a refused number is sent again: otherwise the retry would be taken for a duplicate.
//
// Promise    After refused(), admit() rejects newer numbers of the source until the refused number
//            is sent again, and likewise for every number that is refused meanwhile. A writer that
//            pipelines in one stream (requests and answers in order), and always sends the lowest
//            unsent number next, loses nothing. A new epoch of a Kafka producer starts from a clean
//            state. Refusals expire after RefusalRules::memory without another one: a writer that
//            abandoned a number can then continue.
//            An unknown Kafka producer has to begin with sequence 0 for
//            RefusalRules::unknown_producer_grace after the partition's start and after refusals:
//            earlier batches may be sent again. After nothing_refused_before() this holds after
//            refusals only.
// Invariants When not all refusals of a source are remembered, everything of it is refused until a
//            number is sent for the second time: by then the lower ones have been sent, too.
// Threading  The executor of the tablet.
// Limits     RefusalRules::sources_max, RefusalRules::numbers_max.
// Tests      refusals_test.cpp, partition_refusal_test.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "io/executor.h"
#include "queue/partition.h"
#include "queue/sources.h"

namespace moraine::queue {

inline constexpr std::size_t kRefusedSourcesMax = 16'384;
inline constexpr std::size_t kRefusedNumbersMax = 65'536;  // Of all sources.
// Longer than any client waits before it retries.
inline constexpr Duration kRefusalMemory = 120s;
inline constexpr Duration kUnknownProducerGrace = 10s;

struct RefusalRules {
  std::size_t sources_max = kRefusedSourcesMax;
  std::size_t numbers_max = kRefusedNumbersMax;
  Duration memory = kRefusalMemory;
  Duration unknown_producer_grace = kUnknownProducerGrace;
};

class Refusals {
 public:
  Refusals(RefusalRules rules, Instant now)
      : rules_(rules), unknown_producers_until_(now + rules.unknown_producer_grace) {}

  // No earlier incarnation of the partition has refused anything.
  void nothing_refused_before() { unknown_producers_until_ = {}; }

  // Whether a new write may be queued; false: it is refused. `begins`: it is a whole message, or
  // the first part of one.
  bool admit(const Producer& producer, bool begins, Instant now);
  // An admitted write was not stored. `known`: its source has stored messages.
  void refused(const Producer& producer, bool known, Instant now);
  // Whether an unknown producer may begin with this number; false: it is refused.
  bool begins(const Producer& producer, Instant now);
  // Whether a gap in a producer's sequences may be a refusal that is not remembered.
  bool may_have_refused(Instant now) const { return now < sequences_lost_until_; }
  // All numbers of the source up to its newest are stored, or will not be sent any more.
  void stored(const std::string& source_id, const Source& source);

  // Drops expired refusals.
  void sweep(Instant now);
  std::size_t size() const { return sources_.size(); }

 private:
  struct Refused {
    Numbering numbering = Numbering::kSeqNo;
    std::int32_t epoch = 0;
    Instant until;
    // Some refused numbers may not be in `numbers`.
    bool incomplete = false;
    std::optional<std::uint64_t> beyond;  // Likewise, but only from this number on.
    std::uint64_t base = 0;               // kSequence: numbers are counted from here.
    std::set<std::uint64_t> numbers;      // Refused, and not sent again yet.

    std::uint64_t place(std::uint64_t number) const;
  };
  using Records = std::map<std::string, Refused>;

  void remember(const Producer& producer, Instant now, bool incomplete);
  void note(Refused& record, std::uint64_t place);
  // The lowest number was sent again.
  void take_lowest(Records::iterator record);
  void forget(Records::iterator record);

  const RefusalRules rules_;
  Records sources_;
  std::size_t numbers_ = 0;       // In all records.
  Instant seq_nos_lost_until_;    // Some SeqNos are not remembered.
  Instant sequences_lost_until_;  // Some sequences are not.
  Instant unknown_producers_until_;
};

}  // namespace moraine::queue
