#include "app/yt_shell/statement.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/yt_verbs/verb.h"

namespace moraine::app {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool is_quote(char c) {
  return c == '\'' || c == '"' || c == '`';
}

bool opens(char c) {
  return c == '[' || c == '{' || c == '(';
}

bool closes(char c) {
  return c == ']' || c == '}' || c == ')';
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return out;
}

std::string_view first_word(std::string_view text) {
  const auto end = std::ranges::find_if(text, is_space);
  return {text.data(), static_cast<std::size_t>(end - text.begin())};
}

// Cuts words off a line.
class WordSplitter {
 public:
  explicit WordSplitter(std::string_view text) : text_(text) {}

  Result<std::vector<std::string>> split() {
    for (at_ = 0; at_ < text_.size();) {
      if (is_space(text_[at_])) {
        ++at_;
        continue;
      }
      TRY_VOID(word());
    }
    return std::move(words_);
  }

 private:
  Result<void> word() {
    std::string word;
    int depth = 0;
    // `<append=%true>//t` is one word, a `<` alone is another one.
    const bool rich = text_[at_] == '<' && at_ + 1 < text_.size() && !is_space(text_[at_ + 1]);
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (depth == 0 && is_space(c)) break;
      if (is_quote(c) && c != '`') {
        TRY_VOID(quoted(word, depth > 0));
        continue;
      }
      if (opens(c) || (rich && c == '<')) ++depth;
      if (closes(c) || (rich && c == '>')) depth = std::max(depth - 1, 0);
      word += c;
    }
    words_.push_back(std::move(word));
    return {};
  }

  // Leaves at_ on the closing quote.
  Result<void> quoted(std::string& word, bool verbatim) {
    const char quote = text_[at_];
    const std::size_t begin = at_;
    std::string inner;
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
      const bool escape =
          text_[at_] == '\\' && at_ + 1 < text_.size() && (quote == '"' || verbatim);
      if (escape) {
        const char next = text_[at_ + 1];
        if (verbatim || (next != '"' && next != '\\')) inner += '\\';
        inner += next;
        ++at_;
      } else {
        inner += text_[at_];
      }
    }
    if (at_ == text_.size()) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("the quote is not closed: {}", text_.substr(begin, 20)));
    }
    word += verbatim ? quote + inner + quote : inner;
    return {};
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::string> words_;
};

Result<Statement> parse_verb(std::string_view text) {
  Statement statement{.kind = StatementKind::kVerb};
  TRY(statement.words, split_words(text));
  auto& words = statement.words;
  const auto arrow = std::ranges::find(words, "<");
  if (arrow == words.end()) return statement;
  if (words.end() - arrow != 2) {
    return fail(Errc::kInvalidArgument, "one file name is wanted after '<', at the end");
  }
  statement.input = std::move(words.back());
  words.resize(words.size() - 2);
  return statement;
}

}  // namespace

Result<void> StatementBuffer::add(std::string_view text) {
  if (text_.size() + text.size() > kStatementBytesMax) {
    clear();
    return fail(Errc::kInvalidArgument,
                fmt::format("a statement has at most {} MiB", kStatementBytesMax >> 20));
  }
  text_ += text;
  return {};
}

std::optional<std::string> StatementBuffer::next() {
  while (at_ < text_.size()) {
    const char c = text_[at_++];
    if (quote_ != 0) {
      if (c == '\\') {
        ++at_;  // Past the end, when the next character is still to come: it is skipped then, too.
      } else if (c == quote_) {
        quote_ = 0;
      }
    } else if (is_quote(c)) {
      quote_ = c;
    } else if (opens(c)) {
      ++depth_;
    } else if (closes(c)) {
      depth_ = std::max(depth_ - 1, 0);
    } else if (c == ';' && depth_ == 0) {
      const std::string statement(trim(std::string_view(text_).substr(0, at_ - 1)));
      text_.erase(0, at_);
      at_ = 0;
      if (!statement.empty()) return statement;
    }
  }
  return std::nullopt;
}

std::string StatementBuffer::rest() const {
  return std::string(trim(text_));
}

void StatementBuffer::clear() {
  text_.clear();
  at_ = 0;
  depth_ = 0;
  quote_ = 0;
}

Result<std::vector<std::string>> split_words(std::string_view text) {
  return WordSplitter(text).split();
}

Result<Statement> parse_statement(std::string_view text) {
  text = trim(text);
  const std::string_view word = first_word(text);
  const std::string name = lower(word);
  if (name == "help" || name == "?") return Statement{.kind = StatementKind::kHelp};
  if (name == "quit" || name == "exit") return Statement{.kind = StatementKind::kQuit};
  if (name == "explain") {
    std::string_view query = trim(text.substr(word.size()));
    Statement statement{.kind = StatementKind::kExplain};
    const std::string_view second = first_word(query);
    if (lower(second) == "analyze") {
      statement.kind = StatementKind::kAnalyze;
      query = trim(query.substr(second.size()));
    }
    if (query.empty()) return fail(Errc::kInvalidArgument, "explain wants a query");
    statement.query = query;
    return statement;
  }
  if (name != "select" && find_verb(word) != nullptr) return parse_verb(text);
  const bool query = name == "select" || lower(text).contains("from");
  if (query) return Statement{.kind = StatementKind::kQuery, .query = std::string(text)};
  return fail(Errc::kInvalidArgument,
              fmt::format("'{}' is no verb, and this is no query; 'help;' lists verbs", word));
}

}  // namespace moraine::app
