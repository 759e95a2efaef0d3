#include "query/function/list_text.h"

#include "yson/writer.h"

namespace moraine::query {

void append_item(std::string& items, const Value& value) {
  YsonWriter writer(items, YsonFormat::kBinary);
  switch (value.type()) {
    case ValueType::kNull: writer.on(YsonEvent::of(YsonEvent::Kind::kEntity)); break;
    case ValueType::kInt64: writer.on(YsonEvent::int64(value.as_int64())); break;
    case ValueType::kUint64: writer.on(YsonEvent::uint64(value.as_uint64())); break;
    case ValueType::kDouble: writer.on(YsonEvent::number(value.as_double())); break;
    case ValueType::kBoolean: writer.on(YsonEvent::boolean(value.as_boolean())); break;
    case ValueType::kString: writer.on(YsonEvent::string(value.text())); break;
    case ValueType::kAny: writer.raw(value.text()); break;
  }
  items.push_back(';');
}

}  // namespace moraine::query
