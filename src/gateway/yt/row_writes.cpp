#include "gateway/yt/row_writes.h"

#include <fmt/format.h>

#include "base/node_bug.h"
#include "io/run_on.h"

namespace moraine::yt {
namespace {

// Rows that were read and not written yet.
struct Batch {
  std::vector<std::vector<NamedValue>> rows;
  std::vector<std::vector<Value>> keys;

  std::size_t size() const { return rows.size() + keys.size(); }
  void clear() {
    rows.clear();
    keys.clear();
  }
};

YtResult<void> check_row(const RowReader& reader, const RowWrite& write) {
  if (write.kind == RowWrite::Kind::kInsert && write.options.update && !reader.has_value_column()) {
    return refuse(Code::kGeneric, "At least one non-key column must be specified");
  }
  return {};
}

YtResult<void> apply_key(client::Transaction& transaction, const client::Table& table,
                         const RowWrite& write, Key key) {
  if (write.kind == RowWrite::Kind::kRemove) {
    YT_TRY_VOID(transaction.remove(table, key));
  } else {
    YT_TRY_VOID(transaction.lock(table, key, write.lock, write.groups));
  }
  return {};
}

YtResult<void> apply(client::Transaction& transaction, const client::Table& table,
                     const RowWrite& write, const Batch& batch) {
  for (const std::vector<NamedValue>& row : batch.rows) {
    YT_TRY_VOID(transaction.insert(table, row, write.options));
  }
  for (const std::vector<Value>& key : batch.keys) {
    YT_TRY_VOID(apply_key(transaction, table, write, key));
  }
  return {};
}

// Where a batch goes.
class Destination {
 public:
  Destination(Call& call, TablePtr table, const RowWrite& write)
      : call_(call), table_(std::move(table)), write_(write), room_(call.lane.inputs()) {}
  Destination(const Destination&) = delete;
  Destination& operator=(const Destination&) = delete;

  Task<YtResult<void>> open() {
    YT_CO_TRY(const WriteTarget target, write_target(call_));
    if (target.transaction && !has_bug(NodeBug::kCommitRowsAtOnce)) {
      YT_CO_TRY(lane_, call_.lane.lane_of(*target.transaction));
      id_ = *target.transaction;
      co_return YtResult<void>();
    }
    TransactionOptions options;
    options.atomicity = target.atomicity;
    YT_CO_TRY(client::Transaction begun,
              co_await call_.lane.tables().begin(options, call_.lane.world().random));
    own_.emplace(std::move(begun));
    co_return YtResult<void>();
  }
  // Whether rows are written as they come: to a transaction of this request.
  bool is_own() const { return own_.has_value(); }
  // Requires: is_own().
  YtResult<void> write_row(RowReader& reader) {
    if (write_.kind != RowWrite::Kind::kInsert) {
      return apply_key(*own_, *table_, write_, reader.key());
    }
    const std::vector<NamedValue>& row = table_->ordered ? reader.values() : reader.complete_row();
    YT_TRY_VOID(own_->insert(*table_, row, write_.options));
    return {};
  }
  // Counts what the transaction holds to the memory of requests. Requires: is_own().
  YtResult<void> count_changes() {
    const std::size_t bytes = own_->bytes();
    return bytes > kBatchBytes ? take_room(room_, bytes) : YtResult<void>();
  }
  // Requires: not is_own().
  Task<YtResult<void>> write(const Batch& batch) {
    co_return co_await run_there(lane_->world().executor, [this, &batch]() -> Task<YtResult<void>> {
      YT_CO_TRY(client::Transaction* const open, lane_->transactions().use(id_));
      YT_CO_TRY_VOID(apply(*open, *table_, write_, batch));
      co_return lane_->transactions().count_changes(id_);
    });
  }
  Task<YtResult<void>> close() {
    if (own_) YT_CO_TRY_VOID(co_await own_->commit());
    co_return YtResult<void>();
  }

 private:
  Call& call_;
  const TablePtr table_;
  const RowWrite& write_;
  http::AnswerRoom room_;  // Of the changes of an own transaction.
  std::optional<client::Transaction> own_;
  DoorLane* lane_ = nullptr;
  PathId id_{};
};

}  // namespace

YtResult<WriteTarget> write_target(const Call& call) {
  WriteTarget target;
  YT_TRY(target.transaction, call.parameters.id("transaction_id"));
  if (target.transaction && object_type(*target.transaction) != ObjectType::kTabletTransaction) {
    return no_sticky_transaction(*target.transaction);
  }
  YT_TRY(const std::string atomicity, call.parameters.text_or("atomicity", "full"));
  if (atomicity != "full" && atomicity != "none") {
    return refuse(Code::kGeneric, fmt::format("Invalid atomicity \"{}\"", atomicity));
  }
  if (atomicity == "none") target.atomicity = Atomicity::kNone;
  // A commit is durable in any case.
  YT_TRY(const std::string durability, call.parameters.text_or("durability", "sync"));
  if (durability != "sync" && durability != "async") {
    return refuse(Code::kGeneric, fmt::format("Invalid durability \"{}\"", durability));
  }
  return target;
}

Task<YtResult<void>> write_rows(Call& call, RowWrite write) {
  YT_CO_TRY(std::string path, path_of(call));
  YT_CO_TRY(const TablePtr table, co_await call.lane.open_table(call, std::move(path)));
  const bool inserts = write.kind == RowWrite::Kind::kInsert;
  if (table->ordered && !inserts) {
    co_return refuse(Code::kNotSorted,
                     fmt::format("Table {} is not sorted: rows of an ordered table are appended, "
                                 "and not deleted or locked",
                                 table->path));
  }
  const auto shape = inserts ? RowReader::Shape::kRow : RowReader::Shape::kKey;
  YT_CO_TRY(RowReader reader, RowReader::make(call, *table->shown, shape));
  Destination destination(call, table, write);
  YT_CO_TRY_VOID(co_await destination.open());
  Batch batch;
  for (;;) {
    YT_CO_TRY(const RowReader::Step step, reader.next());
    if (step == RowReader::Step::kRow) {
      YT_CO_TRY_VOID(check_row(reader, write));
      if (destination.is_own()) {
        YT_CO_TRY_VOID(destination.write_row(reader));
      } else if (inserts) {
        batch.rows.push_back(table->ordered ? reader.values() : reader.complete_row());
      } else {
        batch.keys.push_back(reader.key());
      }
    }
    const bool full = batch.size() >= kBatchRows || reader.text_bytes() >= kBatchBytes;
    if (batch.size() > 0 && (full || step == RowReader::Step::kEnd)) {
      YT_CO_TRY_VOID(co_await destination.write(batch));
      batch.clear();
      reader.forget();
    } else if (full) {
      if (destination.is_own()) YT_CO_TRY_VOID(destination.count_changes());
      reader.forget();
    }
    if (step == RowReader::Step::kEnd) break;
    if (step == RowReader::Step::kNeedsInput) YT_CO_TRY_VOID(co_await reader.load());
  }
  co_return co_await destination.close();
}

}  // namespace moraine::yt
