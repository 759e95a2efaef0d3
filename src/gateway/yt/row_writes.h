// Writes of rows: each row of an input is inserted, removed or locked in a transaction.
//
// Promise    Without a transaction of the client all rows are written by one of their own, or none.
// Threading  The call's lane; a client's transaction is used on its own.
// Limits     kBatchRows rows or kBatchBytes of texts between two uses of a client's transaction;
//            those of transactions.
// Tests      rows_test.cpp.
#pragma once

#include <string>
#include <vector>

#include "gateway/yt/call.h"
#include "gateway/yt/door_lane.h"
#include "gateway/yt/row_reader.h"

namespace moraine::yt {

inline constexpr std::size_t kBatchRows = 1'000;
inline constexpr std::size_t kBatchBytes = std::size_t{1} << 20;

struct RowWrite {
  enum class Kind : std::uint8_t { kInsert, kRemove, kLock };
  Kind kind = Kind::kInsert;
  WriteOptions options{};
  RowLock lock = RowLock::kSharedStrong;
  std::vector<std::string> groups{};
};

// The parameters that choose the transaction.
struct WriteTarget {
  std::optional<PathId> transaction;
  Atomicity atomicity = Atomicity::kFull;
};
YtResult<WriteTarget> write_target(const Call& call);

Task<YtResult<void>> write_rows(Call& call, RowWrite write);

}  // namespace moraine::yt
