#include "yson/node.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace moraine {
namespace {

constexpr std::string_view kTypeNames[] = {"entity",  "int64",  "uint64", "double",
                                           "boolean", "string", "list",   "map"};

// The first eight bytes as a number; shorter keys are filled with zeros.
std::uint64_t prefix_of(std::string_view key) {
  std::uint64_t prefix = 0;
  for (std::size_t at = 0; at < sizeof(prefix); ++at) {
    prefix = prefix << 8 | (at < key.size() ? static_cast<std::uint8_t>(key[at]) : 0);
  }
  return prefix;
}

const YsonMap& no_attributes() {
  static const YsonMap kNone;
  return kNone;
}

template <class T>
bool equal_as(const YsonNode& a, const YsonNode& b) {
  return *a.as<T>() == *b.as<T>();
}

// Requires: the nodes have one type.
bool equal_scalars(const YsonNode& a, const YsonNode& b) {
  switch (a.type()) {
    case YsonType::kInt64: return equal_as<std::int64_t>(a, b);
    case YsonType::kUint64: return equal_as<std::uint64_t>(a, b);
    case YsonType::kBoolean: return equal_as<bool>(a, b);
    case YsonType::kString: return equal_as<std::string>(a, b);
    case YsonType::kDouble:
      return equal_as<double>(a, b) || (std::isnan(*a.as<double>()) && std::isnan(*b.as<double>()));
    default: return true;
  }
}

}  // namespace

std::string_view to_string(YsonType type) {
  return kTypeNames[static_cast<std::size_t>(type)];
}

YsonMap::YsonMap(const YsonMap& other) : pairs_(other.pairs_) {
  if (other.index_) index_ = std::make_unique<std::vector<Ref>>(*other.index_);
}
YsonMap& YsonMap::operator=(const YsonMap& other) {
  if (this != &other) *this = YsonMap(other);
  return *this;
}
YsonMap& YsonMap::operator=(YsonMap&& other) noexcept {
  // The old pairs may hold `other`: they are destroyed last.
  const YsonMap old(std::move(*this));
  pairs_ = std::move(other.pairs_);
  index_ = std::move(other.index_);
  other.pairs_.clear();
  return *this;
}

bool YsonMap::before(const Ref& a, const Ref& b) const {
  if (a.prefix != b.prefix) return a.prefix < b.prefix;
  return pairs_[a.at].key < pairs_[b.at].key;
}

std::size_t YsonMap::place(std::string_view key) const {
  if (!index_) {
    for (std::size_t at = 0; at < pairs_.size(); ++at) {
      if (pairs_[at].key == key) return at;
    }
    return kNone;
  }
  const std::uint64_t prefix = prefix_of(key);
  const auto less = [&](const Ref& ref, std::string_view wanted) {
    return ref.prefix != prefix ? ref.prefix < prefix : pairs_[ref.at].key < wanted;
  };
  const Ref* run = index_->data();
  for (std::size_t left = index_->size(); left > 0;) {
    const std::size_t length = std::bit_floor(left);
    const Ref* found = std::lower_bound(run, run + length, key, less);
    if (found != run + length && pairs_[found->at].key == key) return found->at;
    run += length;
    left -= length;
  }
  return kNone;
}

void YsonMap::index_last() {
  if (pairs_.size() <= kScannedMax) return;
  if (!index_) return index_all();
  const std::size_t last = pairs_.size() - 1;
  index_->push_back({prefix_of(pairs_[last].key), static_cast<std::uint32_t>(last)});
  const auto less = [this](const Ref& a, const Ref& b) { return before(a, b); };
  const auto end = index_->end();
  std::vector<Ref> merged;
  for (std::size_t length = 1; (last & length) != 0; length *= 2) {
    const auto step = static_cast<std::ptrdiff_t>(length);
    merged.resize(2 * length);
    std::merge(end - 2 * step, end - step, end - step, end, merged.begin(), less);
    std::ranges::copy(merged, end - 2 * step);
  }
}

// One sorted run also is a sequence of sorted runs.
void YsonMap::index_all() {
  index_.reset();
  if (pairs_.size() <= kScannedMax) return;
  index_ = std::make_unique<std::vector<Ref>>();
  index_->reserve(pairs_.size());
  for (std::size_t at = 0; at < pairs_.size(); ++at) {
    index_->push_back({prefix_of(pairs_[at].key), static_cast<std::uint32_t>(at)});
  }
  std::ranges::sort(*index_, [this](const Ref& a, const Ref& b) {
    if (a.prefix != b.prefix) return a.prefix < b.prefix;
    const int order = pairs_[a.at].key.compare(pairs_[b.at].key);
    return order != 0 ? order < 0 : a.at < b.at;
  });
}

std::size_t YsonMap::seal() {
  if (pairs_.size() <= kScannedMax) {
    for (std::size_t at = 1; at < pairs_.size(); ++at) {
      for (std::size_t earlier = 0; earlier < at; ++earlier) {
        if (pairs_[earlier].key == pairs_[at].key) return at;
      }
    }
    return kNone;
  }
  index_all();
  const auto twice = std::ranges::adjacent_find(*index_, [this](const Ref& a, const Ref& b) {
    return a.prefix == b.prefix && pairs_[a.at].key == pairs_[b.at].key;
  });
  return twice == index_->end() ? kNone : (twice + 1)->at;
}

YsonNode& YsonMap::append(std::string key) {
  return pairs_.emplace_back(std::move(key), YsonNode()).node;
}

const YsonNode* YsonMap::find(std::string_view key) const {
  const std::size_t at = place(key);
  return at == kNone ? nullptr : &pairs_[at].node;
}

YsonNode* YsonMap::find(std::string_view key) {
  const std::size_t at = place(key);
  return at == kNone ? nullptr : &pairs_[at].node;
}

YsonNode& YsonMap::set(std::string key, YsonNode node) {
  YsonNode* found = find(key);
  if (found == nullptr) {
    found = &append(std::move(key));
    index_last();
  }
  *found = std::move(node);
  return *found;
}

YsonNode& YsonMap::operator[](std::string_view key) {
  YsonNode* found = find(key);
  if (found == nullptr) {
    found = &append(std::string(key));
    index_last();
  }
  return *found;
}

bool YsonMap::erase(std::string_view key) {
  const std::size_t at = place(key);
  if (at == kNone) return false;
  pairs_.erase(pairs_.begin() + static_cast<std::ptrdiff_t>(at));
  index_all();
  return true;
}

YsonNode::YsonNode(YsonList value) : value_(std::move(value)) {}

YsonNode& YsonNode::operator=(const YsonNode& other) {
  if (this != &other) *this = YsonNode(other);
  return *this;
}

YsonNode& YsonNode::operator=(YsonNode&& other) noexcept {
  if (this == &other) return *this;
  // `other` may be below this node: what this node held is destroyed last.
  const YsonNode old(std::move(*this));
  value_ = std::move(other.value_);
  attributes_ = std::move(other.attributes_);
  return *this;
}

YsonNode::~YsonNode() {
  if (has_nested()) destroy_nested();
}

bool YsonNode::has_nested() const {
  if (attributes_) return true;
  if (const auto* list = as<YsonList>()) return !list->empty();
  const auto* map = as<YsonMap>();
  return map != nullptr && !map->empty();
}

void YsonNode::move_nested(std::vector<YsonNode>& to) {
  const auto take = [&to](YsonNode& node) {
    if (node.has_nested()) to.push_back(std::move(node));
  };
  if (auto* list = as<YsonList>()) {
    std::ranges::for_each(*list, take);
  } else if (auto* map = as<YsonMap>()) {
    for (YsonPair& pair : map->pairs_) take(pair.node);
  }
  if (!attributes_) return;
  for (YsonPair& pair : attributes_->pairs_) take(pair.node);
}

// Nodes that hold others are moved out of their parents before these are destroyed, so that no
// destructor meets another level.
void YsonNode::destroy_nested() noexcept {
  std::vector<YsonNode> nested;
  move_nested(nested);
  while (!nested.empty()) {
    YsonNode node = std::move(nested.back());
    nested.pop_back();
    node.move_nested(nested);
    // Holds only nodes without nested ones now; the member destructors end here.
    node.value_ = std::monostate();
    node.attributes_.reset();
  }
}

YsonNode::YsonNode(const YsonNode& other) {
  struct Copy {
    const YsonNode* from;
    YsonNode* to;
  };
  std::vector<Copy> pending = {{&other, this}};
  const auto copy_map = [&pending](const YsonMap& from, YsonMap& to) {
    to.pairs_.resize(from.pairs_.size());
    if (from.index_) to.index_ = std::make_unique<std::vector<YsonMap::Ref>>(*from.index_);
    for (std::size_t at = 0; at < from.pairs_.size(); ++at) {
      to.pairs_[at].key = from.pairs_[at].key;
      pending.push_back({&from.pairs_[at].node, &to.pairs_[at].node});
    }
  };
  while (!pending.empty()) {
    const auto [from, to] = pending.back();
    pending.pop_back();
    if (from->attributes_) {
      to->attributes_ = std::make_unique<YsonMap>();
      copy_map(*from->attributes_, *to->attributes_);
    }
    if (const auto* list = from->as<YsonList>()) {
      YsonList& copy = to->value_.emplace<YsonList>(list->size());
      for (std::size_t at = 0; at < list->size(); ++at)
        pending.push_back({&(*list)[at], &copy[at]});
    } else if (const auto* map = from->as<YsonMap>()) {
      copy_map(*map, to->value_.emplace<YsonMap>());
    } else {
      to->value_ = from->value_;
    }
  }
}

const YsonNode* YsonNode::find(std::string_view key) const {
  const auto* map = as<YsonMap>();
  return map == nullptr ? nullptr : map->find(key);
}

const YsonMap& YsonNode::attributes() const {
  return attributes_ ? *attributes_ : no_attributes();
}

YsonMap& YsonNode::mutable_attributes() {
  if (!attributes_) attributes_ = std::make_unique<YsonMap>();
  return *attributes_;
}

bool operator==(const YsonNode& first, const YsonNode& second) {
  std::vector<std::pair<const YsonNode*, const YsonNode*>> pending = {{&first, &second}};
  const auto equal_keys = [&pending](const YsonMap& a, const YsonMap& b) {
    if (a.size() != b.size()) return false;
    for (const YsonPair& pair : a) {
      const YsonNode* other = b.find(pair.key);
      if (other == nullptr) return false;
      pending.emplace_back(&pair.node, other);
    }
    return true;
  };
  while (!pending.empty()) {
    const auto [a, b] = pending.back();
    pending.pop_back();
    if (a->type() != b->type() || !equal_keys(a->attributes(), b->attributes())) return false;
    if (const auto* list = a->as<YsonList>()) {
      const auto& other = *b->as<YsonList>();
      if (list->size() != other.size()) return false;
      for (std::size_t at = 0; at < other.size(); ++at) {
        pending.emplace_back(&(*list)[at], &other[at]);
      }
    } else if (const auto* map = a->as<YsonMap>()) {
      if (!equal_keys(*map, *b->as<YsonMap>())) return false;
    } else if (!equal_scalars(*a, *b)) {
      return false;
    }
  }
  return true;
}

}  // namespace moraine
