// DsvReader, SchemafulDsvReader: DSV rows (grammar: dsv.h) -> events of a list fragment.
//
// Promise    See YsonSource. Fields are returned as they arrive; time is linear however the input
//            is cut into pieces.
// Limits     YsonLimits: for a row and a field.
// Errors     kInvalidArgument: what is wrong, in which row and at which byte. Every row has to end
//            with a record separator.
// Tests      dsv_test.cpp, dsv_fuzz.cpp.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "yson/dsv.h"
#include "yson/event.h"

namespace moraine {

// Cuts the input into fields; what they mean is the reader's.
class DsvSource : public YsonSource {
 public:
  void feed(std::string_view piece) override;
  void finish() override { finished_ = true; }
  YsonStep next(YsonEvent& event) override;

 protected:
  DsvSource(DsvSyntax syntax, YsonLimits limits) : syntax_(syntax), limits_(limits) {}

  // A field ended with this byte: adds its events, or fails. False: it failed.
  virtual bool field_ended(char stop) = 0;

  const std::string& field() const { return field_; }
  bool fail(std::string_view what);
  void add(YsonEvent event) { events_[added_++] = event; }
  void end_row();

  bool in_key_ = false;  // A key-value separator ends the field that is being read.

 private:
  YsonStep input_ended();
  bool scan();

  const DsvSyntax syntax_;
  const YsonLimits limits_;
  bool finished_ = false;
  bool failed_ = false;
  const char* piece_ = nullptr;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::size_t piece_offset_ = 0;
  std::size_t row_offset_ = 0;
  std::size_t row_ = 0;
  bool after_escape_ = false;
  bool field_ended_ = false;  // field_ is whole, and may be the text of events.
  std::string field_;         // Its bytes so far, without escapes.
  std::array<YsonEvent, 4> events_ = {};
  std::size_t added_ = 0;
  std::size_t returned_ = 0;
};

class DsvReader final : public DsvSource {
 public:
  explicit DsvReader(DsvOptions options, YsonLimits limits = {});

 private:
  enum class Part : std::uint8_t { kPrefix, kKey, kValue };

  bool field_ended(char stop) override;
  void expect(Part part);
  Part first_part() const { return options_.line_prefix ? Part::kPrefix : Part::kKey; }

  const DsvOptions options_;
  Part part_ = Part::kKey;
  bool in_row_ = false;
};

class SchemafulDsvReader final : public DsvSource {
 public:
  explicit SchemafulDsvReader(SchemafulDsvOptions options, YsonLimits limits = {});

 private:
  bool field_ended(char stop) override;

  const SchemafulDsvOptions options_;
  std::size_t column_ = 0;
};

}  // namespace moraine
