#include "gateway/yt/parameters.h"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "yson/number.h"
#include "yson/yson.h"

namespace moraine::yt {
namespace {

std::unexpected<YtError> wrong(std::string_view name, std::string_view why) {
  return refuse(Code::kGeneric, fmt::format("Error reading parameter \"{}\": {}", name, why));
}

// Recursion is bounded by the depth of what was read.
void merge_into(YsonMap& to, YsonMap from) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::string& key = from.pair(i).key;
    YsonNode* const known = to.find(key);
    YsonNode& node = from.node(i);
    if (known != nullptr && known->as<YsonMap>() && node.as<YsonMap>() && !node.has_attributes()) {
      merge_into(*known->as<YsonMap>(), std::move(*node.as<YsonMap>()));
    } else {
      to.set(key, std::move(node));
    }
  }
}

// name[key][0] -> name, key, 0.
std::optional<std::vector<std::string_view>> steps_of(std::string_view name) {
  std::vector<std::string_view> steps;
  const std::size_t first = name.find('[');
  steps.push_back(name.substr(0, first));
  std::string_view rest = first == name.npos ? std::string_view() : name.substr(first);
  while (!rest.empty()) {
    const std::size_t end = rest.find(']');
    if (rest.front() != '[' || end == rest.npos) return std::nullopt;
    steps.push_back(rest.substr(1, end - 1));
    rest.remove_prefix(end + 1);
  }
  return steps;
}

YsonNode query_value(const std::string& text) {
  std::int64_t number = 0;
  if (parse_decimal(text, number)) return number;
  return text;
}

class QueryTree {
 public:
  YtResult<void> add(std::string_view name, const std::string& value) {
    const auto steps = steps_of(name);
    if (!steps) return wrong(name, "brackets do not match");
    if (steps->size() > kQueryDepthMax) return wrong(name, "nested too deeply");
    YsonNode* at = &root_.node(slot(root_, (*steps)[0]));
    for (std::size_t i = 1; i < steps->size(); ++i) {
      YT_TRY(at, step(*at, (*steps)[i], name));
    }
    *at = query_value(value);
    return {};
  }
  YtResult<YsonMap> take() {
    for (std::size_t i = 0; i < root_.size(); ++i) YT_TRY_VOID(unwrap(root_.node(i)));
    return std::move(root_);
  }

 private:
  static std::size_t slot(YsonMap& map, std::string_view key) {
    for (std::size_t i = 0; i < map.size(); ++i) {
      if (map.pair(i).key == key) return i;
    }
    map.set(std::string(key), YsonNode());
    return map.size() - 1;
  }
  YtResult<YsonNode*> step(YsonNode& node, std::string_view key, std::string_view name) {
    std::uint64_t index = 0;
    if (++nodes_ > kQueryNodesMax) return wrong(name, "the query string has too many values");
    if (!node.as<YsonMap>() && parse_decimal(key, index)) {
      if (index > kQueryIndexMax) return wrong(name, "the index is too large");
      if (!node.as<YsonList>()) node = YsonList();
      YsonList& list = *node.as<YsonList>();
      if (list.size() <= index) {
        nodes_ += index + 1 - list.size();
        list.resize(index + 1);
      }
      return &list[index];
    }
    if (!node.as<YsonMap>()) node = YsonMap();
    return &node.as<YsonMap>()->operator[](key);
  }
  // At most kQueryDepthMax deep.
  static YtResult<void> unwrap(YsonNode& node) {
    if (YsonList* const list = node.as<YsonList>()) {
      for (YsonNode& item : *list) YT_TRY_VOID(unwrap(item));
    }
    YsonMap* const map = node.as<YsonMap>();
    if (map == nullptr) return {};
    for (std::size_t i = 0; i < map->size(); ++i) YT_TRY_VOID(unwrap(map->node(i)));
    YsonNode* const value = map->find("$value");
    YsonNode* const attributes = map->find("$attributes");
    if (value == nullptr && attributes == nullptr) return {};
    if (value == nullptr) return wrong("$attributes", "there is no \"$value\" beside it");
    YsonNode made = std::move(*value);
    if (attributes != nullptr) {
      if (!attributes->as<YsonMap>()) return wrong("$attributes", "must be a map");
      made.mutable_attributes() = std::move(*attributes->as<YsonMap>());
    }
    node = std::move(made);
    return {};
  }

  YsonMap root_;
  std::size_t nodes_ = 0;
};

int base64_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+' || c == '-') return 62;
  if (c == '/' || c == '_') return 63;
  return -1;
}

}  // namespace

void Parameters::merge(YsonMap other) {
  merge_into(map_, std::move(other));
}

const YsonNode* Parameters::find(std::string_view name) const {
  const YsonNode* const node = map_.find(name);
  return node == nullptr || (node->is_entity() && !node->has_attributes()) ? nullptr : node;
}

YtResult<std::string> Parameters::text(std::string_view name) const {
  const YsonNode* const node = find(name);
  if (node == nullptr) {
    return refuse(Code::kGeneric, fmt::format("Missing required parameter /{}", name));
  }
  if (const auto* text = node->as<std::string>()) return *text;
  // A text of digits in a query string.
  if (const auto* number = node->as<std::int64_t>()) return std::to_string(*number);
  return wrong(name, fmt::format("a string is expected, {} was given", to_string(node->type())));
}

YtResult<std::string> Parameters::text_or(std::string_view name, std::string_view otherwise) const {
  if (find(name) == nullptr) return std::string(otherwise);
  return text(name);
}

YtResult<bool> boolean_of(const YsonNode& node, std::string_view name) {
  if (const bool* value = node.as<bool>()) return *value;
  const auto* const number = node.as<std::int64_t>();
  if (number != nullptr && (*number == 0 || *number == 1)) return *number == 1;
  const auto* const unsigned_number = node.as<std::uint64_t>();
  if (unsigned_number != nullptr && *unsigned_number <= 1) return *unsigned_number == 1;
  if (const auto* text = node.as<std::string>()) {
    if (*text == "true" || *text == "1") return true;
    if (*text == "false" || *text == "0") return false;
  }
  return wrong(name, "a boolean is expected");
}

YtResult<bool> Parameters::boolean(std::string_view name, bool otherwise) const {
  const YsonNode* const node = find(name);
  if (node == nullptr) return otherwise;
  return boolean_of(*node, name);
}

YtResult<std::int64_t> integer_of(const YsonNode& node, std::string_view name) {
  if (const auto* number = node.as<std::int64_t>()) return *number;
  if (const auto* number = node.as<std::uint64_t>()) {
    if (std::in_range<std::int64_t>(*number)) return static_cast<std::int64_t>(*number);
  }
  std::int64_t parsed = 0;
  const auto* const text = node.as<std::string>();
  if (text != nullptr && parse_decimal(*text, parsed)) return parsed;
  return wrong(name, "an integer is expected");
}

YtResult<std::uint64_t> count_of(const YsonNode& node, std::string_view name) {
  if (const auto* number = node.as<std::uint64_t>()) return *number;
  YT_TRY(const std::int64_t number, integer_of(node, name));
  if (number < 0) return wrong(name, "must not be negative");
  return static_cast<std::uint64_t>(number);
}

YtResult<std::optional<std::int64_t>> Parameters::integer(std::string_view name) const {
  const YsonNode* const node = find(name);
  if (node == nullptr) return std::nullopt;
  return integer_of(*node, name);
}

YtResult<std::optional<std::uint64_t>> Parameters::count(std::string_view name) const {
  const YsonNode* const node = find(name);
  if (node == nullptr) return std::nullopt;
  return count_of(*node, name);
}

YtResult<std::uint64_t> Parameters::count_or(std::string_view name, std::uint64_t otherwise) const {
  YT_TRY(const std::optional<std::uint64_t> found, count(name));
  return found.value_or(otherwise);
}

YtResult<std::optional<std::chrono::milliseconds>> Parameters::duration(
    std::string_view name) const {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 1'000'000;
  const YsonNode* const node = find(name);
  if (node == nullptr) return std::nullopt;
  struct Unit {
    std::string_view suffix;
    std::int64_t ms;
  };
  static constexpr Unit kUnits[] = {
      {"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};
  std::int64_t scale = 1;
  YsonNode number = *node;
  if (const auto* text = node->as<std::string>()) {
    for (const Unit& unit : kUnits) {
      if (!text->ends_with(unit.suffix)) continue;
      number = YsonNode(text->substr(0, text->size() - unit.suffix.size()));
      scale = unit.ms;
      break;
    }
  }
  YT_TRY(const std::uint64_t value, count_of(number, name));
  if (value > static_cast<std::uint64_t>(kMost / scale)) return wrong(name, "too long");
  return std::chrono::milliseconds(static_cast<std::int64_t>(value) * scale);
}

YtResult<std::optional<PathId>> Parameters::id(std::string_view name) const {
  if (find(name) == nullptr) return std::nullopt;
  YT_TRY(const std::string spelled, text(name));
  const Result<PathId> parsed = parse_object_id(spelled);
  if (!parsed) return wrong(name, parsed.error().context);
  if (*parsed == kNullObjectId) return std::nullopt;
  return *parsed;
}

YtResult<std::vector<std::string>> texts_of(const YsonNode& node, std::string_view name) {
  const auto* const list = node.as<YsonList>();
  if (list == nullptr) return wrong(name, "a list of strings is expected");
  std::vector<std::string> texts;
  for (const YsonNode& item : *list) {
    const auto* const text = item.as<std::string>();
    if (text == nullptr) return wrong(name, "a list of strings is expected");
    texts.push_back(*text);
  }
  return texts;
}

YtResult<std::vector<std::string>> Parameters::texts(std::string_view name) const {
  const YsonNode* const node = find(name);
  if (node == nullptr) return std::vector<std::string>();
  return texts_of(*node, name);
}

YtResult<bool> latest_timestamps(const Parameters& parameters) {
  const YsonNode* const options = parameters.find("versioned_read_options");
  if (options == nullptr) return false;
  if (!options->as<YsonMap>()) return wrong("versioned_read_options", "a map is expected");
  YT_TRY(const std::string mode,
         Parameters(*options->as<YsonMap>()).text_or("read_mode", "default"));
  if (mode == "default") return false;
  if (mode == "latest_timestamp") return true;
  return refuse(Code::kGeneric, fmt::format("Invalid read mode \"{}\"", mode));
}

YtResult<YsonMap> query_parameters(const std::vector<std::pair<std::string, std::string>>& query) {
  QueryTree tree;
  for (const auto& [name, value] : query) {
    if (!name.empty()) YT_TRY_VOID(tree.add(name, value));
  }
  return tree.take();
}

YtResult<std::optional<std::string>> long_field(const http::Fields& fields, std::string_view name) {
  if (const std::string* whole = fields.find(name)) return *whole;
  std::string joined;
  std::size_t parts = 0;
  for (const std::string_view separator : {"", "-"}) {
    for (; parts < kHeaderPartsMax; ++parts) {
      const std::string* const part = fields.find(fmt::format("{}{}{}", name, separator, parts));
      if (part == nullptr) break;
      joined += *part;
    }
    if (parts > 0) break;
  }
  if (parts == 0) return std::nullopt;
  YT_TRY(std::string decoded, decode_base64(joined));
  return decoded;
}

YtResult<std::string> decode_base64(std::string_view text) {
  std::string out;
  out.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;
  unsigned have = 0;
  for (const char c : text) {
    if (c == '=' || c == ' ') continue;
    const int digit = base64_digit(c);
    if (digit < 0) return refuse(Code::kGeneric, "a header in parts is not valid base64");
    bits = (bits << 6) | static_cast<std::uint32_t>(digit);
    have += 6;
    if (have < 8) continue;
    have -= 8;
    out.push_back(static_cast<char>((bits >> have) & 0xff));
  }
  return out;
}

YtResult<YsonNode> read_document(std::string_view text, const DataFormat& format) {
  YT_TRY(const auto source, make_source(format, YsonDocument::kNode));
  YsonTreeBuilder builder(YsonDocument::kNode, kDocumentTreeBytesMax);
  if (const Result<void> read = convert(text, *source, builder); !read) {
    return refuse(Code::kYson, read.error().context);
  }
  if (!builder.complete()) return refuse(Code::kYson, "the document is empty");
  return builder.take();
}

YtResult<YsonMap> read_map(std::string_view text, const DataFormat& format, std::string_view what) {
  auto read = read_document(text, format);
  if (!read) {
    return std::unexpected(std::move(read).error().within(fmt::format("Error parsing {}", what)));
  }
  if (YsonMap* const map = read->as<YsonMap>()) return std::move(*map);
  return refuse(Code::kGeneric, fmt::format("Error parsing {}: a map is expected", what));
}

}  // namespace moraine::yt
