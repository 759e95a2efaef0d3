// Verbs about rows and files: what is read is sent on as it arrives, what is received printed so.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <optional>

#include "app/exit_code.h"
#include "app/interrupt.h"
#include "app/table.h"
#include "app/transfer_progress.h"
#include "app/yt_verbs/row_table.h"
#include "app/yt_verbs/verb_runs.h"
#include "yson/yson.h"

namespace moraine::app {
namespace {

constexpr std::string_view kTextRows = "<format=text>yson";
constexpr std::string_view kBinaryRows = "<format=binary>yson";

// Of a regular file what is left of it; nothing of a pipe.
std::optional<std::uint64_t> bytes_left(int fd) {
  struct stat status{};
  if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const off_t at = lseek(fd, 0, SEEK_CUR);
  if (at < 0 || at > status.st_size) return std::nullopt;
  return static_cast<std::uint64_t>(status.st_size - at);
}

// The rows that a verb sends: given after the path, or from the session's input.
class RowInput {
 public:
  static YtResult<std::unique_ptr<RowInput>> open(YtSession& session, const Verb& verb,
                                                  const YtArguments& arguments) {
    auto input = std::make_unique<RowInput>();
    if (const YsonNode* rows = arguments.local.find("rows")) {
      std::string text;
      for (const YsonNode& row : *rows->as<YsonList>()) text += *row.as<std::string>() + "\n";
      input->source_ = std::make_unique<TextBody>(with_separators(std::move(text), arguments));
      return input;
    }
    if (session.input < 0) {
      return yt_fail(Errc::kInvalidArgument,
                     fmt::format("{} wants rows after the path, or `< FILE`", verb.name));
    }
    if (isatty(session.input) == 1) {
      fmt::print(stderr, "Rows are read from this terminal; Ctrl-D ends them.\n");
    }
    input->progress_ = std::make_unique<TransferProgress>(
        std::string(verb.name), bytes_left(session.input), isatty(session.input) != 1);
    TransferProgress* progress = input->progress_.get();
    input->source_ = std::make_unique<FileBody>(
        session.input, [progress](std::uint64_t bytes) { progress->at(bytes); });
    return input;
  }
  BodySource& source() { return *source_; }

 private:
  // `{k=1} {k=2}` are two rows in YSON: a semicolon after each.
  static std::string with_separators(std::string text, const YtArguments& arguments) {
    const YsonNode* format = arguments.local.find("format");
    const auto* name = format == nullptr ? nullptr : format->as<std::string>();
    if (name != nullptr && *name != "yson") return text;
    std::string rows;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      std::string row = text.substr(at, end - at);
      while (row.ends_with(' ') || row.ends_with(';')) row.pop_back();
      rows += row + ";\n";
      at = end + 1;
    }
    return rows;
  }

  std::unique_ptr<TransferProgress> progress_;
  std::unique_ptr<BodySource> source_;
};

std::string count_line(std::uint64_t rows, std::optional<double> seconds) {
  return fmt::format("({}{})\n", counted(rows, "row"),
                     seconds ? fmt::format(", {:.3f} s", *seconds) : "");
}

// Calls a command whose answer is rows. On a terminal and without a format: a table.
YtResult<YsonMap> print_rows(YtSession& session, YtCall call, const YtArguments& arguments,
                             bool may_be_table) {
  const std::string format = format_of(session, arguments);
  const bool table = session.terminal && format.empty() && may_be_table;
  TRY_YT(call.parameters["output_format"],
         format_node(table            ? kBinaryRows
                     : format.empty() ? kTextRows
                                      : std::string_view(format)));
  if (table) {
    const auto begun = std::chrono::steady_clock::now();
    RowTable rows([&session](std::string_view text) { return session.print(text); });
    RowReader reader(rows);
    TRY_YT(YsonMap parameters, session.client.call(call, [&reader](std::string_view piece) {
      return reader.feed(piece);
    }));
    TRY_YT_VOID(reader.finish());
    TRY_YT_VOID(rows.finish());
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begun;
    TRY_YT_VOID(session.print(
        count_line(rows.rows(), session.times ? std::optional(spent.count()) : std::nullopt)));
    return parameters;
  }
  TransferProgress progress(call.command, std::nullopt, !session.terminal);
  std::uint64_t received = 0;
  return session.client.call(call, [&](std::string_view piece) -> Result<void> {
    received += piece.size();
    progress.at(received);
    return session.print(piece);
  });
}

YtCall call_of(std::string_view command, YtArguments& arguments) {
  return {.command = std::string(command), .parameters = std::move(arguments.parameters)};
}

Result<YsonNode> input_format(const YtArguments& arguments) {
  const YsonNode* given = arguments.local.find("format");
  return given == nullptr ? YsonNode("yson") : *given;
}

// What is written to has to exist.
YtResult<int> create_missing(YtSession& session, const YtArguments& arguments,
                             std::string_view type) {
  YsonMap created = path_parameters(plain_path(arguments.text("path")));
  created["type"] = YsonNode(type);
  created["ignore_existing"] = YsonNode(true);
  add_transaction(arguments, created);
  TRY_YT_VOID(session.client.get("create", std::move(created)));
  return kExitOk;
}

YtResult<int> upload(YtSession& session, const Verb& verb, YtArguments& arguments) {
  TRY_YT(const auto input, RowInput::open(session, verb, arguments));
  YtCall call = call_of(verb.command, arguments);
  call.body = &input->source();
  call.compress = !arguments.flag("no_compression");
  call.is_gzip = arguments.flag("compressed");
  TRY_YT_VOID(session.client.call(call));
  return kExitOk;
}

// Passes `[` row `,` row `]` on instead of lines.
class JsonListSink {
 public:
  explicit JsonListSink(YtSession& session) : session_(session) {}
  Result<void> feed(std::string_view piece) {
    std::string out = std::exchange(begun_, true) ? "" : "[\n";
    for (const char c : piece) {
      if (pending_) out += ",\n";
      pending_ = c == '\n';
      if (!pending_) out += c;
    }
    return session_.print(out);
  }
  Result<void> finish() { return session_.print(begun_ ? (pending_ ? "\n]\n" : "]\n") : "[\n]\n"); }

 private:
  YtSession& session_;
  bool begun_ = false;
  bool pending_ = false;  // A line has ended; the next one needs a comma before it.
};

}  // namespace

YtResult<int> run_insert(YtSession& session, const Verb& verb, YtArguments& arguments) {
  TRY_YT(arguments.parameters["input_format"], input_format(arguments));
  TRY_YT(const auto input, RowInput::open(session, verb, arguments));
  YtCall call = call_of(verb.command, arguments);
  call.body = &input->source();
  TRY_YT_VOID(session.client.call(call));
  return kExitOk;
}

YtResult<int> run_lookup(YtSession& session, const Verb& verb, YtArguments& arguments) {
  TRY_YT(arguments.parameters["input_format"], input_format(arguments));
  TRY_YT(const auto input, RowInput::open(session, verb, arguments));
  const bool versioned = arguments.flag("versioned");
  YtCall call = call_of(verb.command, arguments);
  call.body = &input->source();
  TRY_YT_VOID(print_rows(session, std::move(call), arguments, !versioned));
  return kExitOk;
}

YtResult<int> run_select(YtSession& session, const Verb& verb, YtArguments& arguments) {
  const bool statistics = arguments.flag("print_statistics");
  if (statistics) arguments.parameters["enable_statistics"] = YsonNode(true);
  TRY_YT(const YsonMap answer,
         print_rows(session, call_of(verb.command, arguments), arguments, true));
  if (statistics) fmt::print(stderr, "{}\n", write_yson(YsonNode(answer), YsonFormat::kPretty));
  return kExitOk;
}

YtResult<int> run_read_table(YtSession& session, const Verb& verb, YtArguments& arguments) {
  const bool as_list = arguments.flag("as_json_list");
  if (!as_list) {
    TRY_YT_VOID(print_rows(session, call_of(verb.command, arguments), arguments, true));
    return kExitOk;
  }
  const std::string format = format_of(session, arguments);
  if (!format.empty() && !format.contains("json")) {
    return yt_fail(Errc::kInvalidArgument, "--as-json-list goes with --format json");
  }
  YtCall call = call_of(verb.command, arguments);
  TRY_YT(call.parameters["output_format"], format_node(format.empty() ? "json" : format));
  JsonListSink sink(session);
  TRY_YT_VOID(
      session.client.call(call, [&sink](std::string_view piece) { return sink.feed(piece); }));
  TRY_YT_VOID(sink.finish());
  return kExitOk;
}

YtResult<int> run_write_table(YtSession& session, const Verb& verb, YtArguments& arguments) {
  TRY_YT_VOID(create_missing(session, arguments, "table"));
  TRY_YT(arguments.parameters["input_format"], input_format(arguments));
  return upload(session, verb, arguments);
}

YtResult<int> run_read_file(YtSession& session, const Verb& verb, YtArguments& arguments) {
  TransferProgress progress(std::string(verb.name), std::nullopt, !session.terminal);
  std::uint64_t received = 0;
  TRY_YT_VOID(session.client.call(call_of(verb.command, arguments),
                                  [&](std::string_view piece) -> Result<void> {
                                    received += piece.size();
                                    progress.at(received);
                                    return session.print(piece);
                                  }));
  return kExitOk;
}

YtResult<int> run_write_file(YtSession& session, const Verb& verb, YtArguments& arguments) {
  TRY_YT_VOID(create_missing(session, arguments, "file"));
  YsonMap mark = path_parameters(plain_path(arguments.text("path")), "/@executable");
  mark["input_format"] = YsonNode("yson");
  add_transaction(arguments, mark);
  const bool executable = arguments.flag("executable");
  TRY_YT_VOID(upload(session, verb, arguments));
  if (!executable) return kExitOk;
  TextBody value("%true");
  TRY_YT_VOID(
      session.client.call({.command = "set", .parameters = std::move(mark), .body = &value}));
  return kExitOk;
}

YtResult<int> run_execute(YtSession& session, const Verb&, YtArguments& arguments) {
  const std::string name = arguments.text("command_name");
  const YsonNode* given = arguments.local.find("execute_params");
  const auto* map = given == nullptr ? nullptr : given->as<YsonMap>();
  if (map == nullptr) return yt_fail(Errc::kInvalidArgument, "EXECUTE_PARAMS wants a map in YSON");
  TRY_YT(const YtCommand command, session.client.command(name));
  YtCall call{.command = name, .parameters = std::move(arguments.parameters)};
  for (const auto& [key, node] : *map) call.parameters[key] = node;
  const bool formatted =
      command.output == DataType::kStructured || command.output == DataType::kTabular;
  if (formatted && call.parameters.find("output_format") == nullptr) {
    TRY_YT(call.parameters["output_format"], format_node("<format=pretty>yson"));
  }
  std::unique_ptr<FileBody> body;
  if (command.input != DataType::kNull) {
    if (session.input < 0) {
      return yt_fail(Errc::kInvalidArgument, fmt::format("{} wants input: `< FILE`", name));
    }
    body = std::make_unique<FileBody>(session.input);
    call.body = body.get();
  }
  bool line_ended = true;
  TRY_YT_VOID(session.client.call(call, [&](std::string_view piece) -> Result<void> {
    if (!piece.empty()) line_ended = piece.ends_with('\n');
    return session.print(piece);
  }));
  if (!line_ended) {
    TRY_YT_VOID(session.print("\n"));
  }
  return kExitOk;
}

YtResult<int> run_execute_batch(YtSession& session, const Verb&, YtArguments& arguments) {
  TRY_YT(const YsonNode answer,
         session.client.get("execute_batch", std::move(arguments.parameters)));
  const YsonNode* results = answer.find("results");
  TRY_YT_VOID(print_document(
      session, write_yson(results == nullptr ? answer : *results, YsonFormat::kPretty)));
  return kExitOk;
}

}  // namespace moraine::app
