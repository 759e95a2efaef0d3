// A redis-server as a child process on the loopback address.
//
// Promise    It ends with this object.
// Threading  Plain blocking calls.
// Errors     kUnsupported: there is no redis-server on this machine.
#pragma once

#include <string>
#include <vector>

#include "app/child_process.h"
#include "base/result.h"

namespace moraine::bench {

struct RedisServer {
  app::ChildProcess process;
  int port = 0;

  // It may not listen yet. `more`: further options of its command line.
  static Result<RedisServer> start(const std::string& folder, const std::vector<std::string>& more);
};

}  // namespace moraine::bench
