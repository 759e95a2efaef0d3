// Events as text, and sources that are fed in pieces. For tests.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "yson/event.h"
#include "yson/number.h"

namespace moraine {

inline std::string draw(const YsonEvent& event) {
  using Kind = YsonEvent::Kind;
  std::string out;
  switch (event.kind) {
    case Kind::kEntity: return "#";
    case Kind::kBoolean: return event.as_boolean() ? "true" : "false";
    case Kind::kInt64: return fmt::format("{}", event.as_int64());
    case Kind::kUint64: return fmt::format("{}u", event.as_uint64());
    case Kind::kDouble: append_yson_double(out, event.as_double()); return out;
    case Kind::kString: return fmt::format("'{}'", event.text);
    case Kind::kKey: return fmt::format("{}=", event.text);
    case Kind::kBeginList: return "[";
    case Kind::kEndList: return "]";
    case Kind::kBeginMap: return "{";
    case Kind::kEndMap: return "}";
    case Kind::kBeginAttributes: return "<";
    case Kind::kEndAttributes: return ">";
  }
  return "?";
}

// The events of an input that arrives in pieces of at most `piece` bytes, separated by spaces; then
// the error, if there is one. Every piece is in memory of its own, which ends with it.
inline std::string draw_events(YsonSource& source, std::string_view input,
                               std::size_t piece = std::string_view::npos) {
  std::string drawn;
  std::unique_ptr<std::vector<char>> bytes;
  YsonEvent event;
  std::size_t depth = 0;
  bool finished = false;
  for (;;) {
    const YsonStep step = source.next(event);
    if (step == YsonStep::kEvent) {
      drawn += (drawn.empty() ? "" : " ") + draw(event);
      if (event.begins()) ++depth;
      if (event.ends()) --depth;
      if (depth != source.depth()) return "wrong depth after " + drawn;
    } else if (step == YsonStep::kNeedInput) {
      if (finished) return "input is needed after " + drawn;
      if (input.empty()) {
        source.finish();
        finished = true;
        continue;
      }
      const std::string_view next = input.substr(0, piece);
      bytes = std::make_unique<std::vector<char>>(next.begin(), next.end());
      input.remove_prefix(next.size());
      source.feed({bytes->data(), bytes->size()});
    } else {
      if (step == YsonStep::kError) drawn += " error: " + source.error().context;
      return drawn;
    }
  }
}

}  // namespace moraine
