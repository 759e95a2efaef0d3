#include "query/function/yson_cursor.h"

namespace moraine::query {
namespace {

using Kind = YsonEvent::Kind;

Value scalar_of(const YsonEvent& event, table::TextMemory& memory) {
  switch (event.kind) {
    case Kind::kBoolean: return event.as_boolean();
    case Kind::kInt64: return event.as_int64();
    case Kind::kUint64: return event.as_uint64();
    case Kind::kDouble: return event.as_double();
    case Kind::kString: return memory.keep(std::string(event.text));
    default: return {};
  }
}

}  // namespace

YsonCursor::YsonCursor(std::string_view yson) {
  reader_.feed(yson);
  reader_.finish();
}

Result<void> YsonCursor::next() {
  if (reader_.next(event_) == YsonStep::kEvent) return {};
  return fail(Errc::kInvalidArgument,
              "A value of type any is not YSON: " + reader_.error().context);
}

// From an opening event to its closing one.
Result<void> YsonCursor::skip_open() {
  std::size_t depth = 1;
  while (depth > 0) {
    TRY_VOID(next());
    if (event_.begins()) ++depth;
    if (event_.ends()) --depth;
  }
  return {};
}

Result<void> YsonCursor::skip_attributes() {
  if (!is(Kind::kBeginAttributes)) return {};
  TRY_VOID(skip_open());
  return next();
}

Result<void> YsonCursor::skip() {
  TRY_VOID(skip_attributes());
  return event_.begins() ? skip_open() : Result<void>();
}

Result<void> YsonCursor::copy(std::string& out) {
  YsonWriter writer(out, YsonFormat::kBinary);
  std::size_t depth = 0;
  for (;;) {
    (void)writer.on(event_);
    if (event_.begins()) ++depth;
    if (event_.ends()) --depth;
    if (depth == 0 && event_.ends_node()) return {};
    TRY_VOID(next());
  }
}

Result<std::optional<Value>> YsonCursor::scalar(table::TextMemory& memory) {
  TRY_VOID(skip_attributes());
  if (!event_.is_scalar()) return std::optional<Value>();
  return std::optional(scalar_of(event_, memory));
}

Result<std::optional<Value>> YsonCursor::value(ValueType type, table::TextMemory& memory) {
  if (type == ValueType::kAny) {
    if (is(Kind::kEntity)) return std::optional(Value());
    std::string copied;
    TRY_VOID(copy(copied));
    return std::optional(Value::any(memory.keep(std::move(copied))));
  }
  TRY(const std::optional<Value> found, scalar(memory));
  if (!found) {
    TRY_VOID(skip());
    return std::optional<Value>();
  }
  return found->is_null() || found->type() == type ? found : std::optional<Value>();
}

std::string_view name_of_node(const YsonEvent& first) {
  switch (first.kind) {
    case Kind::kBoolean: return "boolean";
    case Kind::kInt64: return "int64";
    case Kind::kUint64: return "uint64";
    case Kind::kDouble: return "double";
    case Kind::kString: return "string";
    case Kind::kBeginList: return "list";
    case Kind::kBeginMap: return "map";
    case Kind::kBeginAttributes: return "node with attributes";
    default: return "entity";
  }
}

}  // namespace moraine::query
