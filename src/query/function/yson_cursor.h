// YsonCursor: goes through one node of YSON, event by event, without a tree.
//
// Promise    Takes time linear in the bytes that it passes; memory does not depend on the node's
//            size, but for what it copies.
// Invariants event() is one of the node's; after skip(), copy() and the like it is the last event
//            of the node at whose first event it was.
// Limits     Those of YsonReader.
// Errors     kInvalidArgument: the bytes are no YSON.
// Threading  One thread. Texts of values are in the memory given.
// Tests      call_any_test.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "moraine/value.h"
#include "table/model/text_memory.h"
#include "yson/reader.h"
#include "yson/writer.h"

namespace moraine::query {

class YsonCursor {
 public:
  // Stands before the node: next() moves to its first event. Borrows the bytes.
  explicit YsonCursor(std::string_view yson);

  Result<void> next();
  const YsonEvent& event() const { return event_; }
  bool is(YsonEvent::Kind kind) const { return event_.kind == kind; }

  // Requires of all of these: event() is the first of a node.
  // Moves to the first event after the attributes, if it has some.
  Result<void> skip_attributes();
  Result<void> skip();
  // Appends the node as binary YSON.
  Result<void> copy(std::string& out);
  // The scalar without its attributes, or null for an entity. nullopt: a list or a map, at whose
  // first event it stays.
  Result<std::optional<Value>> scalar(table::TextMemory& memory);
  // The node as a value of this type. nullopt: it is of another one. Of type any: every node is,
  // but an entity without attributes is null.
  Result<std::optional<Value>> value(ValueType type, table::TextMemory& memory);

 private:
  Result<void> skip_open();

  YsonReader reader_;
  YsonEvent event_;
};

// "list", "map", "entity", "int64", ...: what begins with this event.
std::string_view name_of_node(const YsonEvent& first);

}  // namespace moraine::query
