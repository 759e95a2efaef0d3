// YsonReader: YSON bytes -> events.
//
// clang-format off
//   node   = [ "<" pairs ">" ] value
//   value  = string | int64 | uint64 | double | boolean | "#" | "[" items "]" | "{" pairs "}"
//   items  = { node ";" } [ node ]
//   pairs  = { key "=" node ";" } [ key "=" node ]       key = string, not empty
//   text   : string  = name | "quoted"       name = (letter | "_") { letter | digit | one of _-.% }
//              escapes: \n \t \r \a \b \f \v \xH[H] \o[o][o] \uHHHH \UHHHHHHHH; \c is c otherwise
//            int64   = [+-]digits    uint64 = digits u    double = digits with . or exponent
//            others  = %true %false %nan %inf %+inf %-inf
//   binary : 01 length bytes = string, the length a zigzag varint; 02 zigzag varint = int64;
//            03 8 bytes, little-endian = double; 04 = false; 05 = true; 06 varint = uint64
//   varint : 7 bits a byte, low ones first; the high bit says that another byte follows
//   Between tokens: space, \t \n \v \f \r. Text and binary scalars may be mixed.
// clang-format on
//
// Promise    See YsonSource. Every byte is looked at a constant number of times, however the input
//            is cut into pieces; events of complete input allocate nothing, but for quoted strings
//            with escapes, which are decoded into a buffer that is used again.
// Limits     YsonLimits; a number has at most kYsonNumberBytesMax bytes. Between pieces it keeps
//            the bytes of at most one unfinished token.
// Errors     kInvalidArgument: what is wrong, at which byte, and while only text was met in which
//            line and column.
// Tests      reader_test.cpp, yson_fuzz.cpp.
#pragma once

#include <string>
#include <vector>

#include "yson/event.h"

namespace moraine {

inline constexpr std::size_t kYsonNumberBytesMax = 2048;

class YsonReader final : public YsonSource {
 public:
  explicit YsonReader(YsonDocument document = YsonDocument::kNode, YsonLimits limits = {});

  void feed(std::string_view piece) override;
  void finish() override { finished_ = true; }
  YsonStep next(YsonEvent& event) override;

 private:
  // What may come next.
  enum class State : std::uint8_t {
    kValue,      // A node; its attributes may come first.
    kBareValue,  // The value after attributes.
    kItem,       // A node, or the end of the list.
    kKey,        // A key, or the end of the map or attributes.
    kEquals,
    kSeparator,  // ';', or the end of what is open.
    kEnd,        // Nothing but space.
    kFailed,
  };
  // The token that is being read when a piece ends.
  enum class Token : std::uint8_t {
    kNone,
    kName,
    kNumber,
    kSpecial,
    kQuoted,
    kString,  // From here on binary.
    kVarint,
    kDouble,
  };

  // In the input; the line and the column count from 0.
  struct Place {
    std::size_t offset = 0;
    std::size_t line = 0;
    std::size_t column = 0;
  };

  void release_piece();
  Place place(const char* at) const;
  YsonStep fail_at(std::string_view what, const Place& where);
  YsonStep fail(std::string_view what);
  YsonStep fail_token(std::string_view what);
  YsonStep fail_string();
  YsonStep fail_number();
  YsonStep input_ended();
  YsonStep structure(char c, YsonEvent& event);
  YsonStep value(char c, YsonEvent& event);
  YsonStep open(char bracket, YsonEvent::Kind kind, YsonEvent& event);
  YsonStep close(char bracket, YsonEvent& event);
  YsonStep scalar();
  YsonStep text(std::string_view bytes, YsonEvent& event);
  bool at_closing(char c) const;
  State inner_state() const;
  void node_ended();

  YsonStep scan(Token token, YsonEvent& event);
  YsonStep suspend(Token token);
  YsonStep resume(YsonEvent& event);
  bool advance(Token token);
  bool advance_quoted();
  YsonStep resume_binary(YsonEvent& event);
  bool header_ended();
  YsonStep binary_ended(YsonEvent& event);
  bool check_length(std::uint64_t zigzag);
  YsonStep token_ended(Token token, std::string_view bytes, YsonEvent& event);
  YsonStep number(std::string_view bytes, YsonEvent& event);
  YsonStep special(std::string_view bytes, YsonEvent& event);
  YsonStep quoted(std::string_view bytes, YsonEvent& event);
  YsonStep binary_string(YsonEvent& event);
  YsonStep binary_word(char kind, std::uint64_t word, YsonEvent& event);

  std::size_t offset() const { return piece_offset_ + static_cast<std::size_t>(at_ - piece_); }

  const YsonDocument document_;
  const YsonLimits limits_;
  State state_ = State::kValue;
  bool finished_ = false;
  bool binary_ = false;  // A binary scalar was met.
  std::string open_;     // The brackets that are open.

  const char* piece_ = nullptr;  // The bytes that were fed: what is left begins at at_.
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  const char* token_ = nullptr;   // Where the token began, if this piece has its first byte.
  std::size_t piece_offset_ = 0;  // Where piece_ begins in the input.
  std::size_t item_offset_ = 0;   // Where the item of a list fragment, or the document, began.
  std::size_t line_ = 0;          // In which piece_ begins,
  std::size_t line_offset_ = 0;   // and where that line began.

  Token unfinished_ = Token::kNone;
  Place suspended_;               // Where it began.
  bool escaped_ = false;          // The quoted string has a backslash,
  bool after_backslash_ = false;  // and this is the byte after one.
  bool sized_ = false;            // The length of the binary string is known,
  std::size_t missing_ = 0;       // and this is what is missing of it.
  std::size_t header_ = 0;        // Bytes before those of the binary string.
  bool kept_used_ = false;        // kept_ is the text of the last event.
  std::string kept_;              // The token's bytes from earlier pieces.
  std::string decoded_;
};

}  // namespace moraine
