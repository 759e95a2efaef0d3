#include "client/yson_fields.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

namespace moraine::client {
namespace {

using Milliseconds = std::chrono::milliseconds;

struct Unit {
  std::string_view name;
  std::int64_t ms;
};
constexpr Unit kUnits[] = {{"ms", 1},        {"s", 1'000},      {"m", 60'000},
                           {"h", 3'600'000}, {"d", 86'400'000}, {"w", 604'800'000}};
constexpr std::int64_t kMillisecondsMax = std::numeric_limits<std::int64_t>::max();

std::optional<Milliseconds> parse_duration(std::string_view text) {
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || count < 0) return std::nullopt;
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (unit.empty()) return Milliseconds(count);
  for (const Unit& known : kUnits) {
    if (known.name != unit) continue;
    if (count > kMillisecondsMax / known.ms) return std::nullopt;
    return Milliseconds(count * known.ms);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> integer_of(const YsonNode& node) {
  if (const auto* number = node.as<std::int64_t>()) return *number;
  const auto* number = node.as<std::uint64_t>();
  if (number == nullptr || *number > static_cast<std::uint64_t>(kMillisecondsMax)) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(*number);
}

std::optional<Milliseconds> duration_of(const YsonNode& node) {
  if (const auto* text = node.as<std::string>()) return parse_duration(*text);
  const auto count = integer_of(node);
  if (!count || *count < 0) return std::nullopt;
  return Milliseconds(*count);
}

std::optional<bool> flag_of(const YsonNode& node) {
  if (const auto* flag = node.as<bool>()) return *flag;
  const auto* text = node.as<std::string>();
  if (text == nullptr || (*text != "true" && *text != "false")) return std::nullopt;
  return *text == "true";
}

std::unexpected<Error> YsonFields::wrong(std::string_view name, std::string_view expected) const {
  return fail(Errc::kInvalidArgument, fmt::format("{}: \"{}\" is not {}", what_, name, expected));
}

Result<std::optional<std::string>> YsonFields::text(std::string_view name) const {
  const YsonNode* found = find(name);
  if (found == nullptr) return std::optional<std::string>();
  if (const auto* text = found->as<std::string>()) return std::optional(*text);
  return wrong(name, "a string");
}

Result<std::optional<std::int64_t>> YsonFields::number(std::string_view name) const {
  const YsonNode* found = find(name);
  if (found == nullptr) return std::optional<std::int64_t>();
  if (const auto number = integer_of(*found)) return number;
  return wrong(name, "an integer");
}

Result<std::optional<bool>> YsonFields::flag(std::string_view name) const {
  const YsonNode* found = find(name);
  if (found == nullptr) return std::optional<bool>();
  if (const auto flag = flag_of(*found)) return flag;
  return wrong(name, "a boolean");
}

Result<std::optional<Milliseconds>> YsonFields::milliseconds(std::string_view name) const {
  const YsonNode* found = find(name);
  if (found == nullptr) return std::optional<Milliseconds>();
  if (const auto duration = duration_of(*found)) return duration;
  return wrong(name, "a duration");
}

}  // namespace moraine::client
