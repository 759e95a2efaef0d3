// Door: YTsaurus's HTTP API: versions, commands, discovery of proxies.
//
//   /api /api/v3 /api/v4     what there is            /hosts /hosts/all     where to send heavy
//                            ones
//   /api/vN/COMMAND          a command                /auth/whoami          the user
//   /version /service        of this program          /ping/                alive
//   /cluster_connection      as get //sys/@cluster_connection
//
// Promise    Every request gets an answer, with an error of YTsaurus's form if it cannot be served.
//            Commands run on the lane of their connection.
// Threading  answer() on its lane. Made and destroyed while no request is in flight.
// Limits     kRequestBytesMax of what all requests hold: parameters, data that is not processed
//            yet, answers that do not stream; those of call.h and of the
//            commands.
// Tests      door_test.cpp.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/http/answer_budget.h"
#include "gateway/http/exchange.h"
#include "gateway/yt/door_lane.h"

namespace moraine::yt {

inline constexpr std::size_t kRequestBytesMax = std::size_t{512} << 20;

struct DoorOptions {
  std::string version = "moraine";
  std::string address = "localhost";  // For clients that do not say how they reach this node.
};

class Door {
 public:
  Door(const std::vector<World>& lanes, DoorServices services, DoorOptions options);
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  // Whether a path is of this API.
  static bool has(std::string_view path);
  // While there is no door: the answer to requests for such paths.
  static http::Reply not_ready();

  Task<void> answer(std::size_t lane, http::Exchange& exchange);
  // What all requests hold now, of kRequestBytesMax.
  std::size_t input_bytes() const { return inputs_.bytes(); }

 private:
  Task<void> serve_api(DoorLane& lane, http::Exchange& exchange, std::string_view rest);
  // Pages that are no commands. nullopt: there is none.
  std::optional<http::Reply> page(const http::Request& request) const;
  static Task<http::Reply> cluster_connection(DoorLane& lane);
  http::Reply hosts(const http::Request& request, bool all) const;

  const DoorOptions options_;
  const std::chrono::milliseconds started_;
  http::AnswerBudget inputs_{kRequestBytesMax};
  std::vector<std::unique_ptr<DoorLane>> lanes_;
};

}  // namespace moraine::yt
