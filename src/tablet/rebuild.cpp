#include "tablet/rebuild.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace moraine {
namespace {

constexpr std::uint32_t kEntriesPerRead = 256;

// Entries `first` to `last` of one generation.
struct Span {
  Generation generation = 0;
  Step first = 0;
  Step last = 0;
};

class Rebuilder {
 public:
  Rebuilder(World world, BlobGroups& groups, const TabletInfo& info, Generation fence,
            Duration timeout)
      : world_(world), groups_(groups), info_(info), fence_(fence), timeout_(timeout) {}

  Task<Result<RebuiltLog>> run() {
    CO_TRY(const bool found, co_await find_newest());
    if (!found) co_return std::move(log_);
    CO_TRY_VOID(co_await decide_end());
    CO_TRY(const std::vector<Span> spans, co_await chain());
    for (const Span& span : spans) {
      CO_TRY_VOID(co_await read_span(span));
    }
    CO_TRY_VOID(co_await read_pages());
    co_return std::move(log_);
  }

  // Has another leader fenced a higher generation meanwhile?
  Task<bool> overtaken() {
    blob::Proxy* const group = groups_.group(info_.latest_group(kLogChannel));
    if (!group) co_return false;
    blob::GetBlockRequest request;
    request.tablet = info_.id;
    request.deadline = deadline();
    const auto answer = co_await group->blocked_generation(std::move(request));
    co_return answer.status == blob::Status::kOk&& answer.blocked > fence_;
  }

 private:
  Instant deadline() const { return world_.executor.now() + timeout_; }

  Result<blob::Proxy*> proxy(Channel channel, Generation generation) const {
    const GroupId group = info_.group(channel, generation);
    blob::Proxy* found = groups_.group(group);
    if (!found) {
      return fail(Errc::kNotFound, fmt::format("group {:x} is not in the config", group.value));
    }
    return found;
  }

  static std::unexpected<Error> broken(const std::string& what, blob::Status status,
                                       const std::string& reason) {
    return fail(Errc::kUnavailable, fmt::format("{}: {} {}", what, to_string(status), reason));
  }

  // Decodes the entry at `at` and checks that it is valid there.
  Result<LogEntry> decode(const Slice& bytes, GenStep at) const {
    TRY(LogEntry entry, decode_log_entry(bytes));
    const bool zero = entry.kind == EntryKind::kZero;
    const bool refers_back = zero ? entry.previous.generation < at.generation
                                  : entry.snapshot.generation <= at.generation;
    const bool own_snapshot = entry.kind != EntryKind::kSnapshot || entry.snapshot == at;
    const bool leaves_out = entry.needed != GenStep{};
    const bool wrong_needed = leaves_out && (entry.kind != EntryKind::kSnapshot ||
                                             entry.needed.step == 0 || entry.needed >= at);
    const bool wrong_unconfirmed = !zero && entry.unconfirmed >= at.step;
    if (zero != (at.step == 0) || !refers_back || wrong_unconfirmed || !own_snapshot ||
        entry.snapshot > at || wrong_needed || (zero && !entry.references.empty())) {
      return fail(Errc::kCorrupt,
                  fmt::format("log entry {}:{} of tablet {} is not valid at its position",
                              at.generation, at.step, info_.id.value));
    }
    for (const BlobId& id : entry.references) {
      TRY_VOID(info_.check_reference(id, at.generation));
    }
    return entry;
  }

  // The newest restorable entry: of the current group, else of older ones.
  Task<Result<bool>> find_newest() {
    const auto& history = info_.channels[kLogChannel];
    for (auto entry = history.rbegin(); entry != history.rend(); ++entry) {
      CO_TRY(blob::Proxy* const group, proxy(kLogChannel, entry->from));
      blob::DiscoverRequest request;
      request.tablet = info_.id;
      request.min_generation = entry->from;
      request.read_body = true;
      request.force_blocked_generation = fence_;
      request.deadline = deadline();
      auto answer = co_await group->discover(std::move(request));
      if (answer.status == blob::Status::kNoData) continue;
      if (answer.status != blob::Status::kOk) {
        co_return broken("discover", answer.status, answer.reason);
      }
      newest_ = answer.id;
      CO_TRY(newest_entry_, decode(answer.body, answer.id.gen_step()));
      co_return true;
    }
    co_return false;
  }

  // Accepts the entries that may not have been confirmed, up to the first that is not complete.
  // Commits were confirmed in order, so nothing behind that one was acknowledged.
  Task<Result<void>> decide_end() {
    const GenStep newest = newest_.gen_step();
    log_.last = newest;
    if (newest.step == 0) co_return Result<void>();
    const Step first = newest.step - newest_entry_.unconfirmed;
    log_.last.step = first - 1;
    std::optional<LogEntry> accepted;
    CO_TRY(const std::vector<BlobId> ids, co_await list_entries(newest.generation, first));
    for (const BlobId& id : ids) {
      if (id.step() != log_.last.step + 1) break;
      CO_TRY(std::optional<LogEntry> entry, co_await restore_entry(id));
      if (!entry) break;
      CO_TRY(const bool complete, co_await restore_references(*entry));
      if (!complete) break;
      log_.last.step = id.step();
      accepted = std::move(*entry);
    }
    if (!accepted) {
      CO_TRY(accepted, co_await read_entry(log_.last));
    }
    newest_entry_ = std::move(*accepted);
    co_return Result<void>();
  }

  // The ids of entries from `first` to the newest, in order.
  Task<Result<std::vector<BlobId>>> list_entries(Generation generation, Step first) {
    if (first == newest_.step()) co_return std::vector<BlobId>{newest_};
    CO_TRY(blob::Proxy* const group, proxy(kLogChannel, generation));
    blob::RangeRequest request;
    request.from = BlobId::lowest(info_.id, kLogChannel, {generation, first});
    request.to = BlobId::highest(info_.id, kLogChannel, newest_.gen_step());
    request.index_only = true;
    request.force_block = blob::TabletGeneration{info_.id, fence_};
    request.deadline = deadline();
    const auto answer = co_await group->range(std::move(request));
    if (answer.status != blob::Status::kOk) co_return broken("range", answer.status, answer.reason);
    std::vector<BlobId> ids;
    for (const blob::RangeFound& found : answer.items) ids.push_back(found.id);
    co_return ids;
  }

  // Nothing: it cannot be restored, so it was never confirmed.
  Task<Result<std::optional<LogEntry>>> restore_entry(BlobId id) {
    if (id == newest_) co_return newest_entry_;  // Discover has restored it.
    CO_TRY(const std::optional<Slice> bytes, co_await restore(id, false));
    if (!bytes) co_return std::optional<LogEntry>();
    CO_TRY(LogEntry entry, decode(*bytes, id.gen_step()));
    co_return std::optional<LogEntry>(std::move(entry));
  }

  Task<Result<bool>> restore_references(const LogEntry& entry) {
    for (const BlobId& id : entry.references) {
      CO_TRY(const std::optional<Slice> found, co_await restore(id, true));
      if (!found) co_return false;
    }
    co_return true;
  }

  // Brings the blob to its full redundancy; nothing when it cannot be restored.
  Task<Result<std::optional<Slice>>> restore(BlobId id, bool index_only) {
    CO_TRY(blob::Proxy* const group, proxy(id.channel(), id.generation()));
    blob::GetRequest request;
    request.queries.push_back({id, 0, 0});
    request.must_restore = true;
    request.index_only = index_only;
    request.force_block = blob::TabletGeneration{info_.id, fence_};
    request.deadline = deadline();
    auto answer = co_await group->get(std::move(request));
    const blob::Status status = answer.items.size() == 1 ? answer.items[0].status : answer.status;
    if (status == blob::Status::kNoData) co_return std::optional<Slice>();
    if (status != blob::Status::kOk) co_return broken(id.to_string(), status, answer.reason);
    co_return std::optional<Slice>(std::move(answer.items[0].data));
  }

  Task<Result<LogEntry>> read_entry(GenStep at) {
    CO_TRY(std::vector<LogEntry> entries, co_await read_entries(at.generation, at.step, at.step));
    co_return std::move(entries.front());
  }

  // Every entry of the range; one that is missing is an error.
  Task<Result<std::vector<LogEntry>>> read_entries(Generation generation, Step first, Step last) {
    CO_TRY(blob::Proxy* const group, proxy(kLogChannel, generation));
    blob::RangeRequest request;
    request.from = BlobId::lowest(info_.id, kLogChannel, {generation, first});
    request.to = BlobId::highest(info_.id, kLogChannel, {generation, last});
    request.deadline = deadline();
    auto answer = co_await group->range(std::move(request));
    if (answer.status != blob::Status::kOk) co_return broken("range", answer.status, answer.reason);
    std::vector<LogEntry> entries;
    Step expected = first;
    for (const blob::RangeFound& found : answer.items) {
      if (found.id.step() != expected || found.data.size() != found.id.size()) break;
      CO_TRY(LogEntry entry, decode(found.data, found.id.gen_step()));
      if (found.id.gen_step() >= log_.snapshot) log_.log_bytes += found.data.size();
      entries.push_back(std::move(entry));
      ++expected;
    }
    if (expected != last + 1) {
      co_return fail(Errc::kCorrupt,
                     fmt::format("confirmed log entry {}:{} of tablet {} is missing", generation,
                                 expected, info_.id.value));
    }
    co_return entries;
  }

  // The pages of the snapshot, and the beginning of the log that completes it.
  Task<Result<void>> find_begin() {
    log_.snapshot = newest_entry_.snapshot;
    log_.begin = log_.snapshot;
    if (log_.snapshot == GenStep{}) co_return Result<void>();
    CO_TRY(const LogEntry snapshot, co_await read_entry(log_.snapshot));
    if (snapshot.kind != EntryKind::kSnapshot) {
      co_return fail(Errc::kCorrupt,
                     fmt::format("log entry {}:{} of tablet {} is not a snapshot",
                                 log_.snapshot.generation, log_.snapshot.step, info_.id.value));
    }
    if (snapshot.needed != GenStep{}) log_.begin = snapshot.needed;
    log_.page_ids = snapshot.references;
    log_.log_bytes = 0;
    co_return Result<void>();
  }

  // The spans from `begin` to the last entry: oldest first.
  Task<Result<std::vector<Span>>> chain() {
    CO_TRY_VOID(co_await find_begin());
    std::vector<Span> spans;
    GenStep at = log_.last;
    bool met_snapshot = false;
    while (true) {
      met_snapshot |= at.generation == log_.snapshot.generation && at >= log_.snapshot;
      if (at.generation == log_.begin.generation) break;
      spans.push_back({at.generation, 0, at.step});
      CO_TRY(const LogEntry zero, co_await read_entry({at.generation, 0}));
      at = zero.previous;
      if (at == GenStep{}) break;
    }
    if (at < log_.begin || (!met_snapshot && log_.snapshot != GenStep{})) {
      co_return fail(Errc::kCorrupt,
                     fmt::format("the log of tablet {} ends at {}:{}, which is before its snapshot",
                                 info_.id.value, at.generation, at.step));
    }
    if (at != GenStep{}) spans.push_back({at.generation, log_.begin.step, at.step});
    std::ranges::reverse(spans);
    co_return spans;
  }

  Task<Result<void>> read_span(Span span) {
    for (Step first = span.first; first <= span.last; first += kEntriesPerRead) {
      const Step last = std::min(span.last, first + kEntriesPerRead - 1);
      CO_TRY(std::vector<LogEntry> entries, co_await read_entries(span.generation, first, last));
      Step step = first;
      for (LogEntry& entry : entries) {
        const GenStep at{span.generation, step++};
        if (!entry.bodies.empty()) log_.entries.push_back({at, std::move(entry.bodies)});
      }
    }
    co_return Result<void>();
  }

  Task<Result<void>> read_pages() {
    for (const BlobId& id : log_.page_ids) {
      CO_TRY(blob::Proxy* const group, proxy(id.channel(), id.generation()));
      blob::GetRequest request;
      request.queries.push_back({id, 0, 0});
      request.deadline = deadline();
      auto answer = co_await group->get(std::move(request));
      const blob::Status status = answer.items.size() == 1 ? answer.items[0].status : answer.status;
      if (status == blob::Status::kNoData) {
        co_return fail(Errc::kCorrupt, fmt::format("snapshot page {} is missing", id.to_string()));
      }
      if (status != blob::Status::kOk) {
        co_return broken("snapshot page " + id.to_string(), status, answer.reason);
      }
      log_.pages.push_back(std::move(answer.items[0].data));
    }
    co_return Result<void>();
  }

  World world_;
  BlobGroups& groups_;
  const TabletInfo& info_;
  const Generation fence_;
  const Duration timeout_;
  BlobId newest_;
  LogEntry newest_entry_;
  RebuiltLog log_;
};

}  // namespace

Task<Result<RebuiltLog>> rebuild_log(World world, BlobGroups& groups, const TabletInfo& info,
                                     Generation fence, Duration timeout) {
  Rebuilder rebuilder(world, groups, info, fence, timeout);
  auto log = co_await rebuilder.run();
  // A newer leader may have collected entries that this one needs.
  if (!log && log.error().code == Errc::kCorrupt && co_await rebuilder.overtaken()) {
    co_return fail(Errc::kConflict, "a newer leader has taken over");
  }
  co_return log;
}

}  // namespace moraine
