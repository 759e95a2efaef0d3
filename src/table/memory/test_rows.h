// Rows for the tests of memory stores.
#pragma once

#include <string>
#include <vector>

#include "table/memory/memory_store.h"
#include "table/model/change.h"
#include "table/model/key.h"

namespace moraine::table {

struct TestCell {
  ColumnIndex column = 0;
  Value value;
  bool delta = false;
};

inline std::string test_image(const std::vector<TestCell>& cells) {
  std::string image;
  begin_image(image);
  for (const TestCell& cell : cells) append_cell(image, cell.column, cell.delta, cell.value);
  finish_image(image, static_cast<std::uint16_t>(cells.size()));
  return image;
}

inline std::string test_key(std::int64_t number) {
  const Value columns[] = {Value(number)};
  return encode_key(columns);
}

inline MemoryStore::Row& test_touch(MemoryStore& store, const std::string& key) {
  return store.touch(as_bytes(key), key_hash(as_bytes(key)));
}

inline void test_write(MemoryStore& store, const std::string& key, Timestamp timestamp,
                       const std::vector<TestCell>& cells) {
  store.add(test_touch(store, key), timestamp, ChangeKind::kWrite, as_bytes(test_image(cells)));
}

inline void test_delete(MemoryStore& store, const std::string& key, Timestamp timestamp) {
  store.add(test_touch(store, key), timestamp, ChangeKind::kDelete, {});
}

}  // namespace moraine::table
