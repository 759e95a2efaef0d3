#include "gateway/yt/uniform_pivots.h"

#include <fmt/format.h>

namespace moraine::yt {
namespace {

__extension__ using Wide = __int128;

struct Span {
  Wide first = 0;
  Wide count = 0;  // Of values.
  bool is_signed = true;
};

std::optional<Span> span_of(ColumnType type) {
  const auto of_bits = [](unsigned bits, bool is_signed) {
    const Wide count = Wide{1} << bits;
    return Span{is_signed ? -(count / 2) : Wide{0}, count, is_signed};
  };
  switch (type) {
    case ColumnType::kInt8: return of_bits(8, true);
    case ColumnType::kInt16: return of_bits(16, true);
    case ColumnType::kInt32: return of_bits(32, true);
    case ColumnType::kInt64: return of_bits(64, true);
    case ColumnType::kUint8: return of_bits(8, false);
    case ColumnType::kUint16: return of_bits(16, false);
    case ColumnType::kUint32: return of_bits(32, false);
    case ColumnType::kUint64: return of_bits(64, false);
    default: return std::nullopt;
  }
}

}  // namespace

YtResult<YsonNode> uniform_pivots(const TableSchema& schema, std::int64_t tablets) {
  const bool sorted = !schema.columns.empty() && schema.columns.front().key;
  const auto span = sorted ? span_of(schema.columns.front().type) : std::nullopt;
  if (!span) {
    return refuse(Code::kGeneric,
                  "Uniform resharding needs a table whose first key column is integral");
  }
  YsonList pivots;
  pivots.emplace_back(YsonList());
  for (std::int64_t i = 1; i < tablets; ++i) {
    const Wide value = span->first + span->count * i / tablets;
    YsonNode node = span->is_signed ? YsonNode(static_cast<std::int64_t>(value))
                                    : YsonNode(static_cast<std::uint64_t>(value));
    pivots.emplace_back(YsonList{std::move(node)});
  }
  return pivots;
}

}  // namespace moraine::yt
