// TextMemory: owns texts that Values borrow.
//
// Promise    A text does not move until clear(). No memory is allocated while it is empty.
// Threading  One thread at a time.
#pragma once

#include <forward_list>
#include <string>
#include <string_view>
#include <utility>

namespace moraine::table {

class TextMemory {
 public:
  std::string_view keep(std::string text) { return texts_.emplace_front(std::move(text)); }
  // Texts of `other` do not move.
  void take(TextMemory& other) { texts_.splice_after(texts_.before_begin(), other.texts_); }
  void clear() { texts_.clear(); }
  bool empty() const { return texts_.empty(); }

 private:
  std::forward_list<std::string> texts_;
};

}  // namespace moraine::table
