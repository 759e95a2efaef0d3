// The machine that the process runs on.
//
// Tests      machine_test.cpp.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>

namespace moraine {

// Memory that the process may use: the physical one, or less if its control groups have a limit.
// 0: unknown.
std::size_t machine_memory_bytes();

// The least memory limit of the control groups of this process and of those above them: memory.max
// (version 2) and memory.limit_in_bytes (version 1). nullopt: none is known. `root` has
// proc/self/cgroup and sys/fs/cgroup.
std::optional<std::size_t> cgroup_memory_bytes(const std::filesystem::path& root);

}  // namespace moraine
