#include "gateway/yt/rich_path.h"

#include <fmt/format.h>

#include <limits>

#include "gateway/yt/parameters.h"
#include "yson/yson.h"

namespace moraine::yt {
namespace {

std::unexpected<YtError> wrong(std::string_view why) {
  return refuse(Code::kGeneric, fmt::format("Error parsing YPath: {}", why));
}

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// The end of a quoted string that begins at `at`; npos: it has none.
std::size_t quoted_end(std::string_view text, std::size_t at) {
  for (std::size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == '"')
      return i + 1;
  }
  return text.npos;
}

// Where the attributes at the front end; npos: nowhere.
std::size_t attributes_end(std::string_view text) {
  std::size_t depth = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '"') {
      i = quoted_end(text, i);
      if (i == text.npos) return text.npos;
      continue;
    }
    if (text[i] == '<') ++depth;
    if (text[i] == '>' && --depth == 0) return i + 1;
    ++i;
  }
  return text.npos;
}

// A limit becomes the end of the range that has just the rows at it.
YtResult<void> end_exactly(ReadLimit& limit) {
  std::optional<std::int64_t>& last = limit.row_index ? limit.row_index : limit.tablet_index;
  if (last == std::numeric_limits<std::int64_t>::max()) return wrong("the index is too large");
  if (last) ++*last;
  limit.after_prefix = limit.key.has_value();
  return {};
}

// Where columns or ranges begin: the first bracket that is not escaped.
std::size_t suffix_begin(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == '{' || text[i] == '[')
      return i;
  }
  return text.size();
}

class SuffixReader {
 public:
  explicit SuffixReader(std::string_view text) : rest_(text) {}

  YtResult<void> read(RichPath& into) {
    skip();
    if (take('{')) YT_TRY_VOID(columns(into));
    skip();
    if (take('[')) YT_TRY_VOID(ranges(into));
    skip();
    if (!rest_.empty()) return wrong(fmt::format("unexpected \"{}\"", rest_.substr(0, 40)));
    return {};
  }

 private:
  void skip() {
    while (!rest_.empty() && is_space(rest_.front())) rest_.remove_prefix(1);
  }
  bool take(char c) {
    skip();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  YtResult<void> columns(RichPath& into) {
    into.columns.emplace();
    while (!take('}')) {
      YT_TRY(const YsonNode name, scalar());
      const auto* const text = name.as<std::string>();
      if (text == nullptr) return wrong("a column name is expected");
      into.columns->push_back(*text);
      if (!take(',') && (skip(), rest_.empty() || rest_.front() != '}')) {
        return wrong("\",\" or \"}\" is expected after a column");
      }
    }
    return {};
  }

  YtResult<void> ranges(RichPath& into) {
    into.ranges.emplace();
    while (!take(']')) {
      if (into.ranges->size() == kRangesMax) return wrong("too many ranges");
      ReadRange range;
      YT_TRY(range.lower, limit());
      if (take(':')) {
        YT_TRY(range.upper, limit());
      } else if (range.lower.none()) {
        return wrong("a limit is expected");
      } else {
        range.upper = range.lower;
        YT_TRY_VOID(end_exactly(range.upper));
      }
      into.ranges->push_back(std::move(range));
      if (!take(',') && (skip(), rest_.empty() || rest_.front() != ']')) {
        return wrong("\",\" or \"]\" is expected after a range");
      }
    }
    return {};
  }

  YtResult<ReadLimit> limit() {
    ReadLimit made;
    skip();
    if (rest_.empty()) return wrong("it ends inside of ranges");
    if (rest_.front() == ':' || rest_.front() == ']' || rest_.front() == ',') return made;
    if (take('#')) {
      YT_TRY(const YsonNode index, scalar());
      YT_TRY(made.row_index, integer_of(index, "row_index"));
      return made;
    }
    made.key.emplace();
    if (!take('(')) {
      YT_TRY(YsonNode value, scalar());
      made.key->push_back(std::move(value));
      return made;
    }
    while (!take(')')) {
      YT_TRY(YsonNode value, scalar());
      made.key->push_back(std::move(value));
      if (!take(',') && (skip(), rest_.empty() || rest_.front() != ')')) {
        return wrong("\",\" or \")\" is expected in a key");
      }
    }
    return made;
  }

  // One scalar of YSON, with attributes: those of sentinels.
  YtResult<YsonNode> scalar() {
    skip();
    std::size_t end = 0;
    if (rest_.starts_with('<')) {
      end = attributes_end(rest_);
      if (end == rest_.npos) return wrong("attributes do not end");
      while (end < rest_.size() && is_space(rest_[end])) ++end;
    }
    if (end < rest_.size() && rest_[end] == '"') {
      end = quoted_end(rest_, end);
      if (end == rest_.npos) return wrong("a string does not end");
    } else {
      constexpr std::string_view kStops = ",:)]}([{ \t\n\r";
      while (end < rest_.size() && kStops.find(rest_[end]) == kStops.npos) ++end;
    }
    if (end == 0) return wrong("a value is expected");
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end);
    auto parsed = parse_yson(text);
    if (!parsed) return wrong(parsed.error().context);
    return std::move(*parsed);
  }

  std::string_view rest_;
};

YtResult<void> read_key_bound(const YsonNode& node, bool is_lower, ReadLimit& made) {
  const auto* const pair = node.as<YsonList>();
  if (pair == nullptr || pair->size() != 2) return wrong("key_bound is a relation and a key");
  const auto* const relation = (*pair)[0].as<std::string>();
  const auto* const key = (*pair)[1].as<YsonList>();
  if (relation == nullptr || key == nullptr) return wrong("key_bound is a relation and a key");
  const bool fits =
      is_lower ? *relation == ">=" || *relation == ">" : *relation == "<" || *relation == "<=";
  if (!fits) return wrong(fmt::format("the relation \"{}\" does not fit the limit", *relation));
  made.key = *key;
  made.after_prefix = *relation == ">" || *relation == "<=";
  return {};
}

YtResult<ReadLimit> read_limit(const YsonNode& node, bool is_lower) {
  ReadLimit made;
  if (!node.as<YsonMap>()) return wrong("a limit must be a map");
  if (const YsonNode* key = node.find("key")) {
    if (!key->as<YsonList>()) return wrong("a key must be a list");
    made.key = *key->as<YsonList>();
  }
  if (const YsonNode* bound = node.find("key_bound")) {
    YT_TRY_VOID(read_key_bound(*bound, is_lower, made));
  }
  if (const YsonNode* index = node.find("row_index")) {
    YT_TRY(made.row_index, integer_of(*index, "row_index"));
  }
  if (const YsonNode* index = node.find("tablet_index")) {
    YT_TRY(made.tablet_index, integer_of(*index, "tablet_index"));
  }
  for (const char* other : {"chunk_index", "offset"}) {
    if (node.find(other)) return not_supported(fmt::format("the limit \"{}\"", other));
  }
  return made;
}

YtResult<ReadRange> read_range(const YsonNode& node) {
  ReadRange made;
  if (const YsonNode* exact = node.find("exact")) {
    YT_TRY(made.lower, read_limit(*exact, true));
    if (made.lower.none()) return wrong("an exact limit has neither a key nor a row index");
    made.upper = made.lower;
    YT_TRY_VOID(end_exactly(made.upper));
    return made;
  }
  if (const YsonNode* lower = node.find("lower_limit")) {
    YT_TRY(made.lower, read_limit(*lower, true));
  }
  if (const YsonNode* upper = node.find("upper_limit")) {
    YT_TRY(made.upper, read_limit(*upper, false));
  }
  return made;
}

YtResult<void> read_attributes(YsonMap attributes, RichPath& into) {
  if (const YsonNode* columns = attributes.find("columns"); columns && !columns->is_entity()) {
    YT_TRY(into.columns, texts_of(*columns, "columns"));
  }
  if (const YsonNode* ranges = attributes.find("ranges"); ranges && !ranges->is_entity()) {
    const auto* const list = ranges->as<YsonList>();
    if (list == nullptr) return wrong("ranges must be a list");
    if (list->size() > kRangesMax) return wrong("too many ranges");
    into.ranges.emplace();
    for (const YsonNode& item : *list) {
      if (!item.as<YsonMap>()) return wrong("a range must be a map");
      YT_TRY(ReadRange range, read_range(item));
      into.ranges->push_back(std::move(range));
    }
  }
  attributes.erase("columns");
  attributes.erase("ranges");
  into.attributes = std::move(attributes);
  return {};
}

YsonNode limit_to_yson(const ReadLimit& limit, bool is_lower) {
  YsonMap map;
  if (limit.key && limit.after_prefix) {
    map.set("key_bound", YsonList{YsonNode(is_lower ? ">" : "<="), YsonNode(*limit.key)});
  } else if (limit.key) {
    map.set("key", *limit.key);
  }
  if (limit.row_index) map.set("row_index", *limit.row_index);
  if (limit.tablet_index) map.set("tablet_index", *limit.tablet_index);
  return map;
}

}  // namespace

YtResult<RichPath> parse_rich_path(const YsonNode& node) {
  const auto* const given = node.as<std::string>();
  if (given == nullptr) return wrong("a path must be a string");
  RichPath made;
  YsonMap attributes = node.attributes();
  std::string_view text = *given;
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  if (text.starts_with('<')) {
    const std::size_t end = attributes_end(text);
    if (end == text.npos) return wrong("attributes do not end");
    auto parsed = parse_yson(std::string(text.substr(0, end)) + "#");
    if (!parsed) return wrong(parsed.error().context);
    for (const YsonPair& pair : parsed->attributes()) attributes.set(pair.key, pair.node);
    text.remove_prefix(end);
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  }
  if (text.starts_with('<')) return wrong("attributes are given twice");
  const std::size_t end = suffix_begin(text);
  made.path = text.substr(0, end);
  if (made.path.empty()) return wrong("the path is empty");
  YT_TRY_VOID(read_attributes(std::move(attributes), made));
  YT_TRY_VOID(SuffixReader(text.substr(end)).read(made));
  return made;
}

YsonNode to_yson(const RichPath& path) {
  YsonNode node(path.path);
  YsonMap attributes = path.attributes;
  if (path.columns) {
    YsonList columns;
    for (const std::string& name : *path.columns) columns.emplace_back(name);
    attributes.set("columns", std::move(columns));
  }
  if (path.ranges) {
    YsonList ranges;
    for (const ReadRange& range : *path.ranges) {
      YsonMap map;
      if (!range.lower.none()) map.set("lower_limit", limit_to_yson(range.lower, true));
      if (!range.upper.none()) map.set("upper_limit", limit_to_yson(range.upper, false));
      ranges.emplace_back(std::move(map));
    }
    attributes.set("ranges", std::move(ranges));
  }
  if (!attributes.empty()) node.mutable_attributes() = std::move(attributes);
  return node;
}

}  // namespace moraine::yt
