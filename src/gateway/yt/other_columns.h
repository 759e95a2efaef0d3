// OtherColumns: values of columns that a weak schema does not name, as cells of a row.
//
// Promise    Takes the map in which a table keeps them (table/model/static_rows.h) and writes its
//            pairs, those whose names are wanted.
// Threading  One thread at a time.
// Tests      static_tables_test.cpp.
#pragma once

#include <set>
#include <string>

#include "gateway/yt/row_writer.h"

namespace moraine::yt {

class OtherColumns final : public YsonSink {
 public:
  // `wanted`: null: all of them. Both outlive the object.
  OtherColumns(RowWriter& out, const std::set<std::string, std::less<>>* wanted)
      : out_(out), wanted_(wanted) {}

  bool on(const YsonEvent& event) override {
    // The brackets of the map are those of the row.
    if (event.ends()) --depth_;
    const bool inside = depth_ > 0;
    if (event.begins()) ++depth_;
    if (depth_ == 1 && event.kind == YsonEvent::Kind::kKey) {
      skips_ = wanted_ != nullptr && !wanted_->contains(event.text);
    }
    if (inside && !skips_) out_.on(event);
    return true;
  }

 private:
  RowWriter& out_;
  const std::set<std::string, std::less<>>* wanted_;
  std::size_t depth_ = 0;
  bool skips_ = false;
};

}  // namespace moraine::yt
