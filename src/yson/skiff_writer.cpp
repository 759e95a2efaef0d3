#include "yson/skiff_writer.h"

#include <fmt/format.h>

#include <limits>

namespace moraine {
namespace {

using Kind = YsonEvent::Kind;
using Wire = SkiffType::Wire;

void append_bytes(std::string& out, std::uint64_t word, std::size_t bytes) {
  out.append(reinterpret_cast<const char*>(&word), bytes);
}

bool append_text(std::string& out, std::string_view text) {
  if (text.size() > std::numeric_limits<std::uint32_t>::max()) return false;
  append_bytes(out, text.size(), 4);
  out += text;
  return true;
}

std::optional<YsonEvent> scalar_of(const YsonNode& node) {
  if (node.is_entity()) return YsonEvent::of(Kind::kEntity);
  if (const auto* value = node.as<std::int64_t>()) return YsonEvent::int64(*value);
  if (const auto* value = node.as<std::uint64_t>()) return YsonEvent::uint64(*value);
  if (const auto* value = node.as<double>()) return YsonEvent::number(*value);
  if (const auto* value = node.as<bool>()) return YsonEvent::boolean(*value);
  if (const auto* value = node.as<std::string>()) return YsonEvent::string(*value);
  return std::nullopt;
}

std::string_view kind_name(const YsonEvent& event) {
  switch (event.kind) {
    case Kind::kEntity: return "null";
    case Kind::kBoolean: return "a boolean";
    case Kind::kInt64:
    case Kind::kUint64: return "an integer";
    case Kind::kDouble: return "a double";
    case Kind::kString: return "a string";
    default: return "a list or a map";
  }
}

// The number as an integer of a wire type; nothing: it is none, or out of range.
std::optional<std::uint64_t> to_wire(Wire wire, std::size_t bytes, const YsonEvent& event) {
  const bool is_signed = wire >= Wire::kInt8 && wire <= Wire::kInt64;
  const bool negative = event.kind == Kind::kInt64 && event.as_int64() < 0;
  if (event.kind != Kind::kInt64 && event.kind != Kind::kUint64) return std::nullopt;
  const auto bits = static_cast<unsigned>(8 * bytes);
  if (!is_signed) {
    if (negative || (bits < 64 && event.word >> bits != 0)) return std::nullopt;
    return event.word;
  }
  const std::int64_t most = static_cast<std::int64_t>(~std::uint64_t{0} >> (65 - bits));
  if (event.kind == Kind::kUint64 && event.word > static_cast<std::uint64_t>(most)) {
    return std::nullopt;
  }
  const std::int64_t number = event.as_int64();
  if (number > most || number < -most - 1) return std::nullopt;
  return event.word;
}

std::optional<std::int64_t> number_of(const YsonMap& map, std::string_view key) {
  const YsonNode* const node = map.find(key);
  const auto* const number = node == nullptr ? nullptr : node->as<std::int64_t>();
  if (number == nullptr) return std::nullopt;
  return *number;
}

}  // namespace

SkiffWriter::SkiffWriter(std::string& out, SkiffOptions options)
    : out_(out), options_(std::move(options)), cells_(options_.row->children.size()) {
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const std::string& name = options_.row->children[i].name;
    if (name == kSkiffOtherColumns)
      other_ = i;
    else
      by_name_.emplace(name, i);
  }
}

bool SkiffWriter::on(const YsonEvent& event) {
  if (tree_) return gather(event);
  if (in_row_ && event.kind == Kind::kKey) return on_key(event.text);
  if (in_row_ && event.kind == Kind::kEndMap) return end_row();
  if (in_row_) return on_value(event);
  if (event.kind == Kind::kBeginAttributes) return gather(event);
  if (event.kind != Kind::kBeginMap) return refuse("skiff: a row must be a map");
  in_row_ = true;
  ++rows_;
  row_.clear();
  others_ = {};
  return true;
}

bool SkiffWriter::gather(const YsonEvent& event) {
  if (!tree_) tree_.emplace();
  if (!tree_->on(event)) return refuse(tree_->error().context);
  if (!tree_->complete()) return true;
  const YsonNode node = tree_->take();
  tree_.reset();
  return gathered(node);
}

bool SkiffWriter::gathered(const YsonNode& node) {
  if (!in_row_) return on_control(node);
  if (column_ == cells_.size()) {
    others_.set(key_, node);
    return true;
  }
  Cell& cell = cells_[column_];
  cell = {.row = rows_, .begin = row_.size()};
  if (!encode(options_.row->children[column_], node)) return false;
  cell.size = row_.size() - cell.begin;
  return true;
}

bool SkiffWriter::on_control(const YsonNode& node) {
  if (!node.is_entity()) return refuse("skiff: a row must be a map without attributes");
  range_index_ = number_of(node.attributes(), "range_index");
  row_index_ = number_of(node.attributes(), "row_index");
  return true;
}

bool SkiffWriter::on_key(std::string_view name) {
  const auto found = by_name_.find(name);
  column_ = found == by_name_.end() ? cells_.size() : found->second;
  if (found != by_name_.end()) return true;
  if (!other_) return refuse(fmt::format("skiff: the schema has no column {:?}", name));
  key_ = name;
  return true;
}

bool SkiffWriter::on_value(const YsonEvent& event) {
  const bool is_other = column_ == cells_.size();
  if (!event.is_scalar() || is_other) return gather(event);
  const SkiffType& type = options_.row->children[column_];
  Cell& cell = cells_[column_];
  cell = {.row = rows_, .begin = row_.size()};
  const bool is_set = event.kind != Kind::kEntity;
  const bool plain = type.is_optional() && is_set && !type.children.back().is_optional();
  if (plain) append_bytes(row_, 1, 1);
  if (!encode_scalar(plain ? type.children.back() : type, event)) return false;
  cell.size = row_.size() - cell.begin;
  return true;
}

bool SkiffWriter::end_row() {
  in_row_ = false;
  append_bytes(out_, 0, 2);
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    if (!append_column(i)) return false;
  }
  if (row_index_) ++*row_index_;
  return true;
}

bool SkiffWriter::append_column(std::size_t column) {
  const SkiffType& type = options_.row->children[column];
  if (other_ == column) {
    append_text(out_, write_yson(YsonNode(std::move(others_)), YsonFormat::kBinary));
    return true;
  }
  const Cell& cell = cells_[column];
  if (cell.row == rows_) {
    out_.append(row_, cell.begin, cell.size);
  } else if (type.name == kSkiffRowIndex) {
    append_number(type, row_index_);
  } else if (type.name == kSkiffRangeIndex) {
    append_number(type, range_index_);
  } else if (type.is_optional() || type.name == kSkiffKeySwitch) {
    out_.push_back('\0');
  } else if (type.wire != Wire::kNothing) {
    column_ = column;
    return refuse_value(type, "no value");
  }
  return true;
}

void SkiffWriter::append_number(const SkiffType& type, std::optional<std::int64_t> number) {
  const bool says_unknown = type.children.size() == 3;
  out_.push_back(static_cast<char>(number ? 1 : says_unknown ? 2 : 0));
  if (number) append_bytes(out_, static_cast<std::uint64_t>(*number), sizeof *number);
}

bool SkiffWriter::refuse_value(const SkiffType& type, std::string_view given) {
  return refuse(fmt::format("skiff: {} does not fit the wire type {} of column {:?}", given,
                            to_string(type.wire), options_.row->children[column_].name));
}

bool SkiffWriter::encode_scalar(const SkiffType& type, const YsonEvent& event) {
  switch (type.wire) {
    case Wire::kString32:
      if (event.kind == Kind::kString) {
        return append_text(row_, event.text) || refuse_value(type, "a text this long");
      }
      return refuse_value(type, kind_name(event));
    case Wire::kYson32: {
      std::string yson;
      YsonWriter writer(yson, YsonFormat::kBinary);
      return (writer.on(event) && append_text(row_, yson)) ||
             refuse_value(type, "a text this long");
    }
    case Wire::kNothing: return event.kind == Kind::kEntity || refuse_value(type, kind_name(event));
    case Wire::kVariant8:
      if (type.is_optional() && event.kind == Kind::kEntity) {
        row_.push_back('\0');
        return true;
      }
      return refuse_value(type, kind_name(event));
    default: return encode_number(type, event);
  }
}

bool SkiffWriter::encode_number(const SkiffType& type, const YsonEvent& event) {
  const std::size_t bytes = type.fixed_bytes();
  std::optional<std::uint64_t> word;
  if (type.wire == Wire::kBoolean) {
    if (event.kind == Kind::kBoolean) word = event.word;
  } else if (type.wire == Wire::kDouble) {
    if (event.kind == Kind::kDouble) word = event.word;
  } else if (bytes > 0) {
    word = to_wire(type.wire, bytes, event);
  }
  if (!word) return refuse_value(type, kind_name(event));
  append_bytes(row_, *word, bytes);
  return true;
}

bool SkiffWriter::encode(const SkiffType& type, const YsonNode& node) {
  if (type.wire == Wire::kYson32) {
    return append_text(row_, write_yson(node, YsonFormat::kBinary)) ||
           refuse_value(type, "a value this long");
  }
  if (type.is_optional() && !node.is_entity()) {
    row_.push_back('\1');
    const SkiffType& child = type.children.back();
    if (!child.is_optional()) return encode(child, node);
    const YsonList* const list = node.as<YsonList>();
    if (list == nullptr || list->size() != 1) return refuse_value(type, "no list of one value");
    return encode(child, list->front());
  }
  if (type.wire == Wire::kTuple) return encode_tuple(type, node);
  if (type.is_variant() && !type.is_optional()) return encode_tagged(type, node);
  if (type.is_repeated()) {
    if (const YsonMap* map = node.as<YsonMap>()) return encode_dictionary(type, *map);
    const YsonList* const list = node.as<YsonList>();
    return list == nullptr ? refuse_value(type, "no list") : encode_list(type, *list);
  }
  const auto scalar = scalar_of(node);
  return scalar ? encode_scalar(type, *scalar) : refuse_value(type, "a list or a map");
}

bool SkiffWriter::encode_list(const SkiffType& type, const YsonList& list) {
  for (const YsonNode& item : list) {
    if (type.children.size() > 1) {
      if (!encode_tagged(type, item)) return false;
      continue;
    }
    append_bytes(row_, 0, type.tag_bytes());
    if (!encode(type.children.front(), item)) return false;
  }
  append_bytes(row_, 0xffff, type.tag_bytes());
  return true;
}

// {key=value; ...} as the list of its pairs.
bool SkiffWriter::encode_dictionary(const SkiffType& type, const YsonMap& map) {
  const SkiffType& pair = type.children.front();
  if (type.children.size() != 1 || pair.wire != Wire::kTuple || pair.children.size() != 2) {
    return refuse_value(type, "a map");
  }
  for (const YsonPair& one : map) {
    append_bytes(row_, 0, type.tag_bytes());
    if (!encode_scalar(pair.children[0], YsonEvent::string(one.key))) return false;
    if (!encode(pair.children[1], one.node)) return false;
  }
  append_bytes(row_, 0xffff, type.tag_bytes());
  return true;
}

// [tag; value]
bool SkiffWriter::encode_tagged(const SkiffType& type, const YsonNode& node) {
  const YsonList* const list = node.as<YsonList>();
  const auto* const tag =
      list == nullptr || list->size() != 2 ? nullptr : list->front().as<std::int64_t>();
  if (tag == nullptr || *tag < 0 || static_cast<std::size_t>(*tag) >= type.children.size()) {
    return refuse_value(type, "no list of a tag and a value");
  }
  append_bytes(row_, static_cast<std::uint64_t>(*tag), type.tag_bytes());
  return encode(type.children[static_cast<std::size_t>(*tag)], list->back());
}

// Members in their order, or a map of them.
bool SkiffWriter::encode_tuple(const SkiffType& type, const YsonNode& node) {
  const YsonList* const list = node.as<YsonList>();
  const YsonMap* const map = node.as<YsonMap>();
  if (map == nullptr && (list == nullptr || list->size() > type.children.size())) {
    return refuse_value(type, "no list of that many members");
  }
  static const YsonNode kNone;
  for (std::size_t i = 0; i < type.children.size(); ++i) {
    const YsonNode* member = map != nullptr     ? map->find(type.children[i].name)
                             : i < list->size() ? &(*list)[i]
                                                : nullptr;
    if (!encode(type.children[i], member == nullptr ? kNone : *member)) return false;
  }
  return true;
}

}  // namespace moraine
