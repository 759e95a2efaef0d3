// Writes to ordered tables: rows are numbered at the end of the tablet, in the order of the log.
//
// A write numbers its rows when it has the turn to append (append_turn.h). One that commits in one
// phase passes the turn on as soon as its entry is in the queue of the log, so that many are
// written at once; a prepared one when it has ended, since only then its numbers are taken or free.
// So the order of rows is that of the entries of the log, and that of commit timestamps.
// Coordinators prepare such writes one after another in the order of tablets, before all others:
// two transactions cannot wait for each other's turns.

#include <fmt/format.h>

#include <algorithm>

#include "table/tablet/table_impl.h"

namespace moraine::table {
// What the client decides on; the numbers in the keys are those of its rows, from 0.
Result<void> TableTablet::Impl::check_append(const TabletWrite& write) const {
  for (const RowChange& change : write.changes) {
    if (change.kind != ChangeKind::kWrite) {
      return fail(
          Errc::kInvalidArgument,
          fmt::format("{} is an ordered table: rows are appended, and not deleted or locked",
                      settings_.table_path));
    }
    const auto place = decode_place(as_bytes(change.key));
    if (!place || place->tablet != tablet_index_) {
      return fail(Errc::kInvalidArgument, fmt::format("{}: a row is not for tablet {} of the table",
                                                      settings_.table_path, tablet_index_));
    }
  }
  return {};
}

Result<void> TableTablet::Impl::check_append_now(const TabletWrite& write) {
  TRY_VOID(may_write());
  TRY_VOID(check_schema(write));
  TRY_VOID(check_write(write));
  if (end_.rows + write.changes.size() <= kTabletRowsMax) return {};
  return fail(Errc::kInvalidArgument, settings_.table_path + ": the tablet has too many rows");
}

// Takes the turn. Numbers are given without waiting after this.
Task<Result<Append>> TableTablet::Impl::begin_append(Instant deadline) {
  Append append;
  auto turn = co_await append_turn_.take(deadline);
  if (!turn) {
    if (leader_->ended()) co_return std::unexpected(*leader_->ended());
    co_return std::unexpected(std::move(turn).error().within(settings_.table_path));
  }
  append.turn = std::move(*turn);
  CO_TRY_VOID(co_await load_end());
  co_return std::move(append);
}

Task<Result<Timestamp>> TableTablet::Impl::append(TabletWrite write) {
  CO_TRY_VOID(check_append(write));
  CO_TRY_VOID(check_append_now(write));
  if (leader_->colour() >= kColourToStop) {
    CO_TRY_VOID(co_await check_space(write.changes));
  }
  CO_TRY(Append append, co_await begin_append(executor().now() + kTurnWaitMax));
  CO_TRY_VOID(check_append_now(write));
  append.end = filled_->place_rows(write.changes, tablet_index_, end_);
  PromisedRows promised = promise(write.changes, write.start, false);
  co_return co_await commit_promised(promised, write, &append);
}

// After a boot: the end of the rows in chunks, in memory and of those that were trimmed.
void TableTablet::Impl::restore_end() {
  tablet_index_ = *tablet_of_pivot(settings_.bounds.from);
  end_.rows = std::max(state_.trimmed().rows, state_.replayed_end());
  for (const auto& [id, chunk] : state_.chunks()) {
    if (const auto last = decode_place(as_bytes(chunk.statistics.last_key))) {
      end_.rows = std::max(end_.rows, last->row + 1);
    }
  }
  apply_trimmed();
  for (const auto& [id, transaction] : prepared_) {
    transaction->append = {append_turn_.restore(),
                           filled_->end_after(transaction->record->changes)};
  }
}

// The weight of the rows so far, unless the schema does not ask for it.
Task<Result<void>> TableTablet::Impl::load_end() {
  if (std::exchange(end_loaded_, true) || !filled_->weight() || end_.rows == 0) {
    co_return Result<void>();
  }
  auto weight = co_await weight_at(end_.rows - 1);
  if (!weight) {
    end_loaded_ = false;
    co_return std::unexpected(std::move(weight).error());
  }
  end_.weight = *weight;
  co_return Result<void>();
}

// The weight of the rows up to this one, itself included. Trimmed ones: of all that are trimmed.
Task<Result<std::uint64_t>> TableTablet::Impl::weight_at(std::uint64_t row) {
  if (!filled_->weight()) co_return std::uint64_t{0};
  if (row < state_.trimmed().rows) co_return state_.trimmed().weight;
  const std::string key = encode_place({tablet_index_, row});
  const std::string_view keys[] = {key};
  const ColumnIndex columns[] = {*filled_->weight()};
  LookupRequest request;
  request.keys = keys;
  request.columns = columns;
  request.timestamp = kAsyncLastCommitted;
  Rowset rows;
  CO_TRY_VOID(co_await reader_->lookup(request, rows));
  const bool found = rows.exists(0) && rows.at(0, 0).type() == ValueType::kInt64;
  // A row of a time when the schema did not ask for weights.
  co_return found ? static_cast<std::uint64_t>(rows.at(0, 0).as_int64()) : std::uint64_t{0};
}

Task<Result<void>> TableTablet::Impl::trim(std::uint64_t rows) {
  if (!ordered()) {
    co_return fail(Errc::kInvalidArgument,
                   settings_.table_path + " is a sorted table: only ordered ones can be trimmed");
  }
  if (leader_->ended()) co_return std::unexpected(*leader_->ended());
  if (frozen_ || stopping_) {
    co_return fail(
        Errc::kReadOnly,
        fmt::format("Tablet {} of table {} is in \"frozen\" state while \"mounted\" expected",
                    info_.id.value, settings_.table_path));
  }
  if (rows > end_.rows) {
    co_return fail(Errc::kInvalidArgument,
                   fmt::format("Cannot trim tablet {} of {} at row {} since it only has {} row(s)",
                               tablet_index_, settings_.table_path, rows, end_.rows));
  }
  if (rows <= state_.trimmed().rows) co_return Result<void>();
  CO_TRY(const std::uint64_t weight, co_await weight_at(rows - 1));
  const TrimRecord record{{.rows = rows, .weight = weight}};
  ++in_flight_;
  const auto written = co_await log(encode(record), [this, &record](const std::vector<BlobId>&) {
    state_.trim(record.trimmed);
    apply_trimmed();
    maintenance_->trimmed();
  });
  write_ended();
  co_return written;
}

void TableTablet::Impl::apply_trimmed() {
  const std::uint64_t rows = state_.trimmed().rows;
  if (rows > 0) stores_->trim(encode_place({tablet_index_, rows}));
}

// Trims the first chunks once all their rows are older than max_data_ttl. As YTsaurus does it: only
// with min_data_versions 0.
void TableTablet::Impl::trim_expired() {
  if (trims_by_.min_data_versions > 0 || trimming_ || frozen_ || stopping_) return;
  using std::chrono::duration_cast, std::chrono::seconds;
  const auto ttl = std::max(trims_by_.min_data_ttl, trims_by_.max_data_ttl);
  const auto oldest = duration_cast<seconds>(resources_.world.clock.since_epoch() - ttl).count();
  if (oldest <= 0) return;
  const Timestamp expired = timestamp_of_seconds(static_cast<std::uint64_t>(oldest));
  std::vector<std::pair<std::uint64_t, bool>> ends;  // Of the chunks; whether they are expired.
  for (const auto& [id, chunk] : state_.chunks()) {
    const auto last = decode_place(as_bytes(chunk.statistics.last_key));
    if (last) ends.emplace_back(last->row + 1, chunk.statistics.max_timestamp < expired);
  }
  std::ranges::sort(ends);
  std::uint64_t rows = 0;
  for (const auto& [end, is_expired] : ends) {
    if (!is_expired) break;
    rows = end;
  }
  if (rows <= state_.trimmed().rows) return;
  trimming_ = true;
  scope_.spawn(trim_to(rows));
}

Task<void> TableTablet::Impl::trim_to(std::uint64_t rows) {
  (void)co_await trim(rows);  // It is tried again.
  trimming_ = false;
}

}  // namespace moraine::table
