// Exit codes of the program, and the functions with which a command reports a failure.
//
//   0  done
//   1  the command was executed and the answer is negative (NODATA, BLOCKED, damage found, ...)
//   2  wrong usage or bad input; nothing was touched
//   3  the data folder or the config cannot be used (foreign, damaged, in use, read-only, ...)
//   4  the disk failed or is full
//   5  the node cannot be reached
#pragma once

#include <string_view>

#include "base/result.h"
#include "blob/status.h"

namespace moraine::app {

enum ExitCode : int {
  kExitOk = 0,
  kExitNegative = 1,
  kExitUsage = 2,
  kExitData = 3,
  kExitIo = 4,
  kExitUnreachable = 5,
};

ExitCode exit_code_of(Errc code);
// Of an answer that is not OK.
ExitCode exit_code_of(blob::Status status);

// From now on every report is also printed on standard output, as {"status":...,"reason":...}.
void report_as_json();

// Prints "moraine: <why>" on standard error and returns the code.
int report(ExitCode code, std::string_view why);
int report(ExitCode code, const Error& error);
// With the code of the error.
int report(const Error& error);
// Prints "moraine: <STATUS>: <reason>".
int report(blob::Status status, std::string_view reason);

}  // namespace moraine::app
