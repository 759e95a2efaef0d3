#include "bench/http/redis_side.h"

#include <fmt/format.h>

#include "bench/http/bench_row.h"

namespace moraine::bench {
namespace {

constexpr std::string_view kSetAnswer = "+OK\r\n";
constexpr std::size_t kShownBytes = 100;

// All answers have the same size and begin.
Result<std::size_t> answer_size(std::string_view received, std::string_view begin,
                                std::size_t size) {
  if (received.size() >= begin.size() && !received.starts_with(begin)) {
    return fail(Errc::kCorrupt, std::string(received.substr(0, kShownBytes)));
  }
  return received.size() < size ? 0 : size;
}

}  // namespace

std::string redis_get(std::string_view key) {
  return fmt::format("*2\r\n$3\r\nGET\r\n${}\r\n{}\r\n", key.size(), key);
}

std::string redis_set(std::string_view key, std::string_view value) {
  return fmt::format("*3\r\n$3\r\nSET\r\n${}\r\n{}\r\n${}\r\n{}\r\n", key.size(), key, value.size(),
                     value);
}

Result<std::size_t> redis_get_answer_size(std::string_view received) {
  static const std::string begin = fmt::format("${}\r\n", kBenchValueBytes);
  return answer_size(received, begin, begin.size() + kBenchValueBytes + 2);
}

Result<std::size_t> redis_set_answer_size(std::string_view received) {
  return answer_size(received, kSetAnswer, kSetAnswer.size() * kRedisSetBatch);
}

}  // namespace moraine::bench
