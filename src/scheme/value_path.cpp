#include "scheme/value_path.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

namespace moraine {
namespace {

using Kind = TreeToken::Kind;

std::optional<std::int64_t> parse_place(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// A place of an item that is there. "-1" is the last one.
Result<std::size_t> item_place(const YsonList& list, std::string_view name,
                               std::string_view where) {
  const auto place = name == "begin" ? std::optional<std::int64_t>(0)
                     : name == "end" ? std::optional<std::int64_t>(-1)
                                     : parse_place(name);
  if (!place) {
    return fail(Errc::kInvalidArgument,
                fmt::format("Failed to parse list index \"{}\" of {}", name, where));
  }
  const auto size = static_cast<std::int64_t>(list.size());
  const std::int64_t at = *place < 0 ? *place + size : *place;
  if (at < 0 || at >= size) {
    return fail(Errc::kNotFound, fmt::format("{} has no child with index {}", where, *place));
  }
  return static_cast<std::size_t>(at);
}

// Where a new item goes. nullopt: the name means an item that is there.
Result<std::optional<std::size_t>> new_place(const YsonList& list, std::string_view name,
                                             std::string_view where) {
  if (name == "begin") return std::optional<std::size_t>(0);
  if (name == "end") return std::optional<std::size_t>(list.size());
  const bool before = name.starts_with("before:");
  if (!before && !name.starts_with("after:")) return std::optional<std::size_t>();
  TRY(const std::size_t at, item_place(list, name.substr(name.find(':') + 1), where));
  return std::optional<std::size_t>(before ? at : at + 1);
}

std::unexpected<Error> no_child(std::string_view name, std::string_view where) {
  return fail(Errc::kNotFound, fmt::format("{} has no child with key \"{}\"", where, name));
}
std::unexpected<Error> no_attribute(std::string_view name) {
  return fail(Errc::kNotFound, fmt::format("Attribute \"{}\" is not found", name));
}
std::unexpected<Error> no_children(const YsonNode& value, std::string_view where) {
  return fail(Errc::kInvalidArgument,
              fmt::format("\"{}\" node {} cannot have children", yson_type_name(value), where));
}

// One step towards a value: the tokens that it takes.
struct Step {
  bool attribute = false;
  std::string_view name;
  std::size_t tokens = 1;
};
Result<Step> next_step(std::span<const TreeToken> at, std::string_view where) {
  const TreeToken& token = at.front();
  if (token.kind == Kind::kName) return Step{false, token.name, 1};
  if (token.kind == Kind::kAttributes && at.size() > 1 && at[1].kind == Kind::kName) {
    return Step{true, at[1].name, 2};
  }
  return fail(Errc::kInvalidArgument,
              fmt::format("Unexpected \"{}\" in a path below {}", to_text(at), where));
}

Result<YsonNode*> child(YsonNode& value, const Step& step, std::string_view where) {
  if (step.attribute) {
    if (!value.attributes().find(step.name)) return no_attribute(step.name);
    return value.mutable_attributes().find(step.name);
  }
  if (auto* map = value.as<YsonMap>()) {
    if (YsonNode* found = map->find(step.name)) return found;
    return no_child(step.name, where);
  }
  if (auto* list = value.as<YsonList>()) {
    TRY(const std::size_t at, item_place(*list, step.name, where));
    return &(*list)[at];
  }
  return no_children(value, where);
}

// As child(); changes nothing.
Result<const YsonNode*> child(const YsonNode& value, const Step& step, std::string_view where) {
  TRY(const YsonNode* found, child(const_cast<YsonNode&>(value), step, where));
  return found;
}

Result<void> put(YsonNode& parent, const Step& step, YsonNode value, std::string_view where) {
  if (step.attribute) {
    parent.mutable_attributes().set(std::string(step.name), std::move(value));
    return {};
  }
  if (auto* map = parent.as<YsonMap>()) {
    map->set(std::string(step.name), std::move(value));
    return {};
  }
  auto* list = parent.as<YsonList>();
  if (list == nullptr) return no_children(parent, where);
  TRY(const auto place, new_place(*list, step.name, where));
  if (place) {
    list->insert(list->begin() + static_cast<std::ptrdiff_t>(*place), std::move(value));
    return {};
  }
  TRY(const std::size_t at, item_place(*list, step.name, where));
  (*list)[at] = std::move(value);
  return {};
}

}  // namespace

std::string_view yson_type_name(const YsonNode& value) {
  return to_string(value.type());
}

Result<YsonNode> get_value(const YsonNode& root, std::span<const TreeToken> at,
                           std::string_view where) {
  const YsonNode* value = &root;
  while (!at.empty()) {
    if (at.size() == 1 && at.front().kind == Kind::kAttributes)
      return YsonNode(value->attributes());
    TRY(const Step step, next_step(at, where));
    TRY(value, child(*value, step, where));
    at = at.subspan(step.tokens);
  }
  return *value;
}

bool has_value(const YsonNode& root, std::span<const TreeToken> at) {
  const YsonNode* value = &root;
  while (!at.empty()) {
    if (at.size() == 1 && at.front().kind == Kind::kAttributes) return true;
    const auto step = next_step(at, "");
    if (!step) return false;
    const auto found = child(*value, *step, "");
    if (!found) return false;
    value = *found;
    at = at.subspan(step->tokens);
  }
  return true;
}

Result<void> set_value(YsonNode& root, std::span<const TreeToken> at, YsonNode value,
                       bool recursive, std::string_view where) {
  if (at.size() > kTreeValueDepthMax) {
    return fail(Errc::kInvalidArgument,
                fmt::format("a value {} levels deep, more than {}", at.size(), kTreeValueDepthMax));
  }
  if (at.empty()) {
    root = std::move(value);
    return {};
  }
  YsonNode* parent = &root;
  while (true) {
    TRY(const Step step, next_step(at, where));
    if (at.size() == step.tokens) return put(*parent, step, std::move(value), where);
    const auto found = child(*parent, step, where);
    if (!found) {
      const bool missing = found.error().code == Errc::kNotFound && !parent->as<YsonList>();
      if (!recursive || !missing) return std::unexpected(found.error());
      // Built from the inside, so that an error leaves the parent as it was.
      YsonNode below{YsonMap()};
      TRY_VOID(set_value(below, at.subspan(step.tokens), std::move(value), true, where));
      return put(*parent, step, std::move(below), where);
    }
    parent = *found;
    at = at.subspan(step.tokens);
  }
}

Result<void> remove_value(YsonNode& root, std::span<const TreeToken> at, bool force,
                          std::string_view where) {
  YsonNode* parent = &root;
  const auto missing = [force](Error error) -> Result<void> {
    if (force && error.code == Errc::kNotFound) return {};
    return std::unexpected(std::move(error));
  };
  while (true) {
    if (at.size() == 1 && at.front().kind == Kind::kAll) {
      if (auto* map = parent->as<YsonMap>()) *map = YsonMap();
      if (auto* list = parent->as<YsonList>()) list->clear();
      return {};
    }
    TRY(const Step step, next_step(at, where));
    const auto found = child(*parent, step, where);
    if (!found) return missing(found.error());
    if (at.size() > step.tokens) {
      parent = *found;
      at = at.subspan(step.tokens);
      continue;
    }
    if (step.attribute) {
      parent->mutable_attributes().erase(step.name);
    } else if (auto* map = parent->as<YsonMap>()) {
      map->erase(step.name);
    } else if (auto* list = parent->as<YsonList>()) {
      list->erase(list->begin() + (*found - list->data()));
    }
    return {};
  }
}

Result<YsonNode> list_value(const YsonNode& value, std::string_view where) {
  YsonList names;
  if (const auto* list = value.as<YsonList>()) {
    for (std::size_t i = 0; i < list->size(); ++i) names.emplace_back(static_cast<std::int64_t>(i));
    return YsonNode(std::move(names));
  }
  const auto* map = value.as<YsonMap>();
  if (map == nullptr) return no_children(value, where);
  for (const YsonPair& pair : *map) names.emplace_back(pair.key);
  return YsonNode(std::move(names));
}

}  // namespace moraine
