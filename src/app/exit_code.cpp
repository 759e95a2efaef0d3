#include "app/exit_code.h"

#include <fmt/format.h>

#include <cstdio>

namespace moraine::app {

ExitCode exit_code_of(Errc code) {
  switch (code) {
    case Errc::kInvalidArgument: return kExitUsage;
    case Errc::kNotFound:
    case Errc::kAlreadyExists:
    case Errc::kCorrupt:
    case Errc::kReadOnly:
    case Errc::kUnsupported:
    case Errc::kConflict: return kExitData;
    case Errc::kIo:
    case Errc::kNoSpace: return kExitIo;
    case Errc::kOverloaded: return kExitNegative;
    case Errc::kTimeout:
    case Errc::kUnavailable: return kExitUnreachable;
  }
  return kExitNegative;
}

int report(ExitCode code, std::string_view why) {
  fmt::print(stderr, "moraine: {}\n", why);
  return code;
}

int report(ExitCode code, const Error& error) {
  return report(code, error.message());
}

int report(const Error& error) {
  return report(exit_code_of(error.code), error);
}

}  // namespace moraine::app
