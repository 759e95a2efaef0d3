// TopicRecord as bytes: a topic as stored in its node of the scheme.
//
// clang-format off
//   topic    = version u8 = 1
//              count u32  (sized name  sized value)*      configs, ascending by name
//              count u32  (sized name  important u8)*     consumers, ascending by name
//              count u32  (partitions u32  tablet)*       in partition order; tablet_record.h
//              crc32c u32
// clang-format on
//
// Promise    Pure. Equal topics have equal bytes; a decoded topic satisfies the bounds and rules of
//            topic_plan.h.
// Errors     kCorrupt; kUnsupported: another version.
// Tests      topic_record_test.cpp, topic_record_fuzz.cpp.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "scheme/path_node.h"
#include "scheme/topic_plan.h"

namespace moraine {

Slice encode_topic(const TopicRecord& record);
Result<TopicRecord> decode_topic(const PathNode& node);

}  // namespace moraine
