// Broker: a message broker that speaks Kafka's protocol, as a child process on a folder of its own,
// and what the system knows about that process.
//
// Promise    It dies with this object. The address stays the same over a restart.
// Threading  Plain blocking calls.
// Errors     kUnsupported: this machine cannot run that broker; the context says why.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "app/child_process.h"
#include "base/result.h"
#include "bench/measure.h"

namespace moraine::bench {

enum class BrokerKind : std::uint8_t {
  kMoraine,       // `moraine serve` that stands beside this program.
  kKafka,         // Apache Kafka with its defaults: acknowledged writes lie in memory.
  kKafkaDurable,  // Apache Kafka that syncs before it acknowledges.
};

// Why Apache Kafka cannot be run here; fetches it when it is not in the cache yet.
std::optional<std::string> kafka_missing();
std::string kafka_script();

// A free port of the loopback address; so is the one after it.
Result<int> free_port();
// Of a program found in PATH; empty when there is none.
std::string find_program(const std::string& name);

struct Usage {
  double cpu_seconds = 0;
  double written_bytes = 0;  // To block devices.
  double resident_bytes = 0;
};
Usage usage_of(pid_t process);

class Broker {
 public:
  // Returns at once; it may need seconds until it serves.
  static Result<std::unique_ptr<Broker>> start(BrokerKind kind, const std::string& folder);

  // Empty until a Moraine that has chosen its port has said so: see wait_for_address().
  const std::string& address() const { return address_; }
  Result<void> wait_for_address();
  // Until its port takes connections. A client that asks earlier may sleep for a second.
  Result<void> wait_for_port() const;
  // Stops it cleanly, if it still runs.
  void stop();
  Result<void> start_again();
  Usage usage() const { return usage_of(child_->id()); }
  const std::string& folder() const { return folder_; }

 private:
  Broker(BrokerKind kind, std::string folder) : kind_(kind), folder_(std::move(folder)) {}
  Result<void> spawn();

  BrokerKind kind_;
  std::string folder_;
  std::string address_;
  std::optional<app::ChildProcess> child_;
};

}  // namespace moraine::bench
