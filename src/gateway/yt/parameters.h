// Parameters: what a command is asked to do, as one map, and where it comes from.
//
// clang-format off
//   query string   name=value & name[key][0]=value: a whole number is an int64, all else a string;
//                  a map with $value and $attributes is a value with attributes
//   header         Name: value; or base64 of the values of Name0, Name1, ... (Name-0, Name-1, ...)
// clang-format on
//
// Promise    Pure. Parameters that are not known are ignored. Booleans may be 0, 1, "true" and
//            "false"; durations milliseconds or "30s".
// Errors     Code::kGeneric, naming the parameter.
// Limits     kQueryDepthMax, kQueryIndexMax, kQueryNodesMax, kHeaderPartsMax,
//            kDocumentTreeBytesMax; those of YSON.
// Tests      parameters_test.cpp, yt_parameters_fuzz.cpp.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/http/request.h"
#include "gateway/yt/error.h"
#include "scheme/object_id.h"

namespace moraine::yt {

inline constexpr std::size_t kQueryDepthMax = 6;
inline constexpr std::size_t kQueryIndexMax = 1'024;
inline constexpr std::size_t kQueryNodesMax = 16'384;
inline constexpr std::size_t kHeaderPartsMax = 1'000;
inline constexpr std::size_t kDocumentTreeBytesMax = std::size_t{256} << 20;

class Parameters {
 public:
  Parameters() = default;
  explicit Parameters(YsonMap map) : map_(std::move(map)) {}

  const YsonMap& map() const { return map_; }
  YsonMap& map() { return map_; }
  // What `other` has replaces what is here; maps are merged.
  void merge(YsonMap other);

  // Null: not given. An entity counts as not given.
  const YsonNode* find(std::string_view name) const;
  YtResult<std::string> text(std::string_view name) const;  // Required.
  YtResult<std::string> text_or(std::string_view name, std::string_view otherwise) const;
  YtResult<bool> boolean(std::string_view name, bool otherwise) const;
  YtResult<std::optional<std::int64_t>> integer(std::string_view name) const;
  YtResult<std::optional<std::uint64_t>> count(std::string_view name) const;
  YtResult<std::uint64_t> count_or(std::string_view name, std::uint64_t otherwise) const;
  YtResult<std::optional<std::chrono::milliseconds>> duration(std::string_view name) const;
  // The null id counts as not given.
  YtResult<std::optional<PathId>> id(std::string_view name) const;
  YtResult<std::vector<std::string>> texts(std::string_view name) const;  // A list; none: empty.

 private:
  YsonMap map_;
};

// versioned_read_options={read_mode=latest_timestamp}
YtResult<bool> latest_timestamps(const Parameters& parameters);
YtResult<bool> boolean_of(const YsonNode& node, std::string_view name);
YtResult<std::int64_t> integer_of(const YsonNode& node, std::string_view name);
YtResult<std::uint64_t> count_of(const YsonNode& node, std::string_view name);
YtResult<std::vector<std::string>> texts_of(const YsonNode& node, std::string_view name);

YtResult<YsonMap> query_parameters(const std::vector<std::pair<std::string, std::string>>& query);

// The value of a field that may be sent in parts. nullopt: it was not sent.
YtResult<std::optional<std::string>> long_field(const http::Fields& fields, std::string_view name);
YtResult<std::string> decode_base64(std::string_view text);

// A document in this format, of at most kDocumentTreeBytesMax.
YtResult<YsonNode> read_document(std::string_view text, const DataFormat& format);
YtResult<YsonMap> read_map(std::string_view text, const DataFormat& format, std::string_view what);

}  // namespace moraine::yt
