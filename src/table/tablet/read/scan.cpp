#include "table/tablet/read/scan.h"

#include <algorithm>
#include <functional>
#include <set>

#include "io/sync.h"
#include "table/memory/mark_rules.h"
#include "table/tablet/read/column_merge.h"
#include "table/tablet/read/deleted_rows_scan.h"
#include "table/tablet/read/hunk_reader.h"
#include "table/tablet/read/lookup_pass.h"
#include "table/tablet/read/merge_cursor.h"
#include "table/tablet/read/scan_plan.h"
#include "table/tablet/read/scan_rows.h"

namespace moraine::table {
namespace {

// Rows that are merged before reading by columns is tried again: the fewer, the more rows were read
// by columns the last time.
constexpr std::size_t kRowsBeforePlanningMin = 256;
constexpr std::size_t kRowsBeforePlanningMax = 8'192;
// How often position() moves while rows are merged.
constexpr std::size_t kRowsPerPosition = 64;
// A batch ends after so many visited rows, though few of them match.
constexpr std::size_t kMergedRowsPerBatchMax = 4 * kBatchRowsMax;

void cut_rows(ColumnBatch& batch, std::size_t rows) {
  batch.rows = rows;
  for (ColumnVector& column : batch.columns) {
    if (column.texts.size() > rows) column.texts.resize(rows);
    if (column.words.size() > rows) column.words.resize(rows);
    if (column.nulls.size() > rows) column.nulls.resize(rows);
    if (column.codes.size() > rows) column.codes.resize(rows);
  }
}

class Scan final : public TabletScan {
 public:
  Scan(ScanRequest request, const ScanSources& sources)
      : request_(std::move(request)),
        sources_(sources),
        deleted_rows_(sources.deleted_range, sources.executor, request_.timestamp),
        view_(sources.views.hold()),
        batcher_(request_, view_->schema),
        rows_left_(request_.row_limit) {}

  Result<void> open();
  Result<Step> next(ColumnBatch& batch) override;
  Task<Result<void>> load() override;
  std::string position() const override;
  void release() override;
  ScanStatistics statistics() const override { return read_; }

 private:
  // What load() has to do.
  enum class Need : std::uint8_t { kNothing, kRows, kColumns, kDecision, kAppend, kHunks };

  Result<void> check() const {
    return check_read_timestamps(request_.timestamp, request_.retention_timestamp,
                                 view_->retained_timestamp, request_.in_transaction);
  }
  ReadSpec spec() {
    return {.timestamp = request_.timestamp,
            .all_versions = false,
            .columns = batcher_.wanted(),
            .may_fold =
                request_.retention_timestamp == kNullTimestamp && request_.timestamps_of.empty(),
            .statistics = &read_};
  }
  bool by_columns(const ChunkReader& chunk) const;
  std::optional<std::string> first_memory_key();
  Result<bool> open_segment();
  void open_rows();
  bool open_merge();
  ColumnScan column_scan() {
    return {.timestamp = request_.timestamp,
            .columns = request_.columns,
            .filters = request_.filters,
            .conditions = request_.conditions,
            .text_tables = request_.text_tables,
            .statistics = &read_};
  }
  void close_segment(std::string from);
  Result<Step> read(ColumnBatch& batch);
  // nullopt: the segment has ended, and the batch has no rows.
  std::optional<Step> read_columns(ColumnBatch& batch);
  std::optional<Step> read_rows(ColumnBatch& batch);
  std::optional<Step> read_merged(ColumnBatch& batch);
  std::optional<Step> end_rows(ColumnBatch& batch, Need need);
  void count_merged(std::uint64_t rows) {
    read_.rows_read += rows;
    read_.rows_merged += rows;
  }
  Step needs(Need need) {
    need_ = need;
    return Step::kNeedsData;
  }
  Step give(ColumnBatch& batch);
  Task<Result<void>> wait_decided(std::string key);
  Task<Result<void>> load_hunks();

  const ScanRequest request_;
  const ScanSources sources_;
  DeletedRowsScan deleted_rows_;
  std::shared_ptr<const TabletView> view_;
  RowBatcher batcher_;
  std::string position_;  // Where the next segment begins.
  std::string to_;        // Empty: no bound.
  bool over_ = false;
  std::optional<ScanSegment> segment_;
  std::unique_ptr<RowCursor> rows_;
  std::unique_ptr<ChunkReader::ColumnCursor> columns_;
  std::unique_ptr<ColumnMerge> merge_;
  std::set<const ChunkReader*> not_by_columns_;
  bool one_store_ = false;        // Has all rows of the segment.
  bool texts_in_memory_ = false;  // Texts of the last batch belong to memory stores.
  std::vector<std::shared_ptr<MemoryStore>> released_memory_;
  std::size_t segment_rows_ = 0;  // Rows visited; by columns: rows returned.
  std::size_t rows_before_planning_ = kRowsBeforePlanningMin;
  std::size_t visited_ = 0;  // In this call.
  std::string visited_key_;  // Every row of the segment up to it was visited. Empty: not known.
  std::size_t rows_to_position_ = kRowsPerPosition;
  std::uint64_t rows_left_;
  ScanStatistics read_;
  Need need_ = Need::kNothing;
  std::string waiting_;  // The key of an undecided row; if not empty, handled first.
  ColumnBatch held_;     // Waits for hunks.
  bool held_ready_ = false;
};

Result<void> Scan::open() {
  if (Result<void> fine = check(); !fine) return fine;
  if (Result<void> known = batcher_.prepare(); !known) return known;
  position_ = std::max(request_.bounds.from, view_->bounds.from);
  to_ = request_.bounds.to;
  if (ends_before(view_->bounds.to, to_)) to_ = view_->bounds.to;
  deleted_rows_.begin(position_);
  over_ = !to_.empty() && position_ >= to_;
  sources_.statistics.scan.add(LookupStatistics::kRequests, 1);
  return {};
}

bool Scan::by_columns(const ChunkReader& chunk) const {
  const ChunkRecord& record = chunk.record();
  return request_.columnar && request_.timestamps_of.empty() && !not_by_columns_.contains(&chunk) &&
         request_.retention_timestamp <= record.statistics.min_timestamp;
}

std::optional<std::string> Scan::first_memory_key() {
  std::optional<std::string> first;
  for (const std::shared_ptr<MemoryStore>& store : view_->memory) {
    if (store->rows() == 0) continue;
    const KeyBounds bounds{.from = position_, .to = first ? *first : to_};
    const std::unique_ptr<RowCursor> cursor = store->scan(bounds, spec());
    if (cursor->next() == RowCursor::Step::kRow) first = as_text(cursor->row().key);
  }
  return first;
}

// False: nothing left. Rows before unreadable keys are returned first.
Result<bool> Scan::open_segment() {
  const DamagedChunk* met = find_damage(view_->damaged, position_, to_, request_.timestamp);
  if (met != nullptr && met->from <= position_) return std::unexpected(met->error);
  const std::string& to = met != nullptr ? met->from : to_;
  const std::function<bool(const ChunkReader&)> usable = [this](const ChunkReader& chunk) {
    return by_columns(chunk);
  };
  while (true) {
    const ScanPlanInput input{.view = *view_,
                              .from = position_,
                              .to = to,
                              .memory_key = first_memory_key(),
                              .readable_by_columns = usable};
    segment_ = next_segment(input);
    if (!segment_ && met != nullptr) return std::unexpected(met->error);
    if (!segment_) return false;
    segment_rows_ = 0;
    if (segment_->merged) {
      if (open_merge()) return true;
      continue;
    }
    if (!segment_->by_columns) {
      open_rows();
      return true;
    }
    const ChunkReader& chunk = *segment_->chunks.front();
    columns_ =
        chunk.scan_columns(KeyBounds{.from = segment_->from, .to = segment_->to}, column_scan());
    if (columns_ != nullptr) {
      if (deleted_rows_.observing()) deleted_rows_.end(segment_->from);
      one_store_ = true;
      return true;
    }
    not_by_columns_.insert(&chunk);
  }
}

void Scan::open_rows() {
  const KeyBounds bounds{.from = segment_->from, .to = segment_->to};
  std::vector<std::unique_ptr<RowCursor>> cursors;
  for (const std::shared_ptr<MemoryStore>& store : view_->memory) {
    if (store->rows() != 0) cursors.push_back(store->scan(bounds, spec()));
  }
  for (const std::shared_ptr<ChunkReader>& chunk : segment_->chunks) {
    cursors.push_back(chunk->scan(bounds, spec(), true));
  }
  one_store_ = cursors.size() == 1;
  rows_ = merge_cursors(std::move(cursors));
}

// False: a chunk cannot be read by columns after all.
bool Scan::open_merge() {
  const KeyBounds bounds{.from = segment_->from, .to = segment_->to};
  std::vector<std::unique_ptr<RowCursor>> rows;
  for (const std::shared_ptr<MemoryStore>& store : view_->memory) {
    if (store->rows() != 0) rows.push_back(store->scan(bounds, spec()));
  }
  const std::size_t stores = rows.size();
  std::vector<std::unique_ptr<GroupCursor>> groups;
  for (const std::shared_ptr<ChunkReader>& chunk : segment_->chunks) {
    if (!by_columns(*chunk) || chunk->record().format != OptimizeFor::kScan) {
      rows.push_back(chunk->scan(bounds, spec(), true));
    } else if (auto group = chunk->scan_groups(bounds, column_scan())) {
      groups.push_back(std::move(group));
    } else {
      not_by_columns_.insert(chunk.get());
      return false;
    }
  }
  one_store_ = rows.empty() && groups.size() == 1;
  texts_in_memory_ = rows.size() == stores && stores > 0;
  std::unique_ptr<RowCursor> merged_rows;
  if (!rows.empty()) merged_rows = merge_cursors(std::move(rows));
  const ColumnMerge::Setup setup{.request = request_,
                                 .schema = *view_->schema,
                                 .batcher = batcher_,
                                 .deleted_rows = deleted_rows_,
                                 .statistics = read_,
                                 .spec = spec(),
                                 .texts_stay = texts_in_memory_};
  merge_ = std::make_unique<ColumnMerge>(std::move(groups), std::move(merged_rows), setup);
  return true;
}

// An empty `from`: the segment ended at the end of all keys.
void Scan::close_segment(std::string from) {
  over_ = from.empty();
  position_ = std::move(from);
  rows_.reset();
  columns_.reset();
  merge_.reset();
  segment_.reset();
  visited_key_.clear();
}

std::string Scan::position() const {
  if (need_ == Need::kHunks || held_ready_) return {};  // Visited rows were not returned yet.
  if (!waiting_.empty()) return waiting_;
  if (!segment_) return position_;
  std::string visited = columns_ ? columns_->position()
                        : merge_ ? merge_->position()
                                 : visited_key_;
  if (!columns_ && !merge_ && !visited.empty()) visited += '\0';
  // The last unit of a chunk that was visited may end above the segment.
  if (!segment_->to.empty()) visited = std::min(std::move(visited), segment_->to);
  return std::max(std::move(visited), segment_->from);
}

Result<TabletScan::Step> Scan::next(ColumnBatch& batch) {
  const EpochGuard guard;
  if (need_ == Need::kHunks) return Step::kNeedsData;
  if (held_ready_) {
    held_ready_ = false;
    std::swap(batch, held_);
    return give(batch);
  }
  if (!waiting_.empty() && rows_left_ != 0) return needs(Need::kDecision);
  if (!over_ && concerns(view_->append, request_.timestamp)) return needs(Need::kAppend);
  need_ = Need::kNothing;
  visited_ = 0;
  batch.rows = 0;
  if (Result<void> fine = check(); !fine) return std::unexpected(std::move(fine).error());
  return read(batch);
}

Result<TabletScan::Step> Scan::read(ColumnBatch& batch) {
  while (!over_ && rows_left_ != 0) {
    if (!segment_) {
      TRY(const bool opened, open_segment());
      if (!opened) break;
    }
    const std::optional<Step> step = columns_ ? read_columns(batch)
                                     : merge_ ? read_merged(batch)
                                              : read_rows(batch);
    if (step) return *step;
    if (visited_ >= kRowsPerCallMax) return give(batch);
  }
  over_ = true;
  return Step::kEnd;
}

std::optional<TabletScan::Step> Scan::read_columns(ColumnBatch& batch) {
  texts_in_memory_ = false;
  columns_->limit_rows(rows_left_);
  switch (columns_->next(batch)) {
    case RowCursor::Step::kNeedsData: return needs(Need::kColumns);
    case RowCursor::Step::kEnd:
      batch.rows = 0;
      rows_before_planning_ = segment_rows_ >= rows_before_planning_
                                  ? std::max(rows_before_planning_ / 2, kRowsBeforePlanningMin)
                                  : std::min(rows_before_planning_ * 2, kRowsBeforePlanningMax);
      close_segment(segment_->to);
      return std::nullopt;
    case RowCursor::Step::kRow: break;
  }
  segment_rows_ += batch.rows;
  visited_ += kBatchRowsMax;
  if (batch.rows == 0) return std::nullopt;
  return give(batch);
}

std::optional<TabletScan::Step> Scan::read_rows(ColumnBatch& batch) {
  batcher_.begin(batch, segment_->only_memory_hinders
                            ? std::min<std::uint64_t>(rows_left_, rows_before_planning_)
                            : rows_left_);
  const bool waits = request_.timestamp != kAsyncLastCommitted;
  const bool texts_stay = segment_->chunks.empty();
  texts_in_memory_ = texts_stay;
  const std::size_t visited_before = visited_;
  RowCursor& rows = *rows_;
  while (true) {
    const RowCursor::Step step = rows.next();
    if (step == RowCursor::Step::kNeedsData) {
      count_merged(visited_ - visited_before);
      return end_rows(batch, Need::kRows);
    }
    if (step == RowCursor::Step::kEnd) {
      count_merged(visited_ - visited_before);
      close_segment(segment_->to);
      return end_rows(batch, Need::kNothing);
    }
    if (waits && rows.prepared()) {
      waiting_ = as_text(rows.row().key);
      count_merged(visited_ - visited_before);
      return end_rows(batch, Need::kDecision);
    }
    const bool visible = batcher_.add(rows.row(), texts_stay, batch);
    if (deleted_rows_.observing()) deleted_rows_.visit(rows.row(), visible);
    ++visited_;
    if (--rows_to_position_ == 0) {
      visited_key_ = as_text(rows.row().key);
      rows_to_position_ = kRowsPerPosition;
    }
    if (batcher_.full(batch) || visited_ >= kRowsPerCallMax) break;
  }
  segment_rows_ += visited_ - visited_before;
  count_merged(visited_ - visited_before);
  if (segment_->only_memory_hinders && segment_rows_ >= rows_before_planning_) {
    close_segment(std::string(as_text(rows_->row().key)) + '\0');
  }
  return end_rows(batch, Need::kNothing);
}

std::optional<TabletScan::Step> Scan::read_merged(ColumnBatch& batch) {
  batcher_.begin(batch, rows_left_);
  const std::size_t visit_max = std::min(kRowsPerCallMax - visited_, kMergedRowsPerBatchMax);
  const ColumnMerge::Stop stop = merge_->read(batch, visit_max);
  visited_ += merge_->visited();
  switch (stop) {
    case ColumnMerge::Stop::kPause: break;
    case ColumnMerge::Stop::kEnd:
      if (batch.rows == 0) close_segment(segment_->to);
      break;
    case ColumnMerge::Stop::kNeedsData: return end_rows(batch, Need::kColumns);
    case ColumnMerge::Stop::kUndecided:
      waiting_ = as_text(merge_->undecided_key());
      return end_rows(batch, Need::kDecision);
  }
  return end_rows(batch, Need::kNothing);
}

// Rows already in the batch are returned first.
std::optional<TabletScan::Step> Scan::end_rows(ColumnBatch& batch, Need need) {
  batcher_.end(batch);
  if (!batcher_.hunks().empty()) {
    std::swap(batch, held_);
    batch.rows = 0;
    return needs(Need::kHunks);
  }
  if (batch.rows != 0) return give(batch);
  if (need == Need::kNothing) return std::nullopt;
  return needs(need);
}

TabletScan::Step Scan::give(ColumnBatch& batch) {
  if (batch.rows > rows_left_) cut_rows(batch, static_cast<std::size_t>(rows_left_));
  rows_left_ -= batch.rows;
  read_.rows_returned += batch.rows;
  std::uint64_t weight = 0;
  for (const ColumnVector& column : batch.columns) {
    weight += (column.words.size() + column.codes.size()) * sizeof(std::uint64_t);
    for (const std::string_view text : column.texts) weight += text.size();
  }
  if (batch.rows != 0) {
    auto counters = sources_.statistics.scan.here();
    counters.add(LookupStatistics::kRows, batch.rows);
    counters.add(LookupStatistics::kDataWeight, weight);
    if (one_store_) counters.add(LookupStatistics::kUnmergedRows, batch.rows);
  }
  return Step::kRows;
}

void Scan::release() {
  if (texts_in_memory_) released_memory_ = view_->memory;
  rows_.reset();
  merge_.reset();
  if (columns_) columns_->release();
  segment_.reset();
  not_by_columns_.clear();
  view_.reset();
}

Task<Result<void>> Scan::load() {
  co_await hop(sources_.executor);
  switch (std::exchange(need_, Need::kNothing)) {
    case Need::kNothing: co_return Result<void>();
    case Need::kRows: co_return co_await rows_->load();
    case Need::kColumns: co_return co_await (columns_ ? columns_->load() : merge_->load());
    case Need::kDecision: co_return co_await wait_decided(std::exchange(waiting_, {}));
    case Need::kAppend: co_return co_await wait_decided(position_);
    case Need::kHunks: co_return co_await load_hunks();
  }
  co_return Result<void>();
}

// Then continues from that key, with what the stores have by then.
Task<Result<void>> Scan::wait_decided(std::string key) {
  sources_.statistics.scan.add(LookupStatistics::kWaits, 1);
  const Instant deadline =
      std::min(request_.deadline, sources_.executor.now() + sources_.undecided_timeout);
  Result<void> decided =
      co_await sources_.undecided.wait_decided(key, request_.timestamp, deadline);
  if (!decided) {
    waiting_ = std::move(key);
    co_return decided;
  }
  close_segment(std::move(key));
  over_ = false;
  view_ = sources_.views.hold();
  not_by_columns_.clear();
  co_return Result<void>();
}

Task<Result<void>> Scan::load_hunks() {
  need_ = Need::kHunks;  // Until it is done.
  Result<std::vector<Slice>> bytes = co_await read_hunks(
      batcher_.hunks(), sources_.blobs, sources_.statistics.hunks.of(ReadKind::kSelect));
  if (!bytes) co_return std::unexpected(std::move(bytes).error());
  need_ = Need::kNothing;
  batcher_.resolve(*bytes, held_);
  held_ready_ = true;
  co_return Result<void>();
}

}  // namespace

Result<std::unique_ptr<TabletScan>> open_scan(ScanRequest request, const ScanSources& sources) {
  auto scan = std::make_unique<Scan>(std::move(request), sources);
  if (Result<void> opened = scan->open(); !opened) {
    return std::unexpected(std::move(opened).error());
  }
  return std::unique_ptr<TabletScan>(std::move(scan));
}

}  // namespace moraine::table
