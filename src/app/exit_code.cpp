#include "app/exit_code.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/json.h"

namespace moraine::app {
namespace {

bool as_json = false;

void print(std::string_view status, std::string_view reason, std::string_view line) {
  fmt::print(stderr, "moraine: {}\n", line);
  if (!as_json) return;
  Json json;
  json.object().field("status", status).field("reason", reason).end();
  fmt::print("{}\n", json.take());
}

// Where the context says everything, the code's name is left out.
std::string readable(const Error& error) {
  switch (error.code) {
    case Errc::kInvalidArgument:
    case Errc::kNotFound:
    case Errc::kAlreadyExists:
    case Errc::kReadOnly:
    case Errc::kUnsupported:
    case Errc::kConflict:
    case Errc::kAborted: return error.context.empty() ? error.message() : error.context;
    default: return error.message();
  }
}

}  // namespace

ExitCode exit_code_of(Errc code) {
  switch (code) {
    case Errc::kInvalidArgument: return kExitUsage;
    case Errc::kNotFound:
    case Errc::kAlreadyExists:
    case Errc::kCorrupt:
    case Errc::kReadOnly:
    case Errc::kUnsupported:
    case Errc::kNotEmpty:
    case Errc::kNoTransaction:
    case Errc::kConflict: return kExitData;
    case Errc::kLockConflict:
    case Errc::kAborted: return kExitNegative;
    case Errc::kIo:
    case Errc::kNoSpace: return kExitIo;
    case Errc::kOverloaded: return kExitNegative;
    case Errc::kTimeout:
    case Errc::kUnknownOutcome:
    case Errc::kNotHere:
    case Errc::kUnavailable: return kExitUnreachable;
  }
  return kExitNegative;
}

ExitCode exit_code_of(blob::Status status) {
  return status == blob::Status::kOutOfSpace ? kExitIo : kExitNegative;
}

void report_as_json() {
  as_json = true;
}

int report(ExitCode code, std::string_view why) {
  print("ERROR", why, why);
  return code;
}

int report(ExitCode code, const Error& error) {
  return report(code, readable(error));
}

int report(const Error& error) {
  return report(exit_code_of(error.code), error);
}

int report(blob::Status status, std::string_view reason) {
  const std::string_view name = to_string(status);
  print(name, reason, fmt::format("{}{}{}", name, reason.empty() ? "" : ": ", reason));
  return exit_code_of(status);
}

}  // namespace moraine::app
