#include "blob/status.h"

namespace moraine::blob {

std::string_view to_string(Status status) {
  switch (status) {
    case Status::kOk: return "OK";
    case Status::kError: return "ERROR";
    case Status::kAlready: return "ALREADY";
    case Status::kRace: return "RACE";
    case Status::kNoData: return "NODATA";
    case Status::kBlocked: return "BLOCKED";
    case Status::kNotReady: return "NOTREADY";
    case Status::kDeadline: return "DEADLINE";
    case Status::kCorrupted: return "CORRUPTED";
    case Status::kOutOfSpace: return "OUT_OF_SPACE";
    case Status::kNotYet: return "NOT_YET";
    case Status::kNoGroup: return "NO_GROUP";
  }
  return "UNKNOWN";
}

std::string_view to_string(Colour colour) {
  switch (colour) {
    case Colour::kGreen: return "green";
    case Colour::kCyan: return "cyan";
    case Colour::kLightYellow: return "light-yellow";
    case Colour::kYellow: return "yellow";
    case Colour::kLightOrange: return "light-orange";
    case Colour::kPreOrange: return "pre-orange";
    case Colour::kOrange: return "orange";
    case Colour::kRed: return "red";
    case Colour::kBlack: return "black";
  }
  return "unknown";
}

}  // namespace moraine::blob
