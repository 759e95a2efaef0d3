#include "app/yt_shell/shell.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <map>

#include "app/exit_code.h"
#include "app/interrupt.h"
#include "app/yt_shell/line_editor.h"
#include "app/yt_shell/statement.h"
#include "app/yt_verbs/program.h"
#include "app/yt_verbs/session.h"
#include "query/syntax/source_error.h"
#include "yson/yson.h"

namespace moraine::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kPrompt = "moraine> ";
constexpr std::string_view kMorePrompt = "      -> ";
constexpr std::size_t kKeptPathsMax = 1000;
constexpr std::int64_t kListSize = 1000;

// Names of the cluster, asked for once in a while.
class ClusterNames final : public NameSource {
 public:
  explicit ClusterNames(YtClient& client) : client_(client) {}

  std::vector<std::string> children(const std::string& path) override {
    return kept("children " + path, [&] {
      YsonMap parameters = path_parameters(path == "//" ? "/" : path);
      parameters["attributes"] = YsonNode(YsonList{YsonNode("type")});
      parameters["max_size"] = YsonNode(kListSize);
      return names(client_.get("list", std::move(parameters)), true);
    });
  }
  std::vector<std::string> attributes(const std::string& path) override {
    return kept("attributes " + path,
                [&] { return names(client_.get("list", path_parameters(path, "/@")), false); });
  }
  std::vector<std::string> columns(const std::string& table) override {
    return kept("columns " + table, [&] {
      std::vector<std::string> found;
      const auto schema = client_.get("get", path_parameters(table, "/@schema"));
      const auto* list = schema ? schema->as<YsonList>() : nullptr;
      for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
        const YsonNode* name = (*list)[i].find("name");
        if (name != nullptr && name->as<std::string>()) found.push_back(*name->as<std::string>());
      }
      return found;
    });
  }

 private:
  struct Kept {
    Clock::time_point until;
    std::vector<std::string> names;
  };

  template <class Ask>
  std::vector<std::string> kept(const std::string& key, const Ask& ask) {
    const auto found = kept_.find(key);
    if (found != kept_.end() && Clock::now() < found->second.until) return found->second.names;
    if (kept_.size() >= kKeptPathsMax) kept_.clear();
    Kept& entry = kept_[key];
    entry.names = ask();
    entry.until = Clock::now() + kNamesKept;
    return entry.names;
  }
  static std::vector<std::string> names(const YtResult<YsonNode>& answer, bool folders) {
    std::vector<std::string> found;
    const auto* list = answer ? answer->as<YsonList>() : nullptr;
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
      const YsonNode& item = (*list)[i];
      const auto* name = item.as<std::string>();
      if (name == nullptr) continue;
      const YsonNode* type = item.attributes().find("type");
      const bool folder = folders && type != nullptr && *type == YsonNode("map_node");
      found.push_back(*name + (folder ? "/" : ""));
    }
    return found;
  }

  YtClient& client_;
  std::map<std::string, Kept> kept_;
};

std::string shell_help() {
  std::string text =
      "Statements end with a semicolon.\n"
      "  SELECT ... FROM [//path] ...;    a query; 'select' may be left out\n"
      "  EXPLAIN query;                   how it is run\n"
      "  EXPLAIN ANALYZE query;           run it, and show its statistics\n"
      "  verb arguments;                  as in 'moraine verb arguments'; rows come after the "
      "path,\n"
      "                                   or from a file: insert-rows //t < rows.yson;\n"
      "  help; quit;\nVerbs:";
  std::size_t column = 80;
  for (const Verb& verb : yt_verbs()) {
    if (verb.group.empty()) continue;
    if (column + verb.name.size() > 76) {
      text += "\n ";
      column = 1;
    }
    text += " " + std::string(verb.name);
    column += verb.name.size() + 1;
  }
  return text + "\n";
}

// Runs statements.
class Shell {
 public:
  Shell(YtSession& session, bool interactive, YtArguments arguments)
      : session_(session), interactive_(interactive), arguments_(std::move(arguments)) {}

  bool done() const { return done_; }
  // The exit code; errors are reported.
  int run(const std::string& text) {
    auto statement = parse_statement(text);
    if (!statement) return report(kExitUsage, statement.error().context);
    const auto begun = Clock::now();
    session_.printed = false;
    session_.times = interactive_;
    const auto code = run(*statement);
    std::fflush(stdout);
    if (session_.closed) {
      done_ = true;
      return kExitOk;
    }
    if (!code) return report_failed(code.error(), statement->query);
    if (interactive_ && !session_.printed && !done_ && *code == kExitOk) {
      const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
      fmt::print("ok, {:.3f} s\n", seconds);
    }
    return *code;
  }

 private:
  YtResult<int> run(const Statement& statement) {
    switch (statement.kind) {
      case StatementKind::kHelp: return print_help();
      case StatementKind::kQuit: done_ = true; return kExitOk;
      case StatementKind::kVerb: return run_words(statement);
      case StatementKind::kExplain: return run_query("explain-query", statement.query, false);
      case StatementKind::kAnalyze: return run_query("explain-query", statement.query, true);
      case StatementKind::kQuery: return run_query("select-rows", statement.query, false);
    }
    return kExitOk;
  }
  YtResult<int> print_help() {
    TRY_YT_VOID(session_.print(shell_help()));
    return kExitOk;
  }
  YtResult<int> run_query(std::string_view verb, const std::string& query, bool analyze) {
    YtArguments arguments = arguments_;
    arguments.parameters["query"] = YsonNode(query);
    if (analyze) arguments.parameters["analyze"] = YsonNode(true);
    return run_verb(session_, *find_verb(verb), std::move(arguments));
  }
  YtResult<int> run_words(const Statement& statement) {
    const Verb& verb = *find_verb(statement.words.front());
    TRY_YT(YtArguments arguments,
           parse_arguments(verb, std::span(statement.words).subspan(1), prefix()));
    if (arguments.help) {
      TRY_YT_VOID(session_.print(help_of(verb)));
      return kExitOk;
    }
    for (const auto& [key, node] : arguments_.local) {
      if (arguments.local.find(key) == nullptr && key == "tx") arguments.local[key] = node;
    }
    if (statement.input.empty()) return run_verb(session_, verb, std::move(arguments));
    const int fd = ::open(statement.input.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
      return yt_fail(Errc::kInvalidArgument,
                     fmt::format("{}: {}", statement.input, std::strerror(errno)));
    }
    session_.input = fd;
    auto code = run_verb(session_, verb, std::move(arguments));
    session_.input = -1;
    ::close(fd);
    return code;
  }
  std::string prefix() const { return arguments_.text("prefix"); }
  int report_failed(const YtError& error, const std::string& query) {
    if (error.kind == Errc::kUnavailable || query.empty()) return report_yt(error);
    return report(exit_code_of(error.kind), describe_query_error(error, query));
  }

  YtSession& session_;
  const bool interactive_;
  const YtArguments arguments_;
  bool done_ = false;
};

std::string history_file(const YtArguments& arguments) {
  const std::string given = arguments.text("history");
  if (!given.empty()) return given == "off" ? "" : given;
  const char* home = std::getenv("HOME");
  return home == nullptr ? "" : std::string(home) + "/.moraine_history";
}

// Whether the line is a command that needs no semicolon.
bool stands_alone(const std::string& line) {
  const auto words = split_words(line);
  if (!words || words->size() != 1) return false;
  const std::string& word = words->front();
  return word == "help" || word == "quit" || word == "exit" || word == "?";
}

int run_at_terminal(Shell& shell, YtSession& session, const YtArguments& arguments) {
  fmt::print("Connected to {}. 'help;' lists verbs, Tab completes, Ctrl-D leaves.\n",
             to_string(session.client.options().proxy));
  ClusterNames names(session.client);
  StatementBuffer buffer;
  LineEditor editor(history_file(arguments), [&](std::string_view line) {
    const std::string before = buffer.rest().empty() ? "" : buffer.rest() + "\n";
    Completion found = complete(before + std::string(line), names);
    found.from -= std::min(found.from, before.size());
    return found;
  });
  while (!shell.done()) {
    const InterruptWatch watch;
    const bool begins = buffer.rest().empty();
    const auto line = editor.read_line(std::string(begins ? kPrompt : kMorePrompt));
    if (!line) {
      fmt::print("\n");
      if (!watch.interrupted()) return kExitOk;
      buffer.clear();
      continue;
    }
    const auto added = buffer.add(begins && stands_alone(*line) ? *line + ";\n" : *line + "\n");
    if (!added) report(kExitUsage, added.error());
    while (const auto statement = buffer.next()) {
      editor.remember(*statement + ";");
      shell.run(*statement);
      if (shell.done() || watch.interrupted()) break;
    }
    if (watch.interrupted()) buffer.clear();
  }
  return kExitOk;
}

// What is not closed by a semicolon at the end is a statement, too.
int run_script(Shell& shell, BodySource& source) {
  StatementBuffer buffer;
  for (bool ended = false; !ended;) {
    const auto piece = source.next();
    if (!piece) return report(piece.error());
    ended = piece->empty();
    const auto added = buffer.add(*piece);
    if (!added) return report(kExitUsage, added.error());
    while (const auto statement = buffer.next()) {
      const int code = shell.run(*statement);
      if (code != kExitOk || shell.done()) return code;
    }
  }
  const std::string rest = buffer.rest();
  return rest.empty() ? kExitOk : shell.run(rest);
}

}  // namespace

std::string describe_query_error(const YtError& error, std::string_view query) {
  std::string text = describe(error);
  const YsonNode* position = error.attribute("position");
  if (position == nullptr || text.contains("^")) return text;
  std::optional<std::size_t> at;
  if (const auto* number = position->as<std::int64_t>()) at = static_cast<std::size_t>(*number);
  if (const auto* number = position->as<std::uint64_t>()) at = static_cast<std::size_t>(*number);
  if (const auto* words = position->as<std::string>()) {
    std::size_t value = 0;
    const auto [end, failed] = std::from_chars(words->data(), words->data() + words->size(), value);
    if (failed == std::errc{} && end == words->data() + words->size()) at = value;
  }
  if (!at || *at > query.size()) return text;
  return text + "\n" + query::describe_place(query, *at).substr(1);
}

const Verb& shell_verb() {
  static const Verb verb{
      .name = "shell",
      .group = "",
      .help = "Queries and verbs at a prompt, or from a script on standard input",
      .command = "",
      .arguments =
          {{.name = "execute", .help = "Run these statements", .letter = 'e', .local = true},
           {.name = "format",
            .kind = VerbArgument::Kind::kFormat,
            .help = "Of rows and documents: yson, json, dsv",
            .local = true},
           {.name = "history",
            .help = "File, or 'off' (default: ~/.moraine_history)",
            .local = true}},
      .example =
          "  moraine shell\n  moraine shell -e 'select * from [//tmp/t] limit 5'\n"
          "  moraine shell --format json < statements.sql\n"};
  return verb;
}

int run_shell(YtArguments arguments) {
  auto options = client_options(arguments);
  if (!options) return report(kExitUsage, options.error());
  options->interrupted = interrupt_came;
  YtClient client(std::move(*options));
  YtSession session{.client = client, .terminal = isatty(STDOUT_FILENO) == 1};
  if (const YsonNode* format = arguments.local.find("format")) {
    session.format = write_yson(*format, YsonFormat::kText);
    arguments.local.erase("format");
  }
  const std::string text = arguments.text("execute");
  const bool given = arguments.local.find("execute") != nullptr;
  const bool interactive = !given && isatty(STDIN_FILENO) == 1 && session.terminal;
  Shell shell(session, interactive, arguments);
  if (interactive) return run_at_terminal(shell, session, arguments);
  TextBody words(text);
  FileBody input(STDIN_FILENO);
  return given ? run_script(shell, words) : run_script(shell, input);
}

}  // namespace moraine::app
