// A server on the loopback address that answers requests with texts of a script, in order, and
// keeps what it received. For tests.
#pragma once

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/invariant.h"
#include "io/real/tcp_socket.h"

namespace moraine::app {

inline std::string http_answer(int status, const std::string& body,
                               const std::string& fields = "") {
  return fmt::format("HTTP/1.1 {} Status\r\n{}Content-Length: {}\r\n\r\n{}", status, fields,
                     body.size(), body);
}

class ScriptedServer {
 public:
  struct Received {
    std::string head;
    std::string body;  // Without the chunks' marks.
    std::size_t connection;
  };

  // An empty text closes the connection instead.
  explicit ScriptedServer(std::vector<std::string> script)
      : script_(script.begin(), script.end()), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    INVARIANT(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0, "no port");
    INVARIANT(::listen(listener_, 8) == 0, "cannot listen");
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;
  ~ScriptedServer() {
    stop();
    thread_.join();
    ::close(listener_);
  }

  TcpAddress address() const { return {"127.0.0.1", port_}; }
  std::vector<Received> received() {
    const std::lock_guard guard(mutex_);
    return received_;
  }

 private:
  void stop() {
    const std::lock_guard guard(mutex_);
    stopped_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    if (open_ >= 0) ::shutdown(open_, SHUT_RDWR);
  }
  void serve() {
    for (std::size_t number = 0;; ++number) {
      const int fd = ::accept(listener_, nullptr, nullptr);
      if (fd < 0) return;
      {
        const std::lock_guard guard(mutex_);
        if (!stopped_) open_ = fd;
      }
      std::string unread;
      while (exchange(fd, number, unread)) {
      }
      const std::lock_guard guard(mutex_);
      open_ = -1;
      ::close(fd);
      if (stopped_) return;
    }
  }
  bool exchange(int fd, std::size_t number, std::string& unread) {
    Received request{.head = take_until(fd, unread, "\r\n\r\n"), .body = "", .connection = number};
    if (request.head.empty()) return false;
    if (request.head.contains("Transfer-Encoding: chunked")) {
      for (;;) {
        const std::string line = take_until(fd, unread, "\r\n");
        if (line.empty()) return false;
        const std::size_t length = std::stoul(line, nullptr, 16);
        request.body += take(fd, unread, length);
        take(fd, unread, 2);
        if (length == 0) break;
      }
    } else if (const std::size_t at = request.head.find("Content-Length: ");
               at != std::string::npos) {
      request.body = take(fd, unread, std::stoul(request.head.substr(at + 16)));
    }
    const std::lock_guard guard(mutex_);
    received_.push_back(std::move(request));
    if (script_.empty()) return false;
    const std::string answer = std::move(script_.front());
    script_.pop_front();
    return !answer.empty() && ::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL) > 0;
  }
  static bool fill(int fd, std::string& unread) {
    char buffer[4096];
    const ssize_t count = ::recv(fd, buffer, sizeof buffer, 0);
    if (count <= 0) return false;
    unread.append(buffer, static_cast<std::size_t>(count));
    return true;
  }
  static std::string take_until(int fd, std::string& unread, std::string_view mark) {
    while (!unread.contains(mark)) {
      if (!fill(fd, unread)) return "";
    }
    const std::size_t end = unread.find(mark) + mark.size();
    std::string text = unread.substr(0, end);
    unread.erase(0, end);
    return text;
  }
  static std::string take(int fd, std::string& unread, std::size_t count) {
    while (unread.size() < count) {
      if (!fill(fd, unread)) return "";
    }
    std::string text = unread.substr(0, count);
    unread.erase(0, count);
    return text;
  }

  std::mutex mutex_;
  std::deque<std::string> script_;
  std::vector<Received> received_;
  int listener_;
  int open_ = -1;
  bool stopped_ = false;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace moraine::app
