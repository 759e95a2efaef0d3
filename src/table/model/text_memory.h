// TextMemory: owns texts that Values borrow.
//
// Promise    A text stays where it is until clear(). Takes no memory while it is empty.
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
  // Texts of the other stay where they are.
  void take(TextMemory& other) { texts_.splice_after(texts_.before_begin(), other.texts_); }
  void clear() { texts_.clear(); }
  bool empty() const { return texts_.empty(); }

 private:
  std::forward_list<std::string> texts_;
};

}  // namespace moraine::table
