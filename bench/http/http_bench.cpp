#include "bench/http/http_bench.h"

#include <fmt/format.h>

#include <functional>
#include <optional>

#include "bench/http/bench_row.h"
#include "bench/http/http_side.h"
#include "bench/http/load_client.h"
#include "bench/http/postgres_side.h"
#include "bench/http/redis_side.h"
#include "bench/tables/contest.h"

namespace moraine::bench {
namespace {

constexpr std::size_t kReaders = 64;
constexpr std::size_t kWriters = 64;
constexpr std::size_t kFewWriters = 4;
constexpr std::uint64_t kKeysPerBatch = 32;
constexpr std::uint64_t kRowsPerInsert = 1'000;
constexpr std::uint64_t kRowsFull = 1'000'000;
constexpr std::uint64_t kRowsQuick = 200'000;
constexpr std::size_t kRequests = 20'000;  // Recorded ones of a round of lookups.
constexpr double kGoalRate = 0.7;
constexpr double kGoalBatch = 3;
constexpr double kGoalInsert = 2;
constexpr double kP99 = 0.99;

constexpr std::string_view kLookupParameters =
    R"({path="//bench";input_format=json;output_format=json})";
constexpr std::string_view kInsertParameters = R"({path="//bench";input_format=json})";

std::string insert_request(std::uint64_t first, std::uint64_t count) {
  std::string rows;
  for (std::uint64_t i = first; i < first + count; ++i) {
    const BenchRow row(i);
    rows += fmt::format("{{\"k\":\"{}\",\"v\":\"{}\"}}\n", row.key(), row.value());
  }
  return http_request("insert_rows", kInsertParameters, rows);
}

std::vector<std::string> lookup_requests(std::uint64_t rows, std::uint64_t keys) {
  Dice dice(keys);
  std::vector<std::string> requests(kRequests);
  for (std::string& request : requests) {
    std::string body;
    for (std::uint64_t i = 0; i < keys; ++i) {
      body += fmt::format("{{\"k\":\"{}\"}}\n", BenchRow(dice.below(rows)).key());
    }
    request = http_request("lookup_rows", kLookupParameters, body);
  }
  return requests;
}

// Answers of lookups that find all of their rows.
template <std::uint64_t keys>
Result<std::size_t> rows_answer_size(std::string_view received) {
  TRY(const std::size_t size, http_answer_size(received));
  if (size == 0 || size > keys * (kBenchValueBytes + kKeyBytes)) return size;
  return fail(Errc::kCorrupt, fmt::format("not all rows were found: {}", received));
}

// All requests, once.
Result<Round> send_all(const TcpAddress& address, AnswerSize answer_size,
                       const std::vector<std::string>& requests, std::uint64_t operations) {
  TRY(LoadClient client, LoadClient::connect(address, kFewWriters, answer_size));
  return client.run({.requests = requests, .operations = operations});
}

struct LookupSides {
  std::unique_ptr<HttpSide> ours;
  std::optional<RedisServer> redis;
  TcpAddress redis_address;
};

Result<void> load_rows(const LookupSides& sides, std::uint64_t rows) {
  std::vector<std::string> ours;
  std::vector<std::string> redis;
  for (std::uint64_t first = 0; first < rows; first += kRowsPerInsert) {
    ours.push_back(insert_request(first, kRowsPerInsert));
  }
  for (std::uint64_t first = 0; first < rows; first += kRedisSetBatch) {
    std::string& batch = redis.emplace_back();
    for (std::uint64_t i = first; i < first + kRedisSetBatch; ++i) {
      const BenchRow row(i);
      batch += redis_set(row.key(), row.value());
    }
  }
  TRY_VOID(send_all(sides.ours->address(), http_answer_size, ours, kRowsPerInsert));
  TRY_VOID(sides.ours->flush_table());
  TRY_VOID(send_all(sides.redis_address, redis_set_answer_size, redis, kRedisSetBatch));
  return {};
}

Result<LookupSides> start_lookup_sides(const Setting& setting, std::uint64_t rows) {
  LookupSides sides;
  TRY(sides.redis, RedisServer::start(setting.folder.file("redis"), {"--appendonly", "no"}));
  sides.redis_address = {"127.0.0.1", static_cast<std::uint16_t>(sides.redis->port)};
  TRY(sides.ours, HttpSide::start(setting, "http-lookups"));
  TRY_VOID(sides.ours->create_table());
  TRY_VOID(load_rows(sides, rows));
  return sides;
}

// Redis reads one key a request in any case.
Result<Contest> contest(const Setting& setting, const LookupSides& sides, AnswerSize answer_size,
                        const std::vector<std::string>& ours, std::uint64_t keys,
                        const std::vector<std::string>& redis) {
  const double seconds = setting.quick ? 1 : 4;
  TRY(LoadClient reader, LoadClient::connect(sides.ours->address(), kReaders, answer_size));
  TRY(LoadClient peer, LoadClient::connect(sides.redis_address, kReaders, redis_get_answer_size));
  return take_turns(
      setting.quick ? 3 : 5,
      [&]() -> Result<Round> {
        const double before = sides.ours->cpu_seconds();
        TRY(Round round, reader.run({ours, keys, seconds}));
        round.cpu_seconds = sides.ours->cpu_seconds() - before;
        return round;
      },
      [&] { return peer.run({redis, 1, seconds}); });
}

void add_rate(const Setting& setting, const std::string& name, const Contest& contest,
              const std::string& unit, const std::string& peer, std::optional<double> goal) {
  setting.report.add({.bench = "query",
                      .name = name,
                      .value = contest.ours.operations_per_second(),
                      .unit = unit,
                      .peer = peer,
                      .peer_value = contest.peer.operations_per_second(),
                      .goal = goal ? std::optional(Goal{.limit = *goal}) : std::nullopt});
  setting.report.note(fmt::format(
      "{}: {:.2f} us of the server's CPU time each; latency p50 {:.0f} us, p99 {:.0f} us; {}: p50 "
      "{:.0f} us, p99 {:.0f} us",
      name, contest.ours.cpu_microseconds(), contest.ours.latency(0.5), contest.ours.latency(kP99),
      peer, contest.peer.latency(0.5), contest.peer.latency(kP99)));
}

void add_p99(const Setting& setting, const Contest& contest) {
  const double peer = contest.peer.latency(kP99);
  setting.report.add({.bench = "query",
                      .name = "http_lookup_p99",
                      .value = contest.ours.latency(kP99),
                      .unit = "us",
                      .peer = "Redis GET",
                      .peer_value = peer,
                      .goal = Goal{Goal::Of::kValueAtMost, peer / kGoalRate}});
}

}  // namespace

Result<void> bench_http_lookups(const Setting& setting) {
  const std::uint64_t rows = setting.quick ? kRowsQuick : kRowsFull;
  auto sides = start_lookup_sides(setting, rows);
  if (!sides && sides.error().code == Errc::kUnsupported) {
    setting.report.note(fmt::format("Redis: skipped: {}", sides.error().context));
    return {};
  }
  if (!sides) return std::unexpected(std::move(sides).error());
  std::vector<std::string> gets(kRequests);
  Dice dice(0);
  for (std::string& get : gets) get = redis_get(BenchRow(dice.below(rows)).key());
  TRY(const Contest single,
      contest(setting, *sides, rows_answer_size<1>, lookup_requests(rows, 1), 1, gets));
  add_rate(setting, "http_lookup", single, "keys/s", "Redis GET", kGoalRate);
  add_p99(setting, single);
  TRY(const Contest batch, contest(setting, *sides, rows_answer_size<kKeysPerBatch>,
                                   lookup_requests(rows, kKeysPerBatch), kKeysPerBatch, gets));
  add_rate(setting, "http_lookup_32_keys", batch, "keys/s", "Redis GET", kGoalBatch);
  return {};
}

namespace {

struct InsertSides {
  std::unique_ptr<HttpSide> ours;
  std::optional<PostgresSide> postgres;
  // Each turn of a side writes rows that were not there before.
  std::uint64_t ours_first = 0;
  std::uint64_t peer_first = 0;
};

std::vector<std::string> batches(std::uint64_t& first, std::uint64_t rows,
                                 std::string (*request)(std::uint64_t, std::uint64_t)) {
  std::vector<std::string> all;
  for (const std::uint64_t end = first + rows; first < end; first += kRowsPerInsert) {
    all.push_back(request(first, kRowsPerInsert));
  }
  return all;
}

Result<Contest> insert_contest(const Setting& setting, InsertSides& sides,
                               std::size_t connections) {
  const std::uint64_t rows = setting.quick ? kRowsQuick : kRowsFull;
  TRY(LoadClient writer, LoadClient::connect(sides.ours->address(), connections, http_answer_size));
  TRY(LoadClient peer,
      LoadClient::connect(sides.postgres->address(), connections, postgres_answer_size));
  TRY_VOID(peer.exchange(postgres_startup()));
  return take_turns(
      3,
      [&]() -> Result<Round> {
        const auto requests = batches(sides.ours_first, rows, insert_request);
        const double before = sides.ours->cpu_seconds();
        TRY(Round round, writer.run({requests, kRowsPerInsert}));
        round.cpu_seconds = sides.ours->cpu_seconds() - before;
        return round;
      },
      [&]() -> Result<Round> {
        const auto requests = batches(sides.peer_first, rows, postgres_copy);
        return peer.run({requests, kRowsPerInsert});
      });
}

}  // namespace

Result<void> bench_http_inserts(const Setting& setting) {
  auto postgres = PostgresSide::start(setting);
  if (!postgres && postgres.error().code == Errc::kUnsupported) {
    setting.report.note(fmt::format("PostgreSQL: skipped: {}", postgres.error().context));
    return {};
  }
  if (!postgres) return std::unexpected(std::move(postgres).error());
  InsertSides sides;
  sides.postgres.emplace(std::move(*postgres));
  TRY(sides.ours, HttpSide::start(setting, "http-inserts"));
  TRY_VOID(sides.ours->create_table());
  TRY(const Contest many, insert_contest(setting, sides, kWriters));
  add_rate(setting, "http_insert_1000_rows", many, "rows/s", "PostgreSQL COPY", kGoalInsert);
  TRY(const Contest few, insert_contest(setting, sides, kFewWriters));
  add_rate(setting, "http_insert_few_writers", few, "rows/s", "PostgreSQL COPY", std::nullopt);
  return {};
}

}  // namespace moraine::bench
