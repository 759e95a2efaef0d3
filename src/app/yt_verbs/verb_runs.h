// The verbs that take more than one call, read input, or print rows. Used by the table in
// verbs.cpp.
#pragma once

#include "app/yt_verbs/session.h"

namespace moraine::app {

// About the tree.
YtResult<int> run_exists(YtSession& session, const Verb& verb, YtArguments& arguments);
YtResult<int> run_list(YtSession& session, const Verb& verb, YtArguments& arguments);
YtResult<int> run_find(YtSession& session, const Verb& verb, YtArguments& arguments);
YtResult<int> run_set(YtSession& session, const Verb& verb, YtArguments& arguments);
YtResult<int> run_set_attribute(YtSession& session, const Verb& verb, YtArguments& arguments);
YtResult<int> run_remove_attribute(YtSession& session, const Verb& verb, YtArguments& arguments);
YtResult<int> run_start_transaction(YtSession& session, const Verb& verb, YtArguments& arguments);
YtResult<int> run_create_temp_table(YtSession& session, const Verb& verb, YtArguments& arguments);
YtResult<int> run_check_permission(YtSession& session, const Verb& verb, YtArguments& arguments);

// About tablets: one call, and with --sync its end.
YtResult<int> run_tablets(YtSession& session, const Verb& verb, YtArguments& arguments);

// About rows and files.
YtResult<int> run_insert(YtSession& session, const Verb& verb, YtArguments& arguments);
YtResult<int> run_lookup(YtSession& session, const Verb& verb, YtArguments& arguments);
YtResult<int> run_select(YtSession& session, const Verb& verb, YtArguments& arguments);
YtResult<int> run_read_table(YtSession& session, const Verb& verb, YtArguments& arguments);
YtResult<int> run_write_table(YtSession& session, const Verb& verb, YtArguments& arguments);
YtResult<int> run_read_file(YtSession& session, const Verb& verb, YtArguments& arguments);
YtResult<int> run_write_file(YtSession& session, const Verb& verb, YtArguments& arguments);

// Any command.
YtResult<int> run_execute(YtSession& session, const Verb& verb, YtArguments& arguments);
YtResult<int> run_execute_batch(YtSession& session, const Verb& verb, YtArguments& arguments);

}  // namespace moraine::app
