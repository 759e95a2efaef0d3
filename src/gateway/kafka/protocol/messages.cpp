#include "gateway/kafka/protocol/messages.h"

#include <array>

namespace moraine::kafka {
namespace {

template <class Any>
struct Dispatch;

template <class... Message>
struct Dispatch<std::variant<Message...>> {
  using Any = std::variant<Message...>;
  using Decoder = Result<Any> (*)(const Slice&, std::int16_t);

  template <class M>
  static Result<Any> decode(const Slice& body, std::int16_t version) {
    TRY(M message, decode_body<M>(body, version));
    return Any(std::move(message));
  }

  static Result<Any> decode_as(ApiKey api, const Slice& body, std::int16_t version) {
    static constexpr std::array kKeys{Message::kApi...};
    static constexpr std::array<Decoder, sizeof...(Message)> kDecoders{&decode<Message>...};
    for (std::size_t i = 0; i < kKeys.size(); ++i) {
      if (kKeys[i] == api) return kDecoders[i](body, version);
    }
    return fail(Errc::kUnsupported, fmt::format("API {}", static_cast<int>(api)));
  }
};

template <class Any>
ApiKey key_of(const Any& message) {
  return std::visit([](const auto& m) { return std::decay_t<decltype(m)>::kApi; }, message);
}

template <class Any>
void encode(Writer& to, const Any& message, std::int16_t version) {
  std::visit([&](const auto& m) { encode_body(to, m, version); }, message);
}

}  // namespace

Result<AnyRequest> decode_any_request(ApiKey api, std::int16_t version, const Slice& body) {
  return Dispatch<AnyRequest>::decode_as(api, body, version);
}
Result<AnyResponse> decode_any_response(ApiKey api, std::int16_t version, const Slice& body) {
  return Dispatch<AnyResponse>::decode_as(api, body, version);
}

ApiKey api_of(const AnyRequest& request) {
  return key_of(request);
}
ApiKey api_of(const AnyResponse& response) {
  return key_of(response);
}

void encode_any_body(Writer& to, const AnyRequest& request, std::int16_t version) {
  encode(to, request, version);
}
void encode_any_body(Writer& to, const AnyResponse& response, std::int16_t version) {
  encode(to, response, version);
}

}  // namespace moraine::kafka
