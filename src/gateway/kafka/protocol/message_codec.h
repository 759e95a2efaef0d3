// Bodies of requests and responses to and from bytes.
//
// Message    any ...Request or ...Response of the *_messages.h files.
// Limits     As in field_reader.h.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/result.h"
#include "gateway/kafka/protocol/types.h"
#include "queue/kafka/writer.h"

namespace moraine::kafka {

// Errors: kUnsupported: the version is not in the table of api.h. kCorrupt: the bytes are not such
// a message. Bytes after a request's last field are ignored, as brokers do; after a response's they
// are an error.
template <class Message>
Result<Message> decode_body(const Slice& body, std::int16_t version);

// The memory that decode_body() would need, without allocating it. Errors: as decode_body().
template <class Message>
Result<DecodedSize> measure_body(const Slice& body, std::int16_t version);

// Requires: the version is in the table.
template <class Message>
void encode_body(Writer& to, const Message& message, std::int16_t version);

}  // namespace moraine::kafka
