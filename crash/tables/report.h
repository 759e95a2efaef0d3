// Reports of the program under test, one line for each event.
//
// clang-format off
//   line    = "ready"                               tables are served
//           | "pending" id start change*            before a commit
//           | "committed" id timestamp              its answers
//           | "aborted" id
//           | "unknown" id reason
//           | "upkeep" what                         a flush, a reshard, ... is done
//           | "violation" what                      the program found a contradiction
//           | "stopped"                             the last line of a clean end
//   change  = table ":" shard ":" key ":" kind ":" argument
//   kind    = "p" put, argument: extra columns of the schema | "d" delete | "n" delta, argument: of
//           the sum
// clang-format on
//
// Promise    Pure. A line is at most kReportBytesMax, which a pipe writes atomically.
// Errors     kInvalidArgument: not a report line.
// Tests      report_test.cpp.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "table/model/timestamp.h"

namespace moraine::crash {

inline constexpr std::size_t kReportBytesMax = 4'096;  // PIPE_BUF of Linux.
inline constexpr std::size_t kReportChangesMax = 60;

struct RowName {
  std::uint32_t table = 0;
  std::int64_t shard = 0;
  std::int64_t key = 0;
  auto operator<=>(const RowName&) const = default;
};
std::string to_string(const RowName& row);

enum class RowChangeKind : char { kPut = 'p', kDelete = 'd', kDelta = 'n' };

struct RowChangeReport {
  RowName row;
  RowChangeKind kind = RowChangeKind::kPut;
  std::int64_t argument = 0;
  bool operator==(const RowChangeReport&) const = default;
};

struct TransactionReport {
  std::uint64_t id = 0;
  Timestamp start = 0;
  std::vector<RowChangeReport> changes;  // Each row once.
  bool operator==(const TransactionReport&) const = default;
};

struct Report {
  enum class Kind : std::uint8_t {
    kReady,
    kPending,
    kCommitted,
    kAborted,
    kUnknown,
    kUpkeep,
    kViolation,
    kStopped
  };
  Kind kind = Kind::kReady;
  TransactionReport transaction;  // Only its id, except for kPending.
  Timestamp commit = 0;
  std::string text;
};

std::string to_line(const TransactionReport& transaction);  // kPending, without a newline.
Result<Report> parse_report(std::string_view line);

}  // namespace moraine::crash
