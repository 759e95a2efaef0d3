// Command: one command of the API, as clients find it in GET /api/v4.
//
// Promise    Clients take the verb, whether a body is sent and where parameters go from this table.
//            Names of v3 that clients also send to v4 are known there and not listed.
// Threading  Constant data.
// Tests      door_test.cpp.
#pragma once

#include <span>
#include <string_view>

#include "gateway/yt/error.h"
#include "io/task.h"
#include "yson/format.h"

namespace moraine::yt {

class Call;
using Handler = Task<YtResult<void>> (*)(Call& call);

// In which versions of the API a command is.
enum class Versions : std::uint8_t {
  kBoth,
  kV3,
  kV4,
  kV3AndHiddenV4,  // Of v3; v4 knows it too, and does not list it.
};

struct Command {
  std::string_view name;
  Versions versions;
  DataType input;
  DataType output_v3;
  DataType output_v4;
  bool is_volatile;
  bool is_heavy;
  Handler handler;  // Null: not supported.

  DataType output(unsigned version) const { return version == 3 ? output_v3 : output_v4; }
  bool listed(unsigned version) const {
    return version == 3 ? versions != Versions::kV4
                        : versions == Versions::kBoth || versions == Versions::kV4;
  }
  bool known(unsigned version) const {
    return version == 3 ? listed(3) : versions != Versions::kV3;
  }
};

std::span<const Command> commands();
// By a name in lower case. Null: the version has no such command.
const Command* find_command(std::string_view name, unsigned version);
// The answer of GET /api/vN.
YsonNode describe_commands(unsigned version);

}  // namespace moraine::yt
