#include "app/kafka_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/kafka_error.h"

namespace moraine::app {
namespace {

using kafka::ApiKey;

constexpr const char* kClientId = "moraine";
// From version 13 on topics have ids there instead of names.
constexpr std::int16_t kFetchVersionMax = 12;

std::int16_t own_version_max(const kafka::ApiInfo& info) {
  return info.key == ApiKey::kFetch ? kFetchVersionMax : info.version_max;
}

// The highest version of each API that both sides support; none for the others.
std::map<ApiKey, std::int16_t> common_versions(const kafka::ApiVersionsResponse& offered) {
  std::map<ApiKey, std::int16_t> versions;
  for (const kafka::ApiVersionsResponse::Range& range : offered.api_keys) {
    const kafka::ApiInfo* const info = kafka::find_api(range.api_key);
    if (info == nullptr) continue;
    const std::int16_t version = std::min(range.max_version, own_version_max(*info));
    if (version >= std::max(range.min_version, info->version_min)) {
      versions[range.api_key] = version;
    }
  }
  return versions;
}

std::uint32_t size_of(ByteSpan prefix) {
  std::uint32_t size = 0;
  for (const std::byte byte : prefix) size = size << 8 | std::to_integer<std::uint32_t>(byte);
  return size;
}

}  // namespace

Result<KafkaClient> KafkaClient::connect(const TcpAddress& address, Duration timeout) {
  KafkaClient client(address, timeout);
  TRY_VOID(client.reconnect());
  return client;
}

Result<void> KafkaClient::reconnect() {
  socket_ = Socket();
  auto socket = Socket::connect(address_, timeout_);
  if (!socket && socket.error().code == Errc::kNotFound) {
    return std::unexpected(broken(socket.error().context));
  }
  if (!socket) {
    return std::unexpected(
        broken(fmt::format("{}; no server is running there: start one with moraine serve, or give "
                           "the kafka= address that it printed",
                           socket.error().context)));
  }
  socket_ = std::move(*socket);
  // The version that every server supports.
  versions_ = {{ApiKey::kApiVersions, std::int16_t{0}}};
  TRY(const kafka::ApiVersionsResponse offered, call(kafka::ApiVersionsRequest{}));
  TRY_VOID(check_answer(offered.error_code, to_string(address_)));
  versions_ = common_versions(offered);
  return {};
}

Result<kafka::RequestHeader> KafkaClient::begin(ApiKey api) {
  if (!socket_.open()) {
    return fail(Errc::kUnavailable, fmt::format("{}: the connection is lost", to_string(address_)));
  }
  const auto version = versions_.find(api);
  if (version == versions_.end()) {
    return fail(Errc::kUnsupported,
                fmt::format("{}: the server has no version of {} that this program knows",
                            to_string(address_), kafka::api_info(api).name));
  }
  return kafka::RequestHeader{api, version->second, next_id_++, kClientId};
}

Result<Slice> KafkaClient::exchange(const kafka::RequestHeader& header,
                                    const std::vector<Slice>& frame) {
  for (const Slice& slice : frame) {
    if (auto sent = socket_.send(slice); !sent) {
      return std::unexpected(broken(sent.error().context));
    }
  }
  std::array<std::byte, kafka::kSizePrefixBytes> prefix;
  if (auto got = socket_.receive(prefix); !got) {
    const bool closed = got.error().code == Errc::kUnavailable;
    return std::unexpected(broken(got.error().context + (closed ? " without an answer" : "")));
  }
  const std::size_t size = size_of(prefix);
  if (size > kKafkaResponseBytesMax) {
    return std::unexpected(
        broken("what answered there is no Kafka server; give the kafka= address that serve "
               "printed"));
  }
  Buffer buffer(size);
  if (auto got = socket_.receive(buffer.span()); !got) {
    return std::unexpected(broken(got.error().context));
  }
  auto body = kafka::open_response(header, std::move(buffer).freeze());
  if (!body) return std::unexpected(broken(body.error().message()));
  return body;
}

Error KafkaClient::broken(std::string_view why) {
  socket_ = Socket();
  return {Errc::kUnavailable, fmt::format("{}: {}", to_string(address_), why)};
}

}  // namespace moraine::app
