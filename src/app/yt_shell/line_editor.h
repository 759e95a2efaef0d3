// LineEditor: lines typed at a terminal, with history and completion. libedit behind it.
//
// Promise    The history is kept in a file that only its owner can read, kHistoryLinesMax entries.
// Threading  One in the process.
// Tests      By hand: a terminal is needed; what it completes: complete_test.cpp.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "app/yt_shell/complete.h"

namespace moraine::app {

inline constexpr int kHistoryLinesMax = 2000;

class LineEditor {
 public:
  // Of the line up to the cursor; `from` is a place in that line.
  using Complete = std::function<Completion(std::string_view line)>;

  // Empty `history`: none is kept.
  LineEditor(std::string history, Complete complete);
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;
  ~LineEditor();  // Writes the history.

  // Nothing: the end of the input, or a signal.
  std::optional<std::string> read_line(const std::string& prompt);
  void remember(const std::string& statement);

 private:
  const std::string history_;
};

}  // namespace moraine::app
