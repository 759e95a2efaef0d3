// Replies that an endpoint makes itself, when no VDisk replied.
#pragma once

#include <string>

#include "blob/group/config.h"
#include "blob/protocol.h"

namespace moraine::blob {

// "node 3 device 1 slot 0"
std::string to_string(const DiskAddress& address);

DiskReply error_reply(std::string reason);
DiskReply deadline_reply(std::string reason);

}  // namespace moraine::blob
