// Decoding any request or response never crashes, and each accepted message has one encoding that
// is read back as the same.
#include <tuple>

#include "base/coding.h"
#include "base/invariant.h"
#include "gateway/kafka/protocol/consumer_protocol.h"
#include "gateway/kafka/protocol/messages.h"

using namespace moraine;
using namespace moraine::kafka;

namespace {

template <class Any>
Slice written(const Any& message, std::int16_t version) {
  Writer writer;
  encode_any_body(writer, message, version);
  return Records{std::move(writer).finish()}.joined();
}

template <class Decode>
void check_body(Decode decode, ApiKey api, std::int16_t version, const Slice& body) {
  const auto message = decode(api, version, body);
  if (!message) return;
  const Slice once = written(*message, version);
  const auto read = decode(api, version, once);
  INVARIANT(read.has_value(), "an encoded message is not decoded: {}", read.error().message());
  INVARIANT(equal(written(*read, version), once), "API {} version {} has two spellings",
            static_cast<int>(api), version);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteSpan bytes(reinterpret_cast<const std::byte*>(data), size);
  const Slice frame = Slice::copy_of(bytes);
  if (const auto incoming = open_request(frame, kEveryPart)) {
    if (!incoming->version_supported) {
      encode_unsupported_version(incoming->header, kEveryPart);
      return 0;
    }
    check_body(decode_any_request, incoming->header.api, incoming->header.version, incoming->body);
  }
  // The first byte is the index of an API, the second its version, so that every body is reached.
  Decoder from(bytes);
  const ApiInfo& api = apis()[from.u8() % apis().size()];
  const auto version = static_cast<std::int16_t>(
      api.version_min + from.u8() % (api.version_max - api.version_min + 1));
  const Slice body = frame.sub(from.position(), from.remaining());
  check_body(decode_any_request, api.key, version, body);
  check_body(decode_any_response, api.key, version, body);
  std::ignore = open_response({api.key, version, 0, {}}, body);
  std::ignore = decode_subscription(body);
  std::ignore = decode_assignment(body);
  return 0;
}
