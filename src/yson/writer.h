// YsonWriter: events -> YSON bytes, spelled as YTsaurus spells them.
//
// clang-format off
//   text   : {"a"=1;"b"=[#;];}   every string quoted, ';' after every item; <"x"=1;>"value"
//   pretty : an item a line, indented by 4 spaces, " = " after keys, a space after attributes
//   binary : see reader.h; the same punctuation as text
//   items of a fragment: each followed by ";\n", in binary by ";"; a node by nothing
// clang-format on
//
// Promise    Appends to `out`, which the caller may drain between events. Reading what was written
//            gives the same events.
// Limits     None: the source has them.
// Tests      writer_test.cpp, yson_fuzz.cpp.
#pragma once

#include <string>

#include "yson/event.h"

namespace moraine {

enum class YsonFormat : std::uint8_t { kBinary, kText, kPretty };

class YsonWriter final : public YsonSink {
 public:
  YsonWriter(std::string& out, YsonFormat format, YsonDocument document = YsonDocument::kNode)
      : out_(out), format_(format), document_(document) {}

  bool on(const YsonEvent& event) override;
  // Appends a node that is YSON already, as it is: readers take text and binary mixed. Requires: a
  // node may come here.
  void raw(std::string_view yson);

 private:
  bool is_binary() const { return format_ == YsonFormat::kBinary; }
  void begin_item();
  void begin_node();
  void end_node();
  void open(char bracket);
  void close(char bracket);
  void string(std::string_view text);
  void scalar(const YsonEvent& event);
  void binary_scalar(const YsonEvent& event);
  void text_scalar(const YsonEvent& event);

  std::string& out_;
  const YsonFormat format_;
  const YsonDocument document_;
  std::string open_;        // The brackets that are open.
  bool empty_ = false;      // Nothing follows the last bracket yet.
  bool has_start_ = false;  // A key or attributes precede the value.
};

}  // namespace moraine
