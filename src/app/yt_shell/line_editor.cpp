#include "app/yt_shell/line_editor.h"

#include <editline/readline.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/invariant.h"

namespace moraine::app {
namespace {

// libedit calls a function without a context.
LineEditor::Complete* active = nullptr;

char* duplicate(std::string_view text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  INVARIANT(copy != nullptr, "no memory for {} bytes", text.size());
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

// The first entry is what all others begin with.
char** matches_of(const std::vector<std::string>& words) {
  std::string_view common = words.front();
  for (const std::string& word : words) {
    const auto differs = std::ranges::mismatch(common, word);
    common = common.substr(0, static_cast<std::size_t>(differs.in1 - common.begin()));
  }
  const std::size_t count = words.size() == 1 ? 0 : words.size();
  auto** matches = static_cast<char**>(std::calloc(count + 2, sizeof(char*)));
  INVARIANT(matches != nullptr, "no memory for {} matches", count);
  matches[0] = duplicate(common);
  for (std::size_t i = 0; i < count; ++i) matches[i + 1] = duplicate(words[i]);
  return matches;
}

char** complete_word(const char*, int start, int) {
  rl_attempted_completion_over = 1;  // No file names.
  rl_completion_append_character = '\0';
  if (active == nullptr) return nullptr;
  const auto point = static_cast<std::size_t>(std::max(rl_point, 0));
  const Completion found = (*active)(std::string_view(rl_line_buffer).substr(0, point));
  if (found.words.empty() || found.from != static_cast<std::size_t>(start)) return nullptr;
  return matches_of(found.words);
}

}  // namespace

LineEditor::LineEditor(std::string history, Complete complete) : history_(std::move(history)) {
  INVARIANT(active == nullptr, "a second line editor");
  active = new Complete(std::move(complete));
  static const std::string breaks(kCompletionBreaks);
  rl_readline_name = "moraine";
  rl_catch_signals = 0;  // InterruptWatch has them.
  rl_initialize();
  rl_basic_word_break_characters = breaks.c_str();
  rl_completer_word_break_characters = const_cast<char*>(breaks.c_str());
  rl_attempted_completion_function = complete_word;
  using_history();
  stifle_history(kHistoryLinesMax);
  if (!history_.empty()) read_history(history_.c_str());
}

LineEditor::~LineEditor() {
  if (!history_.empty()) {
    const mode_t before = ::umask(S_IRWXG | S_IRWXO);
    write_history(history_.c_str());
    ::umask(before);
    ::chmod(history_.c_str(), S_IRUSR | S_IWUSR);  // Where the file was there before.
  }
  delete active;
  active = nullptr;
}

std::optional<std::string> LineEditor::read_line(const std::string& prompt) {
  char* line = readline(prompt.c_str());
  if (line == nullptr) return std::nullopt;
  std::string text(line);
  std::free(line);
  return text;
}

void LineEditor::remember(const std::string& statement) {
  std::string line = statement;
  std::ranges::replace(line, '\n', ' ');
  add_history(line.c_str());
}

}  // namespace moraine::app
