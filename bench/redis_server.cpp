#include "bench/redis_server.h"

#include <filesystem>

#include "bench/topics_broker.h"

namespace moraine::bench {

Result<RedisServer> RedisServer::start(const std::string& folder,
                                       const std::vector<std::string>& more) {
  const std::string program = find_program("redis-server");
  if (program.empty()) return fail(Errc::kUnsupported, "no redis-server");
  std::filesystem::create_directories(folder);
  TRY(const int port, free_port());
  app::ChildOptions options;
  options.arguments = {program,  "--port",    std::to_string(port),
                       "--bind", "127.0.0.1", "--dir",
                       folder,   "--save",    ""};
  options.arguments.insert(options.arguments.end(), more.begin(), more.end());
  options.output = folder + "/output.log";
  TRY(auto process, app::ChildProcess::start(options));
  return RedisServer{std::move(process), port};
}

}  // namespace moraine::bench
