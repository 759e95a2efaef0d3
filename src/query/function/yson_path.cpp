#include "query/function/yson_path.h"

#include <fmt/format.h>

#include <charconv>

namespace moraine::query {
namespace {

using Kind = YsonEvent::Kind;

struct Step {
  bool attribute = false;
  std::string name;
};

std::unexpected<Error> refuse(std::string_view path, std::string_view what) {
  return fail(Errc::kInvalidArgument, fmt::format("Malformed path \"{}\": {}", path, what));
}

// Takes one step off `rest`.
Result<Step> take_step(std::string_view& rest, std::string_view path) {
  if (rest[0] != '/') return refuse(path, "it does not begin with a slash");
  rest.remove_prefix(1);
  Step step;
  if (rest.starts_with('@')) {
    step.attribute = true;
    rest.remove_prefix(1);
  }
  while (!rest.empty() && rest[0] != '/') {
    if (rest[0] == '\\') rest.remove_prefix(1);
    if (rest.empty()) return refuse(path, "it ends with a backslash");
    step.name.push_back(rest[0]);
    rest.remove_prefix(1);
  }
  if (step.name.empty()) return refuse(path, "a name is empty");
  return step;
}

// In the map or attributes that the event begins. True: the event is the first of the key's node.
Result<bool> find_key(YsonCursor& cursor, std::string_view key) {
  for (;;) {
    TRY_VOID(cursor.next());
    if (cursor.event().ends()) return false;
    const bool found = cursor.event().text == key;
    TRY_VOID(cursor.next());
    if (found) return true;
    TRY_VOID(cursor.skip());
  }
}

// Of the list that the event begins.
Result<std::int64_t> count_items(YsonCursor cursor) {
  std::int64_t count = 0;
  for (;; ++count) {
    TRY_VOID(cursor.next());
    if (cursor.event().ends()) return count;
    TRY_VOID(cursor.skip());
  }
}

}  // namespace

Result<bool> find_item(YsonCursor& cursor, std::int64_t index) {
  TRY_VOID(cursor.skip_attributes());
  if (!cursor.is(Kind::kBeginList)) return false;
  if (index < 0) {
    TRY(const std::int64_t count, count_items(cursor));
    index += count;
    if (index < 0) return false;
  }
  for (;; --index) {
    TRY_VOID(cursor.next());
    if (cursor.event().ends()) return false;
    if (index == 0) return true;
    TRY_VOID(cursor.skip());
  }
}

Result<bool> find_path(YsonCursor& cursor, std::string_view path) {
  TRY_VOID(cursor.next());
  // What follows the step that is not found is checked, too.
  bool found = true;
  for (std::string_view rest = path; !rest.empty();) {
    TRY(const Step step, take_step(rest, path));
    if (!found) continue;
    if (step.attribute) {
      found = cursor.is(Kind::kBeginAttributes);
      if (found) {
        TRY(found, find_key(cursor, step.name));
      }
      continue;
    }
    TRY_VOID(cursor.skip_attributes());
    if (cursor.is(Kind::kBeginMap)) {
      TRY(found, find_key(cursor, step.name));
      continue;
    }
    std::int64_t index = 0;
    const char* const end = step.name.data() + step.name.size();
    const auto [stop, code] = std::from_chars(step.name.data(), end, index);
    found = cursor.is(Kind::kBeginList) && code == std::errc() && stop == end;
    if (found) {
      TRY(found, find_item(cursor, index));
    }
  }
  return found;
}

}  // namespace moraine::query
