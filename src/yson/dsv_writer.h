// DsvWriter, SchemafulDsvWriter: events of a list fragment of maps -> DSV rows (grammar: dsv.h).
//
// Promise    Appends whole rows to `out`, which the caller may drain between events.
// Errors     kInvalidArgument: what the format cannot hold: rows that are not maps, attributes,
//            lists and maps inside rows; a schemaful row without a value for a column.
// Tests      dsv_test.cpp, dsv_fuzz.cpp.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "yson/dsv.h"
#include "yson/event.h"

namespace moraine {

// Takes rows apart; what their fields look like is the writer's.
class DsvSink : public YsonSink {
 public:
  bool on(const YsonEvent& event) override;

 protected:
  DsvSink(std::string& out, bool skips_nested) : out_(out), skips_nested_(skips_nested) {}

  virtual void begin_row() = 0;
  virtual void field(std::string_view key, const YsonEvent& scalar) = 0;
  virtual bool end_row() = 0;

  // The number of the row, counted from 0.
  std::size_t row() const { return row_; }
  std::string& out_;

 private:
  const bool skips_nested_;
  std::size_t depth_ = 0;
  std::size_t row_ = 0;
  std::string key_;
};

class DsvWriter final : public DsvSink {
 public:
  DsvWriter(std::string& out, DsvOptions options);

 private:
  void begin_row() override;
  void field(std::string_view key, const YsonEvent& scalar) override;
  bool end_row() override;

  const DsvOptions options_;
  const DsvSyntax syntax_;
  bool empty_ = true;  // The row has no field yet.
};

class SchemafulDsvWriter final : public DsvSink {
 public:
  // Appends the header, if the options ask for it.
  SchemafulDsvWriter(std::string& out, SchemafulDsvOptions options);

 private:
  struct Value {
    bool present = false;
    std::string text;  // Escaped.
  };

  void begin_row() override;
  void field(std::string_view key, const YsonEvent& scalar) override;
  bool end_row() override;
  Value* find(std::string_view key);

  const SchemafulDsvOptions options_;
  const DsvSyntax syntax_;
  std::map<std::string, std::size_t, std::less<>> places_;  // The place of each column.
  std::vector<Value> values_;
  std::size_t next_ = 0;  // The column that is probably set next.
};

}  // namespace moraine
