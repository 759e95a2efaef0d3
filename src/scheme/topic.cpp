#include "scheme/topic.h"

#include <fmt/format.h>

#include "scheme/path.h"

namespace moraine {

Result<void> check_topic_name(const std::string& name) {
  if (name.size() > kTopicNameBytesMax) {
    return fail(Errc::kInvalidArgument, fmt::format("a topic name of {} bytes, more than {}",
                                                    name.size(), kTopicNameBytesMax));
  }
  return check_path(name);
}

}  // namespace moraine
