// The durable form of a consumer group.
//
// Promise    decode_group(encode_group(r)) gives r; a record has one spelling. Any other bytes are
//            kCorrupt, never more memory than they are long.
// Tests      group_codec_test.cpp, group_codec_fuzz.cpp.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "gateway/kafka/groups/group_record.h"

namespace moraine::kafka {

Slice encode_group(const GroupRecord& record);
Result<GroupRecord> decode_group(const Slice& bytes);

}  // namespace moraine::kafka
