#include "yson/yson.h"

#include <fmt/format.h>

#include "base/invariant.h"
#include "yson/reader.h"

namespace moraine {
namespace {

using Kind = YsonEvent::Kind;

// A list, a map or attributes that are being passed on.
struct Emitted {
  const YsonNode* node;
  const YsonMap* pairs;  // Null: a list.
  bool attributes;
  std::size_t next = 0;

  std::size_t size() const {
    return pairs != nullptr ? pairs->size() : node->as<YsonList>()->size();
  }
};

YsonEvent scalar_event(const YsonNode& node) {
  switch (node.type()) {
    case YsonType::kInt64: return YsonEvent::int64(*node.as<std::int64_t>());
    case YsonType::kUint64: return YsonEvent::uint64(*node.as<std::uint64_t>());
    case YsonType::kDouble: return YsonEvent::number(*node.as<double>());
    case YsonType::kBoolean: return YsonEvent::boolean(*node.as<bool>());
    case YsonType::kString: return YsonEvent::string(*node.as<std::string>());
    default: return YsonEvent::of(Kind::kEntity);
  }
}

class Emitter {
 public:
  explicit Emitter(YsonSink& sink) : sink_(sink) {}

  bool run(const YsonNode& root) {
    if (!begin(root)) return false;
    while (!open_.empty()) {
      Emitted& top = open_.back();
      if (top.next == top.size()) {
        if (!end()) return false;
        continue;
      }
      const std::size_t at = top.next++;
      if (top.pairs == nullptr) {
        if (!begin((*top.node->as<YsonList>())[at])) return false;
        continue;
      }
      const YsonPair& pair = top.pairs->pair(at);
      if (!sink_.on(YsonEvent::key(pair.key)) || !begin(pair.node)) return false;
    }
    return true;
  }

 private:
  bool begin(const YsonNode& node) {
    if (!node.has_attributes()) return value(node);
    open_.push_back({&node, &node.attributes(), true});
    return sink_.on(YsonEvent::of(Kind::kBeginAttributes));
  }

  bool value(const YsonNode& node) {
    const bool map = node.type() == YsonType::kMap;
    if (!map && node.type() != YsonType::kList) return sink_.on(scalar_event(node));
    open_.push_back({&node, node.as<YsonMap>(), false});
    return sink_.on(YsonEvent::of(map ? Kind::kBeginMap : Kind::kBeginList));
  }

  bool end() {
    const Emitted ended = open_.back();
    open_.pop_back();
    if (ended.attributes) {
      return sink_.on(YsonEvent::of(Kind::kEndAttributes)) && value(*ended.node);
    }
    return sink_.on(YsonEvent::of(ended.pairs != nullptr ? Kind::kEndMap : Kind::kEndList));
  }

  YsonSink& sink_;
  std::vector<Emitted> open_;
};

}  // namespace

bool emit(const YsonNode& node, YsonSink& sink) {
  return Emitter(sink).run(node);
}

YsonTreeBuilder::YsonTreeBuilder(YsonDocument document, std::size_t bytes_max)
    : document_(document), bytes_max_(bytes_max) {
  reset();
}

void YsonTreeBuilder::reset() {
  root_ = YsonNode();
  if (document_ == YsonDocument::kListFragment) root_ = YsonNode(YsonList());
  if (document_ == YsonDocument::kMapFragment) root_ = YsonNode(YsonMap());
  bytes_ = 0;
  complete_ = false;
}

YsonNode YsonTreeBuilder::take() {
  INVARIANT(open_.empty() && bare_ == nullptr, "a tree is taken before it is complete");
  YsonNode taken = std::move(root_);
  reset();
  return taken;
}

// Where the next node goes.
YsonNode* YsonTreeBuilder::place() {
  if (bare_ != nullptr) return std::exchange(bare_, nullptr);
  if (open_.empty() && document_ == YsonDocument::kNode) return &root_;
  const Open top = open_.empty() ? Open{&root_, false} : open_.back();
  const bool in_list = !top.attributes && top.node->type() == YsonType::kList;
  bytes_ += in_list ? sizeof(YsonNode) : sizeof(YsonPair) + key_.size();
  if (top.attributes) return &(top.node->mutable_attributes()[key_] = YsonNode());
  if (auto* list = top.node->as<YsonList>()) return &list->emplace_back();
  // No event ends a map fragment: its keys are indexed one by one.
  if (open_.empty()) return &(*root_.as<YsonMap>())[key_];
  return &top.node->as<YsonMap>()->append(std::move(key_));
}

bool YsonTreeBuilder::on(const YsonEvent& event) {
  complete_ = false;
  switch (event.kind) {
    case Kind::kKey:
      key_ = event.text;
      if (open_.empty() && root_.find(key_) != nullptr) return refuse_key();
      return true;
    case Kind::kBeginList:
    case Kind::kBeginMap:
    case Kind::kBeginAttributes: return begin(event.kind);
    case Kind::kEndAttributes:
      bare_ = open_.back().node;
      open_.pop_back();
      return true;
    case Kind::kEndMap:
      if (!end_map(*open_.back().node->as<YsonMap>())) return false;
      [[fallthrough]];
    case Kind::kEndList: open_.pop_back(); break;
    default: scalar(event); break;
  }
  complete_ = open_.empty();
  return check_size();
}

bool YsonTreeBuilder::begin(Kind kind) {
  YsonNode* node = place();
  if (!check_size()) return false;
  if (kind == Kind::kBeginList) node->set_value(YsonList());
  if (kind == Kind::kBeginMap) node->set_value(YsonMap());
  open_.push_back({node, kind == Kind::kBeginAttributes});
  return true;
}

bool YsonTreeBuilder::end_map(YsonMap& map) {
  const std::size_t twice = map.seal();
  if (twice == YsonMap::kNone) return true;
  key_ = map.pair(twice).key;
  return refuse_key();
}

bool YsonTreeBuilder::refuse_key() {
  return refuse(fmt::format("yson: a map has the key {:?} twice", key_));
}

bool YsonTreeBuilder::check_size() {
  if (bytes_ <= bytes_max_) return true;
  return refuse(fmt::format("yson: a tree takes more than {} bytes", bytes_max_));
}

void YsonTreeBuilder::scalar(const YsonEvent& event) {
  YsonNode* node = place();
  switch (event.kind) {
    case Kind::kBoolean: node->set_value(event.as_boolean()); break;
    case Kind::kInt64: node->set_value(event.as_int64()); break;
    case Kind::kUint64: node->set_value(event.as_uint64()); break;
    case Kind::kDouble: node->set_value(event.as_double()); break;
    case Kind::kString:
      bytes_ += event.text.size();
      node->set_value(std::string(event.text));
      break;
    default: break;
  }
}

Result<YsonNode> parse_yson(std::string_view input, YsonDocument document, YsonLimits limits) {
  YsonReader reader(document, limits);
  YsonTreeBuilder builder(document);
  TRY_VOID(convert(input, reader, builder));
  return builder.take();
}

Result<void> check_yson(std::string_view input, YsonDocument document, YsonLimits limits) {
  YsonReader reader(document, limits);
  reader.feed(input);
  reader.finish();
  YsonEvent event;
  for (;;) {
    const YsonStep step = reader.next(event);
    if (step == YsonStep::kEnd) return {};
    if (step == YsonStep::kError) return std::unexpected<Error>(reader.error());
  }
}

Result<void> emit_yson(std::string_view yson, YsonSink& sink) {
  YsonReader reader;
  return convert(yson, reader, sink);
}

void append_yson(std::string& out, const YsonNode& node, YsonFormat format) {
  YsonWriter writer(out, format);
  emit(node, writer);
}

std::string write_yson(const YsonNode& node, YsonFormat format) {
  std::string out;
  append_yson(out, node, format);
  return out;
}

}  // namespace moraine
