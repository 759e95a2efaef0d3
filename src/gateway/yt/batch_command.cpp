// execute_batch: several light commands in one request.
#include <fmt/format.h>

#include <algorithm>

#include "gateway/yt/batch.h"
#include "gateway/yt/handlers.h"
#include "io/sync.h"

namespace moraine::yt {
namespace {

// Requests that are run before others of the lane continue.
constexpr std::size_t kTurnRequests = 64;

bool is_light(DataType type) {
  return type == DataType::kNull || type == DataType::kStructured;
}

// Each request has an id of its own, so that a batch may be repeated.
void give_mutation(Call& part, const std::optional<client::MutationId>& mutation,
                   std::size_t number) {
  if (!mutation || !part.command.is_volatile || part.parameters.find("mutation_id")) return;
  part.parameters.map().set("mutation_id", to_text(following_id(mutation->id, number)));
  part.parameters.map().set("retry", mutation->retry);
}

// `room`: for answers; what this one takes is subtracted.
Task<YtResult<void>> run_one(Call& call, const YsonNode& request, std::size_t number,
                             std::size_t& room, YsonMap& outcome) {
  if (room == 0) {
    co_return refuse(Code::kGeneric,
                     fmt::format("Not run: earlier answers of the batch have {} bytes; send fewer "
                                 "requests at once",
                                 kBatchAnswerBytesMax));
  }
  const YsonNode* const name = request.find("command");
  const std::string* const text = name == nullptr ? nullptr : name->as<std::string>();
  if (text == nullptr) co_return refuse(Code::kGeneric, "Missing required parameter /command");
  const Command* const command = find_command(*text, call.version);
  if (command == nullptr) {
    co_return refuse(Code::kGeneric, fmt::format("Unknown command \"{}\"", text->substr(0, 100)));
  }
  if (!is_light(command->input) || !is_light(command->output(call.version)) ||
      command->name == "execute_batch") {
    co_return refuse(Code::kGeneric,
                     fmt::format("Command \"{}\" cannot be part of a batch", command->name));
  }
  if (command->handler == nullptr) {
    co_return not_supported(fmt::format("Command \"{}\"", command->name));
  }
  Call part(call.lane, *command, call.version);
  part.user = call.user;
  part.host = call.host;
  if (const YsonNode* given = request.find("parameters")) {
    if (!given->as<YsonMap>()) co_return refuse(Code::kGeneric, "parameters must be a map");
    part.parameters = Parameters(*given->as<YsonMap>());
  }
  if (const YsonNode* input = request.find("input")) part.parameters.map().set("input", *input);
  YT_CO_TRY(const client::TreeScope scope, call.scope());
  give_mutation(part, scope.mutation, number);
  YT_CO_TRY_VOID(co_await command->handler(part));
  if (part.result && command->output(call.version) == DataType::kStructured) {
    room -= std::min(room, memory_of(*part.result));
    outcome.set("output", std::move(*part.result));
  }
  co_return YtResult<void>();
}

}  // namespace

PathId following_id(PathId id, std::size_t number) {
  // The last of the four numbers; the type is in the third.
  std::uint32_t last = 0;
  for (std::size_t i = 12; i < 16; ++i) last = last << 8 | id[i];
  last += static_cast<std::uint32_t>(number);
  for (std::size_t i = 16; i-- > 12; last >>= 8) id[i] = static_cast<std::uint8_t>(last);
  return id;
}

Task<YtResult<void>> execute_batch(Call& call) {
  const YsonNode* const given = call.parameters.find("requests");
  const YsonList* const requests = given == nullptr ? nullptr : given->as<YsonList>();
  if (requests == nullptr) co_return refuse(Code::kGeneric, "Missing required parameter /requests");
  if (requests->size() > kBatchRequestsMax) {
    co_return refuse(Code::kGeneric,
                     fmt::format("A batch has at most {} requests", kBatchRequestsMax));
  }
  YsonList results;
  std::size_t number = 0;
  std::size_t room = kBatchAnswerBytesMax;
  for (const YsonNode& request : *requests) {
    if (number % kTurnRequests == 0) co_await yield(call.executor());
    YsonMap outcome;
    if (auto done = co_await run_one(call, request, number++, room, outcome); !done) {
      const YsonNode error = to_yson(done.error());
      room -= std::min(room, memory_of(error));
      outcome.set("error", error);
    }
    results.emplace_back(std::move(outcome));
  }
  call.answer("results", std::move(results));
  co_return YtResult<void>();
}

}  // namespace moraine::yt
