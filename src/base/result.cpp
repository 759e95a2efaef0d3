#include "base/result.h"

namespace moraine {

std::string_view to_string(Errc code) {
  switch (code) {
    case Errc::kInvalidArgument: return "invalid argument";
    case Errc::kNotFound: return "not found";
    case Errc::kAlreadyExists: return "already exists";
    case Errc::kCorrupt: return "corrupt";
    case Errc::kIo: return "i/o error";
    case Errc::kNoSpace: return "no space";
    case Errc::kReadOnly: return "read-only";
    case Errc::kOverloaded: return "overloaded";
    case Errc::kTimeout: return "timeout";
    case Errc::kUnavailable: return "unavailable";
    case Errc::kUnsupported: return "not supported";
    case Errc::kConflict: return "conflict";
    case Errc::kAborted: return "aborted";
    case Errc::kUnknownOutcome: return "unknown outcome";
    case Errc::kNotHere: return "not here";
    case Errc::kNotEmpty: return "not empty";
    case Errc::kLockConflict: return "lock conflict";
    case Errc::kNoTransaction: return "no transaction";
  }
  return "unknown";
}

std::string Error::message() const {
  std::string text(to_string(code));
  if (!context.empty()) text.append(": ").append(context);
  return text;
}

Error Error::within(std::string_view prefix) && {
  std::string text(prefix);
  text.append(": ").append(context);
  return Error{code, std::move(text)};
}

}  // namespace moraine
