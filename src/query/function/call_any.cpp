// Functions of values of type any.

#include <fmt/format.h>

#include <absl/container/flat_hash_set.h>

#include "query/function/any_order.h"
#include "query/function/call.h"
#include "query/function/list_items.h"
#include "query/function/list_text.h"
#include "query/function/yson_path.h"
#include "table/model/value_check.h"
#include "yson/yson.h"

namespace moraine::query {
namespace {

using F = Function;
using Kind = YsonEvent::Kind;

std::unexpected<Error> refuse(std::string what) {
  return fail(Errc::kInvalidArgument, std::move(what));
}

Result<std::string_view> keep(std::string text, table::TextMemory& memory) {
  if (text.size() > kResultBytesMax) return refuse("a value is longer than 16 MiB");
  return memory.keep(std::move(text));
}
Result<Value> keep_any(std::string yson, table::TextMemory& memory) {
  TRY(const std::string_view kept, keep(std::move(yson), memory));
  return Value::any(kept);
}

// The type of the result of try_get_x and get_x.
ValueType wanted_type(Function function) {
  const F first = function >= F::kGetInt64 ? F::kGetInt64 : F::kTryGetInt64;
  const int place = static_cast<int>(function) - static_cast<int>(first);
  return static_cast<ValueType>(static_cast<int>(ValueType::kInt64) + place);
}

Result<Value> get(Function function, const Value& any, std::string_view path,
                  table::TextMemory& memory) {
  const ValueType type = wanted_type(function);
  YsonCursor cursor(any.text());
  TRY(const bool found, find_path(cursor, path));
  if (found && type == ValueType::kAny) {
    std::string copied;
    TRY_VOID(cursor.copy(copied));
    return keep_any(std::move(copied), memory);
  }
  if (found) {
    TRY(const std::optional<Value> value, cursor.value(type, memory));
    if (value && !value->is_null()) return *value;
  }
  if (function < F::kGetInt64) return Value();
  return refuse(
      fmt::format("Value of type \"{}\" is not found at path \"{}\"", to_string(type), path));
}

// Calls f(order) for each item that has an order, until it returns true.
template <class F>
Result<bool> any_item(const Value& list, F&& f) {
  ListItems items(list, ValueType::kAny);
  table::TextMemory local;
  std::string order;
  Value item;
  for (;;) {
    TRY(const bool more, items.next(item, local));
    if (!more) return false;
    order.clear();
    if (append_order(order, item) && f(order)) return true;
    local.clear();
  }
}

Result<Value> list_contains(const Value& list, const Value& what) {
  std::string wanted;
  TRY_VOID(append_order(wanted, what));
  TRY(const bool found, any_item(list, [&](const std::string& order) { return order == wanted; }));
  return found;
}

Result<Value> lists_intersect(const Value& a, const Value& b) {
  absl::flat_hash_set<std::string> of_a;
  TRY_VOID(any_item(a, [&](const std::string& order) {
    of_a.insert(order);
    return false;
  }));
  TRY(const bool found,
      any_item(b, [&](const std::string& order) { return of_a.contains(order); }));
  return found;
}

Result<Value> yson_length(const Value& any) {
  YsonCursor cursor(any.text());
  TRY_VOID(cursor.next());
  TRY_VOID(cursor.skip_attributes());
  const bool map = cursor.is(Kind::kBeginMap);
  if (!map && !cursor.is(Kind::kBeginList)) {
    return refuse(fmt::format("yson_length of a value of type {}", name_of_node(cursor.event())));
  }
  for (std::int64_t count = 0;; ++count) {
    TRY_VOID(cursor.next());
    if (cursor.event().ends()) return count;
    if (map) {
      TRY_VOID(cursor.next());
    }
    TRY_VOID(cursor.skip());
  }
}

Result<Value> make_list(std::span<const Value> items, table::TextMemory& memory) {
  std::string out = "[";
  for (const Value& item : items) append_item(out, item);
  out.push_back(']');
  return keep_any(std::move(out), memory);
}

Result<Value> make_map(std::span<const Value> pairs, table::TextMemory& memory) {
  absl::flat_hash_set<std::string_view> keys;
  std::string out = "{";
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    if (pairs[i].is_null()) return refuse("a key of make_map is null");
    const std::string_view key = pairs[i].text();
    if (key.empty()) return refuse("a key of make_map is empty");
    if (!keys.insert(key).second) {
      return refuse(fmt::format("make_map has the key \"{}\" twice", key));
    }
    append_item(out, key);
    out.back() = '=';
    append_item(out, pairs[i + 1]);
  }
  out.push_back('}');
  return keep_any(std::move(out), memory);
}

Result<Value> split(std::string_view text, std::string_view delimiter, table::TextMemory& memory) {
  if (delimiter.empty()) return refuse("the delimiter of split is empty");
  std::string out;
  YsonWriter writer(out, YsonFormat::kBinary);
  (void)writer.on(YsonEvent::of(Kind::kBeginList));
  for (;;) {
    const std::size_t end = text.find(delimiter);
    (void)writer.on(YsonEvent::string(text.substr(0, end)));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + delimiter.size());
  }
  (void)writer.on(YsonEvent::of(Kind::kEndList));
  return keep_any(std::move(out), memory);
}

Result<Value> yson_text(const Value& any, table::TextMemory& memory) {
  std::string out;
  YsonWriter writer(out, YsonFormat::kText);
  TRY_VOID(emit_yson(any.text(), writer));
  TRY(const std::string_view kept, keep(std::move(out), memory));
  return Value(kept);
}

Value as_type(const Value& value, ValueType type, table::TextMemory& memory) {
  if (value.is_null() || type != ValueType::kAny || value.type() == type) return value;
  return table::as_any(value, memory);
}

// In a dict, which is a list of pairs.
Result<bool> find_dict_item(YsonCursor& cursor, const Value& key) {
  TRY_VOID(cursor.skip_attributes());
  if (!cursor.is(Kind::kBeginList)) return false;
  table::TextMemory local;
  for (;;) {
    TRY_VOID(cursor.next());
    if (cursor.event().ends()) return false;
    if (!cursor.is(Kind::kBeginList)) return refuse("a pair of a dict is no list");
    TRY_VOID(cursor.next());
    if (cursor.event().ends()) continue;
    TRY(const std::optional<Value> found, cursor.scalar(local));
    const bool equal = found && *found == key;
    if (!found) {
      TRY_VOID(cursor.skip());
    }
    TRY_VOID(cursor.next());
    if (equal && !cursor.event().ends()) return true;
    while (!cursor.event().ends()) {
      TRY_VOID(cursor.skip());
      TRY_VOID(cursor.next());
    }
    local.clear();
  }
}

// item(value, index or key, number of the type)
Result<Value> item_of(Function function, std::span<const Value> arguments,
                      table::TextMemory& memory) {
  YsonCursor cursor(arguments[0].text());
  TRY_VOID(cursor.next());
  bool found = false;
  if (function == F::kListItem) {
    TRY(found, find_item(cursor, arguments[1].as_int64()));
  } else {
    TRY(found, find_dict_item(cursor, arguments[1]));
  }
  if (!found) return Value();
  const auto type = static_cast<ValueType>(arguments[2].as_int64());
  TRY(const std::optional<Value> value, cursor.value(type, memory));
  if (value) return *value;
  return refuse(fmt::format("an item is not of type {}", to_string(type)));
}

}  // namespace

Result<Value> scalar_of_any(const Value& any, std::string_view wanted, table::TextMemory& memory) {
  YsonCursor cursor(any.text());
  TRY_VOID(cursor.next());
  TRY(const std::optional<Value> value, cursor.scalar(memory));
  if (value && !value->is_null()) return *value;
  return refuse(
      fmt::format("Cannot convert a value of type {} to {}", name_of_node(cursor.event()), wanted));
}

Result<Value> call_any_function(Function function, std::span<const Value> arguments,
                                table::TextMemory& memory) {
  const Value first = arguments.empty() ? Value() : arguments[0];
  switch (function) {
    case F::kToAny: return as_type(first, ValueType::kAny, memory);
    case F::kYsonStringToAny: {
      TRY_VOID(check_yson(first.text()));
      return Value::any(first.text());
    }
    case F::kAnyToYsonString: return yson_text(first, memory);
    case F::kString: {
      if (first.type() == ValueType::kString) return first;
      TRY(const Value text, scalar_of_any(first, "string", memory));
      if (text.type() == ValueType::kString) return text;
      return refuse(
          fmt::format("Cannot convert a value of type {} to string", to_string(text.type())));
    }
    case F::kSplit: return split(first.text(), arguments[1].text(), memory);
    case F::kListContains:
      return first.is_null() ? Result<Value>(Value()) : list_contains(first, arguments[1]);
    case F::kListHasIntersection: return lists_intersect(first, arguments[1]);
    case F::kYsonLength: return yson_length(first);
    case F::kMakeMap: return make_map(arguments, memory);
    case F::kMakeList: return make_list(arguments, memory);
    case F::kMakeEntity: return Value::any("#");
    case F::kAnyOrder: {
      std::string order;
      TRY_VOID(append_order(order, first));
      return memory.keep(std::move(order));
    }
    case F::kAnyCanonical: {
      TRY(std::string canonical, canonical_yson(first));
      return Value::any(memory.keep(std::move(canonical)));
    }
    case F::kListItem:
    case F::kDictItem: return item_of(function, arguments, memory);
    default: return get(function, first, arguments[1].text(), memory);
  }
}

}  // namespace moraine::query
