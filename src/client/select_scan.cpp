#include "client/select_scan.h"

#include <algorithm>

#include "query/execute/kernel.h"
#include "query/ranges/infer.h"

namespace moraine::client {
namespace {

using query::Expression;
using query::ExpressionKind;
using query::NullRelation;
using query::Operator;
using table::KeyBounds;

bool is_empty(const KeyBounds& bounds) {
  return !bounds.to.empty() && bounds.from >= bounds.to;
}

// The piece of the bounds in [from, to) of one tablet.
KeyBounds within(const KeyBounds& bounds, const std::string& from, const std::string& to) {
  KeyBounds piece{.from = std::max(bounds.from, from), .to = bounds.to};
  if (!to.empty() && (piece.to.empty() || to < piece.to)) piece.to = to;
  return piece;
}

std::vector<ScanPart> parts_of(const OpenTable& open, const std::vector<KeyBounds>& ranges) {
  std::vector<KeyBounds> pieces;
  for (const KeyBounds& range : ranges) {
    for (std::size_t i = 0; i < open.ranges.size(); ++i) {
      const bool last = i + 1 == open.ranges.size();
      KeyBounds piece =
          within(range, open.ranges[i].from, last ? std::string() : open.ranges[i + 1].from);
      if (!is_empty(piece)) pieces.push_back(std::move(piece));
    }
  }
  // Many ranges are small: several of them are one part.
  const std::size_t per_part =
      std::clamp<std::size_t>(pieces.size() / kRangesPerPart, 1, kRangesPerPart);
  std::vector<ScanPart> parts;
  for (KeyBounds& piece : pieces) {
    if (parts.empty() || parts.back().ranges.size() >= per_part) parts.emplace_back();
    parts.back().ranges.push_back(std::move(piece));
  }
  return parts;
}

Operator mirrored(Operator op) {
  switch (op) {
    case Operator::kLess: return Operator::kGreater;
    case Operator::kLessOrEqual: return Operator::kGreaterOrEqual;
    case Operator::kGreater: return Operator::kLess;
    case Operator::kGreaterOrEqual: return Operator::kLessOrEqual;
    default: return op;
  }
}

std::optional<Filter::Op> filter_op(Operator op) {
  switch (op) {
    case Operator::kEqual: return Filter::Op::kEqual;
    case Operator::kNotEqual: return Filter::Op::kNotEqual;
    case Operator::kLess: return Filter::Op::kLess;
    case Operator::kLessOrEqual: return Filter::Op::kLessOrEqual;
    case Operator::kGreater: return Filter::Op::kGreater;
    case Operator::kGreaterOrEqual: return Filter::Op::kGreaterOrEqual;
    default: return std::nullopt;
  }
}

// Filters leave out null, which is below all values in the YT dialect.
bool null_never_holds(const Expression& e, Operator op, const ColumnSchema& column) {
  if (column.required || e.nulls == NullRelation::kNullGivesNull) return true;
  return op == Operator::kEqual || op == Operator::kGreater || op == Operator::kGreaterOrEqual;
}

class FilterMaker {
 public:
  FilterMaker(const query::Scan& scan, ScanInput& input) : scan_(scan), input_(input) {}

  void add(const Expression& e) {
    if (e.kind == ExpressionKind::kAnd) {
      for (const Expression& operand : e.operands) add(operand);
    } else if (e.kind == ExpressionKind::kCompare && e.width == 1) {
      add_comparison(e, e.operands[0], e.op, e.operands[1]);
      add_comparison(e, e.operands[1], mirrored(e.op), e.operands[0]);
    } else if (e.kind == ExpressionKind::kBetween && e.width == 1 && e.bounds.size() == 1) {
      add_comparison(e, e.operands[0], Operator::kGreaterOrEqual, e.operands[1]);
      add_comparison(e, e.operands[0], Operator::kLessOrEqual, e.operands[2]);
    }
  }

 private:
  void add_comparison(const Expression& e, const Expression& column, Operator op,
                      const Expression& literal) {
    if (column.kind != ExpressionKind::kColumn || !literal.is_literal()) return;
    const auto filter = filter_op(op);
    const Value& value = literal.literal;
    // Doubles may be NaN, which a comparison refuses.
    const bool comparable = !value.is_null() && value.type() == column.type &&
                            value.type() != ValueType::kAny && value.type() != ValueType::kDouble;
    const ColumnSchema& schema = scan_.schema->columns[scan_.columns[column.column]];
    if (!filter || !comparable || !null_never_holds(e, op, schema)) return;
    if (physical_type(schema.type) != value.type()) return;
    input_.filters.push_back(
        {.column = input_.columns[column.column], .op = *filter, .value = value});
  }

  const query::Scan& scan_;
  ScanInput& input_;
};

std::uint64_t bytes_of(const ScanBatch& batch) {
  std::uint64_t bytes = 0;
  for (const ScanBatch::Column& column : batch.columns) {
    bytes += column.words.size() * sizeof(std::uint64_t);
    for (const std::string_view text : column.texts) bytes += text.size();
  }
  return bytes;
}

}  // namespace

Result<ScanInput> scan_input(SelectContext& context, const query::Scan& scan,
                             const query::Expression* predicate) {
  ScanInput input;
  input.table = context.tables.find(scan.path)->second;
  input.open = input.table->holder->hold();
  if (input.table->is_altered(*input.open)) return input.table->altered();
  for (const std::size_t column : scan.columns) {
    const auto found = input.table->schema->find(scan.schema->columns[column].name);
    if (!found) return input.table->altered();
    input.columns.push_back(static_cast<table::ColumnIndex>(*found));
  }
  if (predicate != nullptr && context.options.pushdown) FilterMaker(scan, input).add(*predicate);
  std::vector<KeyBounds> ranges;
  for (const query::KeyRange& range : scan.ranges) {
    KeyBounds bounds = query::encode_range(range);
    if (!is_empty(bounds)) ranges.push_back(std::move(bounds));
  }
  input.parts = parts_of(*input.open, ranges);
  return input;
}

void PartReader::open_range() {
  NewScan scan;
  scan.client = &context_.client;
  scan.table = input_.open;
  scan.timeout = kScanTimeoutMax;
  scan.request.bounds = part_.ranges[range_++];
  scan.request.columns = input_.columns;
  scan.request.filters = input_.filters;
  scan.request.timestamp = context_.timestamp;
  scan.request.retention_timestamp = context_.options.retention_timestamp;
  scan_ = std::make_unique<Scan>(std::move(scan));
}

Task<Result<bool>> PartReader::next(query::Batch& batch) {
  for (;;) {
    if (!scan_) {
      if (range_ == part_.ranges.size()) co_return false;
      open_range();
    }
    CO_TRY(const bool more, co_await scan_->next(batch_));
    if (more) {
      show(batch);
      co_return true;
    }
    scan_.reset();
  }
}

void PartReader::show(query::Batch& batch) {
  batch.rows = batch_.rows;
  batch.columns.clear();
  bytes_ = bytes_of(batch_);
  for (const ScanBatch::Column& from : batch_.columns) {
    const std::size_t items = query::is_text(from.type) ? from.texts.size() : from.words.size();
    if (items < batch_.rows) {
      // Without a value in any row.
      batch.columns.push_back(query::constant_null(from.type));
      continue;
    }
    batch.columns.push_back({.type = from.type,
                             .words = from.words.data(),
                             .texts = from.texts.data(),
                             .nulls = from.nulls.empty() ? nullptr : from.nulls.data()});
  }
}

}  // namespace moraine::client
