#include "blob/proxy/failures.h"

#include <fmt/format.h>

namespace moraine::blob {

std::string disk_reason(std::uint32_t order, std::string_view reason) {
  return fmt::format("disk {}{}{}", order, reason.empty() ? "" : ": ", reason);
}

void Failures::add(std::uint32_t order, Status status, std::string_view reason) {
  if (status == Status::kNoGroup) ++no_group_;
  if (count_++ >= kFailuresKept) return;
  if (!text_.empty()) text_ += ", ";
  text_ += fmt::format("disk {} {}", order, to_string(status));
  if (!reason.empty()) text_ += fmt::format(" ({})", reason);
}

std::string Failures::reason(std::string_view what) const {
  std::string text(what);
  if (count_ == 0) return text;
  text += ": ";
  text += text_;
  if (count_ > kFailuresKept) text += fmt::format(" and {} more", count_ - kFailuresKept);
  return text;
}

}  // namespace moraine::blob
