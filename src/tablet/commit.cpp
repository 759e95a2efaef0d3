// Commits: queued, written as log entries, several at a time, and confirmed in order.

#include <algorithm>

#include "base/invariant.h"
#include "base/log.h"
#include "tablet/leader.h"

namespace moraine {
namespace {

constexpr std::size_t kSplitCommits = 16;  // Of an entry whose callers are answered in two halves.
constexpr const char* kStopped = "stopped";

// Logged once, by a leader that ends by itself.
void log_end(TabletId tablet, Generation generation, const Error& error) {
  if (error.code == Errc::kConflict) {
    log_error(
        "tablet is fenced by another writer: another node has started it, or its blobs were "
        "blocked or collected by hand (moraine blob block, moraine blob collect)",
        {{"tablet", tablet.value}, {"generation", generation}, {"error", error}});
  } else if (error.context != kStopped) {
    log_warning("tablet leader stops after a failed write",
                {{"tablet", tablet.value}, {"generation", generation}, {"error", error}});
  }
}

}  // namespace

BlobId Leader::log_id(Step step, std::size_t size) const {
  return BlobId(info_.id, generation_, step, kLogChannel, static_cast<std::uint32_t>(size), 0);
}

Task<Result<void>> Leader::commit(CommitRequest request, Confirmed confirmed) {
  if (ended_) co_return std::unexpected(*ended_);
  auto pending = std::make_shared<Pending>();
  pending->bytes = request.body_bytes_hint;
  for (const DataBlob& blob : request.blobs) {
    if (blob.channel < kFirstDataChannel || blob.channel >= info_.channels.size() ||
        blob.data.empty() || blob.data.size() > blob::kBlobSizeMax) {
      co_return fail(Errc::kInvalidArgument,
                     fmt::format("the channel or size of a blob is invalid: {} bytes in channel {}",
                                 blob.data.size(), blob.channel));
    }
    pending->bytes += blob.data.size();
  }
  if (pending->bytes > kCommitBytesMax || request.blobs.size() > kEntryReferencesMax) {
    co_return fail(Errc::kInvalidArgument,
                   fmt::format("the commit is too large: {} bytes in {} blobs", pending->bytes,
                               request.blobs.size()));
  }
  if (queued_bytes_ > kQueuedBytesMax || queue_.size() >= kQueuedCommitsMax) {
    co_return fail(Errc::kOverloaded,
                   fmt::format("{} commits of {} bytes are queued, at most {} and {} are allowed",
                               queue_.size(), queued_bytes_, kQueuedCommitsMax, kQueuedBytesMax));
  }
  pending->request = std::move(request);
  pending->confirmed = std::move(confirmed);
  queued_bytes_ += pending->bytes;
  queue_.push_back(pending);
  if (!writing_ && has_work()) scope_.spawn(write_queued());
  co_return co_await pending->done;
}

Task<Result<void>> Leader::confirm_lead() {
  co_return co_await commit({}, [](const std::vector<BlobId>&) {});
}

bool Leader::snapshot_due() const {
  return log_bytes_ >= options_.snapshot_log_bytes || snapshot_wanted_;
}

// For write_queued(): a snapshot or an entry that may begin now. Where space is short, entries are
// written one at a time: those that decide by colour() whether to write see what was written.
bool Leader::has_work() const {
  if (ended_ || failed_) return false;
  if (in_flight_.empty()) return snapshot_due() || !queue_.empty();
  if (snapshot_due() || queue_.empty() || queue_.front()->after_confirmed()) return false;
  return in_flight_.size() < options_.entries_in_flight && in_flight_bytes_ < kBatchedBytesMax &&
         colour_ == blob::Colour::kGreen;
}

// Moves queued commits into one entry.
std::shared_ptr<Leader::Batch> Leader::next_batch() {
  auto batch = std::make_shared<Batch>();
  batch->step = step_ + 1 + static_cast<Step>(in_flight_.size());
  batch->entry.snapshot = snapshot_;
  batch->entry.unconfirmed = static_cast<std::uint8_t>(in_flight_.size());
  std::size_t& bytes = batch->bytes;
  std::size_t body_bytes = 0;
  while (!queue_.empty() && body_bytes < kSharedBodyBytesMax) {
    const std::shared_ptr<Pending>& next = queue_.front();
    const std::size_t references = batch->entry.references.size() + next->request.blobs.size();
    const bool fits = bytes + next->bytes <= kBatchedBytesMax && references <= kEntryReferencesMax;
    if (!batch->commits.empty() && (!fits || next->after_confirmed())) break;
    std::vector<BlobId> ids;
    for (const DataBlob& blob : next->request.blobs) {
      const auto cookie = static_cast<std::uint32_t>(batch->blobs.size() + 1);
      const BlobId id(info_.id, generation_, batch->step, blob.channel,
                      static_cast<std::uint32_t>(blob.data.size()), cookie);
      ids.push_back(id);
      batch->blobs.emplace_back(id, blob.data);
      batch->entry.references.push_back(id);
    }
    if (next->request.body) {
      batch->entry.bodies.push_back(next->request.body(ids));
      body_bytes += batch->entry.bodies.back().size();
    }
    bytes += next->bytes;
    queued_bytes_ -= next->bytes;
    batch->commits.emplace_back(next, std::move(ids));
    queue_.pop_front();
  }
  in_flight_bytes_ += bytes;
  return batch;
}

// Begins as many entries as may be in flight; settle_written() spawns it again when there is room.
Task<void> Leader::write_queued() {
  writing_ = true;
  // Commits of one turn of the loop share an entry.
  co_await yield(world_.executor);
  while (has_work()) {
    if (!snapshot_due()) {
      in_flight_.push_back(next_batch());
      scope_.spawn(write_batch(in_flight_.back()));
      continue;
    }
    snapshot_wanted_ = false;
    writing_snapshot_ = true;
    const auto written = co_await write_snapshot();
    writing_snapshot_ = false;
    if (!written) end(written.error());
    progress_.notify_all();
  }
  writing_ = false;
  progress_.notify_all();
}

Task<void> Leader::write_batch(std::shared_ptr<Batch> batch) {
  auto written = co_await write_entry(batch->entry, batch->step, batch->blobs, batch->colour);
  failed_ |= !written;
  batch->written = std::move(written);
  settle_written();
}

// In the order of their steps, also when the leader has ended meanwhile: what is durable counts.
void Leader::settle_written() {
  while (!in_flight_.empty() && in_flight_.front()->written) {
    const std::shared_ptr<Batch> batch = in_flight_.front();
    colour_ = batch->colour;
    if (*batch->written) {
      confirm(*batch);
      continue;
    }
    end(batch->written->error());
    // The next incarnation decides whether this entry and the later ones count.
    for (const auto& lost : std::exchange(in_flight_, {})) {
      for (auto& [pending, ids] : lost->commits) pending->done.set(std::unexpected(*ended_));
    }
  }
  progress_.notify_all();
  if (!writing_ && has_work()) scope_.spawn(write_queued());
}

// The oldest entry in flight. When it was the only one and has many commits, half of the callers
// are answered later: the others' next commits are written meanwhile. Else all callers would wait
// for the same write, and the lane with them.
void Leader::confirm(Batch& batch) {
  in_flight_.pop_front();
  in_flight_bytes_ -= batch.bytes;
  step_ = batch.step;
  settled_ = batch.step - 1 - batch.entry.unconfirmed;
  log_bytes_ += **batch.written;
  for (const auto& [id, data] : batch.blobs) garbage_[id.channel()].created(id);
  const bool alone = in_flight_.empty() && answers_due_.empty();
  const std::size_t count = batch.commits.size();
  const std::size_t at_once = !alone || count < kSplitCommits ? count : count / 2;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& [pending, ids] = batch.commits[i];
    pending->confirmed(ids);
    if (i == at_once) scope_.spawn(answer_rest());
    if (i < at_once && answers_due_.empty()) {
      pending->done.set(Result<void>());
    } else {
      answers_due_.push_back(pending);
    }
  }
}

// After the first turn the entry with the commits of those that were answered is put, after the
// second one the device writes it.
Task<void> Leader::answer_rest() {
  co_await yield(world_.executor);
  co_await yield(world_.executor);
  answer_due();
}

void Leader::answer_due() {
  while (!answers_due_.empty()) {
    const std::shared_ptr<Pending> pending = answers_due_.front();
    answers_due_.pop_front();
    pending->done.set(Result<void>());
  }
}

// The entry and its blobs are written in parallel; returns the size of the entry when all are
// durable. `colour`: the worst of the puts, also when it fails.
Task<Result<std::size_t>> Leader::write_entry(
    const LogEntry& entry, Step step, const std::vector<std::pair<BlobId, ByteChain>>& blobs,
    blob::Colour& colour) {
  if (const std::size_t size = unpacked_bytes(entry); size > kEntryBytesMax) {
    co_return fail(Errc::kInvalidArgument,
                   fmt::format("a log entry would have {} bytes, at most {} are allowed", size,
                               kEntryBytesMax));
  }
  const ByteChain bytes = encode(entry);
  EntryPuts puts(world_.executor);
  blob::PutResult& worst = puts.worst;
  worst.status = blob::Status::kOk;
  TaskScope tasks;
  tasks.spawn(put_counted(log_id(step, bytes.size()), bytes, puts));
  for (const auto& [id, data] : blobs) {
    while (puts.bytes > 0 && puts.bytes + data.size() > options_.bytes_in_flight) {
      co_await puts.ended.wait();
    }
    if (worst.status != blob::Status::kOk) break;  // The entry cannot be confirmed any more.
    tasks.spawn(put_counted(id, data, puts));
  }
  co_await tasks.join();
  colour = worst.colour;
  if (worst.status != blob::Status::kOk) {
    const Errc code = worst.status == blob::Status::kBlocked      ? Errc::kConflict
                      : worst.status == blob::Status::kOutOfSpace ? Errc::kNoSpace
                                                                  : Errc::kUnavailable;
    co_return fail(code, fmt::format("tablet {} generation {} step {}: {} {}", info_.id.value,
                                     generation_, step, to_string(worst.status), worst.reason));
  }
  co_return bytes.size();
}

// Puts a blob and merges a failure, and the worst colour, into those of `puts`. kBlocked replaces
// other failures.
Task<void> Leader::put_counted(BlobId id, ByteChain data, EntryPuts& puts) {
  const std::size_t bytes = data.size();
  puts.bytes += bytes;
  blob::PutResult result;
  co_await put_blob(id, std::move(data), result);
  puts.bytes -= bytes;
  puts.ended.notify_all();
  blob::PutResult& worst = puts.worst;
  worst.colour = std::max(worst.colour, result.colour);
  // The leader's own barriers never pass an unconfirmed step.
  if (result.status == blob::Status::kOk && result.beyond_barrier) {
    result.status = blob::Status::kBlocked;
    result.reason = fmt::format("{} is behind a barrier of another writer", id.to_string());
  }
  if (result.status == blob::Status::kOk || worst.status == blob::Status::kBlocked) co_return;
  if (worst.status != blob::Status::kOk && result.status != blob::Status::kBlocked) co_return;
  worst.status = result.status;
  worst.reason = std::move(result.reason);
}

Task<void> Leader::put_blob(BlobId id, ByteChain data, blob::PutResult& result) {
  blob::Proxy* group = groups_.group(info_.group(id.channel(), generation_));
  if (!group) {
    result.reason = "the group of its channel is not in the config";
    co_return;
  }
  blob::PutRequest request;
  request.id = id;
  request.data = std::move(data);
  request.deadline = deadline();
  result = co_await group->put(std::move(request));
}

// The state as of the last confirmed entry; nothing else is written meanwhile.
Task<Result<void>> Leader::write_snapshot() {
  LogEntry entry;
  entry.kind = EntryKind::kSnapshot;
  entry.snapshot = {generation_, step_ + 1};
  entry.needed = state_.needed_since();
  INVARIANT(entry.needed < entry.snapshot, "the state needs {}:{}, which is not written yet",
            entry.needed.generation, entry.needed.step);
  std::vector<std::pair<BlobId, ByteChain>> pages;
  for (Slice& page : state_.snapshot()) {
    INVARIANT(!page.empty() && page.size() <= kSnapshotPageMax, "a page of {} bytes", page.size());
    const BlobId id(info_.id, generation_, step_ + 1, kSnapshotChannel,
                    static_cast<std::uint32_t>(page.size()),
                    static_cast<std::uint32_t>(pages.size() + 1));
    entry.references.push_back(id);
    pages.emplace_back(id, std::move(page));
  }
  if (pages.size() > kEntryReferencesMax) {
    co_return fail(Errc::kUnsupported,
                   fmt::format("the snapshot has {} pages, at most {} are supported", pages.size(),
                               kEntryReferencesMax));
  }
  CO_TRY_VOID(co_await write_entry(entry, step_ + 1, pages, colour_));
  settled_ = step_++;
  snapshot_ = entry.snapshot;
  log_begin_ = entry.needed == GenStep{} ? entry.snapshot : entry.needed;
  count_discarded(std::exchange(log_bytes_, 0));
  for (const BlobId& id : snapshot_pages_) garbage_[kSnapshotChannel].deleted(id);
  snapshot_pages_ = entry.references;
  for (const BlobId& id : snapshot_pages_) garbage_[kSnapshotChannel].created(id);
  garbage_[kLogChannel].passed(log_barrier());
  garbage_found_.notify_all();
  co_return Result<void>();
}

Task<Result<blob::Colour>> Leader::ask_colour() {
  blob::Proxy* group = groups_.group(info_.latest_group(kFirstDataChannel));
  if (!group) co_return fail(Errc::kNotFound, "the group of the data channel is not in the config");
  blob::StatusRequest request;
  request.quorum_is_enough = true;
  const blob::StatusResult answer = co_await group->status(request);
  if (answer.status != blob::Status::kOk) co_return fail(Errc::kUnavailable, answer.reason);
  colour_ = answer.colour;
  co_return answer.colour;
}

void Leader::want_snapshot() {
  if (ended_) return;
  snapshot_wanted_ = true;
  if (!writing_ && has_work()) scope_.spawn(write_queued());
}

void Leader::discard(const std::vector<BlobId>& ids) {
  std::uint64_t bytes = 0;
  for (const BlobId& id : ids) {
    INVARIANT(id.channel() < garbage_.size(), "{} has an unknown channel", id.to_string());
    garbage_[id.channel()].deleted(id);
    bytes += id.size();
  }
  count_discarded(bytes);
  garbage_found_.notify_all();
}

void Leader::count_discarded(std::uint64_t bytes) {
  const bool woken = discarded_bytes_ >= kDiscardedBytesMax;
  discarded_bytes_ += bytes;
  if (!woken && discarded_bytes_ >= kDiscardedBytesMax) collector_wakes_.set();
}

void Leader::end(Error error) {
  if (ended_) return;
  log_end(info_.id, generation_, error);
  ended_ = std::move(error);
  answer_due();
  scope_.close();
  while (!queue_.empty()) {
    const std::shared_ptr<Pending> pending = queue_.front();
    queue_.pop_front();
    pending->done.set(std::unexpected(*ended_));
  }
  queued_bytes_ = 0;
  if (on_end_) std::exchange(on_end_, nullptr)();
}

void Leader::abandon() {
  scope_.close();
  if (!ended_) end(Error{Errc::kUnavailable, kStopped});
}

Task<void> Leader::stop(bool last_snapshot) {
  const auto busy = [this] { return writing_ || !in_flight_.empty() || !queue_.empty(); };
  while (busy() && !ended_) co_await progress_.wait(scope_);
  if (last_snapshot) want_snapshot();
  while (busy() && !ended_) co_await progress_.wait(scope_);
  on_end_ = nullptr;
  abandon();
  co_await scope_.join();
}

}  // namespace moraine
