// The durable form of a consumer group.
//
// Promise    decode_group(encode_group(r)) returns r; a record has one encoding. Any other bytes
//            are kCorrupt, and decoding takes no more memory than their length.
// Tests      group_codec_test.cpp, group_codec_fuzz.cpp.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "gateway/kafka/groups/group_record.h"

namespace moraine::kafka {

Slice encode_group(const GroupRecord& record);
Result<GroupRecord> decode_group(const Slice& bytes);

}  // namespace moraine::kafka
