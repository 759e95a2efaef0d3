#include "query/function/any_order.h"

#include <fmt/format.h>

#include <cmath>

#include "query/function/yson_cursor.h"
#include "table/model/key.h"

namespace moraine::query {
namespace {

using Kind = YsonEvent::Kind;

constexpr char kListTag = '\x06';
constexpr char kItemTag = '\x01';
constexpr char kListEnd = '\x00';

Result<void> check_number(double number) {
  if (std::isnan(number)) return fail(Errc::kInvalidArgument, "Comparison with NaN");
  return {};
}

// A scalar that borrows the event.
Result<Value> scalar_of(const YsonEvent& event) {
  switch (event.kind) {
    case Kind::kEntity: return Value();
    case Kind::kBoolean: return event.as_boolean();
    case Kind::kInt64: return event.as_int64();
    case Kind::kUint64: return event.as_uint64();
    case Kind::kDouble: {
      TRY_VOID(check_number(event.as_double()));
      return event.as_double();
    }
    case Kind::kString: return event.text;
    default: break;
  }
  return fail(Errc::kInvalidArgument,
              fmt::format("Values of type {} are not comparable", name_of_node(event)));
}

}  // namespace

Result<void> append_order(std::string& out, const Value& value) {
  if (value.type() != ValueType::kAny) {
    if (value.type() == ValueType::kDouble) {
      TRY_VOID(check_number(value.as_double()));
    }
    table::append_key_column(out, value);
    return {};
  }
  YsonCursor cursor(value.text());
  std::size_t depth = 0;
  do {
    TRY_VOID(cursor.next());
    if (cursor.is(Kind::kEndList)) {
      out.push_back(kListEnd);
      --depth;
      continue;
    }
    if (depth > 0) out.push_back(kItemTag);
    if (cursor.is(Kind::kBeginList)) {
      out.push_back(kListTag);
      ++depth;
      continue;
    }
    TRY(const Value scalar, scalar_of(cursor.event()));
    table::append_key_column(out, scalar);
  } while (depth > 0);
  return {};
}

Result<std::string> canonical_yson(const Value& any) {
  std::string out;
  YsonWriter writer(out, YsonFormat::kBinary);
  YsonCursor cursor(any.text());
  std::size_t depth = 0;
  do {
    TRY_VOID(cursor.next());
    YsonEvent event = cursor.event();
    if (event.kind == Kind::kBeginList) {
      ++depth;
    } else if (event.kind == Kind::kEndList) {
      --depth;
    } else {
      TRY_VOID(scalar_of(event));
      // -0.0 equals 0.0.
      if (event.kind == Kind::kDouble && event.as_double() == 0) event = YsonEvent::number(0);
    }
    (void)writer.on(event);
  } while (depth > 0);
  return out;
}

Result<std::strong_ordering> compare_any(const Value& a, const Value& b) {
  if (a.is_null() || b.is_null()) return b.is_null() <=> a.is_null();
  std::string left;
  std::string right;
  TRY_VOID(append_order(left, a));
  TRY_VOID(append_order(right, b));
  return left <=> right;
}

}  // namespace moraine::query
