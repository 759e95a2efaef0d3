// What the errors of tables say beside their text, as attributes of YTsaurus's errors.
//
// The texts are made where the errors are found, and are passed on by other nodes; so they are what
// there is to read it from.
//
// Promise    Pure. Attributes that a text does not have are left out: of a row lock conflict key,
//            lock, loser_transaction_id, winner_transaction_id and
//            winner_transaction_commit_timestamp; of a tablet's state tablet_id, table_path and
//            is_tablet_unmounted.
// Tests      node/table_errors_test.cpp.
#pragma once

#include "base/result.h"
#include "yson/node.h"

namespace moraine::client {

YsonMap table_error_attributes(const Error& error);

}  // namespace moraine::client
