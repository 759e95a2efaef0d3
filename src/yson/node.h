// YsonNode: a value that may hold other values: a scalar, a list or a map, with attributes.
//
// Promise    Maps keep the order in which keys were added and find a key in O(log^2 n) steps,
//            whatever the keys are. Copies, comparisons and destruction take linear time and a
//            constant part of the call stack, however deep a tree is.
// Invariants The keys of a map are distinct.
// Threading  A tree that does not change may be read by many threads.
// Limits     None of its own: builders limit depth and size (yson.h).
// Tests      node_test.cpp, node_fuzz.cpp.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace moraine {

class YsonNode;
struct YsonPair;
using YsonList = std::vector<YsonNode>;

class YsonMap {
 public:
  YsonMap();
  YsonMap(const YsonMap& other);
  YsonMap(YsonMap&& other) noexcept;
  YsonMap& operator=(const YsonMap& other);
  YsonMap& operator=(YsonMap&& other) noexcept;
  ~YsonMap();

  bool empty() const;
  std::size_t size() const;
  // In the order in which keys were added.
  const YsonPair* begin() const;
  const YsonPair* end() const;
  const YsonPair& pair(std::size_t at) const;
  YsonNode& node(std::size_t at);

  // Null: no such key.
  const YsonNode* find(std::string_view key) const;
  YsonNode* find(std::string_view key);
  // Replaces the node of a key, in its place, or adds a pair at the end.
  YsonNode& set(std::string key, YsonNode node);
  // The node of a key; a new entity if there is none.
  YsonNode& operator[](std::string_view key);
  bool erase(std::string_view key);
  // Erases the pairs for which `gone(pair)` is true.
  template <class Predicate>
  void erase_if(Predicate gone);

 private:
  friend class YsonTreeBuilder;
  friend class YsonNode;

  // A pair's place, and the first bytes of its key as a number that orders as they do.
  struct Ref {
    std::uint64_t prefix;
    std::uint32_t at;
  };
  static constexpr std::size_t kScannedMax = 8;  // Maps up to this size have no index.
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  std::size_t place(std::string_view key) const;
  bool before(const Ref& a, const Ref& b) const;
  void index_last();
  void index_all();
  YsonNode& append(std::string key);
  // After pairs were appended without index_last(): indexes them. The place of a pair whose key
  // stands before it, too, or kNone.
  std::size_t seal();

  std::vector<YsonPair> pairs_;
  // Sorted runs whose lengths are the powers of two that add up to size(), longest first: adding a
  // pair merges the runs at the end, as adding 1 carries.
  std::unique_ptr<std::vector<Ref>> index_;
};

enum class YsonType : std::uint8_t {
  kEntity,
  kInt64,
  kUint64,
  kDouble,
  kBoolean,
  kString,
  kList,
  kMap,
};
std::string_view to_string(YsonType type);

class YsonNode {
 public:
  YsonNode() = default;  // The entity `#`.
  YsonNode(bool value) : value_(value) {}
  YsonNode(double value) : value_(value) {}
  YsonNode(std::signed_integral auto value) : value_(static_cast<std::int64_t>(value)) {}
  YsonNode(std::unsigned_integral auto value) : value_(static_cast<std::uint64_t>(value)) {}
  YsonNode(std::string value) : value_(std::move(value)) {}
  YsonNode(std::string_view value) : value_(std::string(value)) {}
  YsonNode(const char* value) : value_(std::string(value)) {}
  YsonNode(YsonList value);
  YsonNode(YsonMap value) : value_(std::move(value)) {}
  YsonNode(const YsonNode& other);
  YsonNode(YsonNode&& other) noexcept = default;
  YsonNode& operator=(const YsonNode& other);
  YsonNode& operator=(YsonNode&& other) noexcept;
  ~YsonNode();

  YsonType type() const { return static_cast<YsonType>(value_.index()); }
  bool is_entity() const { return value_.index() == 0; }
  // Null: the value is of another type. T is std::int64_t, std::uint64_t, double, bool,
  // std::string, YsonList or YsonMap.
  template <class T>
  const T* as() const {
    return std::get_if<T>(&value_);
  }
  template <class T>
  T* as() {
    return std::get_if<T>(&value_);
  }
  // Changes the value and keeps the attributes.
  template <class T>
  void set_value(T value) {
    value_.template emplace<T>(std::move(value));
  }
  // The node of a key; null: no such key, or no map.
  const YsonNode* find(std::string_view key) const;

  bool has_attributes() const { return attributes_ != nullptr && !attributes_->empty(); }
  const YsonMap& attributes() const;
  YsonMap& mutable_attributes();

  // Maps are equal when they hold equal nodes under the same keys, in any order. NaN equals NaN.
  friend bool operator==(const YsonNode& a, const YsonNode& b);

 private:
  bool has_nested() const;
  void move_nested(std::vector<YsonNode>& to);
  void destroy_nested() noexcept;

  std::variant<std::monostate, std::int64_t, std::uint64_t, double, bool, std::string, YsonList,
               YsonMap>
      value_;
  std::unique_ptr<YsonMap> attributes_;
};

struct YsonPair {
  std::string key;
  YsonNode node;
};

inline YsonMap::YsonMap() = default;
inline YsonMap::YsonMap(YsonMap&& other) noexcept = default;
inline YsonMap::~YsonMap() = default;
inline bool YsonMap::empty() const {
  return pairs_.empty();
}
inline std::size_t YsonMap::size() const {
  return pairs_.size();
}
inline const YsonPair* YsonMap::begin() const {
  return pairs_.data();
}
inline const YsonPair* YsonMap::end() const {
  return pairs_.data() + pairs_.size();
}
inline const YsonPair& YsonMap::pair(std::size_t at) const {
  return pairs_[at];
}
inline YsonNode& YsonMap::node(std::size_t at) {
  return pairs_[at].node;
}

template <class Predicate>
void YsonMap::erase_if(Predicate gone) {
  if (std::erase_if(pairs_, [&gone](const YsonPair& pair) { return gone(pair); }) > 0) index_all();
}

}  // namespace moraine
