#include "query/function/list_items.h"

#include <fmt/format.h>

namespace moraine::query {

using Kind = YsonEvent::Kind;

Result<void> ListItems::begin() {
  begun_ = true;
  TRY_VOID(cursor_.next());
  TRY_VOID(cursor_.skip_attributes());
  ended_ = cursor_.is(Kind::kEntity);
  if (ended_ || cursor_.is(Kind::kBeginList)) return {};
  return fail(Errc::kInvalidArgument, fmt::format("Expected a list, got a value of type {}",
                                                  name_of_node(cursor_.event())));
}

Result<bool> ListItems::next(Value& item, table::TextMemory& memory) {
  if (!begun_) {
    TRY_VOID(begin());
  }
  if (ended_) return false;
  TRY_VOID(cursor_.next());
  if (cursor_.event().ends()) {
    ended_ = true;
    return false;
  }
  const std::string_view found = name_of_node(cursor_.event());
  TRY(const std::optional<Value> value, cursor_.value(type_, memory));
  if (!value) {
    return fail(Errc::kInvalidArgument,
                fmt::format("A list of {} has an item of type {}", to_string(type_), found));
  }
  item = *value;
  return true;
}

}  // namespace moraine::query
