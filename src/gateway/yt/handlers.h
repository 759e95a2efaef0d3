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

// lookup_command.cpp
Task<YtResult<void>> lookup_rows(Call& call);

}  // namespace moraine::yt
