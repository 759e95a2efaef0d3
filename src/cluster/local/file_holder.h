// The process that has a file open, for messages about files that are in use.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace moraine {

struct FileHolder {
  pid_t pid = 0;
  std::string name;  // Of its program.
};

// Searches the processes of this machine; nullopt: none that this user may inspect has it open.
std::optional<FileHolder> holder_of(const std::string& path);

// "process 4711 (moraine)", or "another process" when it cannot be named.
std::string holder_text(const std::string& path);

}  // namespace moraine
