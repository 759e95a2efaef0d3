#include "app/yt_verbs/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "yson/yson.h"

namespace moraine::app {
namespace {

constexpr std::string_view kPretty = "<format=pretty>yson";

std::string scalar_text(const YsonNode& node) {
  if (const auto* text = node.as<std::string>()) return *text;
  if (const bool* flag = node.as<bool>()) return *flag ? "true" : "false";
  if (const auto* number = node.as<std::uint64_t>()) return std::to_string(*number);
  return write_yson(node, YsonFormat::kText);
}

}  // namespace

Result<void> YtSession::print(std::string_view text) {
  printed = printed || !text.empty();
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size()) return {};
  closed = errno == EPIPE;
  return fail(Errc::kIo, fmt::format("standard output: {}", std::strerror(errno)));
}

std::string format_of(const YtSession& session, const YtArguments& arguments) {
  const YsonNode* given = arguments.local.find("format");
  return given == nullptr ? session.format : write_yson(*given, YsonFormat::kText);
}

Result<YsonNode> format_node(std::string_view format) {
  return parse_yson(format);
}

Result<void> print_document(YtSession& session, std::string_view text) {
  TRY_VOID(session.print(text));
  if (text.empty() || text.ends_with('\n')) return {};
  return session.print("\n");
}

YsonMap path_parameters(const std::string& path, std::string_view rest) {
  YsonMap map;
  map["path"] = YsonNode(path + std::string(rest));
  return map;
}

void add_transaction(const YtArguments& arguments, YsonMap& parameters) {
  const std::string id = arguments.text("tx");
  if (!id.empty() && parameters.find("transaction_id") == nullptr) {
    parameters["transaction_id"] = YsonNode(id);
  }
  if (arguments.flag("ping_ancestor_txs")) {
    parameters["ping_ancestor_transactions"] = YsonNode(true);
  }
}

YtResult<int> run_verb(YtSession& session, const Verb& verb, YtArguments arguments) {
  add_transaction(arguments, arguments.parameters);
  if (verb.run != nullptr) return verb.run(session, verb, arguments);
  YtCall call{.command = std::string(verb.command), .parameters = std::move(arguments.parameters)};
  if (verb.prints == Verb::Prints::kDocument) {
    const std::string format = format_of(session, arguments);
    TRY_YT(call.parameters["output_format"],
           format_node(format.empty() ? kPretty : std::string_view(format)));
    call.parameters["return_only_value"] = YsonNode(true);
    TRY_YT(const YtAnswer answer, session.client.call(call));
    TRY_YT_VOID(print_document(session, answer.body));
    return 0;
  }
  TRY_YT(const YsonNode answer, session.client.get(call.command, std::move(call.parameters)));
  if (verb.prints == Verb::Prints::kNothing) return 0;
  const YsonNode* field = answer.find(verb.field);
  const auto* map = answer.as<YsonMap>();
  if (field == nullptr && map != nullptr && map->size() == 1) field = &map->pair(0).node;
  TRY_YT_VOID(session.print(scalar_text(field == nullptr ? answer : *field) + "\n"));
  return 0;
}

}  // namespace moraine::app
