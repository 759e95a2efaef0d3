// Commands about the service itself.
#include "gateway/yt/door_lane.h"
#include "gateway/yt/handlers.h"
#include "gateway/yt/rich_path.h"

namespace moraine::yt {
namespace {

YsonList names(std::initializer_list<std::string_view> all) {
  YsonList list;
  for (const std::string_view name : all) list.emplace_back(name);
  return list;
}

}  // namespace

Task<YtResult<void>> get_current_user(Call& call) {
  YsonMap map;
  map.set("user", call.user);
  call.result = std::move(map);
  co_return YtResult<void>();
}

Task<YtResult<void>> get_version(Call& call) {
  call.answer("version", "moraine");
  co_return YtResult<void>();
}

Task<YtResult<void>> get_supported_features(Call& call) {
  YsonMap features;
  features.set(
      "primitive_types",
      names({"int8",     "int16",     "int32",      "int64",       "uint8",     "uint16", "uint32",
             "uint64",   "string",    "utf8",       "float",       "double",    "bool",   "date",
             "datetime", "timestamp", "interval",   "null",        "void",      "yson",   "json",
             "uuid",     "date32",    "datetime64", "timestamp64", "interval64"}));
  features.set("compression_codecs", names({"none",   "snappy", "lz4",    "lz4_high_compression",
                                            "zlib_1", "zlib_2", "zlib_3", "zlib_4",
                                            "zlib_5", "zlib_6", "zlib_7", "zlib_8",
                                            "zlib_9", "zstd_1", "zstd_2", "zstd_3",
                                            "zstd_4", "zstd_5", "zstd_6", "zstd_7",
                                            "zstd_8", "zstd_9"}));
  features.set("erasure_codecs", names({"none"}));
  features.set("operation_statistics_descriptions", YsonMap());
  call.answer("features", std::move(features));
  co_return YtResult<void>();
}

// Rights are not checked: everything is allowed.
Task<YtResult<void>> check_permission(Call& call) {
  YT_CO_TRY_VOID(call.parameters.text("user"));
  YT_CO_TRY_VOID(call.parameters.text("permission"));
  YsonMap map;
  map.set("action", "allow");
  call.result = std::move(map);
  co_return YtResult<void>();
}

Task<YtResult<void>> parse_ypath(Call& call) {
  const YsonNode* const given = call.parameters.find("path");
  if (given == nullptr) co_return refuse(Code::kGeneric, "Missing required parameter /path");
  YT_CO_TRY(const RichPath path, parse_rich_path(*given));
  call.answer("path", to_yson(path));
  co_return YtResult<void>();
}

Task<YtResult<void>> generate_timestamp(Call& call) {
  client::TableClient& tables = call.lane.tables();
  if (const auto now = tables.try_timestamp()) {
    call.answer("timestamp", *now);
    co_return YtResult<void>();
  }
  YT_CO_TRY(const Timestamp timestamp, co_await tables.timestamp());
  call.answer("timestamp", timestamp);
  co_return YtResult<void>();
}

Task<YtResult<void>> discover_proxies(Call& call) {
  call.answer("proxies", YsonList{YsonNode(call.host)});
  co_return YtResult<void>();
}

}  // namespace moraine::yt
