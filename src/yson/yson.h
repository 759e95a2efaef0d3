// YSON as trees (node.h): read, checked, written; and trees as events (event.h).
//
// Promise    Pure. Text and binary may be mixed in what is read (grammar: reader.h). Reading what
//            was written gives an equal tree.
// Limits     YsonLimits; a tree takes at most kYsonTreeBytesMax of memory. Keys of a map are
//            distinct; of equal keys of attributes the last one counts.
// Errors     kInvalidArgument; the context says what and where.
// Tests      yson_test.cpp, yson_fuzz.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "yson/event.h"
#include "yson/node.h"
#include "yson/writer.h"

namespace moraine {

// A tree takes up to about 50 bytes per byte of YSON.
inline constexpr std::size_t kYsonTreeBytesMax = std::size_t{1} << 30;

// Fragments are read as a list or a map.
Result<YsonNode> parse_yson(std::string_view input, YsonDocument document = YsonDocument::kNode,
                            YsonLimits limits = {});
// Checks that the input is a document of this kind, without building a tree: keys may be equal.
Result<void> check_yson(std::string_view input, YsonDocument document = YsonDocument::kNode,
                        YsonLimits limits = {});
void append_yson(std::string& out, const YsonNode& node, YsonFormat format);
std::string write_yson(const YsonNode& node, YsonFormat format);

// Passes a tree to a sink. False: the sink failed.
bool emit(const YsonNode& node, YsonSink& sink);
// Passes a node that is stored as YSON to a sink, for example a value of type any inside a row.
Result<void> emit_yson(std::string_view yson, YsonSink& sink);

// Builds a tree of events; then the next one.
class YsonTreeBuilder final : public YsonSink {
 public:
  explicit YsonTreeBuilder(YsonDocument document = YsonDocument::kNode,
                           std::size_t bytes_max = kYsonTreeBytesMax);
  YsonTreeBuilder(const YsonTreeBuilder&) = delete;
  YsonTreeBuilder& operator=(const YsonTreeBuilder&) = delete;

  bool on(const YsonEvent& event) override;
  // A node is complete. Of a fragment every item ends one.
  bool complete() const { return complete_ && open_.empty(); }
  // What was built. Requires: complete(), or a fragment.
  YsonNode take();

 private:
  struct Open {
    YsonNode* node;
    bool attributes;  // The node's attributes are open, not the node.
  };

  YsonNode* place();
  bool begin(YsonEvent::Kind kind);
  bool end_map(YsonMap& map);
  bool refuse_key();
  bool check_size();
  void scalar(const YsonEvent& event);
  void reset();

  const YsonDocument document_;
  const std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  YsonNode root_;
  std::vector<Open> open_;
  YsonNode* bare_ = nullptr;  // Has its attributes, and waits for its value.
  std::string key_;
  bool complete_ = false;
};

}  // namespace moraine
