#include "transaction/read_tablet.h"

#include <fmt/format.h>

#include <algorithm>

#include "io/sync.h"
#include "table/chunk/column_filter.h"
#include "table/model/key.h"

namespace moraine {
namespace {

using table::ColumnBatch;
using table::ColumnIndex;
using table::ColumnVector;
using table::TabletScan;

std::unexpected<Error> too_late(const table::TableTablet& tablet) {
  return fail(Errc::kTimeout,
              fmt::format("tablet {} did not read it before the deadline", tablet.info().id.value));
}

Result<void> check_begin(const table::TableTablet& tablet, const SchemaPtr& schema,
                         Instant deadline) {
  if (tablet.executor().now() >= deadline) return too_late(tablet);
  const table::TabletSettings& settings = tablet.settings();
  if (!schema || schema == settings.schema || *schema == *settings.schema) return {};
  return fail(
      Errc::kInvalidArgument,
      fmt::format("the schema of {} has changed: open the table again", settings.table_path));
}

Result<void> check_column(std::size_t column, const TableSchema& schema) {
  if (column < schema.columns.size()) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("no column {}; the table has {}", column, schema.columns.size()));
}

Result<void> check_columns(std::span<const ColumnIndex> columns, const TableSchema& schema) {
  for (const ColumnIndex column : columns) {
    TRY_VOID(check_column(column, schema));
  }
  return {};
}

Result<void> check_key_of(std::string_view key, const TableSchema& schema) {
  if (table::check_key(as_bytes(key), schema)) return {};
  return fail(Errc::kInvalidArgument, "a key does not fit the schema");
}

// Rows of batches, with memory of their own for texts.
class PageBuilder {
 public:
  PageBuilder(std::span<const ColumnIndex> columns, const TableSchema& schema) {
    for (const ColumnIndex column : columns) {
      batch_.columns.emplace_back().type = physical_type(schema.columns[column].type);
    }
  }
  std::size_t rows() const { return batch_.rows; }
  ColumnBatch take() { return std::move(batch_); }
  // Appends rows until the page is full, and returns how many.
  std::size_t append(const ColumnBatch& from) {
    const std::size_t rows = rows_that_fit(from);
    std::size_t text_bytes = 0;
    for (std::size_t i = 0; i < batch_.columns.size(); ++i) {
      if (from.columns[i].type != batch_.columns[i].type) continue;
      const auto& texts = from.columns[i].texts;
      for (std::size_t row = 0; row < std::min(rows, texts.size()); ++row) {
        text_bytes += texts[row].size();
      }
    }
    Buffer texts(text_bytes);
    std::byte* to = texts.data();
    for (std::size_t i = 0; i < batch_.columns.size(); ++i) {
      append_column(from.columns[i], rows, batch_.columns[i], to);
    }
    if (text_bytes > 0) batch_.memory.push_back(std::move(texts).freeze());
    batch_.rows += rows;
    return rows;
  }

 private:
  std::size_t rows_that_fit(const ColumnBatch& from) {
    std::size_t row = 0;
    for (; row < from.rows && batch_.rows + row < kPageRowsMax; ++row) {
      std::size_t bytes = 0;
      for (std::size_t i = 0; i < batch_.columns.size(); ++i) {
        const ColumnVector& column = from.columns[i];
        bytes += sizeof(std::uint64_t) + (column.texts.empty() ? 0 : column.texts[row].size());
      }
      if (bytes_ + bytes > kPageBytesMax && batch_.rows + row > 0) break;
      bytes_ += bytes;
    }
    return row;
  }
  void append_nulls(const ColumnVector& from, std::size_t rows, ColumnVector& column) {
    const bool all = from.type != column.type;  // A column that the source does not have.
    if (!all && from.nulls.empty() && column.nulls.empty()) return;
    column.nulls.resize(batch_.rows, 0);
    if (all || from.nulls.empty()) {
      column.nulls.insert(column.nulls.end(), rows, all ? 1 : 0);
    } else {
      column.nulls.insert(column.nulls.end(), from.nulls.begin(),
                          from.nulls.begin() + static_cast<std::ptrdiff_t>(rows));
    }
  }
  void append_column(const ColumnVector& from, std::size_t rows, ColumnVector& column,
                     std::byte*& to) {
    append_nulls(from, rows, column);
    const bool absent = from.type != column.type;
    if (column.type != ValueType::kString && column.type != ValueType::kAny) {
      for (std::size_t row = 0; row < rows; ++row) {
        column.words.push_back(absent ? 0 : from.words[row]);
      }
      return;
    }
    for (std::size_t row = 0; row < rows; ++row) {
      const std::string_view text = absent ? std::string_view() : from.texts[row];
      if (!text.empty()) std::memcpy(to, text.data(), text.size());
      column.texts.push_back(as_text(ByteSpan(to, text.size())));
      to += text.size();
    }
  }

  ColumnBatch batch_;
  std::size_t bytes_ = 0;
};

// When a page ends with what was found: its reply has to arrive before the deadline.
Instant end_of_page(Instant now, Instant deadline) {
  return now + std::min(kPageReadTime, (deadline - now) / 2);
}

// The first key above that of a row, whose key columns begin at `first`.
std::string key_above(const ColumnBatch& batch, std::size_t first, std::size_t row) {
  std::string key;
  for (std::size_t i = first; i < batch.columns.size(); ++i) {
    table::append_key_column(key, table::value_at(batch.columns[i], row));
  }
  key += '\0';
  return key;
}

}  // namespace

Task<Result<void>> read_rows(const table::TableTablet& tablet, SchemaPtr schema,
                             table::LookupRequest request, Rowset& rows, Instant deadline) {
  CO_TRY_VOID(check_begin(tablet, schema, deadline));
  const TableSchema& own = *tablet.settings().schema;
  CO_TRY_VOID(check_columns(request.columns, own));
  for (const std::string_view key : request.keys) {
    CO_TRY_VOID(check_key_of(key, own));
  }
  request.deadline = std::min(request.deadline, deadline);
  co_return co_await tablet.reader().lookup(request, rows);
}

Task<Result<table::OwnedVersionedRow>> read_versions(const table::TableTablet& tablet,
                                                     SchemaPtr schema, std::string key,
                                                     Timestamp timestamp, Instant deadline) {
  CO_TRY_VOID(check_begin(tablet, schema, deadline));
  CO_TRY_VOID(check_key_of(key, *tablet.settings().schema));
  co_return co_await tablet.reader().lookup_versions(std::move(key), timestamp, std::nullopt,
                                                     deadline);
}

// Key columns are read too, after the requested ones, to know where the page ends.
Task<Result<ScanPage>> read_page(const table::TableTablet& tablet, SchemaPtr schema,
                                 table::ScanRequest request, Instant deadline) {
  CO_TRY_VOID(check_begin(tablet, schema, deadline));
  const TableSchema& own = *tablet.settings().schema;
  CO_TRY_VOID(check_columns(request.columns, own));
  for (const table::ColumnFilter& filter : request.filters) {
    CO_TRY_VOID(check_column(filter.column, own));
  }
  for (const table::ColumnCondition& condition : request.conditions) {
    CO_TRY_VOID(check_column(condition.column, own));
  }
  request.text_tables = false;  // A page has texts of several blocks.
  request.deadline = std::min(request.deadline, deadline);
  PageBuilder builder(request.columns, own);
  const std::size_t columns = request.columns.size();
  for (std::size_t i = 0; i < own.key_count(); ++i) {
    request.columns.push_back(static_cast<ColumnIndex>(i));
  }
  request.row_limit = std::min<std::uint64_t>(request.row_limit, kPageRowsMax);
  const std::uint64_t row_limit = request.row_limit;
  const Instant end = end_of_page(tablet.executor().now(), deadline);
  // Where the next page begins if this one ends now: it must be above `from`.
  const std::string from = request.bounds.from;
  std::string reached = from;
  CO_TRY(const std::unique_ptr<TabletScan> scan, tablet.reader().scan(std::move(request)));
  ScanPage page;
  ColumnBatch batch;
  for (bool full = row_limit == 0; !full;) {
    const Instant now = tablet.executor().now();
    if (now >= end) {
      reached = std::max(std::move(reached), scan->position());
      if (reached > from) {
        page.next = std::move(reached);
        break;
      }
      if (now >= deadline) co_return too_late(tablet);
    }
    CO_TRY(const TabletScan::Step step, scan->next(batch));
    if (step == TabletScan::Step::kEnd) break;
    if (step == TabletScan::Step::kNeedsData) {
      CO_TRY_VOID(co_await scan->load());
    } else if (batch.rows == 0) {
      co_await yield(tablet.executor());  // Nothing matched for long.
    } else {
      const std::size_t added = builder.append(batch);
      if (added > 0) reached = key_above(batch, columns, added - 1);
      full = added < batch.rows || builder.rows() == row_limit;
      if (full) page.next = reached;
    }
  }
  page.batch = builder.take();
  co_return page;
}

}  // namespace moraine
