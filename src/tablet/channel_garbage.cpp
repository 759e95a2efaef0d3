#include "tablet/channel_garbage.h"

#include <algorithm>

namespace moraine {

void ChannelGarbage::deleted(const BlobId& id) {
  dirty_ = true;
  if (fresh_.erase(id) > 0) {
    highest_deleted_ = std::max(highest_deleted_, id.gen_step());
    return;
  }
  if (sent_.erase(id) + kept_.erase(id) > 0) doomed_.insert(id);
}

void ChannelGarbage::passed(GenStep at) {
  dirty_ = true;
  highest_deleted_ = std::max(highest_deleted_, at);
}

ChannelGarbage::Command ChannelGarbage::next(GenStep barrier, std::size_t flags_max) {
  // Blobs of one channel are ordered by generation and step.
  const auto below = [&] { return !fresh_.empty() && fresh_.begin()->gen_step() <= barrier; };
  while (below() && sent_.size() < flags_max) sent_.insert(fresh_.extract(fresh_.begin()));
  Command command;
  command.keep.assign(sent_.begin(), sent_.end());
  if (!below()) command.barrier = barrier;
  for (const BlobId& id : doomed_) {
    if (command.flags() >= flags_max) break;
    command.do_not_keep.push_back(id);
  }
  return command;
}

void ChannelGarbage::done(const Command& command) {
  dirty_ = !command.barrier || highest_deleted_ > *command.barrier;
  // Blobs deleted meanwhile are in doomed_ already.
  for (const BlobId& id : command.keep) {
    if (sent_.erase(id) > 0) kept_.insert(id);
  }
  for (const BlobId& id : command.do_not_keep) doomed_.erase(id);
  if (!doomed_.empty()) dirty_ = true;
}

}  // namespace moraine
