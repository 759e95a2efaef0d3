// What a batch of commands is made of.
//
// Limits     kBatchRequestsMax requests; those that follow kBatchAnswerBytesMax of answers fail.
// Tests      batch_test.cpp.
#pragma once

#include "scheme/object_id.h"

namespace moraine::yt {

inline constexpr std::size_t kBatchRequestsMax = 16'384;
inline constexpr std::size_t kBatchAnswerBytesMax = std::size_t{32} << 20;  // As trees in memory.

// The mutation id of a request of a batch, from that of the batch. The first is the same.
PathId following_id(PathId id, std::size_t number);

}  // namespace moraine::yt
