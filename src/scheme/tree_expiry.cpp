#include "scheme/tree_expiry.h"

#include <algorithm>

#include "yson/yson.h"

namespace moraine {
namespace {

constexpr std::uint64_t kSlackMsMin = 1'000;
constexpr std::uint64_t kSlackMsMax = 60'000;
constexpr std::uint64_t kSlackPart = 10;

std::optional<std::uint64_t> number(const PathNode& node, std::string_view name) {
  const auto found = node.system.find(name);
  if (found == node.system.end()) return std::nullopt;
  const auto value = parse_yson(found->second.text());
  const auto* ms = value ? value->as<std::int64_t>() : nullptr;
  if (ms == nullptr || *ms < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*ms);
}

}  // namespace

std::uint64_t access_slack_ms(std::uint64_t timeout_ms) {
  return std::clamp(timeout_ms / kSlackPart, kSlackMsMin, kSlackMsMax);
}

std::uint64_t expiration_timeout_of(const PathNode& node) {
  return number(node, kExpirationTimeout).value_or(0);
}

std::optional<std::uint64_t> expires_at(const PathNode& node, std::uint64_t accessed_ms) {
  std::optional<std::uint64_t> at = number(node, kExpirationTime);
  if (const auto timeout = number(node, kExpirationTimeout)) {
    const std::uint64_t used =
        std::max({accessed_ms, node.touched_ms, node.modified_ms, node.created_ms});
    at = std::min(at.value_or(UINT64_MAX), used + *timeout);
  }
  return at;
}

}  // namespace moraine
