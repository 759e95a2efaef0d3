// Verbs about tablets: mount, unmount, freeze, reshard and their kind, with --sync.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "app/exit_code.h"
#include "app/yt_verbs/verb_runs.h"

namespace moraine::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kPatience = std::chrono::seconds(60);
constexpr auto kPause = std::chrono::milliseconds(100);
constexpr auto kSilence = std::chrono::seconds(1);  // Before progress is shown.

// The state in which the tablets are afterwards; empty: any that lasts.
std::string_view wanted_state(std::string_view command, const YtArguments& arguments) {
  if (command == "mount_table") return arguments.flag("freeze") ? "frozen" : "mounted";
  if (command == "unmount_table") return "unmounted";
  if (command == "freeze_table") return "frozen";
  if (command == "unfreeze_table") return "mounted";
  return "";
}

std::int64_t number_or(const YsonMap& map, std::string_view key, std::int64_t otherwise) {
  const YsonNode* node = map.find(key);
  const auto* number = node == nullptr ? nullptr : node->as<std::int64_t>();
  return number == nullptr ? otherwise : *number;
}

std::string text_of(const YsonNode* node) {
  const auto* text = node == nullptr ? nullptr : node->as<std::string>();
  return text == nullptr ? std::string() : *text;
}

// How many of how many tablets are there.
struct Reached {
  std::int64_t count = 0;
  std::int64_t total = 0;
};

YtResult<Reached> reached(YtSession& session, const std::string& path, const YsonMap& range,
                          const YsonMap& base, std::string_view wanted) {
  YsonMap parameters = base;
  const bool whole =
      range.find("first_tablet_index") == nullptr && range.find("last_tablet_index") == nullptr;
  parameters["path"] = YsonNode(path + (whole ? "/@tablet_state" : "/@tablets"));
  TRY_YT(const YsonNode answer, session.client.get("get", std::move(parameters)));
  const auto there = [wanted](const std::string& state) {
    return wanted.empty() ? state != "transient" && !state.ends_with("ing") : state == wanted;
  };
  if (whole) return Reached{.count = there(text_of(&answer)) ? 1 : 0, .total = 1};
  const auto* tablets = answer.as<YsonList>();
  if (tablets == nullptr) return yt_fail(Errc::kAborted, "the proxy returned no tablets");
  Reached result;
  const auto size = static_cast<std::int64_t>(tablets->size());
  const std::int64_t last = number_or(range, "last_tablet_index", size - 1);
  for (std::int64_t i = number_or(range, "first_tablet_index", 0); i <= last && i < size; ++i) {
    ++result.total;
    const std::string state = text_of((*tablets)[static_cast<std::size_t>(i)].find("state"));
    if (there(state)) ++result.count;
  }
  return result;
}

YtResult<int> wait_for(YtSession& session, const Verb& verb, const std::string& path,
                       const YsonMap& range, const YsonMap& base, std::string_view wanted) {
  const auto begun = Clock::now();
  const bool shows = isatty(STDERR_FILENO) == 1;
  bool shown = false;
  for (;;) {
    TRY_YT(const Reached now, reached(session, path, range, base, wanted));
    const bool done = now.count >= now.total;
    if (shown && done) fmt::print(stderr, "\r\033[K");
    if (done) return kExitOk;
    const auto spent = Clock::now() - begun;
    if (spent > kPatience) {
      return yt_fail(Errc::kTimeout, fmt::format("{} is not done after {} s; see {}/@tablet_state",
                                                 verb.name, kPatience.count(), path));
    }
    if (shows && spent > kSilence) {
      shown = true;
      fmt::print(stderr, "\r{}: {} of {} tablets, {} s\033[K", verb.name, now.count, now.total,
                 std::chrono::duration_cast<std::chrono::seconds>(spent).count());
      std::fflush(stderr);
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

YtResult<int> run_tablets(YtSession& session, const Verb& verb, YtArguments& arguments) {
  YsonMap range = arguments.parameters;
  const std::string path = plain_path(arguments.text("path"));
  YsonMap base;
  add_transaction(arguments, base);
  const std::string_view wanted = wanted_state(verb.command, arguments);
  const bool reshards = verb.command.starts_with("reshard");
  if (reshards) range = {};  // The indexes are those of before.
  TRY_YT_VOID(session.client.get(std::string(verb.command), std::move(arguments.parameters)));
  if (!arguments.flag("sync")) return kExitOk;
  return wait_for(session, verb, path, range, base, wanted);
}

}  // namespace moraine::app
