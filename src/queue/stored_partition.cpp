#include "queue/stored_partition.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "queue/facts.h"

namespace moraine::queue {
namespace {

constexpr std::size_t kKeysPerPage = 10'000;
constexpr std::size_t kBatchBytesMin = 16;  // Of what EntryFormat::kKafkaBatch changes.

std::shared_ptr<OneShot<WriteAnswer>> answered(WriteStatus status, std::string detail) {
  auto done = std::make_shared<OneShot<WriteAnswer>>();
  done->set(refused(status, std::move(detail)));
  return done;
}

// Empty when the request can be stored.
std::string problem_of(const WriteRequest& request) {
  const Producer& producer = request.producer;
  if (request.payload.size() > kPayloadBytesMax) {
    return fmt::format("{} bytes, more than {}", request.payload.size(), kPayloadBytesMax);
  }
  if (producer.source_id.size() > kSourceIdBytesMax) return "the source id is too long";
  if (request.count == 0) return "no messages";
  if (request.count > kEntryMessagesMax) {
    return fmt::format("{} messages, more than {}", request.count, kEntryMessagesMax);
  }
  if (request.format == EntryFormat::kKafkaBatch && request.payload.size() < kBatchBytesMin) {
    return "a record batch that is too short";
  }
  if (producer.numbering != Numbering::kNone && producer.source_id.empty()) {
    return "a sequence number without a source id";
  }
  if (producer.numbering == Numbering::kSequence && producer.number >= kSequenceEnd) {
    return "a sequence number past 2^31";
  }
  if (request.parts == 0 || request.part >= request.parts) return "no such part";
  if (request.parts > kMessagePartsMax) return "too many parts";
  if (request.parts > 1) {
    if (request.format != EntryFormat::kMessage || request.count != 1) {
      return "only single messages have parts";
    }
    if (producer.source_id.empty()) return "parts without a source id";
    if (request.payload.empty()) return "an empty part";
  }
  return {};
}

}  // namespace

WriteAnswer refused(WriteStatus status, std::string detail, bool disk_full) {
  WriteAnswer answer;
  answer.status = status;
  answer.disk_full = disk_full || status == WriteStatus::kDiskFull;
  answer.detail = std::move(detail);
  return answer;
}

StoredPartition::StoredPartition(World world, KeyValue& tablet, BlobCache& cache,
                                 PartitionSetup setup)
    : world_(world),
      tablet_(&tablet),
      cache_(cache),
      loading_budget_(cache.loading(world.executor)),
      tablet_id_(tablet.leader().info().id.value),
      index_(setup.index),
      config_(std::move(setup.config)),
      refusals_(setup.refusals, world.executor.now()),
      facts_(std::move(setup.facts)),
      waiting_writes_max_(setup.waiting_writes_max),
      quota_(static_cast<double>(config_.write_bytes_per_second)),
      quota_at_(world.executor.now()),
      space_probed_at_(world.executor.now()) {}

std::uint64_t StoredPartition::now_ms() const {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(world_.clock.since_epoch().count(), 0));
}

Task<Result<void>> StoredPartition::load() {
  Bounds bounds;
  const bool has_bounds = tablet_->find(meta_key(index_)).has_value();
  if (has_bounds) {
    CO_TRY(const Slice bytes, co_await tablet_->read(meta_key(index_)));
    CO_TRY(bounds, decode_bounds(bytes));
  }
  CO_TRY_VOID(load_blobs());
  start_ = bounds.start;
  end_ = bounds.end;
  if (!blobs_.empty()) {
    start_ = std::max(start_, blobs_.front().name.offset);
    end_ = blobs_.back().end();
  }
  if (start_ > end_) {
    co_return fail(Errc::kCorrupt,
                   fmt::format("partition {} starts at {} and ends at {}", index_, start_, end_));
  }
  CO_TRY_VOID(co_await load_facts('s'));
  CO_TRY_VOID(co_await load_facts('c'));
  count_facts();
  never_served_ = !has_bounds && blobs_.empty() && sources_.size() == 0 && consumers_.empty();
  for (const auto& [name, consumer] : consumers_) note_end(consumer, end_);
  // Parts of messages that were never finished.
  const KeyRange orphans = KeyRange::prefix(key_prefix('x', index_));
  while (!tablet_->list(orphans, 1).empty()) {
    std::vector<Command> commands;
    for (const KeyInfo& info : tablet_->list(orphans, kKeysPerPage)) {
      commands.emplace_back(delete_key(info.key));
    }
    CO_TRY_VOID(co_await tablet_->execute(std::move(commands)));
  }
  publish_info();
  retention_tick();
  co_return Result<void>();
}

Result<void> StoredPartition::load_blobs() {
  KeyRange range = KeyRange::prefix(key_prefix('d', index_));
  std::vector<std::uint64_t> head_sizes;
  while (true) {
    const std::vector<KeyInfo> page = tablet_->list(range, kKeysPerPage);
    if (page.empty()) break;
    for (const KeyInfo& info : page) {
      const auto name = parse_data_key(info.key);
      if (!name) return fail(Errc::kCorrupt, fmt::format("data key {:?}", info.key));
      const bool tiles = blobs_.empty() || (blobs_.back().end() == name->offset &&
                                            (name->head || !blobs_.back().name.head));
      if (!tiles)
        return fail(Errc::kCorrupt, fmt::format("data key {:?} is out of place", info.key));
      StoredBlob blob;
      blob.name = *name;
      blob.bytes = info.size;
      blob.written_ms = info.created_ms;
      if (name->head) {
        blob.pieces = {{name->offset, name->count, 0, info.size}};
        head_sizes.push_back(info.size);
      }
      bytes_ += info.size;
      blobs_.push_back(std::move(blob));
    }
    range.from = page.back().key;
    range.from_inclusive = false;
  }
  const std::vector<HeadBlob> levels = levels_of(head_sizes);
  for (std::size_t i = 0; i < levels.size(); ++i) {
    blobs_[blobs_.size() - levels.size() + i].level = levels[i].level;
  }
  return {};
}

Task<Result<void>> StoredPartition::load_facts(char kind) {
  const std::string prefix = key_prefix(kind, index_);
  KeyRange range = KeyRange::prefix(prefix);
  while (true) {
    CO_TRY(const RangeRead page, co_await tablet_->read_range(range, 8u << 20, true));
    for (const RangeRead::Item& item : page.items) {
      std::string name = item.info.key.substr(prefix.size());
      if (kind == 's') {
        CO_TRY(Source source, decode_source(item.value));
        if (has_bug(SeededBug::kForgetWindow)) source.window.clear();
        sources_.set(name, std::move(source));
      } else {
        CO_TRY(ConsumerOffset consumer, decode_consumer(name, item.value));
        consumers_[std::move(name)] = std::move(consumer);
      }
    }
    if (!page.overrun || page.items.empty()) co_return Result<void>();
    range.from = page.items.back().info.key;
    range.from_inclusive = false;
  }
}

void StoredPartition::abandon() {
  if (stopped_) return;
  stopped_ = true;
  scope_.close();
  const std::optional<Error>& ended = tablet_->leader().ended();
  no_space_ = ended && ended->code == Errc::kNoSpace;
  world_.executor.cancel(std::exchange(retention_timer_, {}));
  fail_waiting(stopped_status(), "the partition stops");
  facts_.set(0, 0);
  notify_watches();
}

Task<void> StoredPartition::stop() {
  abandon();
  co_await scope_.join();
  while (reading_ > 0) co_await read_ended_.wait();
}

std::shared_ptr<OneShot<WriteAnswer>> StoredPartition::write(WriteRequest request) {
  if (std::string problem = problem_of(request); !problem.empty()) {
    return answered(WriteStatus::kInvalid, std::move(problem));
  }
  if (stopped_) return answered(stopped_status(), "the partition is stopped");
  const Producer& producer = request.producer;
  if (!refusals_.admit(producer, request.part == 0, world_.executor.now())) {
    return answered(WriteStatus::kFailedBefore,
                    "an earlier write of the source was refused and must be sent again first");
  }
  const std::size_t bytes = request.payload.size() + kPieceEntryBytes;
  const bool full =
      waiting_bytes_ + bytes > kInFlightBytesMax || waiting_.size() >= waiting_writes_max_;
  // A later write of the same source must not overtake a refused one.
  if (refusing_ || full) {
    refusing_ = true;
    note_refused(producer);
    return answered(WriteStatus::kOverloaded,
                    fmt::format("{} bytes are waiting to be written", waiting_bytes_));
  }
  auto done = std::make_shared<OneShot<WriteAnswer>>();
  waiting_bytes_ += bytes;
  waiting_.push_back({std::move(request), done});
  kick();
  return done;
}

Task<Result<void>> StoredPartition::act(Action action) {
  if (stopped_) co_return fail(Errc::kUnavailable, "the partition is stopped");
  if (actions_.size() >= kWaitingActionsMax) {
    co_return fail(Errc::kOverloaded, fmt::format("{} changes are waiting", actions_.size()));
  }
  const auto self = shared_from_this();
  const auto done = std::make_shared<OneShot<Result<void>>>();
  action.done = done;
  actions_.push_back(std::move(action));
  action_queued_.notify_all();
  kick();
  co_return co_await *done;
}

Task<Result<void>> StoredPartition::commit(ConsumerOffset offset) {
  if (offset.consumer.empty() || offset.consumer.size() > kConsumerNameBytesMax) {
    co_return fail(Errc::kInvalidArgument,
                   fmt::format("the consumer's name has {} bytes", offset.consumer.size()));
  }
  if (offset.metadata.size() > kConsumerMetadataBytesMax) {
    co_return fail(Errc::kInvalidArgument, "the metadata is too long");
  }
  Action action;
  action.what = SetConsumer{std::move(offset)};
  co_return co_await act(std::move(action));
}

Task<Result<void>> StoredPartition::forget_consumer(std::string consumer) {
  if (!cycling_ && !consumers_.contains(consumer)) co_return Result<void>();
  Action action;
  action.what = ForgetConsumer{std::move(consumer)};
  co_return co_await act(std::move(action));
}

Task<Result<Offset>> StoredPartition::trim(Offset offset) {
  if (offset > end_) {
    co_return fail(Errc::kInvalidArgument,
                   fmt::format("offset {} is past the end {}", offset, end_));
  }
  Action action;
  action.what = Trim{offset};
  CO_TRY_VOID(co_await act(std::move(action)));
  co_return start_;
}

std::optional<ConsumerOffset> StoredPartition::committed(const std::string& consumer) const {
  const std::lock_guard lock(shared_mutex_);
  const auto found = consumers_.find(consumer);
  if (found == consumers_.end()) return std::nullopt;
  return found->second;
}

std::vector<ConsumerOffset> StoredPartition::all_committed() const {
  std::vector<ConsumerOffset> all;
  const std::lock_guard lock(shared_mutex_);
  for (const auto& [name, consumer] : consumers_) all.push_back(consumer);
  return all;
}

std::vector<ConsumerOffset> StoredPartition::committed_after(const std::string& name,
                                                             std::size_t limit) const {
  std::vector<ConsumerOffset> found;
  const std::lock_guard lock(shared_mutex_);
  for (auto at = consumers_.upper_bound(name); at != consumers_.end() && found.size() < limit;
       ++at) {
    found.push_back(at->second);
  }
  return found;
}

std::size_t StoredPartition::head_from() const {
  std::size_t from = blobs_.size();
  while (from > 0 && blobs_[from - 1].name.head) --from;
  return from;
}

PartitionInfo StoredPartition::info() const {
  PartitionInfo info;
  {
    const std::lock_guard lock(shared_mutex_);
    info = published_;
  }
  info.read_messages = read_messages_.load(std::memory_order_relaxed);
  info.read_bytes = read_bytes_.load(std::memory_order_relaxed);
  return info;
}

void StoredPartition::publish_info() {
  PartitionInfo info = counters_;
  info.start = start_;
  info.end = end_;
  info.bytes = bytes_;
  info.body_blobs = head_from();
  info.head_blobs = blobs_.size() - info.body_blobs;
  info.sources = sources_.size();
  const std::lock_guard lock(shared_mutex_);
  published_ = info;
}

void StoredPartition::configure(PartitionConfig config) {
  config_ = std::move(config);
  if (retention_due()) kick();
}

// A callback may watch and unwatch.
void StoredPartition::notify_watches() {
  std::vector<std::shared_ptr<Watch>> watches;
  for (const auto& [id, watch] : watches_) watches.push_back(watch);
  for (const auto& watch : watches) watch->call();
}

std::uint64_t StoredPartition::watch(Callback moved) {
  const std::uint64_t id = next_watch_++;
  watches_.emplace(id, std::make_shared<Watch>(std::move(moved)));
  return id;
}

void StoredPartition::unwatch(std::uint64_t watch) {
  const auto found = watches_.find(watch);
  if (found == watches_.end()) return;
  found->second->callback = nullptr;
  watches_.erase(found);
}

}  // namespace moraine::queue
