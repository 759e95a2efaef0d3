// RequestParser: one HTTP/1.x request out of bytes, without I/O.
//
// Promise    Gives the header when it is whole, then the body piece by piece, whether it has a
//            length or comes in chunks.
// Limits     kHeaderBytesMax of header (request line and fields).
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

inline constexpr std::size_t kHeaderBytesMax = std::size_t{64} << 10;

// Why a request cannot be served: the status to answer with, and the reason for people.
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

  // Takes bytes from the front and returns how many: up to the end of the header, or of one piece
  // of the body. 0: more bytes are needed behind the same ones.
  std::expected<std::size_t, Refusal> feed(ByteSpan bytes);

  bool header_done() const;
  bool done() const;  // The body is over too.
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
