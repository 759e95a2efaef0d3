// JsonReader: JSON with YTsaurus's conventions -> events.
//
// clang-format off
//   value  = null | true | false | number | string | "[" [ value { "," value } ] "]"
//          | "{" [ string ":" value { "," string ":" value } ] "}"            as in RFC 8259
//   number : digits -> int64, if too large for that uint64; with point or exponent -> double
//   {"$value": v, "$attributes": {...}, "$type": "int64"}, keys in any order
//          -> v with attributes; a scalar v is converted to the type; other keys are ignored
//   a key that begins with "$$" loses one '$'; another one that begins with '$' is refused
//   a list fragment: values one after another, with or without space between them
// clang-format on
//
// Promise    See YsonSource; an item is returned when all of it has arrived, since its attributes
//            may come last. Takes linear time however the input is cut into pieces; memory is used
//            again for the next item.
// Limits     JsonOptions::memory_limit for an item; YsonLimits.
// Errors     kInvalidArgument: what is wrong and at which byte; for $value, $type and $attributes
//            where the item ends.
// Tests      json_reader_test.cpp, json_fuzz.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "yson/event.h"
#include "yson/json_options.h"

namespace moraine {

// One item as a sequence of entries, in the order of the input.
struct JsonTape {
  struct Entry {
    YsonEvent::Kind kind;
    bool special = false;    // kBeginMap: one of its keys begins with '$'.
    std::uint64_t word = 0;  // A number's bits; of text where it begins; of kBegin* where it ends.
    std::size_t size = 0;    // kString and kKey: the length.
  };
  std::vector<Entry> entries;
  std::string text;

  std::string_view text_of(const Entry& entry) const {
    return std::string_view(text).substr(entry.word, entry.size);
  }
  // The entry after the value at `at`.
  std::size_t after(std::size_t at) const;
  std::size_t bytes() const { return entries.size() * sizeof(Entry) + text.size(); }
  void clear();
};

// Makes events of a tape.
class JsonTapeReader {
 public:
  JsonTapeReader(const JsonTape& tape, const JsonOptions& options)
      : tape_(tape), options_(options) {}

  void begin();
  // False: the item is over, or wrong() says why it is no value.
  bool next(YsonEvent& event);
  std::string_view wrong() const { return wrong_; }
  std::size_t depth() const { return open_.size(); }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  struct Open {
    YsonEvent::Kind end;
    std::size_t at;
    std::size_t value = kNone;  // Attributes: the value that they belong to,
    std::size_t type = kNone;   // and its $type.
  };
  struct Parts {
    std::size_t value = kNone;
    std::size_t attributes = kNone;
    std::size_t type = kNone;
  };

  bool refuse(std::string what);
  bool visit(std::size_t at, bool bare, std::size_t type, YsonEvent& event);
  bool find_parts(std::size_t map, Parts& parts);
  bool key(const JsonTape::Entry& entry, YsonEvent& event);
  bool typed(const JsonTape::Entry& entry, std::string_view type, YsonEvent& event);
  bool from_text(std::string_view text, std::string_view type, YsonEvent& event);

  const JsonTape& tape_;
  const JsonOptions& options_;
  std::vector<Open> open_;
  std::size_t pending_value_ = kNone;  // What follows the attributes that ended last.
  std::size_t pending_type_ = kNone;
  bool started_ = false;
  std::string wrong_;
};

class JsonReader final : public YsonSource {
 public:
  explicit JsonReader(JsonOptions options, YsonDocument document = YsonDocument::kNode,
                      YsonLimits limits = {});
  JsonReader(const JsonReader&) = delete;
  JsonReader& operator=(const JsonReader&) = delete;

  void feed(std::string_view piece) override;
  void finish() override { finished_ = true; }
  YsonStep next(YsonEvent& event) override;

 private:
  enum class State : std::uint8_t {
    kValue,
    kFirstItem,  // A value, or the end of the list.
    kFirstKey,   // A key, or the end of the map.
    kKey,
    kColon,
    kComma,  // Or the end of what is open.
    kTop,    // A value, or the end of the fragment.
    kEnd,    // Nothing but space.
    kEmit,   // An item is complete.
    kFailed,
  };
  enum class Token : std::uint8_t { kNone, kString, kWord };  // A word: a number, true, ...
  enum class Scan : std::uint8_t { kGoOn, kNeedInput, kFailed };

  bool fail(std::string_view what);
  YsonStep input_ended();
  bool byte(char c);
  bool value(char c);
  bool close(char c);
  bool open(char c);
  Scan scan(Token token);
  bool advance(Token token);
  bool token_ended(Token token, std::string_view bytes);
  bool string(std::string_view raw);
  bool decode(std::string_view raw);
  bool decode_escape(std::string_view raw, std::size_t& at);
  bool append_code(std::uint32_t code);
  bool word(std::string_view bytes);
  bool number(std::string_view bytes);
  bool add(JsonTape::Entry entry);
  bool check_memory();
  void value_ended();

  std::size_t offset() const { return piece_offset_ + static_cast<std::size_t>(at_ - piece_); }

  const JsonOptions options_;
  const YsonDocument document_;
  const YsonLimits limits_;
  State state_;
  bool finished_ = false;
  JsonTape tape_;
  JsonTapeReader tape_reader_;
  std::vector<std::size_t> open_;  // Entries of the lists and maps that are open.

  const char* piece_ = nullptr;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::size_t piece_offset_ = 0;
  Token unfinished_ = Token::kNone;
  bool after_backslash_ = false;
  std::string kept_;  // The unfinished token's bytes from earlier pieces.
};

}  // namespace moraine
