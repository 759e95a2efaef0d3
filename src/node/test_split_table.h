// A table of two tablets. For tests.
#pragma once

#include <vector>

#include "node/test_node.h"
#include "scheme/test_schema.h"
#include "table/model/key.h"

namespace moraine {

// "t" of small_schema(), split at `pivot`; its tablets in key order.
inline std::vector<TabletId> create_split_table(TestNode& node, std::int64_t pivot) {
  StoredTables& tables = node.node().tables().tables();
  const auto made = node.on_lane<Result<void>>(0, [&] {
    NewTable table;
    table.schema = small_schema();
    table.pivots.push_back(table::encode_key(std::vector<Value>{Value(pivot)}));
    return tables.create("t", std::move(table));
  });
  EXPECT_TRUE(made) << made.error().message();
  std::vector<TabletId> ids;
  for (const TabletOfTable& one : tables.find("t")->record().tablets) ids.push_back(one.info.id);
  return ids;
}

}  // namespace moraine
