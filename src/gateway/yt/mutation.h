// Mutations: commands that clients may repeat with the same mutation id, and that are no changes of
// the tree itself.
//
// Promise    A command that has ended is not run again: its result is returned.
// Threading  The call's lane.
// Errors     A repeated id that is not marked as a retry.
// Tests      table_commands_test.cpp.
#pragma once

#include "gateway/yt/call.h"

namespace moraine::yt {

// True: it was run before; the call has its result.
Task<YtResult<bool>> begin_mutation(Call& call);
// The command has succeeded, with the call's result.
Task<YtResult<void>> end_mutation(Call& call);

}  // namespace moraine::yt
