// Events: a YSON document as a sequence of steps, whatever format it is stored in.
//
// clang-format off
//   node     = [ kBeginAttributes pairs kEndAttributes ] value
//   value    = kEntity | kBoolean | kInt64 | kUint64 | kDouble | kString
//            | kBeginList { node } kEndList | kBeginMap pairs kEndMap
//   pairs    = { kKey node }
//   document = node | { node } | pairs             see YsonDocument
// clang-format on
//
// Promise    Every source (a reader of some format, a tree) makes events in this order, and every
//            sink (a writer of some format, a tree builder) takes them, so any format converts to
//            any other. Sources check their input; sinks rely on the order.
// Limits     YsonLimits. The text of an event is valid until the next call of the source.
// Threading  Plain objects: one thread at a time.
// Tests      reader_test.cpp, writer_test.cpp, yson_test.cpp.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace moraine {

enum class YsonDocument : std::uint8_t {
  kNode,
  kListFragment,  // Items without brackets, as the rows of a table.
  kMapFragment,   // Pairs without braces.
};

// Lists, maps and attributes that are open at the same time.
inline constexpr std::size_t kYsonDepthMax = 256;
inline constexpr std::size_t kYsonStringBytesMax = std::size_t{128} << 20;
// Bytes of input that make up a document, or an item of a list fragment.
inline constexpr std::size_t kYsonItemBytesMax = std::size_t{512} << 20;

struct YsonLimits {
  std::size_t depth_max = kYsonDepthMax;
  std::size_t string_bytes_max = kYsonStringBytesMax;
  // Checked when a source needs more input: the caller bounds what it feeds at once.
  std::size_t item_bytes_max = kYsonItemBytesMax;
};

struct YsonEvent {
  enum class Kind : std::uint8_t {
    kEntity,
    kBoolean,
    kInt64,
    kUint64,
    kDouble,
    kString,
    kKey,
    kBeginList,
    kEndList,
    kBeginMap,
    kEndMap,
    kBeginAttributes,
    kEndAttributes,
  };
  Kind kind = Kind::kEntity;
  std::uint64_t word = 0;      // The bits of a boolean or a number.
  std::string_view text = {};  // A string or a key.

  static YsonEvent of(Kind kind) { return {.kind = kind}; }
  static YsonEvent boolean(bool value) { return {.kind = Kind::kBoolean, .word = value}; }
  static YsonEvent int64(std::int64_t value) {
    return {.kind = Kind::kInt64, .word = static_cast<std::uint64_t>(value)};
  }
  static YsonEvent uint64(std::uint64_t value) { return {.kind = Kind::kUint64, .word = value}; }
  static YsonEvent number(double value) {
    return {.kind = Kind::kDouble, .word = std::bit_cast<std::uint64_t>(value)};
  }
  static YsonEvent string(std::string_view value) { return {.kind = Kind::kString, .text = value}; }
  static YsonEvent key(std::string_view value) { return {.kind = Kind::kKey, .text = value}; }

  bool as_boolean() const { return word != 0; }
  std::int64_t as_int64() const { return static_cast<std::int64_t>(word); }
  std::uint64_t as_uint64() const { return word; }
  double as_double() const { return std::bit_cast<double>(word); }

  bool is_scalar() const { return kind <= Kind::kString; }
  bool begins() const {
    return kind == Kind::kBeginList || kind == Kind::kBeginMap || kind == Kind::kBeginAttributes;
  }
  bool ends() const {
    return kind == Kind::kEndList || kind == Kind::kEndMap || kind == Kind::kEndAttributes;
  }
  // The last event of a node: what follows is a sibling, or the end of what holds it.
  bool ends_node() const { return is_scalar() || kind == Kind::kEndList || kind == Kind::kEndMap; }
};

// Takes events.
class YsonSink {
 public:
  virtual ~YsonSink() = default;
  // False: it failed, and error() says why; further events are not taken.
  virtual bool on(const YsonEvent& event) = 0;
  const Error& error() const { return error_; }

 protected:
  bool refuse(std::string context, Errc code = Errc::kInvalidArgument) {
    error_ = {code, std::move(context)};
    return false;
  }

 private:
  Error error_;
};

enum class YsonStep : std::uint8_t {
  kEvent,
  kNeedInput,  // feed() more, or finish().
  kEnd,        // The document is complete.
  kError,      // error() says what; every further step is kError.
};

// Makes events of input that may arrive in pieces. Complete input is one feed() and finish().
class YsonSource {
 public:
  virtual ~YsonSource() = default;
  // The bytes stay in place until next() returns kNeedInput. Requires: nothing was fed yet, or
  // next() returned kNeedInput.
  virtual void feed(std::string_view piece) = 0;
  // Nothing more will be fed.
  virtual void finish() = 0;
  virtual YsonStep next(YsonEvent& event) = 0;
  const Error& error() const { return error_; }
  // Lists, maps and attributes that are open after the last event. 0 after an event that
  // ends_node(): a whole item of a list fragment was returned.
  std::size_t depth() const { return depth_; }

 protected:
  Error error_;
  std::size_t depth_ = 0;
};

// Passes events on until the source needs input (false) or is at its end (true).
Result<bool> pump(YsonSource& source, YsonSink& sink);
// The same for a whole document.
Result<void> convert(std::string_view input, YsonSource& source, YsonSink& sink);

}  // namespace moraine
