// The functions that carry commands out, by the file that has them. Each takes its parameters from
// the call and leaves its result there.
#pragma once

#include "gateway/yt/call.h"
#include "gateway/yt/command.h"

namespace moraine::yt {

// service_commands.cpp
Task<YtResult<void>> get_current_user(Call& call);
Task<YtResult<void>> get_version(Call& call);
Task<YtResult<void>> get_supported_features(Call& call);
Task<YtResult<void>> check_permission(Call& call);
Task<YtResult<void>> parse_ypath(Call& call);
Task<YtResult<void>> generate_timestamp(Call& call);
Task<YtResult<void>> discover_proxies(Call& call);

// transaction_commands.cpp
Task<YtResult<void>> start_transaction(Call& call);
Task<YtResult<void>> ping_transaction(Call& call);
Task<YtResult<void>> commit_transaction(Call& call);
Task<YtResult<void>> abort_transaction(Call& call);

// row_commands.cpp
Task<YtResult<void>> insert_rows(Call& call);
Task<YtResult<void>> delete_rows(Call& call);
Task<YtResult<void>> lock_rows(Call& call);
Task<YtResult<void>> trim_rows(Call& call);

// tree_commands.cpp
Task<YtResult<void>> get_node(Call& call);
Task<YtResult<void>> list_nodes(Call& call);
Task<YtResult<void>> node_exists(Call& call);
Task<YtResult<void>> set_node(Call& call);
Task<YtResult<void>> multiset_attributes(Call& call);
Task<YtResult<void>> remove_node(Call& call);
Task<YtResult<void>> create_node(Call& call);
Task<YtResult<void>> copy_node(Call& call);
Task<YtResult<void>> move_node(Call& call);
Task<YtResult<void>> link_node(Call& call);
Task<YtResult<void>> lock_node(Call& call);
Task<YtResult<void>> unlock_node(Call& call);

// batch_command.cpp
Task<YtResult<void>> execute_batch(Call& call);

// table_commands.cpp
Task<YtResult<void>> mount_table(Call& call);
Task<YtResult<void>> unmount_table(Call& call);
Task<YtResult<void>> remount_table(Call& call);
Task<YtResult<void>> freeze_table(Call& call);
Task<YtResult<void>> unfreeze_table(Call& call);
Task<YtResult<void>> reshard_table(Call& call);
Task<YtResult<void>> alter_table(Call& call);

// tablet_commands.cpp
Task<YtResult<void>> get_tablet_infos(Call& call);
Task<YtResult<void>> get_tablet_errors(Call& call);
Task<YtResult<void>> get_table_pivot_keys(Call& call);
Task<YtResult<void>> get_in_sync_replicas(Call& call);
Task<YtResult<void>> reshard_table_automatic(Call& call);
Task<YtResult<void>> balance_tablet_cells(Call& call);

// read_command.cpp, write_command.cpp
Task<YtResult<void>> read_table(Call& call);
Task<YtResult<void>> write_table(Call& call);
Task<YtResult<void>> concatenate_tables(Call& call);

// select_commands.cpp
Task<YtResult<void>> select_rows(Call& call);
Task<YtResult<void>> explain_query(Call& call);

// lookup_command.cpp
Task<YtResult<void>> lookup_rows(Call& call);

}  // namespace moraine::yt
