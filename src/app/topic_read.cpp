// moraine topic read
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "app/exit_code.h"
#include "app/interrupt.h"
#include "app/topic_arguments.h"
#include "app/topic_client.h"
#include "app/topic_print.h"
#include "app/topic_reader.h"
#include "app/transfer_progress.h"

namespace moraine::app {
namespace {

using Clock = std::chrono::steady_clock;

// Signals are checked at least this often.
constexpr Duration kFetchWait = 500ms;
constexpr Duration kCommitPeriod = 1s;
constexpr Duration kReconnectPause = 200ms;
constexpr Duration kIdlePause = 5ms;  // After an answer without messages.
constexpr std::size_t kOutputBytes = std::size_t{256} << 10;

struct ReadPlan {
  Position from;
  PrintRules print;
};

Result<ReadPlan> plan_read(const TopicReadOptions& options) {
  ReadPlan plan;
  TRY(plan.from, parse_position(options.from));
  TRY(plan.print.format, parse_format(options.target.json ? "json" : options.format));
  TRY(plan.print.key_separator, parse_separator(options.key_separator));
  return plan;
}

// False: standard output was closed by its reader.
Result<bool> write_out(std::string& text) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t count = ::write(STDOUT_FILENO, rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EPIPE) return false;
    if (count < 0) {
      return fail(Errc::kIo,
                  fmt::format("standard output cannot be written: {}", std::strerror(errno)));
    }
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  text.clear();
  return true;
}

Result<PartitionOffsets> first_positions(TopicClient& client, const std::string& topic,
                                         const std::vector<std::int32_t>& partitions,
                                         const Position& from, const PartitionOffsets& ends) {
  if (std::holds_alternative<FromEnd>(from)) return ends;
  if (const auto* const offset = std::get_if<FromOffset>(&from)) {
    PartitionOffsets positions;
    for (const std::int32_t partition : partitions) positions[partition] = offset->offset;
    return positions;
  }
  const auto* const time = std::get_if<FromTime>(&from);
  TRY(PartitionOffsets positions,
      client.offsets(topic, partitions, time ? time->milliseconds : kafka::kEarliestOffset));
  for (auto& [partition, position] : positions) {
    if (position < 0) position = ends.at(partition);  // Later than every message.
  }
  return positions;
}

// An offset past the end is none of the partition's; the end itself is that of the next message.
Result<void> check_offset(const TopicReadOptions& options, const PartitionOffsets& positions,
                          const PartitionOffsets& ends, const PartitionOffsets& committed) {
  std::vector<std::int32_t> past;
  for (const auto& [partition, position] : positions) {
    if (!committed.contains(partition) && position > ends.at(partition)) past.push_back(partition);
  }
  if (past.empty()) return {};
  const std::string why =
      fmt::format("{}, partition {} has no offset {}: it ends at {}", options.name, past.front(),
                  positions.at(past.front()), ends.at(past.front()));
  if (past.size() == positions.size()) return fail(Errc::kNotFound, why);
  fmt::print(stderr, "moraine: {}{}\n", why,
             past.size() == 1 ? "" : fmt::format("; nor have {} others", past.size() - 1));
  return {};
}

// One run of the command.
class Reading {
 public:
  Reading(TopicClient& client, const TopicReadOptions& options, const PrintRules& print,
          TopicReader& reader, std::optional<std::uint64_t> total)
      : client_(client),
        options_(options),
        print_(print),
        reader_(reader),
        committed_(reader.positions()),
        progress_("read", total, isatty(STDOUT_FILENO) != 1) {}

  Result<void> run() {
    const InterruptWatch watch;
    auto moved_at = Clock::now();
    while (!watch.interrupted() && !reader_.done() && !reader_gone_) {
      TRY(const bool moved, poll());
      TRY_VOID(put_out());
      if (Clock::now() >= next_commit_) {
        TRY_VOID(commit_or_reconnect());
      }
      if (moved) moved_at = Clock::now();
      if (!options_.follow && Clock::now() - moved_at > client_.kafka().timeout()) {
        return fail(Errc::kTimeout, options_.name + ": the server returned no messages in time");
      }
    }
    return commit();
  }

 private:
  Result<bool> poll() {
    auto moved = reader_.poll(kFetchWait, [this](std::int32_t partition, const auto& record) {
      return take(partition, record);
    });
    if (moved || !survives(moved.error())) {
      if (moved && !*moved) std::this_thread::sleep_for(kIdlePause);
      return moved;
    }
    reconnect(moved.error());
    return false;
  }

  // --follow waits for a server that restarts; the positions are kept here.
  bool survives(const Error& error) const {
    return options_.follow && error.code == Errc::kUnavailable;
  }

  void reconnect(const Error& why) {
    if (!std::exchange(lost_, true)) {
      fmt::print(stderr, "moraine: {}; waiting for the server\n", why.context);
    }
    std::this_thread::sleep_for(kReconnectPause);
    if (!client_.reconnect()) return;
    lost_ = false;
    fmt::print(stderr, "moraine: connected again; reading continues\n");
  }

  Result<void> commit_or_reconnect() {
    auto committed = commit();
    if (committed || !survives(committed.error())) return committed;
    reconnect(committed.error());
    return {};
  }

  bool take(std::int32_t partition, const kafka::Record& record) {
    const std::size_t before = text_.size();
    append_message(text_, partition, record, print_);
    bytes_ += text_.size() - before;
    ++messages_;
    if (text_.size() >= kOutputBytes && !put_out_now()) return false;
    return options_.count == 0 || messages_ < options_.count;
  }

  // Printed messages may be committed.
  Result<void> put_out() {
    if (!output_error_ && !text_.empty()) put_out_now();
    progress_.at_message(messages_, bytes_);
    if (output_error_) return std::unexpected(*output_error_);
    if (!reader_gone_) printed_ = reader_.positions();
    return {};
  }

  bool put_out_now() {
    const auto written = write_out(text_);
    if (!written) output_error_ = written.error();
    if (written && !*written) reader_gone_ = true;
    return written && *written;
  }

  Result<void> commit() {
    next_commit_ = Clock::now() + kCommitPeriod;
    if (options_.group.empty() || printed_.empty() || printed_ == committed_) return {};
    TRY_VOID(client_.commit(options_.group, options_.name, printed_));
    committed_ = printed_;
    return {};
  }

  TopicClient& client_;
  const TopicReadOptions& options_;
  const PrintRules& print_;
  TopicReader& reader_;
  PartitionOffsets printed_;
  PartitionOffsets committed_;
  TransferProgress progress_;
  Clock::time_point next_commit_ = Clock::now() + kCommitPeriod;
  std::string text_;
  std::optional<Error> output_error_;
  bool reader_gone_ = false;
  bool lost_ = false;  // The connection is lost, and that was reported.
  std::uint64_t messages_ = 0;
  std::uint64_t bytes_ = 0;
};

std::uint64_t messages_between(const PartitionOffsets& positions, const PartitionOffsets& ends) {
  std::int64_t total = 0;
  for (const auto& [partition, position] : positions) {
    total += std::max<std::int64_t>(0, ends.at(partition) - position);
  }
  return static_cast<std::uint64_t>(total);
}

Result<int> read(TopicClient& client, const TopicReadOptions& options, const ReadPlan& plan) {
  TRY(const std::vector<std::int32_t> partitions,
      client.partitions(options.name, options.partition));
  TRY(const PartitionOffsets ends, client.offsets(options.name, partitions, kafka::kLatestOffset));
  TRY(PartitionOffsets positions,
      first_positions(client, options.name, partitions, plan.from, ends));
  PartitionOffsets committed;
  if (!options.group.empty()) {
    TRY(committed, client.committed(options.group, options.name, partitions));
    for (const auto& [partition, offset] : committed) positions[partition] = offset;
  }
  if (std::holds_alternative<FromOffset>(plan.from)) {
    TRY_VOID(check_offset(options, positions, ends, committed));
  }
  std::optional<std::uint64_t> total;
  if (!options.follow) {
    total = messages_between(positions, ends);
    if (options.count != 0) total = std::min(*total, options.count);
  }
  TopicReader reader(client, options.name, std::move(positions),
                     options.follow ? std::nullopt : std::optional(ends));
  Reading reading(client, options, plan.print, reader, total);
  TRY_VOID(reading.run());
  return kExitOk;
}

}  // namespace

int run_topic_read(const TopicReadOptions& options) {
  const auto plan = plan_read(options);
  if (!plan) return report(plan.error());
  return run_on_server(options.target,
                       [&](TopicClient& client) { return read(client, options, *plan); });
}

}  // namespace moraine::app
