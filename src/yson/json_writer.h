// JsonWriter: events -> JSON with YTsaurus's conventions.
//
// clang-format off
//   entity null; boolean true, false; int64 and uint64 as digits; double with 20 digits (number.h)
//   string    : "...", escapes \" \\ \b \f \n \r \t \u00XX for the other bytes below 0x20
//   key       : one that begins with '$' gets another '$' before it
//   node with attributes, type or cut:
//               {"$attributes": {...}, "$incomplete": true, "$type": "int64", "$value": ...}
//   a list fragment: every item is followed by a newline
// clang-format on
//
// Promise    Appends to `out`, which the caller may drain between events.
// Errors     kInvalidArgument: NaN or an infinity that the options do not allow; bytes that are not
//            UTF-8, unless encode_utf8; a map fragment.
// Limits     None: the source has them.
// Tests      json_writer_test.cpp, json_fuzz.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "yson/event.h"
#include "yson/json_options.h"

namespace moraine {

class JsonWriter final : public YsonSink {
 public:
  JsonWriter(std::string& out, JsonOptions options, YsonDocument document = YsonDocument::kNode)
      : out_(out), options_(options), document_(document) {}

  bool on(const YsonEvent& event) override;

 private:
  struct Open {
    bool empty = true;
  };

  bool structure(const YsonEvent& event);
  bool scalar(const YsonEvent& event);
  bool number(double value);
  void begin_annotated(std::string_view type, bool cut);
  void enter_node();
  void leave_node();
  void wrap();

  // JSON itself.
  void begin_value();
  void open(char bracket);
  void close(char bracket);
  void begin_key();
  void special_key(std::string_view key);
  void plain_text(std::string_view text);
  bool encoded(std::string_view text);
  bool key(std::string_view text);
  void indent();

  std::string& out_;
  const JsonOptions options_;
  const YsonDocument document_;
  std::vector<Open> open_;  // JSON's brackets.
  bool after_key_ = false;
  std::vector<bool> wrapped_;   // For every open node: is it the $value of a map?
  std::size_t attributes_ = 0;  // Attributes that are open.
  bool has_start_ = false;      // A map is open in which the node becomes the $value.
};

}  // namespace moraine
