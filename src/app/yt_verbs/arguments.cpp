#include "app/yt_verbs/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

#include "base/invariant.h"
#include "yson/yson.h"

namespace moraine::app {
namespace {

using Kind = VerbArgument::Kind;
using Place = VerbArgument::Place;
using Count = VerbArgument::Count;

std::string upper(std::string_view name) {
  std::string text(name);
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
    if (c == '-') c = '_';
  }
  return text;
}

std::string shown(const VerbArgument& argument) {
  return argument.place == Place::kOption ? fmt::format("--{}", argument.name)
                                          : upper(argument.name);
}

std::unexpected<Error> refuse(std::string why) {
  return fail(Errc::kInvalidArgument, std::move(why));
}

bool is_number(std::string_view word) {
  if (word.starts_with('-')) word.remove_prefix(1);
  return !word.empty() && word.find_first_not_of("0123456789.") == word.npos &&
         word.find_first_of("0123456789") != word.npos;
}

bool is_option(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && !is_number(word);
}

template <class T>
std::optional<T> number(std::string_view word) {
  T value{};
  if (word.starts_with('+')) word.remove_prefix(1);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return value;
}

// Keys of `from` replace those of `to`, maps below them are merged.
void merge(YsonMap& to, const YsonMap& from) {
  for (const auto& [key, node] : from) {
    YsonNode* there = to.find(key);
    auto* map = there == nullptr ? nullptr : there->as<YsonMap>();
    const auto* added = node.as<YsonMap>();
    if (map != nullptr && added != nullptr) {
      merge(*map, *added);
    } else {
      to[key] = node;
    }
  }
}

Result<void> check_choice(const VerbArgument& argument, std::string_view word) {
  if (argument.choices.empty()) return {};
  std::string known;
  std::string_view rest = argument.choices;
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find('|'));
    if (one == word) return {};
    known += (known.empty() ? "" : ", ") + std::string(one);
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
  }
  return refuse(fmt::format("{}: '{}' is none of {}", shown(argument), word, known));
}

Result<YsonNode> value_of(const VerbArgument& argument, std::string_view word) {
  TRY_VOID(check_choice(argument, word));
  switch (argument.kind) {
    case Kind::kFlag: return YsonNode(true);
    case Kind::kClear: return YsonNode(false);
    case Kind::kText:
    case Kind::kPath: return YsonNode(word);
    case Kind::kInteger: {
      if (const auto value = number<std::int64_t>(word)) return YsonNode(*value);
      if (const auto value = number<std::uint64_t>(word)) return YsonNode(*value);
      return refuse(fmt::format("{} wants a whole number, not '{}'", shown(argument), word));
    }
    case Kind::kNumber: {
      if (const auto value = number<double>(word)) return YsonNode(*value);
      return refuse(fmt::format("{} wants a number, not '{}'", shown(argument), word));
    }
    case Kind::kYson:
    case Kind::kFormat: {
      auto node = parse_yson(word);
      if (node) return node;
      return refuse(fmt::format("{} wants YSON: {}", shown(argument), node.error().context));
    }
  }
  return refuse("unknown kind");
}

// The words, sorted out.
class ArgumentParser {
 public:
  ArgumentParser(const Verb& verb, std::span<const std::string> words, std::string_view prefix)
      : words_(words), prefix_(prefix) {
    for (const auto& argument : verb.arguments) known_.push_back(&argument);
    for (const auto& argument : common_arguments()) known_.push_back(&argument);
  }

  Result<YtArguments> parse() {
    for (at_ = 0; at_ < words_.size();) {
      const std::string& word = words_[at_++];
      if (word == "--") {
        positional_.insert(positional_.end(), words_.begin() + static_cast<std::ptrdiff_t>(at_),
                           words_.end());
        break;
      }
      if (!is_option(word)) {
        positional_.push_back(word);
      } else if (word == "-h" || word == "--help") {
        parsed_.help = true;
        return std::move(parsed_);
      } else {
        TRY_VOID(option(word));
      }
    }
    TRY_VOID(place_positional());
    for (const auto* argument : known_) {
      if (argument->required && !given(*argument)) {
        return refuse(fmt::format("{} is missing", shown(*argument)));
      }
    }
    TRY_VOID(finish());
    return std::move(parsed_);
  }

 private:
  YsonMap& map_of(const VerbArgument& argument) {
    return argument.local ? parsed_.local : parsed_.parameters;
  }
  bool given(const VerbArgument& argument) {
    return map_of(argument).find(argument.key()) != nullptr;
  }

  Result<void> apply(const VerbArgument& argument, std::string_view word) {
    TRY(YsonNode value, value_of(argument, word));
    YsonMap& map = map_of(argument);
    const std::string key = argument.key();
    YsonNode& node = map[key];
    if (argument.count != Count::kOne) {
      if (node.is_entity()) node = YsonNode(YsonList());
      node.as<YsonList>()->push_back(std::move(value));
      return {};
    }
    auto* before = node.as<YsonMap>();
    const auto* added = value.as<YsonMap>();
    if (argument.kind == Kind::kYson && before != nullptr && added != nullptr) {
      merge(*before, *added);
    } else {
      node = std::move(value);
    }
    return {};
  }

  Result<void> option(const std::string& word) {
    const std::string_view rest = std::string_view(word).substr(1);
    for (const auto* argument : known_) {  // `-name`, as find takes it.
      if (argument->place != Place::kPositional && argument->name == rest && rest.size() > 1) {
        return with_value(*argument, std::nullopt, word);
      }
    }
    return word[1] == '-' ? long_option(word) : letters(word);
  }

  Result<void> long_option(const std::string& word) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(2, equals == word.npos ? word.npos : equals - 2);
    std::optional<std::string> value;
    if (equals != word.npos) value = word.substr(equals + 1);
    std::vector<const VerbArgument*> found;
    for (const auto* argument : known_) {
      if (argument->place == Place::kPositional) continue;
      if (argument->name == name) {
        found = {argument};
        break;
      }
      if (argument->name.starts_with(name) && !name.empty()) found.push_back(argument);
    }
    if (found.empty()) return refuse(fmt::format("there is no option --{}", name));
    if (found.size() > 1) {
      return refuse(fmt::format("--{} may be --{} or --{}", name, found[0]->name, found[1]->name));
    }
    return with_value(*found.front(), value, "--" + name);
  }

  Result<void> letters(const std::string& word) {
    for (std::size_t i = 1; i < word.size(); ++i) {
      const auto found = std::ranges::find_if(
          known_, [&](const auto* argument) { return argument->letter == word[i]; });
      if (found == known_.end()) return refuse(fmt::format("there is no option -{}", word[i]));
      if ((*found)->takes_value()) {
        std::optional<std::string> value;
        if (i + 1 < word.size()) value = word.substr(i + 1);
        return with_value(**found, value, fmt::format("-{}", word[i]));
      }
      TRY_VOID(apply(**found, ""));
    }
    return {};
  }

  Result<void> with_value(const VerbArgument& argument, const std::optional<std::string>& value,
                          const std::string& as_given) {
    if (!argument.takes_value()) {
      if (value) return refuse(fmt::format("{} takes no value", as_given));
      return apply(argument, "");
    }
    if (argument.place == Place::kEither && given(argument)) {
      return refuse(fmt::format("{} is given twice", as_given));
    }
    if (value) return apply(argument, *value);
    const auto more = [this] { return at_ < words_.size() && !is_option(words_[at_]); };
    if (!more()) return refuse(fmt::format("{} wants a value", as_given));
    do {
      TRY_VOID(apply(argument, words_[at_++]));
    } while (argument.count == Count::kSeveral && more());
    return {};
  }

  // Words fill what is required; what is left fills the others, first ones first.
  Result<void> place_positional() {
    std::vector<const VerbArgument*> open;
    std::size_t required = 0;
    for (const auto* argument : known_) {
      if (argument->place == Place::kOption || given(*argument)) continue;
      open.push_back(argument);
      required += argument->required ? 1 : 0;
    }
    std::size_t spare = positional_.size() > required ? positional_.size() - required : 0;
    std::size_t at = 0;
    for (const auto* argument : open) {
      std::size_t count = argument->required ? 1 : 0;
      if (!argument->required && spare > 0) {
        count = argument->count == Count::kSeveral ? spare : 1;
        spare -= count;
      } else if (argument->required && argument->count == Count::kSeveral) {
        count += std::exchange(spare, 0);
      }
      for (; count > 0 && at < positional_.size(); --count) {
        TRY_VOID(apply(*argument, positional_[at++]));
      }
    }
    if (at < positional_.size()) {
      return refuse(fmt::format("'{}' is one word too many", positional_[at]));
    }
    return {};
  }

  Result<void> finish() {
    std::string prefix = parsed_.text("prefix");
    if (prefix.empty()) prefix = prefix_;
    for (const auto* argument : known_) {
      if (argument->kind != Kind::kPath) continue;
      YsonNode* node = map_of(*argument).find(argument->key());
      if (node == nullptr) continue;
      auto* list = node->as<YsonList>();
      for (std::size_t i = 0; i < (list == nullptr ? 1 : list->size()); ++i) {
        YsonNode& one = list == nullptr ? *node : (*list)[i];
        TRY(std::string path, resolve_path(*one.as<std::string>(), prefix));
        one = YsonNode(std::move(path));
      }
    }
    if (const YsonNode* params = parsed_.local.find("params")) {
      const auto* map = params->as<YsonMap>();
      if (map == nullptr) return refuse("--params wants a map in YSON");
      merge(parsed_.parameters, *map);
    }
    return {};
  }

  const std::span<const std::string> words_;
  const std::string_view prefix_;
  std::vector<const VerbArgument*> known_;
  std::vector<std::string> positional_;
  std::size_t at_ = 0;
  YtArguments parsed_;
};

void append_help(std::string& out, std::string_view title,
                 const std::vector<VerbArgument>& arguments, bool options) {
  std::string lines;
  for (const VerbArgument& argument : arguments) {
    const bool positional = argument.place != Place::kOption;
    if (positional == options) continue;
    std::string name = positional ? upper(argument.name) : fmt::format("--{}", argument.name);
    if (argument.letter != 0) name = fmt::format("-{}, {}", argument.letter, name);
    if (!positional && argument.takes_value()) {
      name += argument.choices.empty()
                  ? " " + (argument.kind == Kind::kYson     ? std::string("YSON")
                           : argument.kind == Kind::kFormat ? std::string("FORMAT")
                           : argument.kind == Kind::kText || argument.kind == Kind::kPath
                               ? std::string("TEXT")
                               : std::string("N"))
                  : fmt::format(" {}", argument.choices);
      if (argument.count == Count::kSeveral) name += " ...";
    }
    std::string help(argument.help);
    if (argument.place == Place::kEither) help += fmt::format(" (or --{})", argument.name);
    if (argument.count == Count::kRepeated) help += " (may be repeated)";
    fmt::format_to(std::back_inserter(lines), "  {:<32} {}\n", name, help);
  }
  if (!lines.empty()) fmt::format_to(std::back_inserter(out), "\n{}:\n{}", title, lines);
}

}  // namespace

std::string VerbArgument::key() const {
  std::string text(parameter.empty() ? name : parameter);
  std::ranges::replace(text, '-', '_');
  return text;
}

std::string YtArguments::text(std::string_view key) const {
  for (const YsonMap* map : {&local, &parameters}) {
    const YsonNode* node = map->find(key);
    const auto* found = node == nullptr ? nullptr : node->as<std::string>();
    if (found != nullptr) return *found;
  }
  return "";
}

bool YtArguments::flag(std::string_view key) const {
  for (const YsonMap* map : {&local, &parameters}) {
    const YsonNode* node = map->find(key);
    const bool* found = node == nullptr ? nullptr : node->as<bool>();
    if (found != nullptr) return *found;
  }
  return false;
}

Result<YtArguments> parse_arguments(const Verb& verb, std::span<const std::string> words,
                                    std::string_view prefix) {
  return ArgumentParser(verb, words, prefix).parse();
}

Result<std::string> resolve_path(std::string_view path, std::string_view prefix) {
  if (path.empty()) return refuse("the path is empty");
  const bool absolute = path.starts_with("//") || path == "/" || path.starts_with('#') ||
                        path.starts_with("/@") || path.starts_with('<');
  if (absolute) return std::string(path);
  if (prefix.empty()) {
    return refuse(
        fmt::format("path '{}' begins neither with // nor with #, and there is no --prefix", path));
  }
  std::string whole(prefix);
  if (!whole.ends_with('/')) whole += '/';
  return whole + std::string(path);
}

std::string plain_path(std::string_view path) {
  while (path.starts_with('<')) {
    // To the matching '>', outside of quotes.
    std::size_t at = 0;
    int depth = 0;
    bool quoted = false;
    do {
      const char c = path[at];
      if (quoted && c == '\\') {
        ++at;
      } else if (c == '"') {
        quoted = !quoted;
      } else if (!quoted) {
        depth += c == '<' ? 1 : c == '>' ? -1 : 0;
      }
      ++at;
    } while (at < path.size() && depth > 0);
    path.remove_prefix(std::min(at, path.size()));
    while (path.starts_with(' ')) path.remove_prefix(1);
  }
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '\\') {
      ++i;
    } else if (path[i] == '[' || path[i] == '{') {
      return std::string(path.substr(0, i));
    }
  }
  return std::string(path);
}

std::string help_of(const Verb& verb) {
  std::string usage;
  for (const VerbArgument& argument : verb.arguments) {
    if (argument.place == Place::kOption) continue;
    const std::string name = upper(argument.name);
    const std::string_view more = argument.count == Count::kSeveral ? " ..." : "";
    usage +=
        argument.required ? fmt::format(" {}{}", name, more) : fmt::format(" [{}{}]", name, more);
  }
  std::string out = fmt::format("{}\nUsage: moraine {}{} [OPTIONS]\n", verb.help, verb.name, usage);
  append_help(out, "Arguments", verb.arguments, false);
  append_help(out, "Options", verb.arguments, true);
  append_help(out, "Options of all verbs", common_arguments(), true);
  if (!verb.example.empty())
    fmt::format_to(std::back_inserter(out), "\nExamples:\n{}", verb.example);
  return out;
}

}  // namespace moraine::app
