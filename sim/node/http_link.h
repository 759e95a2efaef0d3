// HttpLink: a connection of one HTTP client of YTsaurus's API.
//
// Promise    As ClientLink. Requests may be pipelined; every answer has to be that of the oldest
//            request without one: it repeats its correlation id, and another one is an immediate
//            failure.
// Threading  Events of the scenario.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>

#include "sim/node/client_link.h"
#include "yson/node.h"

namespace moraine::sim {

struct HttpRequest {
  std::string command;
  std::string parameters;  // The items of a YSON map.
  std::string input = {};  // YSON.
};

struct HttpAnswer {
  unsigned status = 0;
  int code = 0;  // YTsaurus's number of the error; 0: none.
  std::string message = {};
  std::string body = {};
  bool newest = false;  // It is not outdated.

  bool ok() const { return status == 200 && code == 0; }
  std::string to_string() const;
  // The body as YSON. Entity: none, or an error.
  YsonNode whole() const;
  // Of a map {value=...} or {node_id=...} what it has.
  YsonNode value() const;
  // The text of such an id.
  std::string id() const;
  // The body as rows.
  YsonList rows() const;
};

class HttpLink : public ClientLink {
 public:
  HttpLink(SimWorld& world, Machines& machines, History& history, std::string client_id)
      : ClientLink(world, machines, history, Machines::Door::kHttp),
        client_id_(std::move(client_id)) {}

  // How the answer is read.
  struct Pace {
    std::size_t bytes = std::size_t{16} << 10;  // At once.
    Duration pause{0};                          // Between two reads.
  };

  // Connects if it is not connected. What is in flight on an old connection is forgotten.
  bool open(SeededRandom& random);
  bool open_lane(std::size_t lane);
  // Sends a request without waiting for its answer. False: the connection is lost.
  Task<bool> send(HttpRequest request);
  // Sends the first bytes of a request, and closes the connection.
  Task<void> send_part(HttpRequest request, SeededRandom& random);
  // The next answer; nullopt: the connection is lost.
  Task<std::optional<HttpAnswer>> receive(Pace pace);
  Task<std::optional<HttpAnswer>> receive() { return receive(Pace()); }
  Task<std::optional<HttpAnswer>> ask(HttpRequest request);

 private:
  class Parser;
  std::string bytes_of(const HttpRequest& request);
  Task<bool> read_answer(Parser& parser, Pace pace);

  const std::string client_id_;
  std::uint64_t sent_ = 0;
  std::deque<std::string> expected_;  // Correlation ids of the requests without an answer.
  std::string ahead_;                 // Bytes that were read and not parsed yet.
};

}  // namespace moraine::sim
