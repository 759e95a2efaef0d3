// The bodies of message_codec.h, for the files that describe messages: after the descriptions they
// instantiate them with MORAINE_KAFKA_API(Heartbeat).
#pragma once

#include <fmt/format.h>

#include "base/invariant.h"
#include "gateway/kafka/protocol/api.h"
#include "gateway/kafka/protocol/field_reader.h"
#include "gateway/kafka/protocol/field_writer.h"
#include "gateway/kafka/protocol/message_codec.h"

namespace moraine::kafka {

template <class Message>
Result<void> read_body(const Slice& body, std::int16_t version, Message& message,
                       DecodedSize* measured) {
  constexpr bool kIsRequest = requires { typename Message::Response; };
  constexpr std::string_view kKind = kIsRequest ? "request" : "response";
  const ApiInfo& api = api_info(Message::kApi);
  if (!api.supports(version)) {
    return fail(Errc::kUnsupported, fmt::format("{} version {}", api.name, version));
  }
  Reader reader(body);
  FieldReader io(reader, body, version, api.flexible(version), measured);
  io.structure(message);
  if (!kIsRequest && reader.remaining() > 0) reader.wrong("there are bytes after its end");
  if (reader.failed()) {
    return fail(Errc::kCorrupt,
                fmt::format("{} {}, version {}, at byte {} of {}: {}", api.name, kKind, version,
                            reader.position(), body.size(), reader.problem()));
  }
  return {};
}

template <class Message>
Result<Message> decode_body(const Slice& body, std::int16_t version) {
  Message message;
  TRY_VOID(read_body(body, version, message, nullptr));
  return message;
}

template <class Message>
Result<DecodedSize> measure_body(const Slice& body, std::int16_t version) {
  Message message;
  DecodedSize size;
  TRY_VOID(read_body(body, version, message, &size));
  return size;
}

template <class Message>
void encode_body(Writer& to, const Message& message, std::int16_t version) {
  const ApiInfo& api = api_info(Message::kApi);
  INVARIANT(api.supports(version), "{} has no version {}", api.name, version);
  FieldWriter(to, version, api.flexible(version)).structure(message);
}

}  // namespace moraine::kafka

#define MORAINE_KAFKA_MESSAGE_(Message)                                           \
  template Result<Message> decode_body<Message>(const Slice&, std::int16_t);      \
  template Result<DecodedSize> measure_body<Message>(const Slice&, std::int16_t); \
  template void encode_body<Message>(Writer&, const Message&, std::int16_t)

#define MORAINE_KAFKA_API(Name)          \
  MORAINE_KAFKA_MESSAGE_(Name##Request); \
  MORAINE_KAFKA_MESSAGE_(Name##Response)
