// Call: one command that is being carried out: its parameters, its data, its result.
//
// Promise    Rows stream in both directions at the speed of the slower side. Nothing of an answer
//            is sent before kAnswerBytesHeld of it are there, so that an error of a short one has
//            its status.
// Threading  The lane of the connection.
// Limits     kStructuredBytesMax of a structured input; what all requests hold together: Door.
// Tests      door_test.cpp.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "client/table_client.h"
#include "client/tree.h"
#include "gateway/http/answer_budget.h"
#include "gateway/yt/command.h"
#include "gateway/yt/parameters.h"
#include "io/world.h"

namespace moraine::yt {

inline constexpr std::size_t kStructuredBytesMax = std::size_t{16} << 20;
inline constexpr std::size_t kAnswerBytesHeld = std::size_t{256} << 10;

class DoorLane;

// What a client sends.
class Input {
 public:
  virtual ~Input() = default;
  // The next part, decoded; empty: the end.
  virtual Task<YtResult<Slice>> read() = 0;
};

// Where rows and bytes of an answer go.
class Output {
 public:
  virtual ~Output() = default;
  // Returns when the client's side has room again.
  virtual Task<YtResult<void>> write(std::string bytes) = 0;
};

class Call {
 public:
  Call(DoorLane& its_lane, const Command& its_command, unsigned api);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  DoorLane& lane;
  const Command& command;
  const unsigned version;
  Parameters parameters{};
  std::string user = "root";
  std::string host{};  // As the client wrote it: of this node.
  DataFormat input_format{};
  DataFormat output_format{};
  Input* input = nullptr;    // Null: no data.
  Output* output = nullptr;  // Null: the result is structured.
  YsonMap response_parameters{};
  std::optional<YsonNode> result{};

  // What the request holds in memory: parameters, structured data, a structured result.
  http::AnswerRoom room;

  // A result that version 4 puts into a map under this name.
  void answer(std::string_view name, YsonNode value);
  // The data of a structured command.
  Task<YtResult<YsonNode>> read_input();

  // The scope of commands on the tree.
  YtResult<client::TreeScope> scope() const;
  // Null: it is not served.
  client::Tree* tree() const;
  Executor& executor() const;
};

// About what a tree takes in memory.
std::size_t memory_of(const YsonNode& node);
std::size_t memory_of(const YsonMap& map);

// What one request takes of the memory for all. Error kQueueLimit: there is no more.
YtResult<void> take_room(http::AnswerRoom& room, std::size_t bytes);

// All data, of at most kStructuredBytesMax; `room` is that of its text then.
Task<YtResult<std::string>> read_all(Input& input, http::AnswerRoom& room);

// Fails when it is not served.
YtResult<client::Tree*> tree_of(const Call& call);

// A required path, without the attributes and ranges of a rich one.
YtResult<std::string> path_of(const Call& call, std::string_view parameter = "path");

}  // namespace moraine::yt
