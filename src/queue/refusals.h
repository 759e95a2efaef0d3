// Refusals: what a partition remembers of the writes that it refused, so that nothing newer of the
// same source is stored before a refused number has come again: it would be called a duplicate.
//
// Promise    After refused(), admit() lets nothing newer of the source pass until the number has
//            come again, and so for every number that is refused meanwhile. A writer that sends on
//            without waiting, in one stream (requests and answers in order), and always the lowest
//            number that is to be sent, loses nothing. A new epoch of a Kafka producer begins anew.
//            Without another refusal all of this is forgotten after RefusalRules::memory: a writer
//            that abandoned a number may then continue.
//            A Kafka producer that is not known has to begin with sequence 0 for a while after the
//            partition's start and after refusals: what was sent before may be sent again. With
//            nothing_before() that holds after refusals only.
// Invariants Of a source whose refusals are not all remembered, everything is refused until a
//            number comes for the second time: by then the lower ones have come, too.
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
// Longer than any client waits before it tries again.
inline constexpr Duration kRefusalMemory = 120s;
inline constexpr Duration kBeginnersTime = 10s;

struct RefusalRules {
  std::size_t sources_max = kRefusedSourcesMax;
  std::size_t numbers_max = kRefusedNumbersMax;
  Duration memory = kRefusalMemory;
  Duration beginners = kBeginnersTime;
};

class Refusals {
 public:
  Refusals(RefusalRules rules, Instant now)
      : rules_(rules), beginners_until_(now + rules.beginners) {}

  // No earlier incarnation of the partition has refused anything.
  void nothing_before() { beginners_until_ = {}; }

  // Whether a write that has come may be queued; false: it is refused. `begins`: it is whole, or
  // the first part of its message.
  bool admit(const Producer& producer, bool begins, Instant now);
  // A write that had been admitted was not stored. `known`: something of its source is.
  void refused(const Producer& producer, bool known, Instant now);
  // Whether a producer of which nothing is stored may begin with this; false: it is refused.
  bool begins(const Producer& producer, Instant now);
  // Whether a gap in a producer's sequences may be a refusal that is not remembered.
  bool may_have_refused(Instant now) const { return now < sequences_lost_until_; }
  // All numbers of the source up to its newest have their place, or are not wanted any more.
  void stored(const std::string& source_id, const Source& source);

  // Forgets what is too old.
  void sweep(Instant now);
  std::size_t size() const { return sources_.size(); }

 private:
  struct Refused {
    Numbering numbering = Numbering::kSeqNo;
    std::int32_t epoch = 0;
    Instant until;
    // Some that were refused may not be in `numbers`.
    bool incomplete = false;
    std::optional<std::uint64_t> beyond;  // Likewise for numbers from here on.
    std::uint64_t base = 0;               // kSequence: numbers are counted from here.
    std::set<std::uint64_t> numbers;      // Refused, and not come again.

    std::uint64_t place(std::uint64_t number) const;
  };
  using Records = std::map<std::string, Refused>;

  void remember(const Producer& producer, Instant now, bool incomplete);
  void note(Refused& record, std::uint64_t place);
  // The lowest number has come again.
  void take_lowest(Records::iterator record);
  void forget(Records::iterator record);

  const RefusalRules rules_;
  Records sources_;
  std::size_t numbers_ = 0;       // In all records.
  Instant crowded_until_;         // Some SeqNos are not remembered.
  Instant sequences_lost_until_;  // Some sequences are not.
  Instant beginners_until_;
};

}  // namespace moraine::queue
