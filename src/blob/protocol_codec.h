// The wire form of DiskRequest and DiskReply in pieces, for senders that prepend a prefix or can
// write several pieces.
//
// Promise    The pieces, one after another, are the bytes of encode(). Bulk data (parts of blobs)
//            shares the memory of the message.
// Format     protocol_codec.cpp has the byte grammar.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "blob/protocol.h"

namespace moraine::blob {

// The header first, then the bulk data.
std::vector<Slice> encode_pieces(const DiskRequest& request);
std::vector<Slice> encode_pieces(const DiskReply& reply);

// `prefix` and the pieces in one new slice.
Slice concatenate(ByteSpan prefix, const std::vector<Slice>& pieces);

}  // namespace moraine::blob
