// Authentication; the messages of the mechanisms are opaque bytes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gateway/kafka/protocol/api.h"
#include "gateway/kafka/protocol/types.h"
#include "queue/kafka/error_code.h"

namespace moraine::kafka {

struct SaslHandshakeResponse {
  static constexpr ApiKey kApi = ApiKey::kSaslHandshake;

  ErrorCode error_code = ErrorCode::kNone;
  std::vector<std::string> mechanisms;
};

struct SaslHandshakeRequest {
  static constexpr ApiKey kApi = ApiKey::kSaslHandshake;
  using Response = SaslHandshakeResponse;

  std::string mechanism;
};

struct SaslAuthenticateResponse {
  static constexpr ApiKey kApi = ApiKey::kSaslAuthenticate;

  ErrorCode error_code = ErrorCode::kNone;
  std::optional<std::string> error_message;
  Slice auth_bytes;
  std::int64_t session_lifetime_ms = 0;  // 0: for as long as the connection lives.
};

struct SaslAuthenticateRequest {
  static constexpr ApiKey kApi = ApiKey::kSaslAuthenticate;
  using Response = SaslAuthenticateResponse;

  Slice auth_bytes;
};

}  // namespace moraine::kafka
