#include "app/yt_verbs/program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "app/exit_code.h"
#include "app/yt_shell/shell.h"
#include "app/yt_verbs/session.h"
#include "base/log.h"

namespace moraine::app {
namespace {

constexpr std::size_t kTokenBytesMax = std::size_t{64} << 10;

std::string environment(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

std::string trimmed(std::string text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  while (!text.empty() && is_space(text.back())) text.pop_back();
  while (!text.empty() && is_space(text.front())) text.erase(0, 1);
  return text;
}

std::string token_of_file() {
  std::string path = environment("YT_TOKEN_PATH");
  if (path.empty()) path = environment("HOME") + "/.yt/token";
  std::ifstream file(path, std::ios::binary);
  std::string text(kTokenBytesMax, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return trimmed(std::move(text));
}

const VerbArgument* common_argument(std::string_view name) {
  for (const VerbArgument& argument : common_arguments()) {
    if (argument.name == name) return &argument;
  }
  return nullptr;
}

int report_arguments(const Verb& verb, const Error& error) {
  return report(kExitUsage, fmt::format("{}: {}\nSee 'moraine {} --help'.", verb.name,
                                        error.context, verb.name));
}

Result<void> set_level(const YtArguments& arguments) {
  set_log_level(LogLevel::kWarning);
  const std::string level = arguments.text("log_level");
  if (level.empty()) return {};
  TRY(const LogLevel wanted, parse_log_level(level));
  set_log_level(wanted);
  return {};
}

int run_parsed(const Verb& verb, YtArguments arguments) {
  if (arguments.help) {
    fmt::print("{}", help_of(verb));
    return kExitOk;
  }
  const auto level = set_level(arguments);
  if (!level) return report_arguments(verb, level.error());
  if (&verb == &shell_verb()) return run_shell(std::move(arguments));
  auto options = client_options(arguments);
  if (!options) return report_arguments(verb, options.error());
  YtClient client(std::move(*options));
  YtSession session{
      .client = client, .terminal = isatty(STDOUT_FILENO) == 1, .input = STDIN_FILENO};
  const auto code = run_verb(session, verb, std::move(arguments));
  if (session.closed) return kExitOk;
  if (!code) return report_yt(code.error());
  if (std::fflush(stdout) == 0) return *code;
  return errno == EPIPE ? kExitOk : report(kExitIo, "standard output cannot be written");
}

}  // namespace

std::optional<std::size_t> find_verb_word(std::span<const std::string> words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with("--")) {
      const bool known = word == shell_verb().name || find_verb(word) != nullptr;
      return known ? std::optional(i) : std::nullopt;
    }
    const std::size_t equals = word.find('=');
    const auto* argument = common_argument(
        std::string_view(word).substr(2, equals == word.npos ? equals : equals - 2));
    if (argument == nullptr) return std::nullopt;
    if (argument->takes_value() && equals == word.npos) ++i;
  }
  return std::nullopt;
}

int run_verb_words(std::span<const std::string> words, std::size_t at) {
  const bool shell = words[at] == shell_verb().name;
  const Verb& verb = shell ? shell_verb() : *find_verb(words[at]);
  std::vector<std::string> rest(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(at));
  rest.insert(rest.end(), words.begin() + static_cast<std::ptrdiff_t>(at) + 1, words.end());
  auto arguments = parse_arguments(verb, rest, environment("YT_PREFIX"));
  if (!arguments) return report_arguments(verb, arguments.error());
  return run_parsed(verb, std::move(*arguments));
}

Result<YtClientOptions> client_options(const YtArguments& arguments) {
  std::string proxy = arguments.text("proxy");
  if (proxy.empty()) proxy = environment("YT_PROXY");
  const bool given = !proxy.empty();
  TRY(TcpAddress address, parse_proxy(given ? std::string_view(proxy) : kDefaultProxy));
  YtClientOptions options = options_for(std::move(address));
  options.token = trimmed(environment("YT_TOKEN"));
  // The token of a cluster is not sent to whatever listens on this machine.
  if (options.token.empty() && given) options.token = token_of_file();
  if (environment("YT_USE_HOSTS") == "0") options.discover = false;
  return options;
}

int report_yt(const YtError& error) {
  std::string text = describe(error);
  const bool silent = error.kind == Errc::kUnavailable || error.kind == Errc::kNotFound;
  if (silent)
    text += "\nStart a node with 'moraine serve', or name a proxy with --proxy or YT_PROXY.";
  if (error.kind == Errc::kNotFound) return report(kExitUnreachable, text);
  return report(exit_code_of(error.kind), text);
}

}  // namespace moraine::app
