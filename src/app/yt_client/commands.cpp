#include "app/yt_client/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace moraine::app {
namespace {

constexpr auto kNull = DataType::kNull;
constexpr auto kBinary = DataType::kBinary;
constexpr auto kStructured = DataType::kStructured;
constexpr auto kTabular = DataType::kTabular;

// Commands of one kind.
struct Group {
  DataType input;
  DataType output;
  bool is_volatile;
  bool is_heavy;
  std::vector<std::string_view> names;
};

std::vector<Group> make_groups() {
  return {
      {kNull,
       kStructured,
       false,
       false,
       {"generate_timestamp", "get", "list", "exists", "get_operation", "list_operations",
        "list_jobs", "get_job", "parse_ypath", "check_permission", "get_current_user",
        "get_version", "get_supported_features", "get_table_pivot_keys", "get_table_mount_info"}},
      {kNull,
       kStructured,
       true,
       false,
       {"start_transaction",
        "ping_transaction",
        "commit_transaction",
        "abort_transaction",
        "create",
        "lock",
        "unlock",
        "copy",
        "move",
        "link",
        "remove",
        "concatenate",
        "execute_batch",
        "mount_table",
        "unmount_table",
        "remount_table",
        "freeze_table",
        "unfreeze_table",
        "reshard_table",
        "alter_table",
        "get_tablet_infos",
        "get_tablet_errors",
        "reshard_table_automatic",
        "balance_tablet_cells",
        "start_operation",
        "abort_operation",
        "suspend_operation",
        "resume_operation",
        "complete_operation",
        "update_operation_parameters",
        "register_queue_consumer",
        "unregister_queue_consumer",
        "advance_queue_consumer"}},
      {kStructured, kStructured, true, false, {"set", "multiset_attributes"}},
      {kTabular,
       kStructured,
       true,
       true,
       {"insert_rows", "delete_rows", "lock_rows", "write_table"}},
      {kNull, kStructured, true, true, {"trim_rows"}},
      {kTabular, kTabular, false, true, {"lookup_rows"}},
      {kNull,
       kTabular,
       false,
       true,
       {"select_rows", "read_table", "pull_queue", "pull_queue_consumer"}},
      {kNull, kStructured, false, true, {"explain_query"}},
      {kBinary, kStructured, true, true, {"write_file"}},
      {kNull, kBinary, false, true, {"read_file"}},
  };
}

std::vector<YtCommand> make_commands() {
  std::vector<YtCommand> commands;
  for (const Group& group : make_groups()) {
    for (const std::string_view name : group.names) {
      commands.push_back({.name = std::string(name),
                          .input = group.input,
                          .output = group.output,
                          .is_volatile = group.is_volatile,
                          .is_heavy = group.is_heavy});
    }
  }
  std::ranges::sort(commands, {}, &YtCommand::name);
  return commands;
}

DataType type_of(const YsonNode* word) {
  const auto* text = word == nullptr ? nullptr : word->as<std::string>();
  if (text == nullptr || *text == "null") return kNull;
  if (*text == "binary") return kBinary;
  return *text == "tabular" ? kTabular : kStructured;
}

bool is_true(const YsonNode* node) {
  const bool* flag = node == nullptr ? nullptr : node->as<bool>();
  return flag != nullptr && *flag;
}

}  // namespace

const YtCommand* find_command(std::string_view name) {
  static const std::vector<YtCommand> commands = make_commands();
  const auto found = std::ranges::lower_bound(
      commands, name, {}, [](const YtCommand& command) { return std::string_view(command.name); });
  return found != commands.end() && found->name == name ? &*found : nullptr;
}

Result<YtCommand> parse_command(const YsonNode& list, std::string_view name) {
  const auto* entries = list.as<YsonList>();
  if (entries == nullptr) return fail(Errc::kInvalidArgument, "the proxy lists no commands");
  for (const YsonNode& entry : *entries) {
    const YsonNode* own = entry.find("name");
    const auto* text = own == nullptr ? nullptr : own->as<std::string>();
    if (text == nullptr || *text != name) continue;
    return YtCommand{.name = *text,
                     .input = type_of(entry.find("input_type")),
                     .output = type_of(entry.find("output_type")),
                     .is_volatile = is_true(entry.find("is_volatile")),
                     .is_heavy = is_true(entry.find("is_heavy"))};
  }
  return fail(Errc::kNotFound, fmt::format("the proxy has no command '{}'", name));
}

std::string_view http_method(const YtCommand& command) {
  if (command.input != kNull) return "PUT";
  return command.is_volatile ? "POST" : "GET";
}

}  // namespace moraine::app
