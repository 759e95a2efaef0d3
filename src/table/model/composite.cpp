#include "table/model/composite.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "table/model/limits.h"
#include "table/model/text_memory.h"
#include "table/model/value_check.h"
#include "yson/reader.h"
#include "yson/writer.h"

namespace moraine::table {
namespace {

using Kind = LogicalType::Kind;
using Event = YsonEvent::Kind;

std::unexpected<Error> invalid(std::string why) {
  return fail(Errc::kInvalidArgument, std::move(why));
}

std::unexpected<Error> expected(std::string_view what) {
  return invalid(fmt::format("a {} is expected", what));
}

// Adds the part in which something is wrong.
std::unexpected<Error> in_part(Error error, std::string_view part) {
  const bool nested = error.context.starts_with("at ");
  error.context = nested ? fmt::format("at {}/{}", part, error.context.substr(3))
                         : fmt::format("at {}: {}", part, error.context);
  return std::unexpected(std::move(error));
}

void put(std::string& out, const YsonEvent& event) {
  YsonWriter(out, YsonFormat::kBinary).on(event);
}

// A whole document as events, one ahead.
class Input {
 public:
  explicit Input(std::string_view yson) {
    reader_.feed(yson);
    reader_.finish();
  }
  // The event that take() returns next; an end is kEntity with at_end().
  Result<const YsonEvent*> peek() {
    if (!ahead_) {
      YsonEvent event;
      const YsonStep step = reader_.next(event);
      if (step == YsonStep::kError) return std::unexpected(reader_.error());
      if (step != YsonStep::kEvent) return invalid("the value ends too early");
      ahead_ = event;
    }
    return &*ahead_;
  }
  Result<YsonEvent> take() {
    TRY(const YsonEvent* event, peek());
    const YsonEvent taken = *event;
    ahead_.reset();
    return taken;
  }
  // True: the next event is of this kind, and was taken.
  Result<bool> skip(Event kind) {
    TRY(const YsonEvent* event, peek());
    if (event->kind != kind) return false;
    ahead_.reset();
    return true;
  }
  Result<void> finish() {
    YsonEvent event;
    const YsonStep step = reader_.next(event);
    if (step == YsonStep::kEnd) return {};
    if (step == YsonStep::kError) return std::unexpected(reader_.error());
    return invalid("something follows the value");
  }

 private:
  YsonReader reader_;
  std::optional<YsonEvent> ahead_;
};

// Copies one node with its attributes.
Result<void> copy_node(Input& input, std::string& out) {
  YsonWriter writer(out, YsonFormat::kBinary);
  std::size_t depth = 0;
  for (;;) {
    TRY(const YsonEvent event, input.take());
    writer.on(event);
    if (event.begins()) ++depth;
    if (event.ends()) --depth;
    if (depth == 0 && event.ends_node()) return {};
  }
}

std::optional<Value> scalar_of(const YsonEvent& event) {
  switch (event.kind) {
    case Event::kBoolean: return Value(event.as_boolean());
    case Event::kInt64: return Value(event.as_int64());
    case Event::kUint64: return Value(event.as_uint64());
    case Event::kDouble: return Value(event.as_double());
    case Event::kString: return Value(event.text);
    default: return std::nullopt;
  }
}

YsonEvent event_of(const Value& value) {
  switch (value.type()) {
    case ValueType::kBoolean: return YsonEvent::boolean(value.as_boolean());
    case ValueType::kInt64: return YsonEvent::int64(value.as_int64());
    case ValueType::kUint64: return YsonEvent::uint64(value.as_uint64());
    case ValueType::kDouble: return YsonEvent::number(value.as_double());
    default: return YsonEvent::string(value.text());
  }
}

// Both directions walk the type and the value together. Depth is that of the type.
class Coder {
 public:
  Coder(std::string_view yson, bool names) : input_(yson), names_(names) {}

  Result<std::string> run(const LogicalType& type) {
    std::string out;
    TRY_VOID(value(type, out));
    TRY_VOID(input_.finish());
    return out;
  }

 private:
  Result<void> value(const LogicalType& given, std::string& out) {
    const LogicalType& type = given.untagged();
    switch (type.kind) {
      case Kind::kSimple: return simple(type, out);
      case Kind::kNull:
      case Kind::kVoid: return null(out);
      case Kind::kDecimal: return decimal(type, out);
      case Kind::kOptional: return optional(type, out);
      case Kind::kList: return list(type, out);
      case Kind::kStruct: return structure(type, out);
      case Kind::kTuple: return tuple(type, out);
      case Kind::kVariantStruct:
      case Kind::kVariantTuple: return variant(type, out);
      case Kind::kDict: return dict(type, out);
      case Kind::kTagged: break;  // Not untagged.
    }
    return invalid("unknown type");
  }

  Result<void> simple(const LogicalType& type, std::string& out) {
    if (type.simple == ColumnType::kAny) return copy_node(input_, out);
    TRY(const YsonEvent event, input_.take());
    const std::optional<Value> given = scalar_of(event);
    if (!given) return expected(to_string(type.simple));
    memory_.clear();
    TRY(const Value cell, to_scalar(type.simple, *given, {}, memory_));
    put(out, event_of(cell));
    return {};
  }

  Result<void> null(std::string& out) {
    TRY(const bool is_null, input_.skip(Event::kEntity));
    if (!is_null) return expected("null");
    put(out, YsonEvent::of(Event::kEntity));
    return {};
  }

  Result<void> decimal(const LogicalType& type, std::string& out) {
    TRY(const YsonEvent event, input_.take());
    if (event.kind != Event::kString) return expected("decimal as a string of its bytes");
    TRY_VOID(check_decimal(type, event.text));
    put(out, event);
    return {};
  }

  Result<void> optional(const LogicalType& type, std::string& out) {
    TRY(const bool is_null, input_.skip(Event::kEntity));
    if (is_null) {
      put(out, YsonEvent::of(Event::kEntity));
      return {};
    }
    const LogicalType& item = type.parts.front();
    if (!item.is_nullable()) return value(item, out);
    TRY_VOID(begin(Event::kBeginList, "list of one item"));
    out += '[';
    TRY_VOID(value(item, out));
    out += ";]";
    return end_list("one item");
  }

  Result<void> list(const LogicalType& type, std::string& out) {
    TRY_VOID(begin(Event::kBeginList, "list"));
    out += '[';
    for (std::size_t at = 0;; ++at) {
      TRY(const bool ended, input_.skip(Event::kEndList));
      if (ended) break;
      TRY_VOID(part(type.parts.front(), out, [&] { return std::to_string(at); }));
      out += ';';
    }
    out += ']';
    return {};
  }

  Result<void> tuple(const LogicalType& type, std::string& out) {
    TRY_VOID(begin(Event::kBeginList, "tuple as a list"));
    out += '[';
    for (std::size_t at = 0; at < type.parts.size(); ++at) {
      TRY_VOID(no_end(type));
      TRY_VOID(part(type.parts[at], out, [&] { return std::to_string(at); }));
      out += ';';
    }
    out += ']';
    return end_list(fmt::format("{} elements", type.parts.size()));
  }

  Result<void> structure(const LogicalType& type, std::string& out) {
    TRY(const bool by_name, input_.skip(Event::kBeginMap));
    std::vector<std::string> members(type.parts.size());
    if (by_name) {
      TRY_VOID(named_members(type, members));
    } else {
      TRY_VOID(begin(Event::kBeginList, "struct as a map or a list"));
      TRY_VOID(listed_members(type, members));
    }
    return put_members(type, members, out);
  }

  Result<void> named_members(const LogicalType& type, std::vector<std::string>& members) {
    for (;;) {
      TRY(const YsonEvent event, input_.take());
      if (event.kind == Event::kEndMap) return {};
      const std::string name(event.text);
      const auto found = std::ranges::find(type.names, name);
      if (found == type.names.end()) {
        return invalid(fmt::format("the struct has no member \"{}\"", name));
      }
      const auto at = static_cast<std::size_t>(found - type.names.begin());
      if (!members[at].empty()) return invalid(fmt::format("member \"{}\" is given twice", name));
      TRY_VOID(part(type.parts[at], members[at], [&] { return name; }));
    }
  }

  Result<void> listed_members(const LogicalType& type, std::vector<std::string>& members) {
    for (std::size_t at = 0; at < members.size(); ++at) {
      TRY(const YsonEvent* next, input_.peek());
      if (next->kind == Event::kEndList) break;
      TRY_VOID(part(type.parts[at], members[at], [&] { return type.names[at]; }));
    }
    return end_list(fmt::format("{} members", members.size()));
  }

  Result<void> put_members(const LogicalType& type, const std::vector<std::string>& members,
                           std::string& out) {
    out += names_ ? '{' : '[';
    for (std::size_t at = 0; at < members.size(); ++at) {
      if (members[at].empty() && !type.parts[at].is_nullable()) {
        return invalid(fmt::format("member \"{}\" is missing", type.names[at]));
      }
      if (names_) {
        put(out, YsonEvent::string(type.names[at]));
        out += '=';
      }
      out += members[at].empty() ? std::string_view("#") : std::string_view(members[at]);
      out += ';';
    }
    out += names_ ? '}' : ']';
    return {};
  }

  Result<void> variant(const LogicalType& type, std::string& out) {
    TRY_VOID(begin(Event::kBeginList, "variant as a list of an alternative and its value"));
    TRY(const YsonEvent which, input_.take());
    TRY(const std::size_t at, alternative(type, which));
    out += '[';
    if (names_ && !type.names.empty()) {
      put(out, YsonEvent::string(type.names[at]));
    } else {
      put(out, YsonEvent::int64(static_cast<std::int64_t>(at)));
    }
    out += ';';
    TRY_VOID(no_end(type));
    TRY_VOID(part(type.parts[at], out,
                  [&] { return type.names.empty() ? std::to_string(at) : type.names[at]; }));
    out += ";]";
    return end_list("an alternative and its value");
  }

  static Result<std::size_t> alternative(const LogicalType& type, const YsonEvent& which) {
    std::uint64_t at = type.parts.size();
    if (which.kind == Event::kInt64 || which.kind == Event::kUint64) {
      at = which.word;  // A negative number is a large one.
    } else if (which.kind == Event::kString && !type.names.empty()) {
      const auto found = std::ranges::find(type.names, which.text);
      at = static_cast<std::uint64_t>(found - type.names.begin());
    }
    if (at < type.parts.size()) return static_cast<std::size_t>(at);
    return invalid(fmt::format("the first item of the variant names none of its {} alternatives",
                               type.parts.size()));
  }

  Result<void> dict(const LogicalType& type, std::string& out) {
    TRY(const bool by_key, input_.skip(Event::kBeginMap));
    out += '[';
    if (by_key) {
      TRY_VOID(pairs_of_map(type, out));
    } else {
      TRY_VOID(begin(Event::kBeginList, "dict as a list of pairs"));
      TRY_VOID(pairs_of_list(type, out));
    }
    out += ']';
    return {};
  }

  Result<void> pairs_of_map(const LogicalType& type, std::string& out) {
    const LogicalType& key = type.parts[0].untagged();
    const bool strings =
        key.kind == Kind::kSimple && physical_type(key.simple) == ValueType::kString;
    if (!strings) return invalid("a dict is a map only if its keys are strings");
    for (;;) {
      TRY(const YsonEvent event, input_.take());
      if (event.kind == Event::kEndMap) return {};
      out += '[';
      const std::string name(event.text);
      memory_.clear();
      TRY(const Value cell, to_scalar(key.simple, Value(std::string_view(name)), {}, memory_));
      put(out, event_of(cell));
      out += ';';
      TRY_VOID(part(type.parts[1], out, [&] { return name; }));
      out += ";];";
    }
  }

  Result<void> pairs_of_list(const LogicalType& type, std::string& out) {
    for (std::size_t at = 0;; ++at) {
      TRY(const bool ended, input_.skip(Event::kEndList));
      if (ended) return {};
      TRY_VOID(begin(Event::kBeginList, "pair of a dict as a list"));
      out += '[';
      for (std::size_t i = 0; i < type.parts.size(); ++i) {
        TRY_VOID(no_end(type));
        const std::string_view name = i == 0 ? "key" : "value";
        TRY_VOID(part(type.parts[i], out, [&] { return fmt::format("{}/{}", at, name); }));
        out += ';';
      }
      out += "];";
      TRY_VOID(end_list("a key and a value"));
    }
  }

  template <class Name>
  Result<void> part(const LogicalType& type, std::string& out, Name name) {
    auto done = value(type, out);
    if (!done) return in_part(std::move(done).error(), name());
    if (out.size() > kValueBytesMax) {
      return invalid(fmt::format("the value is longer than {} bytes", kValueBytesMax));
    }
    return {};
  }

  Result<void> begin(Event kind, std::string_view what) {
    TRY(const bool begun, input_.skip(kind));
    if (!begun) return expected(what);
    return {};
  }
  Result<void> no_end(const LogicalType& type) {
    TRY(const YsonEvent* next, input_.peek());
    if (next->kind != Event::kEndList) return {};
    return invalid(fmt::format("items are missing: the type has {}", type.parts.size()));
  }
  Result<void> end_list(std::string_view what) {
    TRY(const bool ended, input_.skip(Event::kEndList));
    if (!ended) return invalid(fmt::format("there are more than {}", what));
    return {};
  }

  Input input_;
  const bool names_;
  TextMemory memory_;
};

// 10^digits - 1.
constexpr unsigned __int128 largest_of(unsigned digits) {
  unsigned __int128 power = 1;
  for (unsigned i = 0; i < digits; ++i) power *= 10;
  return power - 1;
}

}  // namespace

Result<std::string> encode_composite(const LogicalType& type, std::string_view yson) {
  return Coder(yson, false).run(type);
}

Result<std::string> name_parts(const LogicalType& type, std::string_view stored) {
  return Coder(stored, true).run(type);
}

Result<void> check_decimal(const LogicalType& decimal, std::string_view bytes) {
  const unsigned digits = decimal.precision;
  const std::size_t size = digits <= 9 ? 4 : digits <= 18 ? 8 : 16;
  if (bytes.size() != size) {
    return invalid(
        fmt::format("a decimal of precision {} has {} bytes, not {}", digits, size, bytes.size()));
  }
  unsigned __int128 word = 0;
  for (const char byte : bytes) word = word << 8 | static_cast<unsigned char>(byte);
  const unsigned __int128 zero = static_cast<unsigned __int128>(1) << (size * 8 - 1);
  const bool negative = word < zero;
  const unsigned __int128 magnitude = negative ? zero - word : word - zero;
  // The largest are NaN and infinity; minus infinity is the opposite of infinity.
  const bool special = negative ? magnitude == zero - 2 : magnitude >= zero - 2;
  if (special || magnitude <= largest_of(digits)) return {};
  return invalid(fmt::format("a decimal has more than {} digits", digits));
}

}  // namespace moraine::table
