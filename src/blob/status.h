// Statuses of disks and proxies, with the numbers that YDB uses.
#pragma once

#include <cstdint>
#include <string_view>

namespace moraine::blob {

enum class Status : std::uint8_t {
  kOk = 0,
  kError = 1,        // Invalid command, or not enough disks; the effect is unknown.
  kAlready = 2,      // The same command was carried out before.
  kRace = 4,         // The group's membership changed; handled inside the proxy.
  kNoData = 5,       // Provably absent.
  kBlocked = 6,      // The caller's generation is fenced: a newer incarnation exists.
  kNotReady = 7,     // The disk is still recovering.
  kDeadline = 12,    // Not answered in time; the effect is unknown.
  kCorrupted = 13,   // The part is stored, but its checksum does not match.
  kOutOfSpace = 15,  // Refused by the space colour.
  kNotYet = 20,      // This disk should have the part but has not replicated it yet.
  kNoGroup = 21,     // No such group, or this disk is not a member of it.
};

std::string_view to_string(Status status);  // "OK", "OUT_OF_SPACE", ...

// How full a disk is. Each colour includes the effects of those before it.
enum class Colour : std::uint8_t {
  kGreen,
  kCyan,
  kLightYellow,  // "move": tablets ask for another group.
  kYellow,       // "stop": tablets stop accepting user writes.
  kLightOrange,
  kPreOrange,  // Ordinary puts are refused.
  kOrange,
  kRed,  // Everything that writes is refused.
  kBlack,
};

std::string_view to_string(Colour colour);

}  // namespace moraine::blob
