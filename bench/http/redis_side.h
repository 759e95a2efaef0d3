// redis-server as a child process that keeps everything in memory, and requests in its protocol.
//
// Threading  Plain blocking calls.
// Errors     kUnsupported: there is no redis-server on this machine.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "bench/redis_server.h"

namespace moraine::bench {

inline constexpr std::size_t kRedisSetBatch = 1'000;

// Rows are kBenchValueBytes long (bench_row.h).
std::string redis_get(std::string_view key);
std::string redis_set(std::string_view key, std::string_view value);

// Of a GET; kCorrupt: there is no such key.
Result<std::size_t> redis_get_answer_size(std::string_view received);
// Of kRedisSetBatch SETs.
Result<std::size_t> redis_set_answer_size(std::string_view received);

}  // namespace moraine::bench
