#include "table/model/aggregate.h"

#include <algorithm>

#include "table/model/xdelta.h"
#include "yson/yson.h"

namespace moraine::table {
namespace {

Value sum(const Value& a, const Value& b) {
  if (a.type() != b.type()) return b;
  switch (a.type()) {
    case ValueType::kInt64:
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(a.as_int64()) +
                                       static_cast<std::uint64_t>(b.as_int64()));
    case ValueType::kUint64: return a.as_uint64() + b.as_uint64();
    case ValueType::kDouble: return a.as_double() + b.as_double();
    default: return b;
  }
}

// An integer's 64 bits, whatever its sign.
std::uint64_t bits_of(const YsonNode& node) {
  if (const auto* number = node.as<std::int64_t>()) return static_cast<std::uint64_t>(*number);
  const auto* number = node.as<std::uint64_t>();
  return number == nullptr ? 0 : *number;
}

double double_of(const YsonNode& node) {
  if (const auto* number = node.as<double>()) return *number;
  if (const auto* number = node.as<std::int64_t>()) return static_cast<double>(*number);
  return static_cast<double>(bits_of(node));
}

bool is_number(const YsonNode& node) {
  return node.as<std::int64_t>() != nullptr || node.as<std::uint64_t>() != nullptr ||
         node.as<double>() != nullptr;
}

bool is_zero(const YsonNode& node) {
  if (const auto* map = node.as<YsonMap>()) return map->empty();
  return is_number(node) && double_of(node) == 0;
}

void add_number(YsonNode& total, const YsonNode& delta) {
  if (total.as<double>() != nullptr || delta.as<double>() != nullptr) {
    total.set_value(double_of(total) + double_of(delta));
    return;
  }
  const std::uint64_t bits = bits_of(total) + bits_of(delta);
  if (total.as<std::int64_t>() != nullptr || delta.as<std::int64_t>() != nullptr) {
    total.set_value(static_cast<std::int64_t>(bits));
  } else {
    total.set_value(bits);
  }
}

void add_map(YsonMap& total, const YsonMap& delta);

void add_node(YsonNode& total, const YsonNode& delta) {
  auto* map = total.as<YsonMap>();
  const auto* added = delta.as<YsonMap>();
  if (map != nullptr && added != nullptr) {
    add_map(*map, *added);
  } else if (map == nullptr && added == nullptr && is_number(total) && is_number(delta)) {
    add_number(total, delta);
  } else if (map == nullptr) {
    total = delta;
  }
}

void add_map(YsonMap& total, const YsonMap& delta) {
  for (const YsonPair& pair : delta) {
    if (YsonNode* found = total.find(pair.key)) {
      add_node(*found, pair.node);
    } else {
      total.set(pair.key, pair.node);
    }
  }
  total.erase_if([](const YsonPair& pair) { return is_zero(pair.node); });
}

Value dict_sum(const Value& older, const Value& newer, TextMemory& memory) {
  if (!older.has_text() || !newer.has_text()) return newer;
  auto total = parse_yson(older.text());
  const auto delta = parse_yson(newer.text());
  if (!total || !delta) return newer;
  auto* map = total->as<YsonMap>();
  const auto* added = delta->as<YsonMap>();
  if (map == nullptr || added == nullptr) return newer;
  add_map(*map, *added);
  return Value::any(memory.keep(write_yson(*total, YsonFormat::kBinary)));
}

Value xdelta(const Value& older, const Value& newer, TextMemory& memory) {
  if (!older.has_text() || !newer.has_text()) return newer;
  return merge_xdelta(older.text(), newer.text(), memory);
}

bool is_dict(const YsonNode& node) {
  if (node.has_attributes()) return false;
  const auto* map = node.as<YsonMap>();
  if (map == nullptr) return is_number(node);
  return std::ranges::all_of(*map, [](const YsonPair& pair) { return is_dict(pair.node); });
}

}  // namespace

Value fold(Aggregate aggregate, const Value& older, const Value& newer, TextMemory& memory) {
  if (newer.is_null()) return older;
  if (older.is_null()) return newer;
  switch (aggregate) {
    case Aggregate::kSum: return sum(older, newer);
    case Aggregate::kMin: return compare(newer, older) < 0 ? newer : older;
    case Aggregate::kMax: return compare(newer, older) > 0 ? newer : older;
    case Aggregate::kFirst: return older;
    case Aggregate::kDictSum: return dict_sum(older, newer, memory);
    case Aggregate::kXdelta: return xdelta(older, newer, memory);
    case Aggregate::kNone: return newer;
  }
  return newer;
}

void Folding::add(const Value& newer) {
  TextMemory made;
  total_ = fold(aggregate_, total_, newer, made);
  if (!made.empty()) text_ = std::move(made);
}

Value Folding::total(TextMemory& memory) {
  memory.take(text_);
  return total_;
}

Result<void> check_dict(std::string_view yson) {
  TRY(const YsonNode node, parse_yson(yson));
  if (node.as<YsonMap>() == nullptr || !is_dict(node)) {
    return fail(Errc::kInvalidArgument, "a value of a dict_sum column is a map of numbers");
  }
  return {};
}

}  // namespace moraine::table
