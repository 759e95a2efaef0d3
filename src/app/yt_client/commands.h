// The commands of YTsaurus's HTTP API: what each takes and returns, which says how it is sent.
//
// Promise    Plain data. A command with input is PUT, another one that changes something is POST,
//            the rest are GET.
// Tests      yt_client_test.cpp
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "yson/format.h"
#include "yson/node.h"

namespace moraine::app {

struct YtCommand {
  std::string name;
  DataType input = DataType::kNull;
  DataType output = DataType::kNull;
  bool is_volatile = false;
  bool is_heavy = false;
};

// Those of API version 4 that this program knows. Null: another one; ask the proxy.
const YtCommand* find_command(std::string_view name);
// Of the list that a proxy returns for `/api/v4`. kNotFound: it has no such command.
Result<YtCommand> parse_command(const YsonNode& list, std::string_view name);
std::string_view http_method(const YtCommand& command);

}  // namespace moraine::app
