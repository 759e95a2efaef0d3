#include <algorithm>

#include "base/invariant.h"
#include "table/chunk/row_group.h"
#include "table/chunk/unit_writer.h"
#include "table/model/key.h"

namespace moraine::table {
namespace {

constexpr std::size_t kGroupBytesMax = std::size_t{8} << 20;  // Of texts and irregular rows.
// An irregular row of this size is alone in its group, so that its size is known without reading
// it.
constexpr std::size_t kSingleRowBytes = std::size_t{1} << 20;

class RowGroupWriter final : public UnitWriter {
 public:
  RowGroupWriter(const TableSchema& schema, std::size_t row_bytes_max)
      : schema_(schema),
        row_bytes_max_(row_bytes_max),
        layout_(schema_),
        types_(value_types(schema_)),
        key_count_(schema_.key_count()),
        flags_(schema_.columns.size()) {
    for (const ColumnSchema& column : schema_.columns) {
      segments_.emplace_back(physical_type(column.type));
    }
  }

  Result<bool> add(const VersionedRow& row) override {
    if (rows() == kScanBlockRows || bytes_ > kGroupBytesMax) return false;
    if (rows() == 1 && irregular_.size() > kSingleRowBytes) return false;
    if (auto decoded = decode_key(row.key, key_, key_memory_); !decoded) {
      return std::unexpected(std::move(decoded.error()));
    }
    if (auto fine = check_types(row); !fine) return std::unexpected(std::move(fine.error()));
    const bool regular = is_regular(row);
    if (!regular) {
      auto added = add_irregular(row);
      if (!added || !*added) return added;
    }
    for (std::size_t i = 0; i < key_count_; ++i) segments_[i].add(key_[i]);
    const TimeParts time = time_parts(newest_timestamp(row));
    seconds_.push_back(time.seconds);
    counters_.push_back(time.counter);
    bytes_ += row.key.size();
    if (regular) {
      add_values(row);
    } else {
      for (std::size_t i = key_count_; i < segments_.size(); ++i) segments_[i].add_null();
    }
    return true;
  }

  std::uint32_t rows() const override { return static_cast<std::uint32_t>(seconds_.size()); }

  void finish(BlockSink& sink, BlockSink::Times times, ChunkMeta& meta) override {
    const std::uint32_t count = rows();
    for (ColumnSegmentBuilder& segment : segments_) meta.ranges.push_back(segment.range());
    meta.irregular_rows.push_back(static_cast<std::uint32_t>(irregular_rows_.size()));
    for (std::size_t i = 0; i < flags_.size(); ++i) {
      meta.column_flags[i] = static_cast<std::uint8_t>(meta.column_flags[i] | flags_[i]);
    }
    for (std::uint32_t place = 0; place < layout_.blocks(); ++place) {
      const std::size_t column = layout_.column_at(place);
      const std::string block = column != GroupLayout::kNone ? segments_[column].finish()
                                : place == layout_.times()   ? times_block()
                                                             : irregular_block();
      sink.add(as_bytes(block), count, times);
    }
    seconds_.clear();
    counters_.clear();
    irregular_rows_.clear();
    irregular_ends_.clear();
    irregular_.clear();
    bytes_ = 0;
  }

 private:
  Result<void> check_types(const VersionedRow& row) const {
    if (key_.size() != key_count_) {
      return fail(Errc::kInvalidArgument, "a key with another number of columns");
    }
    for (std::size_t i = 0; i < key_count_; ++i) {
      const ValueType type = physical_type(schema_.columns[i].type);
      if (!key_[i].is_null() && key_[i].type() != type) {
        return fail(Errc::kInvalidArgument, "a key column of another type");
      }
    }
    for (const VersionedValue& v : row.values) {
      const ValueType type = types_[v.column - key_count_];
      if (!v.value.is_null() && !v.hunk && v.value.type() != type && type != ValueType::kAny) {
        return fail(Errc::kInvalidArgument, "a value of another type than its column's");
      }
    }
    return {};
  }

  bool is_regular(const VersionedRow& row) const {
    if (row.write_timestamps.size() != 1 || !row.delete_timestamps.empty()) return false;
    return std::ranges::all_of(row.values, [this](const VersionedValue& v) {
      return !v.aggregate && !v.hunk &&
             (v.value.is_null() || v.value.type() == types_[v.column - key_count_]);
    });
  }

  // False: too large for a group that has other rows.
  Result<bool> add_irregular(const VersionedRow& row) {
    const std::size_t kind_at = irregular_.size();
    irregular_.push_back('\0');
    const auto kind = append_row(irregular_, types_, row, static_cast<ColumnIndex>(key_count_));
    if (!kind) return std::unexpected(kind.error());
    const std::size_t size = irregular_.size() - kind_at;
    TRY_VOID(check_encoded_row(size, row_bytes_max_));
    if (rows() > 0 && size > kSingleRowBytes) {
      irregular_.resize(kind_at);
      return false;
    }
    bytes_ += size;
    irregular_[kind_at] = static_cast<char>(*kind);
    irregular_rows_.push_back(rows());
    irregular_ends_.push_back(irregular_.size());
    for (const VersionedValue& v : row.values) {
      const bool mixed =
          !v.value.is_null() && !v.hunk && v.value.type() != types_[v.column - key_count_];
      flags_[v.column] =
          static_cast<std::uint8_t>(flags_[v.column] | (v.aggregate ? kColumnDeltas : 0) |
                                    (v.hunk ? kColumnHunks : 0) | (mixed ? kColumnMixed : 0));
    }
    return true;
  }

  void add_values(const VersionedRow& row) {
    std::size_t column = key_count_;
    for (const VersionedValue& v : row.values) {
      INVARIANT(v.column >= column && v.column < segments_.size(), "column {}", v.column);
      for (; column < v.column; ++column) segments_[column].add_absent();
      if (v.value.has_text()) bytes_ += v.value.text().size();
      segments_[column++].add(v.value);
    }
    for (; column < segments_.size(); ++column) segments_[column].add_absent();
  }

  std::string times_block() const {
    std::string out;
    put_fixed(out, kGroupVersion);
    append_words(out, seconds_, false);
    append_words(out, counters_, false);
    return out;
  }
  std::string irregular_block() const {
    std::string out;
    put_fixed(out, kGroupVersion);
    append_words(out, irregular_rows_, false);
    append_words(out, irregular_ends_, false);
    put_sized(out, irregular_);
    return out;
  }

  const TableSchema schema_;
  const std::size_t row_bytes_max_;
  const GroupLayout layout_;
  const std::vector<ValueType> types_;
  const std::size_t key_count_;
  std::vector<ColumnSegmentBuilder> segments_;  // By column.
  std::vector<std::uint8_t> flags_;
  std::vector<std::uint64_t> seconds_;
  std::vector<std::uint64_t> counters_;
  std::vector<std::uint64_t> irregular_rows_;
  std::vector<std::uint64_t> irregular_ends_;
  std::string irregular_;
  std::size_t bytes_ = 0;
  std::vector<Value> key_;
  std::string key_memory_;
};

}  // namespace

std::unique_ptr<UnitWriter> make_row_group_writer(const TableSchema& schema,
                                                  std::size_t row_bytes_max) {
  return std::make_unique<RowGroupWriter>(schema, row_bytes_max);
}

}  // namespace moraine::table
