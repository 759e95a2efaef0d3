// SkiffReader: rows in Skiff (grammar: skiff.h) -> events of a list fragment of maps.
//
// Promise    See YsonSource. Time is linear however the input is cut into pieces.
// Limits     YsonLimits: for a row and a text. Between pieces it keeps at most one text.
//            kSkiffEmptyMax values of a row may have no bytes of their own.
// Errors     kInvalidArgument: what is wrong, in which row and at which byte.
// Tests      skiff_test.cpp, skiff_fuzz.cpp
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "yson/event.h"
#include "yson/reader.h"
#include "yson/skiff.h"

namespace moraine {

// A schema may have many of them behind one byte.
inline constexpr std::size_t kSkiffEmptyMax = 100'000;

class SkiffReader final : public YsonSource {
 public:
  explicit SkiffReader(SkiffOptions options, YsonLimits limits = {});

  void feed(std::string_view piece) override;
  void finish() override { finished_ = true; }
  YsonStep next(YsonEvent& event) override;

 private:
  // What comes next. A nullopt of a step function: the next step has to be taken.
  enum class State : std::uint8_t { kRow, kOpen, kValue, kYson, kFailed };
  using Step = std::optional<YsonStep>;

  // What is open: a row or tuple, a repeated variant, or the list around one value.
  struct Open {
    enum class Kind : std::uint8_t { kRow, kTuple, kRepeated, kTagged, kOptional };
    Kind kind;
    const SkiffType* type;  // Of the value: that of the list around it.
    std::size_t next = 0;   // The child that comes next; of a list around a value what was made.
    std::size_t tag = 0;
  };

  Step row(YsonEvent& event);
  Step open(YsonEvent& event);
  Step column(YsonEvent& event);
  Step repeated(YsonEvent& event);
  Step value(YsonEvent& event);
  Step fixed(YsonEvent& event);
  Step text(YsonEvent& event);
  Step variant(YsonEvent& event);
  Step inner(YsonEvent& event);
  Step begin_list(Open::Kind kind, const SkiffType* type, std::size_t tag, YsonEvent& event);
  Step end(YsonEvent::Kind kind, YsonEvent& event);
  Step emit(YsonEvent made, YsonEvent& event);
  Step missing();
  Step fail(std::string_view what);
  // The next bytes in one piece; nullopt: they are not there yet.
  std::optional<std::string_view> take(std::size_t size);
  std::optional<std::size_t> take_tag(const SkiffType& type);
  // The bytes of a text; nullopt: not there yet, or the reader failed.
  std::optional<std::string_view> take_text();
  void begin_inner(std::string_view yson, bool is_columns);
  std::size_t offset() const { return piece_offset_ + static_cast<std::size_t>(at_ - piece_); }

  const SkiffOptions options_;
  const YsonLimits limits_;
  State state_ = State::kRow;
  bool finished_ = false;
  const SkiffType* type_ = nullptr;  // Of the value that comes next.
  std::vector<Open> open_;
  const char* piece_ = nullptr;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::size_t piece_offset_ = 0;
  std::size_t row_offset_ = 0;
  std::size_t rows_ = 0;
  std::size_t empty_ = 0;                 // Values of the row that have no bytes of their own.
  std::optional<std::size_t> text_size_;  // Of the text that comes next, once it is known.
  std::string kept_;                      // The beginning of bytes that are not all there.
  bool kept_used_ = false;                // They were taken.
  std::optional<YsonReader> inner_;       // Reads a value that is YSON.
  std::size_t columns_depth_ = 0;         // 1: that value is a map whose pairs are columns.
};

}  // namespace moraine
