// RequestParser: parses one HTTP/1.x request, without I/O.
//
// Promise    Returns the header when it is complete, then the body in parts, whether it has a
//            length or is chunked.
// Limits     kHeaderBytesMax of header (request line and fields), kFieldsMax fields, trailers
//            included; kParametersMax parameters.
// Tests      request_parser_test.cpp, http_connection_fuzz.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "gateway/http/request.h"

namespace moraine::http {

inline constexpr std::size_t kHeaderBytesMax = std::size_t{256} << 10;
inline constexpr std::size_t kFieldsMax = 256;

// Why a request cannot be served: the status to answer with, and a text with the reason.
struct Refusal {
  unsigned status = 400;
  std::string reason;
};

class RequestParser {
 public:
  RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;
  ~RequestParser();

  // Takes bytes from the front and returns how many: up to the end of the header, or of one part of
  // the body. 0: call again with the same bytes and more.
  std::expected<std::size_t, Refusal> feed(ByteSpan bytes);

  bool header_done() const;
  bool done() const;  // The body is complete too.
  // Requires: header_done(). `peer` is left empty.
  Request take_request();
  bool keep_alive() const;  // The client allows another request.
  bool is_http_1_0() const;
  std::optional<std::uint64_t> content_length() const;
  // The part of the body in the last feed(); refers to its bytes.
  ByteSpan body() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace moraine::http
