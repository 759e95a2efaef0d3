// Broker: a message broker that speaks Kafka's protocol, as a child process on its own folder, and
// the system's statistics of that process.
//
// Promise    The process is killed with this object. The address stays the same over a restart.
// Threading  Plain blocking calls.
// Errors     kUnsupported: this machine cannot run that broker; the context says why.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/child_process.h"
#include "base/result.h"
#include "bench/measure.h"

namespace moraine::bench {

enum class BrokerKind : std::uint8_t {
  kMoraine,       // The `moraine serve` beside this program.
  kKafka,         // Apache Kafka with its defaults: acknowledged writes are in memory.
  kKafkaDurable,  // Apache Kafka that syncs before it acknowledges.
};

// Runs a command of the shell: what it printed, if it failed.
std::optional<std::string> complaint_of(const std::string& command);

// Why Apache Kafka cannot be run here; downloads it when it is not in the cache yet.
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
  // Returns immediately; the broker may need seconds until it serves. `more`: further arguments
  // of its command line.
  static Result<std::unique_ptr<Broker>> start(BrokerKind kind, const std::string& folder,
                                               std::vector<std::string> more = {});

  // Empty until a Moraine that chooses its port has reported it: see wait_for_address().
  const std::string& address() const { return address_; }
  Result<void> wait_for_address();
  // Of a Moraine that was not restarted, after wait_for_address().
  const std::string& http_address() const { return http_address_; }
  // Waits until its port accepts connections. A client that connects earlier may sleep for a
  // second.
  Result<void> wait_for_port() const;
  // Stops it cleanly, if it is still running.
  void stop();
  Result<void> start_again();
  Usage usage() const { return usage_of(child_->id()); }
  const std::string& folder() const { return folder_; }

 private:
  Broker(BrokerKind kind, std::string folder, std::vector<std::string> more)
      : kind_(kind), folder_(std::move(folder)), more_(std::move(more)) {}
  Result<void> spawn();

  BrokerKind kind_;
  std::string folder_;
  std::vector<std::string> more_;
  std::string address_;
  std::string http_address_;
  std::optional<app::ChildProcess> child_;
};

}  // namespace moraine::bench
