// A copy of a table: its tablets begin with the rows of those of the source, whose blobs both read.
//
// Promise    Pure. No blob changes its owner: tablets of the source that may still write are
//            retired, and new ones take over their chunks, both for the source and for the copy. A
//            retired tablet stays until no table names it (TreeState::retired_by()). A tablet of
//            the source that has not taken over its parents' chunks itself stays, and the copy has
//            the same parents: copying a table again that is not mounted in between needs no new
//            tablets.
// Limits     kTabletsPerTableMax. A record that names too many retired tablets does not fit
//            kRecordBytesMax.
// Errors     kReadOnly: tablets of a dynamic table are neither unmounted nor frozen. kUnavailable:
//            the tablet of a static table has not taken over its parents' chunks yet.
// Tests      table_copy_test.cpp, node/table_copies_test.cpp.
#pragma once

#include "scheme/table_record.h"

namespace moraine {

struct TableCopy {
  TableRecord copy;
  std::optional<TableRecord> source;  // nullopt: it stays as it is.
  std::uint32_t tablets = 0;          // Ids that were used, from `first` on.
};

// `path`: of the source, for messages. `first`: of the ids of new tablets.
Result<TableCopy> copy_table(const TableRecord& source, std::string_view path, TabletId first);

// kReadOnly: the tablets of a dynamic table are in no state in which it can be copied, or moved.
Result<void> check_copyable(const TableRecord& record, std::string_view path);
Result<void> check_movable(const TableRecord& record, std::string_view path);

}  // namespace moraine
