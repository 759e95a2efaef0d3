#include "queue/keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace moraine::queue {
namespace {

constexpr std::size_t kPartitionDigits = 10;
constexpr std::size_t kOffsetDigits = 20;
constexpr std::size_t kCountDigits = 10;
constexpr std::size_t kTimeDigits = 20;
constexpr char kHeadMark = '|';

// Takes `digits` digits off the front of `text`.
template <class T>
std::optional<T> take_number(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, value);
  if (error != std::errc() || end != text.data() + digits) return std::nullopt;
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::string data_key(const DataKeyName& name) {
  return fmt::format("d{:010}_{:020}_{:010}_{:020}{}", name.partition, name.offset, name.count,
                     std::max<std::int64_t>(name.max_timestamp_ms, 0), name.head ? "|" : "");
}

std::optional<DataKeyName> parse_data_key(std::string_view key) {
  if (!take(key, 'd')) return std::nullopt;
  const auto partition = take_number<PartitionIndex>(key, kPartitionDigits);
  if (!partition || !take(key, '_')) return std::nullopt;
  const auto offset = take_number<Offset>(key, kOffsetDigits);
  if (!offset || !take(key, '_')) return std::nullopt;
  const auto count = take_number<std::uint32_t>(key, kCountDigits);
  if (!count || !take(key, '_')) return std::nullopt;
  const auto time = take_number<std::int64_t>(key, kTimeDigits);
  if (!time || *time < 0 || *count == 0) return std::nullopt;
  const bool head = take(key, kHeadMark);
  if (!key.empty()) return std::nullopt;
  return DataKeyName{*partition, *offset, *count, *time, head};
}

std::string part_key(PartitionIndex partition, std::uint32_t message, std::uint32_t part) {
  return fmt::format("{}{:010}", part_key_prefix(partition, message), part);
}

std::string part_key_prefix(PartitionIndex partition, std::uint32_t message) {
  return fmt::format("x{:010}_{:010}_", partition, message);
}

std::string meta_key(PartitionIndex partition) {
  return fmt::format("i{:010}", partition);
}

std::string source_key(PartitionIndex partition, std::string_view source_id) {
  return fmt::format("s{:010}_{}", partition, source_id);
}

std::string consumer_key(PartitionIndex partition, std::string_view consumer) {
  return fmt::format("c{:010}_{}", partition, consumer);
}

std::string key_prefix(char kind, PartitionIndex partition) {
  return fmt::format("{}{:010}_", kind, partition);
}

}  // namespace moraine::queue
