// ListItems: the items of a list in a value of type any, one after the other.
//
// Promise    Null and an entity have no items. Items are of the type given, or null where they are
//            entities.
// Errors     kInvalidArgument: the value is no list; an item is of another type.
// Threading  One thread. Borrows the list; texts of items are in the memory given.
// Tests      call_any_test.cpp, query/model/any_test.cpp.
#pragma once

#include "query/function/yson_cursor.h"

namespace moraine::query {

class ListItems {
 public:
  ListItems(const Value& list, ValueType item)
      : cursor_(list.is_null() ? "#" : list.text()), type_(item) {}
  // False: no more.
  Result<bool> next(Value& item, table::TextMemory& memory);

 private:
  Result<void> begin();

  YsonCursor cursor_;
  ValueType type_;
  bool begun_ = false;
  bool ended_ = false;
};

}  // namespace moraine::query
