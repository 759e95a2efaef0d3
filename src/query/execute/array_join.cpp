#include "query/execute/array_join.h"

#include "query/execute/gather.h"
#include "query/function/list_items.h"

namespace moraine::query {
namespace {

// With LEFT, a row of nulls follows the items of each row of the input: it is passed on if no item
// of that row was.
class ArrayJoinStep final : public Flow::Step {
 public:
  ArrayJoinStep(const ArrayJoin& join, std::span<const PlanColumn> items)
      : join_(join), lists_(compile(std::span(join.lists))), items_(items.size()) {
    for (std::size_t i = 0; i < items.size(); ++i) items_[i].type = items[i].type;
    if (join.predicate) predicate_ = compile(*join.predicate);
  }

  Result<void> run(Flow& flow, std::size_t next, const Batch& batch, const Selection& rows,
                   std::uint64_t position) override {
    list_columns_.clear();
    for (const KernelPtr& list : lists_) {
      TRY(const Column column, list->eval(batch, rows));
      list_columns_.push_back(column);
    }
    Output out{.flow = flow, .next = next, .batch = batch, .position = position};
    matched_ = false;
    for (std::size_t i = 0; i < rows.count && needs_rows(flow); ++i) {
      TRY_VOID(unroll(rows[i], out));
      if (!join_.left) continue;
      for (Items& items : items_) items.buffer.nulls()[places_] = 1;
      TRY_VOID(end_place(rows[i], /*ends_row=*/true, out));
    }
    return emit(out);
  }

 private:
  struct Output {
    Flow& flow;
    std::size_t next;
    const Batch& batch;
    std::uint64_t position;
  };
  struct Items {
    ValueType type = ValueType::kNull;
    ColumnBuffer buffer{};
  };

  Result<void> unroll(std::uint32_t row, const Output& out) {
    std::vector<ListItems> readers;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      readers.emplace_back(list_columns_[i].value(row), items_[i].type);
    }
    for (;;) {
      bool any = false;
      for (std::size_t i = 0; i < readers.size(); ++i) {
        Value item;
        TRY(const bool more, readers[i].next(item, memory_));
        any = any || more;
        put(items_[i], item);
      }
      if (!any || !needs_rows(out.flow)) return {};
      TRY_VOID(end_place(row, /*ends_row=*/false, out));
    }
  }

  void put(Items& items, const Value& item) {
    items.buffer.nulls()[places_] = item.is_null() ? 1 : 0;
    if (item.has_text()) {
      items.buffer.texts()[places_] = item.text();
    } else {
      items.buffer.words()[places_] = word_of_value(item);
    }
  }

  Result<void> end_place(std::uint32_t row, bool ends_row, const Output& out) {
    left_rows_.rows()[places_] = row;
    ends_row_[places_] = ends_row ? 1 : 0;
    if (++places_ < kVectorRows) return {};
    return emit(out);
  }

  Result<void> emit(const Output& out) {
    const std::size_t count = std::exchange(places_, 0);
    if (count == 0) return {};
    make_batch(out.batch, count);
    TRY(const Selection passing, choose(count));
    TRY_VOID(pass(out.flow, out.next, out_, passing, out.position));
    memory_.clear();
    return {};
  }

  void make_batch(const Batch& batch, std::size_t count) {
    out_.rows = count;
    out_.columns.clear();
    std::size_t number = 0;
    for (const Column& column : batch.columns) {
      out_.columns.push_back(
          gather_.column(number++, column, left_rows_.rows(), count, /*may_miss=*/false));
    }
    for (Items& items : items_) {
      const bool text = is_text(items.type);
      out_.columns.push_back({.type = items.type,
                              .words = text ? nullptr : items.buffer.words(),
                              .texts = text ? items.buffer.texts() : nullptr,
                              .nulls = items.buffer.nulls()});
    }
  }

  // The places that are passed on.
  Result<Selection> choose(std::size_t count) {
    if (!join_.left && !predicate_) return Selection::all(count);
    std::uint32_t* const tested = tested_.rows();
    std::size_t passing = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (ends_row_[i] == 0) tested[passing++] = static_cast<std::uint32_t>(i);
    }
    if (predicate_ && passing > 0) {
      TRY(passing, predicate_->filter(out_, {.rows = tested, .count = passing}, tested));
    }
    if (!join_.left) return Selection{.rows = tested, .count = passing};
    std::uint32_t* const chosen = chosen_.rows();
    std::size_t kept = 0;
    std::size_t at = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (ends_row_[i] != 0) {
        if (!matched_) chosen[kept++] = i;
        matched_ = false;
      } else if (at < passing && tested[at] == i) {
        ++at;
        chosen[kept++] = i;
        matched_ = true;
      }
    }
    return Selection{.rows = chosen, .count = kept};
  }

  const ArrayJoin& join_;
  const std::vector<KernelPtr> lists_;
  KernelPtr predicate_;
  std::vector<Column> list_columns_;
  std::vector<Items> items_;
  std::size_t places_ = 0;  // That are filled.
  std::array<std::uint8_t, kVectorRows> ends_row_{};
  bool matched_ = false;  // An item of the row at hand was passed on.
  SelectionBuffer left_rows_;
  SelectionBuffer tested_;
  SelectionBuffer chosen_;
  table::TextMemory memory_;  // Of the items.
  Gather gather_;
  Batch out_;
};

}  // namespace

std::unique_ptr<Flow::Step> make_array_join(const PlanNode& node) {
  const auto& join = std::get<ArrayJoin>(node.step);
  const auto items = std::span(node.columns).last(join.lists.size());
  return std::make_unique<ArrayJoinStep>(join, items);
}

}  // namespace moraine::query
