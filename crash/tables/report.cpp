#include "crash/tables/report.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

namespace moraine::crash {
namespace {

// Takes the part before `separator`, or the rest.
std::string_view take(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

template <class T>
bool parse(std::string_view text, T& out) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, out);
  return error == std::errc() && stop == end;
}

std::optional<RowChangeReport> parse_change(std::string_view text) {
  RowChangeReport change;
  if (!parse(take(text, ':'), change.row.table)) return std::nullopt;
  if (!parse(take(text, ':'), change.row.shard)) return std::nullopt;
  if (!parse(take(text, ':'), change.row.key)) return std::nullopt;
  const std::string_view kind = take(text, ':');
  if (kind != "p" && kind != "d" && kind != "n") return std::nullopt;
  change.kind = static_cast<RowChangeKind>(kind.front());
  if (!parse(text, change.argument)) return std::nullopt;
  return change;
}

std::optional<Report::Kind> parse_kind(std::string_view word) {
  using Kind = Report::Kind;
  if (word == "ready") return Kind::kReady;
  if (word == "pending") return Kind::kPending;
  if (word == "committed") return Kind::kCommitted;
  if (word == "aborted") return Kind::kAborted;
  if (word == "unknown") return Kind::kUnknown;
  if (word == "upkeep") return Kind::kUpkeep;
  if (word == "violation") return Kind::kViolation;
  if (word == "stopped") return Kind::kStopped;
  return std::nullopt;
}

bool parse_pending(std::string_view rest, TransactionReport& transaction) {
  if (!parse(take(rest, ' '), transaction.start)) return false;
  while (!rest.empty()) {
    const auto change = parse_change(take(rest, ' '));
    if (!change) return false;
    transaction.changes.push_back(*change);
  }
  return true;
}

bool parse_rest(std::string_view rest, Report& report) {
  switch (report.kind) {
    case Report::Kind::kReady:
    case Report::Kind::kStopped: return rest.empty();
    case Report::Kind::kUpkeep:
    case Report::Kind::kViolation: report.text = rest; return true;
    default: break;
  }
  if (!parse(take(rest, ' '), report.transaction.id)) return false;
  if (report.kind == Report::Kind::kPending) return parse_pending(rest, report.transaction);
  if (report.kind == Report::Kind::kCommitted) return parse(rest, report.commit);
  report.text = rest;
  return true;
}

}  // namespace

std::string to_string(const RowName& row) {
  return fmt::format("{}:{}:{}", row.table, row.shard, row.key);
}

std::string to_line(const TransactionReport& transaction) {
  std::string line = fmt::format("pending {} {}", transaction.id, transaction.start);
  for (const RowChangeReport& change : transaction.changes) {
    line += fmt::format(" {}:{}:{}", to_string(change.row), static_cast<char>(change.kind),
                        change.argument);
  }
  return line;
}

Result<Report> parse_report(std::string_view line) {
  std::string_view rest = line;
  const auto kind = parse_kind(take(rest, ' '));
  Report report;
  if (kind) report.kind = *kind;
  if (!kind || !parse_rest(rest, report)) {
    return fail(Errc::kInvalidArgument, fmt::format("not a report: {}", line.substr(0, 200)));
  }
  return report;
}

}  // namespace moraine::crash
