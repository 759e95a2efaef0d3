// Json: writes one JSON document, piece by piece.
//
//   Json json;
//   json.object().field("id", id).key("parts").array().value(1u).end().end();
//
// Promise    The text is valid JSON when every object() and array() has its end(). Bytes that are
//            no UTF-8 are written as U+FFFD.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace moraine {

class Json {
 public:
  Json& object() { return open('{', '}'); }
  Json& array() { return open('[', ']'); }
  // Requires: an object or array is open.
  Json& end();
  // Requires: an object is open. A value follows.
  Json& key(std::string_view name);

  Json& value(std::string_view text);
  Json& value(const char* text) { return value(std::string_view(text)); }
  Json& value(bool flag) { return raw(flag ? "true" : "false"); }
  Json& value(double number);
  Json& value(std::integral auto number) { return raw(std::to_string(number)); }
  Json& null() { return raw("null"); }

  template <class T>
  Json& field(std::string_view name, const T& content) {
    return key(name).value(content);
  }

  // Requires: every object and array has ended.
  std::string take();

 private:
  Json& open(char opening, char closing);
  Json& raw(std::string_view text);
  void separate();

  std::string text_;
  std::vector<char> open_;  // The pending closing brackets.
  bool first_ = true;       // The innermost bracket is empty.
  bool after_key_ = false;
};

std::string base64(ByteSpan bytes);

}  // namespace moraine
