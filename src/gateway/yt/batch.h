// What a batch of commands is made of.
//
// Limits     kBatchRequestsMax requests.
// Tests      batch_test.cpp.
#pragma once

#include "scheme/object_id.h"

namespace moraine::yt {

inline constexpr std::size_t kBatchRequestsMax = 16'384;

// The mutation id of a request of a batch, from that of the batch. The first is the same.
PathId following_id(PathId id, std::size_t number);

}  // namespace moraine::yt
