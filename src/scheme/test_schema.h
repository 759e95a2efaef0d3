// The smallest schema. For tests.
#pragma once

#include "moraine/schema.h"

namespace moraine {

// k int64 key; v string.
inline TableSchema small_schema() {
  TableSchema schema;
  ColumnSchema key;
  key.name = "k";
  key.type = ColumnType::kInt64;
  key.key = true;
  ColumnSchema value;
  value.name = "v";
  schema.columns = {key, value};
  return schema;
}

}  // namespace moraine
