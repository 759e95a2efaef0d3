#include "query/seeded_bug.h"

#include <array>

namespace moraine::query {

std::span<const SeededBug> all_seeded_bugs() {
  using enum SeededBug;
  static constexpr std::array kAll = {
      kInclusiveBoundExcluded, kAlternativeDropped, kNullNotLeast,    kTupleByParts,
      kRemainderWithoutNull,   kInexactInverted,    kPrefixEndsEarly, kOverlapOfOne,
      kInexactTaken,           kQuotientSkipped};
  return kAll;
}

std::string_view to_string(SeededBug bug) {
  switch (bug) {
    case SeededBug::kNone: return "none";
    case SeededBug::kInclusiveBoundExcluded: return "inclusive-bound-excluded";
    case SeededBug::kAlternativeDropped: return "alternative-dropped";
    case SeededBug::kNullNotLeast: return "null-not-least";
    case SeededBug::kTupleByParts: return "tuple-by-parts";
    case SeededBug::kRemainderWithoutNull: return "remainder-without-null";
    case SeededBug::kInexactInverted: return "inexact-inverted";
    case SeededBug::kPrefixEndsEarly: return "prefix-ends-early";
    case SeededBug::kOverlapOfOne: return "overlap-of-one";
    case SeededBug::kInexactTaken: return "inexact-taken";
    case SeededBug::kQuotientSkipped: return "quotient-skipped";
  }
  return "unknown";
}

}  // namespace moraine::query
