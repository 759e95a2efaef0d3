// Frames: the size before each request and response, and the header at its start.
//
//   frame     size i32, that many bytes
//   request   api_key i16, api_version i16, correlation_id i32          (header v0)
//             client_id string?, never compact                          (v1)
//             tag section                                               (v2: flexible versions)
//             body
//   response  correlation_id i32                                        (header v0)
//             tag section                (v1: flexible versions, but never for ApiVersions)
//             body
//
// Errors     On kCorrupt and kUnsupported the connection is to be closed, as brokers do.
// Limits     kRequestBytesMax.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/invariant.h"
#include "base/result.h"
#include "gateway/kafka/protocol/api.h"
#include "gateway/kafka/protocol/message_codec.h"

namespace moraine::kafka {

inline constexpr std::size_t kSizePrefixBytes = 4;
inline constexpr std::size_t kRequestBytesMin = 8;
inline constexpr std::size_t kRequestBytesMax = std::size_t{100} << 20;

struct RequestHeader {
  ApiKey api = {};
  std::int16_t version = 0;
  std::int32_t correlation_id = 0;
  std::optional<std::string> client_id;
};

struct IncomingRequest {
  RequestHeader header;
  Slice body;
  // False only for ApiVersions: it is answered with encode_unsupported_version(), and the client
  // retries with a version from that answer.
  bool version_supported = true;
};

// The size of the request that follows its prefix. Requires: kSizePrefixBytes bytes.
Result<std::size_t> request_size(ByteSpan prefix);

// The header of a request; `frame` is what follows the size. The body shares its memory.
Result<IncomingRequest> open_request(const Slice& frame, ServedParts parts);

// The body of the response to `request`; `frame` is what follows the size.
Result<Slice> open_response(const RequestHeader& request, const Slice& frame);

// Error UNSUPPORTED_VERSION with the supported versions, in the version that every client can read.
std::vector<Slice> encode_unsupported_version(const RequestHeader& request, ServedParts parts);

// A frame up to its body, and its end. Empty: the frame is longer than its size field can express.
Writer begin_request(const RequestHeader& header);
Writer begin_response(const RequestHeader& request);
std::vector<Slice> finish_frame(Writer frame);

// A whole frame with its size; empty as above. Requires: header.api is the request's.
template <class Request>
std::vector<Slice> encode_request(const RequestHeader& header, const Request& request) {
  INVARIANT(header.api == Request::kApi, "a header for API {}", static_cast<int>(header.api));
  Writer frame = begin_request(header);
  encode_body(frame, request, header.version);
  return finish_frame(std::move(frame));
}
template <class Response>
std::vector<Slice> encode_response(const RequestHeader& request, const Response& response) {
  INVARIANT(request.api == Response::kApi, "a request of API {}", static_cast<int>(request.api));
  Writer frame = begin_response(request);
  encode_body(frame, response, request.version);
  return finish_frame(std::move(frame));
}

}  // namespace moraine::kafka
