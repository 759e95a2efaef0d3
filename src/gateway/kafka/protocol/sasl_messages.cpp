#include "gateway/kafka/protocol/sasl_messages.h"

#include "gateway/kafka/protocol/message_codec_impl.h"

namespace moraine::kafka {

template <class Io>
void fields(Io& io, Like<Io, SaslHandshakeRequest>& m) {
  io(m.mechanism);
}
template <class Io>
void fields(Io& io, Like<Io, SaslHandshakeResponse>& m) {
  io(m.error_code, m.mechanisms);
}

template <class Io>
void fields(Io& io, Like<Io, SaslAuthenticateRequest>& m) {
  io(m.auth_bytes);
}
template <class Io>
void fields(Io& io, Like<Io, SaslAuthenticateResponse>& m) {
  io(m.error_code, m.error_message, m.auth_bytes);
  if (io.since(1)) io(m.session_lifetime_ms);
}

MORAINE_KAFKA_API(SaslHandshake);
MORAINE_KAFKA_API(SaslAuthenticate);

}  // namespace moraine::kafka
