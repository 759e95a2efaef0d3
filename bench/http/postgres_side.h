// PostgreSQL as a child process, and requests in its protocol (version 3). There is no client
// library: the same loop sends them as sends ours.
//
// Threading  Plain blocking calls.
// Errors     kUnsupported: it cannot be run on this machine; the context says why.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "app/child_process.h"
#include "base/result.h"
#include "bench/blob_bench.h"
#include "bench/http/bench_row.h"
#include "io/real/tcp_socket.h"

namespace moraine::bench {

class PostgresSide {
 public:
  // A server with the table that postgres_copy() writes to, on a folder of its own, which is
  // removed with this object.
  static Result<PostgresSide> start(const Setting& setting);
  PostgresSide(PostgresSide&&) noexcept = default;
  PostgresSide& operator=(PostgresSide&&) = delete;
  ~PostgresSide();

  const TcpAddress& address() const { return address_; }

 private:
  PostgresSide(app::ChildProcess process, TcpAddress address, std::string folder)
      : process_(std::move(process)), address_(std::move(address)), folder_(std::move(folder)) {}

  app::ChildProcess process_;
  TcpAddress address_;
  std::string folder_;
};

// The first message of a connection.
std::string postgres_startup();
std::string postgres_query(std::string_view sql);
// A COPY of these rows, which commits.
std::string postgres_copy(std::uint64_t first, std::uint64_t count);

// Up to "ready for query". kUnavailable: an error of the server.
Result<std::size_t> postgres_answer_size(std::string_view received);

}  // namespace moraine::bench
