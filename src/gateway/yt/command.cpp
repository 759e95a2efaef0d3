#include "gateway/yt/command.h"

#include <array>

#include "gateway/yt/handlers.h"

namespace moraine::yt {
namespace {

constexpr DataType N = DataType::kNull;
constexpr DataType S = DataType::kStructured;
constexpr DataType T = DataType::kTabular;
constexpr DataType B = DataType::kBinary;
constexpr Versions kBoth = Versions::kBoth;
constexpr Versions kOld = Versions::kV3AndHiddenV4;
constexpr Versions kNew = Versions::kV4;

// name, versions, input, output of v3, output of v4, volatile, heavy, handler
constexpr Command kCommands[] = {
    {"start_tx", kOld, N, S, S, true, false, start_transaction},
    {"ping_tx", kOld, N, N, S, true, false, ping_transaction},
    {"commit_tx", kOld, N, N, S, true, false, commit_transaction},
    {"abort_tx", kOld, N, N, S, true, false, abort_transaction},
    {"start_transaction", kNew, N, S, S, true, false, start_transaction},
    {"ping_transaction", kNew, N, S, S, true, false, ping_transaction},
    {"commit_transaction", kNew, N, S, S, true, false, commit_transaction},
    {"abort_transaction", kNew, N, S, S, true, false, abort_transaction},
    {"generate_timestamp", kBoth, N, S, S, false, false, generate_timestamp},

    {"get", kBoth, N, S, S, false, false, get_node},
    {"list", kBoth, N, S, S, false, false, list_nodes},
    {"exists", kBoth, N, S, S, false, false, node_exists},
    {"create", kBoth, N, S, S, true, false, create_node},
    {"lock", kBoth, N, S, S, true, false, lock_node},
    {"unlock", kBoth, N, N, S, true, false, unlock_node},
    {"copy", kBoth, N, S, S, true, false, copy_node},
    {"move", kBoth, N, S, S, true, false, move_node},
    {"link", kBoth, N, S, S, true, false, link_node},
    {"remove", kBoth, N, N, S, true, false, remove_node},
    {"set", kBoth, S, N, S, true, false, set_node},
    {"multiset_attributes", kNew, S, S, S, true, false, multiset_attributes},
    {"concatenate", kBoth, N, N, S, true, false, concatenate_tables},
    {"execute_batch", kBoth, N, S, S, true, false, execute_batch},

    {"mount_table", kBoth, N, N, S, true, false, mount_table},
    {"unmount_table", kBoth, N, N, S, true, false, unmount_table},
    {"remount_table", kBoth, N, N, S, true, false, remount_table},
    {"freeze_table", kBoth, N, N, S, true, false, freeze_table},
    {"unfreeze_table", kBoth, N, N, S, true, false, unfreeze_table},
    {"reshard_table", kBoth, N, N, S, true, false, reshard_table},
    {"alter_table", kBoth, N, N, S, true, false, alter_table},
    {"reshard_table_automatic", kBoth, N, S, S, true, false, reshard_table_automatic},
    {"balance_tablet_cells", kBoth, N, S, S, true, false, balance_tablet_cells},
    {"get_tablet_infos", kNew, N, S, S, true, false, get_tablet_infos},
    {"get_tablet_errors", kNew, N, S, S, true, false, get_tablet_errors},
    {"get_table_pivot_keys", kNew, N, S, S, false, false, get_table_pivot_keys},
    {"get_table_mount_info", kNew, N, S, S, false, false, nullptr},
    {"get_in_sync_replicas", kBoth, T, S, S, false, true, get_in_sync_replicas},

    {"insert_rows", kBoth, T, N, S, true, true, insert_rows},
    {"delete_rows", kBoth, T, N, S, true, true, delete_rows},
    {"lock_rows", kBoth, T, N, S, true, true, lock_rows},
    {"trim_rows", kBoth, N, N, S, true, true, trim_rows},
    {"lookup_rows", kBoth, T, T, T, false, true, lookup_rows},
    {"select_rows", kBoth, N, T, T, false, true, select_rows},
    {"explain_query", kBoth, N, S, S, false, true, explain_query},

    {"read_table", kBoth, N, T, T, false, true, read_table},
    {"write_table", kBoth, T, N, S, true, true, write_table},
    {"read_file", kBoth, N, B, B, false, true, nullptr},
    {"write_file", kBoth, B, N, S, true, true, nullptr},

    {"parse_ypath", kBoth, N, S, S, false, false, parse_ypath},
    {"check_permission", kBoth, N, S, S, false, false, check_permission},
    {"get_current_user", kBoth, N, S, S, false, false, get_current_user},
    {"get_version", kBoth, N, S, S, false, false, get_version},
    {"get_supported_features", kBoth, N, S, S, false, false, get_supported_features},
    {"discover_proxies", kNew, N, S, S, false, false, discover_proxies},

    {"get_operation", kBoth, N, S, S, false, false, nullptr},
    {"list_operations", kBoth, N, S, S, false, false, nullptr},
    {"list_jobs", kBoth, N, S, S, false, false, nullptr},
    {"get_job", kBoth, N, S, S, false, false, nullptr},
    {"map", kOld, N, S, S, true, false, nullptr},
    {"merge", kOld, N, S, S, true, false, nullptr},
    {"sort", kOld, N, S, S, true, false, nullptr},
    {"reduce", kOld, N, S, S, true, false, nullptr},
    {"map_reduce", kOld, N, S, S, true, false, nullptr},
    {"join_reduce", kOld, N, S, S, true, false, nullptr},
    {"erase", kOld, N, S, S, true, false, nullptr},
    {"remote_copy", kOld, N, S, S, true, false, nullptr},
    {"start_op", kOld, N, S, S, true, false, nullptr},
    {"abort_op", kOld, N, N, S, true, false, nullptr},
    {"suspend_op", kOld, N, N, S, true, false, nullptr},
    {"resume_op", kOld, N, N, S, true, false, nullptr},
    {"complete_op", kOld, N, N, S, true, false, nullptr},
    {"update_op_parameters", kOld, N, N, S, true, false, nullptr},
    {"start_operation", kNew, N, S, S, true, false, nullptr},
    {"abort_operation", kNew, N, S, S, true, false, nullptr},
    {"suspend_operation", kNew, N, S, S, true, false, nullptr},
    {"resume_operation", kNew, N, S, S, true, false, nullptr},
    {"complete_operation", kNew, N, S, S, true, false, nullptr},
    {"update_operation_parameters", kNew, N, S, S, true, false, nullptr},

    {"pull_queue", kNew, N, T, T, false, true, nullptr},
    {"pull_queue_consumer", kNew, N, T, T, false, true, nullptr},
    {"pull_consumer", kNew, N, T, T, false, true, nullptr},
    {"advance_queue_consumer", kNew, N, S, S, true, false, nullptr},
    {"advance_consumer", kNew, N, S, S, true, false, nullptr},
    {"register_queue_consumer", kNew, N, S, S, true, false, nullptr},
    {"unregister_queue_consumer", kNew, N, S, S, true, false, nullptr},
    {"create_queue_producer_session", kNew, N, S, S, true, false, nullptr},
    {"remove_queue_producer_session", kNew, N, S, S, true, false, nullptr},
    {"push_queue_producer", kNew, T, S, S, true, false, nullptr},
};

std::string_view name_of(DataType type) {
  switch (type) {
    case DataType::kNull: return "null";
    case DataType::kBinary: return "binary";
    case DataType::kStructured: return "structured";
    case DataType::kTabular: return "tabular";
  }
  return "null";
}

}  // namespace

std::span<const Command> commands() {
  return kCommands;
}

const Command* find_command(std::string_view name, unsigned version) {
  for (const Command& command : kCommands) {
    if (command.name == name && command.known(version)) return &command;
  }
  return nullptr;
}

YsonNode describe_commands(unsigned version) {
  YsonList list;
  for (const Command& command : kCommands) {
    if (!command.listed(version)) continue;
    YsonMap entry;
    entry.set("name", command.name);
    entry.set("input_type", name_of(command.input));
    entry.set("output_type", name_of(command.output(version)));
    entry.set("is_volatile", command.is_volatile);
    entry.set("is_heavy", command.is_heavy);
    list.emplace_back(std::move(entry));
  }
  return list;
}

}  // namespace moraine::yt
