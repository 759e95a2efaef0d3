// RequestHead: what the URL and the header of a request say of its command: formats, parameters.
//
// Promise    Pure. The cache returns what read_head() would return for the same texts.
// Errors     Those of formats and parameters (parameters.h).
// Threading  The cache: its lane.
// Limits     kHeadsCached heads of at most kCachedHeadBytesMax of text.
// Tests      request_head_test.cpp.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "gateway/http/request.h"
#include "gateway/yt/command.h"
#include "gateway/yt/parameters.h"

namespace moraine::yt {

inline constexpr std::size_t kHeadsCached = 128;
inline constexpr std::size_t kCachedHeadBytesMax = 1'024;

struct RequestHead {
  DataFormat header_format;
  DataFormat input_format;
  DataFormat output_format;
  DataFormat error_format;
  YsonMap parameters{};             // Of the query string, then of X-YT-Parameters.
  std::size_t parameter_bytes = 0;  // Of their texts.
};

// First the formats, for errors of what follows.
YtResult<void> read_head_formats(const http::Request& request, const Command& command,
                                 unsigned version, RequestHead& head);
// Of a POST without what override_formats() says: that is for after its body.
YtResult<void> read_head_parameters(const http::Request& request, RequestHead& head);

// The formats that parameters name, where they name some.
YtResult<void> override_formats(const Parameters& parameters, DataFormat& input,
                                DataFormat& output);

// Of requests that were read: clients send the same header again and again.
class RequestHeads {
 public:
  // The texts that a head is made of. nullopt: too long to be kept.
  static std::optional<std::string> key_of(const http::Request& request, const Command& command,
                                           unsigned version);

  // Null: not there. Until the next call.
  const RequestHead* find(const std::string& key) const;
  void add(std::string key, const RequestHead& head);

 private:
  struct Slot {
    std::string key;
    RequestHead head;
  };
  static std::size_t place(const std::string& key);

  // A head replaces the one in its place.
  std::array<std::optional<Slot>, kHeadsCached> slots_;
};

}  // namespace moraine::yt
