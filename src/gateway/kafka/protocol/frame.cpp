#include "gateway/kafka/protocol/frame.h"

#include "gateway/kafka/protocol/cluster_messages.h"
#include "gateway/kafka/protocol/field_reader.h"
#include "gateway/kafka/protocol/field_writer.h"

namespace moraine::kafka {
namespace {

// A header's client_id is never compact, whatever the version.
constexpr bool kCompact = true;

// A structure without fields: its tag section.
struct Tags {};
template <class Io>
void fields(Io&, Like<Io, Tags>&) {}

// ApiVersions is answered before the client knows the supported versions.
bool tagged_response(const ApiInfo& api, std::int16_t version) {
  return api.key != ApiKey::kApiVersions && api.flexible(version);
}

void skip_tags(Reader& reader, const Slice& input, std::int16_t version) {
  Tags tags;
  FieldReader(reader, input, version, kCompact).structure(tags);
}

void write_no_tags(Writer& writer, std::int16_t version) {
  FieldWriter(writer, version, kCompact).structure(Tags{});
}

// The first bytes of other protocols, read as a size.
std::string_view other_protocol(ByteSpan prefix) {
  constexpr std::byte kTlsHandshake{0x16};
  constexpr std::byte kTlsMajor{0x03};
  if (prefix[0] == kTlsHandshake && prefix[1] == kTlsMajor) {
    return "a TLS handshake: this port has no TLS; connect with security.protocol=PLAINTEXT";
  }
  for (const std::string_view method : {"GET ", "HEAD", "POST", "PUT "}) {
    if (as_text(prefix.first(kSizePrefixBytes)) == method) {
      return "an HTTP request: this port speaks the Kafka protocol";
    }
  }
  return {};
}

}  // namespace

Result<std::size_t> request_size(ByteSpan prefix) {
  INVARIANT(prefix.size() >= kSizePrefixBytes, "a prefix of {} bytes", prefix.size());
  const auto size = load_big<std::int32_t>(prefix.data());
  if (const std::string_view other = other_protocol(prefix); !other.empty()) {
    return fail(Errc::kCorrupt, std::string(other));
  }
  if (size < static_cast<std::int32_t>(kRequestBytesMin) ||
      size > static_cast<std::int32_t>(kRequestBytesMax)) {
    return fail(Errc::kCorrupt, fmt::format("a request of {} bytes is not in {}..{}", size,
                                            kRequestBytesMin, kRequestBytesMax));
  }
  return static_cast<std::size_t>(size);
}

Result<IncomingRequest> open_request(const Slice& frame, ServedParts parts) {
  IncomingRequest request;
  RequestHeader& header = request.header;
  Reader reader(frame);
  FieldReader io(reader, frame, 0, !kCompact);
  io(header.api, header.version, header.correlation_id);
  if (reader.failed()) return fail(Errc::kCorrupt, "the request's header is short");

  const ApiInfo* const api = find_api(header.api);
  if (api == nullptr || !parts.has(api->part)) {
    return fail(Errc::kUnsupported, fmt::format("API {}", static_cast<int>(header.api)));
  }
  if (!api->supports(header.version)) {
    if (api->key != ApiKey::kApiVersions) {
      return fail(Errc::kUnsupported, fmt::format("{} version {}", api->name, header.version));
    }
    request.version_supported = false;
    return request;
  }
  io(header.client_id);
  if (api->flexible(header.version)) skip_tags(reader, frame, header.version);
  if (reader.failed()) {
    return fail(Errc::kCorrupt, fmt::format("the header of {}: {}", api->name, reader.problem()));
  }
  request.body = frame.sub(reader.position(), reader.remaining());
  return request;
}

Result<Slice> open_response(const RequestHeader& request, const Slice& frame) {
  Reader reader(frame);
  const auto correlation_id = reader.fixed<std::int32_t>();
  if (tagged_response(api_info(request.api), request.version)) {
    skip_tags(reader, frame, request.version);
  }
  if (reader.failed()) {
    return fail(Errc::kCorrupt, fmt::format("the response's header: {}", reader.problem()));
  }
  if (correlation_id != request.correlation_id) {
    return fail(Errc::kCorrupt,
                fmt::format("response {} to request {}", correlation_id, request.correlation_id));
  }
  return frame.sub(reader.position(), reader.remaining());
}

std::vector<Slice> encode_unsupported_version(const RequestHeader& request, ServedParts parts) {
  ApiVersionsResponse response = offered_apis(parts);
  response.error_code = ErrorCode::kUnsupportedVersion;
  return encode_response(RequestHeader{ApiKey::kApiVersions, 0, request.correlation_id, {}},
                         response);
}

Writer begin_request(const RequestHeader& header) {
  Writer writer;
  writer.fixed(std::int32_t{0});
  FieldWriter(writer, 0, !kCompact)(header.api, header.version, header.correlation_id,
                                    header.client_id);
  if (api_info(header.api).flexible(header.version)) write_no_tags(writer, header.version);
  return writer;
}

Writer begin_response(const RequestHeader& request) {
  Writer writer;
  writer.fixed(std::int32_t{0});
  writer.fixed(request.correlation_id);
  if (tagged_response(api_info(request.api), request.version)) {
    write_no_tags(writer, request.version);
  }
  return writer;
}

std::vector<Slice> finish_frame(Writer frame) {
  const std::size_t size = frame.size() - kSizePrefixBytes;
  if (size > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) return {};
  frame.patch(0, static_cast<std::int32_t>(size));
  return std::move(frame).finish();
}

}  // namespace moraine::kafka
