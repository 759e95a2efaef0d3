// The HTTP side of the benchmark: a `moraine serve` with one table, and requests as clients of
// YTsaurus send them.
//
// Threading  Plain blocking calls.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "bench/blob_bench.h"
#include "bench/topics_broker.h"
#include "io/real/tcp_socket.h"

namespace moraine::bench {

inline constexpr std::string_view kBenchTable = "//bench";

class HttpSide {
 public:
  // A server on a folder of its own, which is removed with this object.
  static Result<std::unique_ptr<HttpSide>> start(const Setting& setting, const std::string& name);
  HttpSide(const HttpSide&) = delete;
  HttpSide& operator=(const HttpSide&) = delete;
  ~HttpSide();

  const TcpAddress& address() const { return address_; }
  double cpu_seconds() const { return broker_->usage().cpu_seconds; }
  // kBenchTable with the columns of BenchRow, mounted; one that exists is removed before.
  Result<void> create_table() const;
  // Rows in memory become chunks.
  Result<void> flush_table() const;

 private:
  explicit HttpSide(std::string folder) : folder_(std::move(folder)) {}
  Result<void> call(std::string_view command, std::string_view parameters) const;
  Result<void> wait_for_state(std::string_view state) const;

  const std::string folder_;
  std::unique_ptr<Broker> broker_;
  TcpAddress address_;
};

// Requests with rows in JSON.
std::string http_request(std::string_view command, std::string_view parameters,
                         std::string_view body);

// kCorrupt: the status is not 200, or the answer has a length of its own that is not told before.
Result<std::size_t> http_answer_size(std::string_view received);

}  // namespace moraine::bench
