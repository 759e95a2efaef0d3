// Verbs about the tree: exists, list, find, set, attributes, transactions.
#include <fmt/format.h>
#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "app/exit_code.h"
#include "app/table.h"
#include "app/yt_verbs/verb_runs.h"
#include "io/real/os_random.h"
#include "yson/yson.h"

namespace moraine::app {
namespace {

constexpr std::array<std::string_view, 5> kLongAttributes{"type", "target_path", "account",
                                                          "resource_usage", "modification_time"};
constexpr std::int64_t kListSize = 65'535;
constexpr std::size_t kFindDepthMax = 256;
constexpr std::size_t kValueBytesMax = std::size_t{64} << 20;
constexpr std::int64_t kTempTableMilliseconds = std::int64_t{7} * 24 * 3600 * 1000;

const std::string* text_attribute(const YsonNode& node, std::string_view name) {
  const YsonNode* found = node.attributes().find(name);
  return found == nullptr ? nullptr : found->as<std::string>();
}

// A name as part of a path.
std::string escaped(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (std::string_view("\\/@&*[{").contains(c)) out += '\\';
    out += c;
  }
  return out;
}

std::string child_path(const std::string& parent, std::string_view name) {
  return (parent.ends_with('/') ? parent : parent + "/") + escaped(name);
}

std::string root_of(const std::string& path) {
  return path == "/" ? "//" : path;
}

std::string text_or_dash(const YsonNode& node, std::string_view name) {
  const std::string* text = text_attribute(node, name);
  return text == nullptr ? "-" : *text;
}

// "2026-11-19T20:56:47.123456Z" as "2026-11-19 20:56".
std::string short_time(std::string time) {
  if (time.size() < 16) return time;
  time.resize(16);
  time[10] = ' ';
  return time;
}

std::vector<std::string> long_cells(const YsonNode& node, const std::string& name,
                                    std::string_view time) {
  const YsonNode* usage = node.attributes().find("resource_usage");
  const YsonNode* space = usage == nullptr ? nullptr : usage->find("disk_space");
  const auto* bytes = space == nullptr ? nullptr : space->as<std::int64_t>();
  const std::string* target = text_attribute(node, "target_path");
  return {text_or_dash(node, "type"), text_or_dash(node, "account"),
          bytes == nullptr
              ? "-"
              : readable_size(static_cast<std::uint64_t>(std::max<std::int64_t>(*bytes, 0))),
          short_time(text_or_dash(node, time)),
          target == nullptr ? name : fmt::format("{} -> {}", name, *target)};
}

Table long_table() {
  return Table({"type", "account", "size", "modified", "name"});
}

YsonNode names_node(std::span<const std::string_view> names) {
  YsonList list;
  for (const std::string_view name : names) list.emplace_back(name);
  return YsonNode(std::move(list));
}

// All of standard input.
YtResult<std::string> read_value(const YtSession& session) {
  if (session.input < 0) return yt_fail(Errc::kInvalidArgument, "VALUE is missing");
  FileBody input(session.input);
  std::string text;
  for (;;) {
    TRY_YT(const std::string_view piece, input.next());
    if (piece.empty()) return text;
    if (text.size() + piece.size() > kValueBytesMax) {
      return yt_fail(Errc::kInvalidArgument,
                     fmt::format("the value is longer than {} MiB", kValueBytesMax >> 20));
    }
    text += piece;
  }
}

YtResult<int> put_value(YtSession& session, YsonMap parameters, std::string value,
                        const std::string& format) {
  const bool is_yson = format.empty() || format.contains("yson");
  if (is_yson) {
    const auto checked = check_yson(value);
    if (!checked) {
      return yt_fail(Errc::kInvalidArgument,
                     fmt::format("the value is no YSON: {}; a string may need quotes",
                                 checked.error().context));
    }
  }
  TRY_YT(parameters["input_format"], format_node(format.empty() ? "yson" : format));
  TextBody body(std::move(value));
  TRY_YT_VOID(
      session.client.call({.command = "set", .parameters = std::move(parameters), .body = &body}));
  return kExitOk;
}

// What `find` looks for.
struct Wanted {
  std::string name;
  std::string type;
  YsonMap attributes;
  std::int64_t depth;
  bool long_format;
  bool follow_links;
  std::string time;

  bool matches(const YsonNode& node, const std::string& path) const {
    if (!type.empty() && text_or_dash(node, "type") != type) return false;
    const std::string base = path.substr(path.rfind('/') + 1);
    if (!name.empty() && fnmatch(name.c_str(), base.c_str(), 0) != 0) return false;
    return std::ranges::all_of(attributes, [&](const YsonPair& pair) {
      const YsonNode* found = node.attributes().find(pair.key);
      return found != nullptr && *found == pair.node;
    });
  }
};

class Finder {
 public:
  Finder(YtSession& session, const Wanted& wanted, YsonMap base)
      : session_(session), wanted_(wanted), base_(std::move(base)) {}

  YtResult<int> find(const std::string& path) {
    TRY_YT(const YsonNode node, fetch(path));
    TRY_YT_VOID(visit(node, path, 0));
    if (wanted_.long_format) {
      TRY_YT_VOID(session_.print(table_.text()));
    }
    return kExitOk;
  }

 private:
  YtResult<YsonNode> fetch(const std::string& path) {
    YsonMap parameters = base_;
    parameters["path"] = YsonNode(path);
    std::vector<std::string_view> names{"type", "opaque"};
    names.insert(names.end(), kLongAttributes.begin() + 1, kLongAttributes.end());
    names.push_back(wanted_.time);
    for (const auto& [key, node] : wanted_.attributes) names.push_back(key);
    parameters["attributes"] = names_node(names);
    return session_.client.get("get", std::move(parameters));
  }
  YtResult<int> visit(const YsonNode& node, const std::string& path, std::size_t depth) {
    if (wanted_.matches(node, path)) {
      if (wanted_.long_format) {
        table_.add(long_cells(node, path, wanted_.time));
      } else {
        TRY_YT_VOID(session_.print(path + "\n"));
      }
    }
    const bool deep = wanted_.depth >= 0 && static_cast<std::int64_t>(depth) >= wanted_.depth;
    if (deep || depth >= kFindDepthMax) return kExitOk;
    const std::string type = text_or_dash(node, "type");
    const YsonNode* opaque = node.attributes().find("opaque");
    const bool hidden = type == "map_node" && opaque != nullptr && opaque->as<bool>() &&
                        *opaque->as<bool>() && depth > 0;
    if (hidden || (type == "link" && wanted_.follow_links)) {
      TRY_YT(const YsonNode below, fetch(path));
      return children(below, path, depth);
    }
    return children(node, path, depth);
  }
  YtResult<int> children(const YsonNode& node, const std::string& path, std::size_t depth) {
    const auto* map = node.as<YsonMap>();
    if (map == nullptr) return kExitOk;
    std::vector<std::string_view> names;
    for (const auto& [key, child] : *map) names.push_back(key);
    std::ranges::sort(names);
    for (const std::string_view name : names) {
      TRY_YT_VOID(visit(*map->find(name), child_path(path, name), depth + 1));
    }
    return kExitOk;
  }

  YtSession& session_;
  const Wanted& wanted_;
  const YsonMap base_;
  Table table_ = long_table();
};

}  // namespace

YtResult<int> run_exists(YtSession& session, const Verb&, YtArguments& arguments) {
  TRY_YT(const YsonNode answer, session.client.get("exists", std::move(arguments.parameters)));
  const bool* exists = answer.as<bool>();
  TRY_YT_VOID(session.print(exists != nullptr && *exists ? "true\n" : "false\n"));
  return kExitOk;
}

YtResult<int> run_list(YtSession& session, const Verb&, YtArguments& arguments) {
  YsonMap parameters = std::move(arguments.parameters);
  const std::string path = root_of(*parameters.find("path")->as<std::string>());
  if (parameters.find("max_size") == nullptr) parameters["max_size"] = YsonNode(kListSize);
  const std::string format = format_of(session, arguments);
  const bool long_format = arguments.flag("long_format");
  if (!format.empty() && !long_format && !arguments.flag("absolute")) {
    TRY_YT(parameters["output_format"], format_node(format));
    parameters["return_only_value"] = YsonNode(true);
    TRY_YT(const YtAnswer answer,
           session.client.call({.command = "list", .parameters = std::move(parameters)}));
    TRY_YT_VOID(print_document(session, answer.body));
    return kExitOk;
  }
  if (long_format) parameters["attributes"] = names_node(kLongAttributes);
  TRY_YT(const YsonNode answer, session.client.get("list", std::move(parameters)));
  const auto* items = answer.as<YsonList>();
  if (items == nullptr) return yt_fail(Errc::kAborted, "the proxy returned no list");
  Table table = long_table();
  for (const YsonNode& item : *items) {
    const auto* name = item.as<std::string>();
    if (name == nullptr) continue;
    const std::string shown = arguments.flag("absolute") ? child_path(path, *name) : *name;
    if (long_format) {
      table.add(long_cells(item, shown, "modification_time"));
    } else {
      TRY_YT_VOID(session.print(shown + "\n"));
    }
  }
  if (long_format) {
    TRY_YT_VOID(session.print(table.text()));
  }
  const YsonNode* incomplete = answer.attributes().find("incomplete");
  if (incomplete != nullptr && incomplete->as<bool>() && *incomplete->as<bool>()) {
    fmt::print(stderr, "moraine: the list is incomplete; give a larger --max-size\n");
  }
  return kExitOk;
}

YtResult<int> run_find(YtSession& session, const Verb&, YtArguments& arguments) {
  Wanted wanted{.name = arguments.text("name"),
                .type = arguments.text("type"),
                .attributes = {},
                .depth = -1,
                .long_format = arguments.flag("long_format"),
                .follow_links = arguments.flag("follow_links"),
                .time = arguments.text("time_type")};
  if (wanted.time.empty()) wanted.time = "modification_time";
  if (const YsonNode* depth = arguments.local.find("depth")) {
    if (const auto* number = depth->as<std::int64_t>()) wanted.depth = *number;
  }
  for (const std::string_view name : {"account", "owner"}) {
    if (const YsonNode* given = arguments.local.find(name)) wanted.attributes[name] = *given;
  }
  const std::string filter = arguments.text("attribute_filter");
  if (!filter.empty()) {
    TRY_YT(YsonNode map, parse_yson(filter, YsonDocument::kMapFragment));
    for (const auto& [key, node] : *map.as<YsonMap>()) wanted.attributes[key] = node;
  }
  const std::string path = arguments.text("path");
  arguments.parameters.erase("path");
  return Finder(session, wanted, std::move(arguments.parameters)).find(path);
}

YtResult<int> run_set(YtSession& session, const Verb&, YtArguments& arguments) {
  std::string value = arguments.text("value");
  if (arguments.local.find("value") == nullptr) {
    TRY_YT(value, read_value(session));
  }
  const YsonNode* format = arguments.local.find("format");
  return put_value(session, std::move(arguments.parameters), std::move(value),
                   format == nullptr ? "" : write_yson(*format, YsonFormat::kText));
}

YtResult<int> run_set_attribute(YtSession& session, const Verb&, YtArguments& arguments) {
  arguments.parameters["path"] =
      YsonNode(arguments.text("path") + "/@" + escaped(arguments.text("name")));
  return put_value(session, std::move(arguments.parameters), arguments.text("value"), "");
}

YtResult<int> run_remove_attribute(YtSession& session, const Verb&, YtArguments& arguments) {
  arguments.parameters["path"] =
      YsonNode(arguments.text("path") + "/@" + escaped(arguments.text("name")));
  TRY_YT_VOID(session.client.get("remove", std::move(arguments.parameters)));
  return kExitOk;
}

YtResult<int> run_start_transaction(YtSession& session, const Verb&, YtArguments& arguments) {
  YsonMap parameters = std::move(arguments.parameters);
  const bool tablet = arguments.text("type") == "tablet";
  parameters["type"] = YsonNode(tablet ? "tablet" : "master");
  if (tablet) parameters["sticky"] = YsonNode(true);
  TRY_YT(const YsonNode answer, session.client.get("start_transaction", std::move(parameters)));
  const YsonNode* id = answer.find("transaction_id");
  const auto* text = id == nullptr ? answer.as<std::string>() : id->as<std::string>();
  if (text == nullptr) return yt_fail(Errc::kAborted, "the proxy returned no transaction id");
  TRY_YT_VOID(session.print(*text + "\n"));
  return kExitOk;
}

YtResult<int> run_create_temp_table(YtSession& session, const Verb&, YtArguments& arguments) {
  YsonMap parameters = std::move(arguments.parameters);
  std::string folder = arguments.text("path");
  YsonMap base;
  add_transaction(arguments, base);
  if (folder.empty()) {
    TRY_YT(const YsonNode answer, session.client.get("get_current_user", {}));
    const YsonNode* user = answer.find("user");
    const auto* name = user == nullptr ? answer.as<std::string>() : user->as<std::string>();
    folder = "//tmp/yt_wrapper/table_storage/" + escaped(name == nullptr ? "root" : *name);
    YsonMap made = base;
    made["path"] = YsonNode(folder);
    made["type"] = YsonNode("map_node");
    made["recursive"] = made["ignore_existing"] = YsonNode(true);
    TRY_YT_VOID(session.client.get("create", std::move(made)));
  }
  const std::string path =
      child_path(folder, arguments.text("name_prefix") + fmt::format("{:016x}", OsRandom().next()));
  YsonMap attributes;
  if (const YsonNode* given = parameters.find("attributes")) {
    if (const auto* map = given->as<YsonMap>()) attributes = *map;
  }
  const YsonNode* timeout = arguments.local.find("expiration_timeout");
  attributes["expiration_timeout"] =
      timeout == nullptr ? YsonNode(kTempTableMilliseconds) : *timeout;
  base["path"] = YsonNode(path);
  base["type"] = YsonNode("table");
  base["attributes"] = YsonNode(std::move(attributes));
  TRY_YT_VOID(session.client.get("create", std::move(base)));
  TRY_YT_VOID(session.print(path + "\n"));
  return kExitOk;
}

YtResult<int> run_check_permission(YtSession& session, const Verb& verb, YtArguments& arguments) {
  if (!arguments.flag("quiet")) {
    Verb plain = verb;
    plain.run = nullptr;
    return run_verb(session, plain, std::move(arguments));
  }
  TRY_YT(const YsonNode answer,
         session.client.get("check_permission", std::move(arguments.parameters)));
  const YsonNode* action = answer.find("action");
  const auto* text = action == nullptr ? nullptr : action->as<std::string>();
  return text != nullptr && *text == "allow" ? kExitOk : kExitNegative;
}

}  // namespace moraine::app
