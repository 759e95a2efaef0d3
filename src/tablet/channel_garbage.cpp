#include "tablet/channel_garbage.h"

#include <algorithm>

namespace moraine {

void ChannelGarbage::deleted(const BlobId& id) {
  dirty_ = true;
  if (fresh_.erase(id) > 0) {
    highest_deleted_ = std::max(highest_deleted_, id.gen_step());
    return;
  }
  if (kept_.erase(id) > 0) doomed_.insert(id);
}

void ChannelGarbage::passed(GenStep at) {
  dirty_ = true;
  highest_deleted_ = std::max(highest_deleted_, at);
}

ChannelGarbage::Command ChannelGarbage::next(GenStep barrier) const {
  Command command;
  for (const BlobId& id : fresh_) {
    if (id.gen_step() <= barrier) command.keep.push_back(id);
  }
  command.do_not_keep.assign(doomed_.begin(), doomed_.end());
  return command;
}

void ChannelGarbage::done(const Command& command, GenStep barrier) {
  dirty_ = highest_deleted_ > barrier;
  for (const BlobId& id : command.keep) {
    if (fresh_.erase(id) > 0) {
      kept_.insert(id);
    } else {
      // Deleted while the command was on its way: its Keep flag is there now.
      doomed_.insert(id);
      dirty_ = true;
    }
  }
  for (const BlobId& id : command.do_not_keep) doomed_.erase(id);
  if (!doomed_.empty()) dirty_ = true;
}

}  // namespace moraine
