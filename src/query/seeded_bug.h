// Bugs on demand (base/seeded_bug.h) of queries: each makes key ranges too narrow, or a step wrong.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/seeded_bug.h"

namespace moraine::query {

enum class SeededBug : std::uint8_t {
  kNone = 0,
  kInclusiveBoundExcluded,  // a <= 5 ends before 5.
  kAlternativeDropped,      // Of three alternatives or more the last is left out.
  kNullNotLeast,            // Ranges that begin with the least value begin after null.
  kTupleByParts,            // (a, b) < (x, y) is taken as a < x and b < y.
  kRemainderWithoutNull,    // expression % n is never null.
  kInexactInverted,         // NOT LIKE reads what LIKE does not.
  kPrefixEndsEarly,         // Texts with a prefix end at the prefix itself.
  kOverlapOfOne,            // Where alternatives overlap, later columns are those of the first.
  kInexactTaken,            // Ranges that leave a condition out count as all of it.
  kQuotientSkipped,         // Of the quotients that a computed column has, some are passed over.
};
std::span<const SeededBug> all_seeded_bugs();
std::string_view to_string(SeededBug bug);

}  // namespace moraine::query
