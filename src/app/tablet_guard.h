// Protects tablets of the system, of topics and of tables from commands of operators.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace moraine::app {

// The contents of a tablet: "the tree of all topics and tables". nullopt: it is none of the system,
// of a topic or of a table.
std::optional<std::string> contents_of(std::uint64_t tablet);

// The exit code of a command that would harm such a tablet and was not confirmed with --yes; the
// reason is reported. `effect` is what the command does: "fences its leader".
std::optional<int> refuse_unconfirmed(bool yes, std::string_view command, std::string_view effect,
                                      std::uint64_t tablet);

}  // namespace moraine::app
