// moraine_sim: runs seeds of the campaign, and shows that seeded bugs are found.

#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>

#include "sim/bug_hunt.h"
#include "sim/campaign.h"
#include "sim/moves.h"
#include "sim/node/node_campaign.h"
#include "sim/query/query_campaign.h"
#include "sim/tables/tables_campaign.h"
#include "sim/topics/topics_campaign.h"

namespace moraine::sim {
namespace {

constexpr const char* kUsage =
    "usage: moraine_sim [--seeds N] [--first S] [--seed S] \n"
    "                   [--scenario blob|moves|topics|tables|node|query]\n"
    "                   [--erasure none|block-4-2|block-4-2-spare|mirror-3-dc] [--minutes M]\n"
    "                   [--workers N] [--verbose]\n"
    "       moraine_sim --bugs [--scenario blob|topics|tables|node|query] [--workers N]\n";
constexpr std::size_t kFailuresShown = 20;

struct Arguments {
  std::uint64_t seeds = 200;
  std::uint64_t first = 1;
  std::optional<std::uint64_t> seed;
  std::optional<Erasure> erasure;
  std::optional<double> minutes;
  std::uint64_t workers = 2;
  bool verbose = false;
  std::string scenario;  // Empty: blob; with --bugs: all.
  bool bugs = false;
};

// The report of a child process to its parent: this, and then `text_size` bytes.
struct ChildReport {
  std::uint64_t number = 0;
  bool failed = false;
  std::uint32_t text_size = 0;
  Tally tally;
};
static_assert(std::is_trivially_copyable_v<ChildReport>);

struct Outcome {
  ChildReport report;
  std::string text;
};

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool parse_option(Arguments& arguments, std::string_view name, std::string_view value) {
  if (name == "--scenario") {
    arguments.scenario = value;
    return value == "blob" || value == "moves" || value == "topics" || value == "tables" ||
           value == "node" || value == "query";
  }
  if (name == "--erasure") {
    const auto erasure = parse_erasure(value);
    if (erasure) arguments.erasure = *erasure;
    return erasure.has_value();
  }
  if (name == "--minutes") {
    char* end = nullptr;
    arguments.minutes = std::strtod(std::string(value).c_str(), &end);
    return *arguments.minutes > 0;
  }
  const auto number = parse_number(value);
  if (!number) return false;
  if (name == "--seeds") {
    arguments.seeds = *number;
  } else if (name == "--first") {
    arguments.first = *number;
  } else if (name == "--seed") {
    arguments.seed = *number;
  } else if (name == "--workers") {
    arguments.workers = std::max<std::uint64_t>(1, *number);
  } else {
    return false;
  }
  return true;
}

std::optional<Arguments> parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--verbose") {
      arguments.verbose = true;
    } else if (name == "--bugs") {
      arguments.bugs = true;
    } else if (i + 1 == argc || !parse_option(arguments, name, argv[i + 1])) {
      fmt::print(stderr, "moraine_sim: unknown argument {}\n{}", name, kUsage);
      return std::nullopt;
    } else {
      ++i;
    }
  }
  return arguments;
}

// A job in its own process: a broken invariant ends only that process.
struct Child {
  pid_t pid = 0;
  int pipe = -1;
  std::uint64_t number = 0;
};

using Job = std::function<Outcome(std::uint64_t number)>;

void write_all(int to, const void* data, std::size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(to, at, size);
    if (written <= 0) return;
    at += written;
    size -= static_cast<std::size_t>(written);
  }
}

bool read_all(int from, void* data, std::size_t size) {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = ::read(from, at, size);
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

Child start_child(const Job& job, std::uint64_t number) {
  int ends[2];
  if (::pipe(ends) != 0) std::abort();
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(ends[0]);
    Outcome outcome = job(number);
    outcome.report.number = number;
    outcome.report.text_size = static_cast<std::uint32_t>(outcome.text.size());
    write_all(ends[1], &outcome.report, sizeof(outcome.report));
    write_all(ends[1], outcome.text.data(), outcome.text.size());
    std::fflush(nullptr);
    ::_exit(0);
  }
  ::close(ends[1]);
  return {pid, ends[0], number};
}

Outcome finish_child(const Child& child) {
  Outcome outcome;
  const bool complete = read_all(child.pipe, &outcome.report, sizeof(outcome.report));
  if (complete) {
    outcome.text.resize(outcome.report.text_size);
    read_all(child.pipe, outcome.text.data(), outcome.text.size());
  } else {
    outcome.report = ChildReport{};
    outcome.report.number = child.number;
    outcome.report.failed = true;
    outcome.text = fmt::format("seed {}: the process ended before the run finished", child.number);
  }
  ::close(child.pipe);
  ::waitpid(child.pid, nullptr, 0);
  return outcome;
}

// Runs jobs [first, first + count), `workers` at a time; outcomes are delivered as they arrive.
void run_jobs(const Job& job, std::uint64_t first, std::uint64_t count, std::uint64_t workers,
              const std::function<void(const Outcome&)>& done) {
  std::vector<Child> children;
  std::uint64_t next = first;
  while (next < first + count || !children.empty()) {
    while (next < first + count && children.size() < workers) {
      children.push_back(start_child(job, next++));
    }
    std::vector<pollfd> waiting;
    for (const Child& child : children) waiting.push_back({child.pipe, POLLIN, 0});
    ::poll(waiting.data(), waiting.size(), -1);
    for (std::size_t i = children.size(); i-- > 0;) {
      if (waiting[i].revents == 0) continue;
      done(finish_child(children[i]));
      children.erase(children.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

SeedOptions seed_options(const Arguments& arguments, std::uint64_t seed) {
  SeedOptions options;
  if (arguments.scenario == "topics") options = topics_options(seed);
  if (arguments.scenario == "tables") options = tables_options(seed);
  if (arguments.scenario == "node") options = node_options(seed);
  options.seed = seed;
  options.erasure = arguments.erasure;
  options.verbose = arguments.verbose;
  if (arguments.minutes) {
    options.trouble = std::chrono::duration_cast<Duration>(
        std::chrono::duration<double, std::ratio<60>>(*arguments.minutes));
  }
  return options;
}

SeedReport run(const Arguments& arguments, std::uint64_t seed) {
  const SeedOptions options = seed_options(arguments, seed);
  if (arguments.scenario == "moves") return run_moves_seed(options);
  if (arguments.scenario == "topics") return run_topics_seed(options);
  if (arguments.scenario == "node") return run_node_seed(options);
  if (arguments.scenario == "query") return run_query_seed(options);
  return arguments.scenario == "tables" ? run_tables_seed(options) : run_seed(options);
}

std::string reproduce(const Arguments& arguments, std::uint64_t seed) {
  std::string command = fmt::format("moraine_sim --seed {} --verbose", seed);
  if (!arguments.scenario.empty()) command += " --scenario " + arguments.scenario;
  if (arguments.erasure) command += fmt::format(" --erasure {}", to_string(*arguments.erasure));
  if (arguments.minutes) command += fmt::format(" --minutes {}", *arguments.minutes);
  return command;
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void print_summary(const Tally& tally) {
  const double virtual_seconds = static_cast<double>(tally.virtual_ns) / 1e9;
  const double cpu = cpu_seconds();
  fmt::print("{}", tally.to_string());
  if (tally.queries > 0) {
    fmt::print("{:.1f} s of CPU time\n", cpu);
    return;
  }
  fmt::print("reads checked against the model: {}\n", tally.blobs_checked + tally.messages_checked +
                                                          tally.rows_checked + tally.trees_checked);
  fmt::print("simulated {:.2f} hours in {:.1f} s of CPU time: {:.0f} times as fast\n",
             virtual_seconds / 3600, cpu, virtual_seconds / std::max(cpu, 0.001));
}

int run_campaign(const Arguments& arguments) {
  Tally tally;
  std::vector<Outcome> failures;
  std::uint64_t ended = 0;
  const std::uint64_t report_each = std::max<std::uint64_t>(1, arguments.seeds / 20);
  const Job job = [&](std::uint64_t seed) {
    const SeedReport report = run(arguments, seed);
    Outcome outcome;
    outcome.report.tally = report.tally;
    outcome.report.failed = report.failure.has_value();
    outcome.text = fmt::format("{} {}", to_string(report.erasure), report.failure.value_or(""));
    return outcome;
  };
  const auto done = [&](const Outcome& outcome) {
    tally += outcome.report.tally;
    if (outcome.report.failed) {
      failures.push_back(outcome);
      if (failures.size() <= kFailuresShown) fmt::print("FAILED: {}\n", outcome.text);
      std::fflush(stdout);
    }
    if (++ended % report_each == 0) {
      fmt::print("{} of {} seeds, {} failed\n", ended, arguments.seeds, failures.size());
      std::fflush(stdout);
    }
  };
  run_jobs(job, arguments.first, arguments.seeds, arguments.workers, done);
  print_summary(tally);
  if (failures.empty()) {
    fmt::print("OK: {} seeds\n", ended);
    return 0;
  }
  fmt::print("FAILED: {} of {} seeds\n", failures.size(), ended);
  for (std::size_t i = 0; i < std::min(failures.size(), kFailuresShown); ++i) {
    fmt::print("  {}\n    {}\n", failures[i].text, reproduce(arguments, failures[i].report.number));
  }
  return 1;
}

int run_one(const Arguments& arguments) {
  const SeedReport report = run(arguments, *arguments.seed);
  fmt::print("{}", report.tally.to_string());
  fmt::print("trace hash {:016x}\n", report.trace_hash);
  if (!report.failure) {
    fmt::print("OK: seed {}, {}\n", *arguments.seed, to_string(report.erasure));
    return 0;
  }
  fmt::print("FAILED: {} {}\n", to_string(report.erasure), *report.failure);
  return 1;
}

// All hunts of a scenario; empty: of all.
std::vector<std::function<Hunt()>> hunts_of(std::string_view scenario) {
  std::vector<std::function<Hunt()>> hunts;
  const auto add = [&](std::string_view where, auto bug) {
    if (scenario.empty() || scenario == where) hunts.emplace_back([bug] { return hunt_bug(bug); });
  };
  for (int i = 1; i < blob::kSeededBugs; ++i) add("blob", static_cast<blob::SeededBug>(i));
  for (int i = 1; i < queue::kSeededBugs; ++i) add("topics", static_cast<queue::SeededBug>(i));
  for (const table::SeededBug bug : table::all_seeded_bugs()) add("tables", bug);
  for (int i = 1; i < kNodeBugs; ++i) add("node", static_cast<NodeBug>(i));
  for (const TreeBug bug : all_tree_bugs()) add("node", bug);
  for (const query::SeededBug bug : query::all_seeded_bugs()) add("query", bug);
  return hunts;
}

int run_bugs(const Arguments& arguments) {
  int missed = 0;
  const auto hunts = hunts_of(arguments.scenario);
  const Job job = [&hunts](std::uint64_t number) {
    const Hunt hunt = hunts[number]();
    Outcome outcome;
    outcome.report.failed = !hunt.found;
    outcome.text = hunt.to_string();
    return outcome;
  };
  const auto done = [&](const Outcome& outcome) {
    missed += outcome.report.failed ? 1 : 0;
    fmt::print("{}\n", outcome.text);
    std::fflush(stdout);
  };
  run_jobs(job, 0, hunts.size(), arguments.workers, done);
  const auto all = static_cast<int>(hunts.size());
  fmt::print("{}: {} of {} seeded bugs were found\n", missed == 0 ? "OK" : "FAILED", all - missed,
             all);
  return missed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace moraine::sim

int main(int argc, char** argv) {
  using namespace moraine::sim;
  const auto arguments = parse(argc, argv);
  if (!arguments) return 2;
  if (arguments->bugs) return run_bugs(*arguments);
  return arguments->seed ? run_one(*arguments) : run_campaign(*arguments);
}
