// Failures: which disks failed in one command, for the reason in its result.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "blob/group/geometry.h"
#include "blob/status.h"

namespace moraine::blob {

inline constexpr std::uint32_t kFailuresKept = 8;

// The reason of a command that ends with the status of one disk: "disk 3: reason".
std::string disk_reason(std::uint32_t order, std::string_view reason);

class Failures {
 public:
  void add(std::uint32_t order, Status status, std::string_view reason);
  // kNoGroup when every failure was that, otherwise kError.
  Status status() const {
    return count_ > 0 && count_ == no_group_ ? Status::kNoGroup : Status::kError;
  }
  // "what: disk 3 ERROR (lost), disk 5 NOTREADY".
  std::string reason(std::string_view what) const;

 private:
  std::string text_;
  std::uint32_t count_ = 0;
  std::uint32_t no_group_ = 0;
};

}  // namespace moraine::blob
