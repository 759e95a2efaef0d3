#include "bench/topics_broker.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

namespace moraine::bench {
namespace {

constexpr Duration kSayWait = std::chrono::seconds(60);
constexpr double kPortSecondsMax = 60;
constexpr std::string_view kKafkaAddress = " kafka=";
constexpr std::string_view kHttpAddress = " http=";

std::filesystem::path own_folder() {
  return std::filesystem::canonical("/proc/self/exe").parent_path();
}

bool bind_port(int port, int& chosen) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool bound = ::bind(fd, generic, size) == 0 && getsockname(fd, generic, &size) == 0;
  chosen = ntohs(address.sin_port);
  close(fd);
  return bound;
}

// Up to the next space; empty when `name` is not in the line.
std::string word_after(const std::string& line, std::string_view name) {
  const std::size_t at = line.find(name);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + name.size();
  return line.substr(begin, line.find(' ', begin) - begin);
}

// The value behind "name:" in a file of /proc.
double proc_value(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with(name)) return std::strtod(line.c_str() + name.size() + 1, nullptr);
  }
  return 0;
}

}  // namespace

std::string kafka_script() {
  return (own_folder().parent_path() / "bench/topics/apache_kafka").string();
}

std::optional<std::string> complaint_of(const std::string& command) {
  FILE* output = popen((command + " 2>&1").c_str(), "r");
  if (output == nullptr) return "no shell";
  std::string why;
  char text[256];
  while (std::fgets(text, sizeof text, output) != nullptr) why += text;
  if (pclose(output) == 0) return std::nullopt;
  while (!why.empty() && why.back() == '\n') why.pop_back();
  return why;
}

std::optional<std::string> kafka_missing() {
  if (!std::filesystem::exists(kafka_script())) return "no " + kafka_script();
  return complaint_of(kafka_script() + " fetch");
}

Result<int> free_port() {
  for (int attempt = 0; attempt < 100; ++attempt) {
    int port = 0;
    int next = 0;
    if (bind_port(0, port) && port < 65'535 && bind_port(port + 1, next)) return port;
  }
  return fail(Errc::kUnavailable, "no free port");
}

std::string find_program(const std::string& name) {
  std::stringstream path(std::getenv("PATH") == nullptr ? "" : std::getenv("PATH"));
  std::string folder;
  while (std::getline(path, folder, ':')) {
    const std::string file = folder + "/" + name;
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

Usage usage_of(pid_t process) {
  const std::string proc = fmt::format("/proc/{}/", process);
  Usage usage;
  usage.written_bytes = proc_value(proc + "io", "write_bytes");
  usage.resident_bytes = proc_value(proc + "status", "VmRSS") * 1024;
  std::ifstream file(proc + "stat");
  std::string text;
  std::getline(file, text);
  std::stringstream fields(text.substr(text.rfind(')') + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  usage.cpu_seconds = (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  return usage;
}

Result<std::unique_ptr<Broker>> Broker::start(BrokerKind kind, const std::string& folder,
                                              std::vector<std::string> more) {
  std::unique_ptr<Broker> broker(new Broker(kind, folder, std::move(more)));
  std::filesystem::create_directories(folder);
  if (kind != BrokerKind::kMoraine) {
    TRY(const int port, free_port());
    broker->address_ = fmt::format("127.0.0.1:{}", port);
  }
  TRY_VOID(broker->spawn());
  return broker;
}

Result<void> Broker::spawn() {
  app::ChildOptions options;
  options.errors = folder_ + "/errors.log";
  if (kind_ == BrokerKind::kMoraine) {
    const std::string kafka = address_.empty() ? "127.0.0.1:0" : address_;
    options.arguments = {(own_folder() / "moraine").string(),
                         "serve",
                         "--data",
                         folder_ + "/data",
                         "--http",
                         "127.0.0.1:0",
                         "--grpc",
                         "127.0.0.1:0",
                         "--kafka",
                         kafka};
  } else {
    const std::string port = address_.substr(address_.rfind(':') + 1);
    options.arguments = {kafka_script(), "serve", folder_, port};
    if (kind_ == BrokerKind::kKafkaDurable) {
      options.arguments.emplace_back("log.flush.interval.messages=1");
    }
    options.output = folder_ + "/output.log";
  }
  options.arguments.insert(options.arguments.end(), more_.begin(), more_.end());
  TRY(auto child, app::ChildProcess::start(options));
  child_.emplace(std::move(child));
  return {};
}

Result<void> Broker::wait_for_address() {
  while (address_.empty()) {
    auto line = child_->read_line(kSayWait);
    if (!line) return std::unexpected(std::move(line.error()).within("moraine serve"));
    address_ = word_after(*line, kKafkaAddress);
    http_address_ = word_after(*line, kHttpAddress);
  }
  return {};
}

Result<void> Broker::wait_for_port() const {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port =
      htons(static_cast<std::uint16_t>(std::atoi(address_.c_str() + address_.rfind(':') + 1)));
  for (const Stopwatch watch; watch.seconds() < kPortSecondsMax;) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool open = ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    close(fd);
    if (open) return {};
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return fail(Errc::kTimeout, address_ + " takes no connections");
}

void Broker::stop() {
  if (!child_ || !child_->running()) return;
  child_->send(SIGTERM);
  child_->wait();
}

Result<void> Broker::start_again() {
  stop();
  return spawn();
}

}  // namespace moraine::bench
