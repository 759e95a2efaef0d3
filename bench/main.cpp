// moraine_bench [--quick] [--only
//               blob[/part]|topics[/part]|tables[/part]|lanes[/part]|query[/part]] [--dir DIR]
//               [--json FILE]

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "base/log.h"
#include "bench/blob_bench.h"
#include "bench/host_memory.h"
#include "bench/http/http_bench.h"
#include "bench/lanes/lanes_bench.h"
#include "bench/page_cache.h"
#include "bench/query/query_bench.h"
#include "bench/tables/tables_bench.h"
#include "bench/topics_bench.h"

namespace {

using namespace moraine;
using namespace moraine::bench;

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;

struct Arguments {
  bool quick = false;
  std::string only;
  std::string folder;
  std::string json;
  std::optional<std::pair<std::string, std::uint64_t>> fill;
};

struct Benchmark {
  std::string_view name;
  Result<void> (*run)(const Setting&);
};

constexpr std::array<Benchmark, 23> kBenchmarks{{{"blob/put_large", bench_put_large},
                                                 {"blob/put_small", bench_put_small},
                                                 {"blob/get_small", bench_get_small},
                                                 {"blob/block42", bench_block42},
                                                 {"blob/encode", bench_encode},
                                                 {"blob/degraded", bench_degraded},
                                                 {"blob/index", bench_index},
                                                 {"topics/load", bench_topics_load},
                                                 {"topics/codecs", bench_topics_codecs},
                                                 {"topics/cost", bench_topics_cost},
                                                 {"tables/lookup", bench_tables_lookup},
                                                 {"tables/columns", bench_tables_columns},
                                                 {"tables/commit", bench_tables_commit},
                                                 {"tables/space", bench_tables_space},
                                                 {"tables/queue", bench_tables_queue},
                                                 {"tables/growth", bench_tables_growth},
                                                 {"lanes/produce", bench_lanes_produce},
                                                 {"lanes/consume", bench_lanes_consume},
                                                 {"lanes/commit", bench_lanes_commit},
                                                 {"lanes/lookup", bench_lanes_lookup},
                                                 {"query/select", bench_query_select},
                                                 {"query/lookups", bench_http_lookups},
                                                 {"query/inserts", bench_http_inserts}}};

bool chosen(const Benchmark& benchmark, const std::string& only) {
  if (!benchmark.name.starts_with(only)) return false;
  const std::size_t end = only.size();
  return end == 0 || end == benchmark.name.size() || benchmark.name[end] == '/';
}

int usage() {
  fmt::print(stderr,
             "usage: moraine_bench [--quick] [--only NAME] [--dir DIR] [--json FILE]\n"
             "NAME is blob, topics, tables, lanes, query or one of:");
  for (const Benchmark& benchmark : kBenchmarks) fmt::print(stderr, " {}", benchmark.name);
  fmt::print(stderr, "\n");
  return kExitUsage;
}

std::optional<Arguments> parse(int argc, char** argv) {
  const std::filesystem::path home = std::filesystem::canonical("/proc/self/exe").parent_path();
  Arguments arguments;
  arguments.folder = home.string();
  arguments.json = (home / "bench.json").string();
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--quick") {
      arguments.quick = true;
    } else if (flag == "--only" && i + 1 < argc) {
      arguments.only = argv[++i];
    } else if (flag == "--dir" && i + 1 < argc) {
      arguments.folder = argv[++i];
    } else if (flag == "--json" && i + 1 < argc) {
      arguments.json = argv[++i];
    } else if (flag == "--fill" && i + 2 < argc) {
      const std::string_view text = argv[i + 2];
      std::uint64_t count = 0;
      std::from_chars(text.data(), text.data() + text.size(), count);
      arguments.fill = {argv[i + 1], count};
      i += 2;
    } else {
      return std::nullopt;
    }
  }
  return arguments;
}

Result<void> run(const Arguments& arguments) {
  if (arguments.fill) return fill_and_wait(arguments.fill->first, arguments.fill->second);
  Report report;
  {
    TRY(const WorkFolder folder, WorkFolder::create(arguments.folder));
    const Setting setting{folder, arguments.quick, report};
    for (const Benchmark& benchmark : kBenchmarks) {
      if (!chosen(benchmark, arguments.only)) continue;
      if (!wait_for_quiet_disk())
        report.note(fmt::format("the disk is busy before {}", benchmark.name));
      touch_free_memory();
      auto done = benchmark.run(setting);
      if (!done) return std::unexpected(std::move(done.error()).within(benchmark.name));
    }
  }
  fmt::print("\n{}", report.table());
  std::ofstream file(arguments.json);
  file << report.json();
  file.close();
  if (!file) return fail(Errc::kIo, "cannot write " + arguments.json);
  fmt::print("written to {}\n", arguments.json);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = parse(argc, argv);
  if (!arguments) return usage();
  bool known = arguments->only.empty() || arguments->fill;
  for (const Benchmark& benchmark : kBenchmarks) known |= chosen(benchmark, arguments->only);
  if (!known) return usage();
  set_log_level(LogLevel::kWarning);
  if (const auto done = run(*arguments); !done) {
    fmt::print(stderr, "moraine_bench: {}\n", done.error().message());
    return kExitFailed;
  }
  return 0;
}
