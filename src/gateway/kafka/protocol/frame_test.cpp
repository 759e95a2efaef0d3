#include "gateway/kafka/protocol/frame.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "gateway/kafka/protocol/cluster_messages.h"
#include "gateway/kafka/protocol/group_messages.h"
#include "gateway/kafka/protocol/transaction_messages.h"
#include "queue/kafka/test_bytes.h"

namespace moraine::kafka {
namespace {

Slice without_size(std::vector<Slice> slices) {
  const Slice frame = joined(std::move(slices));
  return frame.sub(kSizePrefixBytes, frame.size() - kSizePrefixBytes);
}

TEST(Frame, SizesOutsideTheLimitsAreRefused) {
  EXPECT_EQ(request_size(unhex("00000008")), 8u);
  EXPECT_EQ(request_size(unhex("06400000")), kRequestBytesMax);
  for (const std::string_view size : {"00000007", "00000000", "ffffffff", "06400001", "47455420"}) {
    EXPECT_FALSE(request_size(unhex(size)).has_value()) << size;
  }
}

TEST(Frame, ClientIdIsNotCompactInFlexibleVersions) {
  const RequestHeader header{ApiKey::kHeartbeat, 4, -7, "me"};
  const Slice frame = without_size(encode_request(header, HeartbeatRequest{}));
  EXPECT_EQ(hex(frame.sub(0, 13)), "000c0004fffffff900026d6500");
  const auto incoming = open_request(frame, {});
  ASSERT_TRUE(incoming.has_value());
  EXPECT_EQ(incoming->header.client_id, "me");
  EXPECT_EQ(incoming->header.correlation_id, -7);
  EXPECT_EQ(incoming->body.data(), frame.data() + 13);
}

TEST(Frame, ClientIdMayBeNull) {
  const auto incoming = open_request(unhex("000c 0000 00000001 ffff"), {});
  ASSERT_TRUE(incoming.has_value());
  EXPECT_FALSE(incoming->header.client_id.has_value());
  EXPECT_TRUE(incoming->body.empty());
}

TEST(Frame, HeaderTagsAreSkipped) {
  const auto incoming = open_request(unhex("000c 0004 00000001 ffff 01 05 02 aabb 77"), {});
  ASSERT_TRUE(incoming.has_value());
  EXPECT_EQ(hex(incoming->body), "77");
}

TEST(Frame, AHeaderCutAnywhereIsRefused) {
  const Slice header = unhex("000c 0004 00000001 0003616263 01 05 02 aabb");
  for (std::size_t size = 0; size < header.size(); ++size) {
    const auto incoming = open_request(header.sub(0, size), {});
    ASSERT_FALSE(incoming.has_value()) << size;
    EXPECT_EQ(incoming.error().code, Errc::kCorrupt);
  }
}

TEST(Frame, UnknownApisAndVersionsAreUnsupported) {
  for (const std::string_view frame : {"01f4 0000 00000001 ffff", "0000 0063 00000001 ffff",
                                       "0000 ffff 00000001 ffff", "0044 0000 00000001 ffff"}) {
    const auto incoming = open_request(unhex(frame), kEveryPart);
    ASSERT_FALSE(incoming.has_value());
    EXPECT_EQ(incoming.error().code, Errc::kUnsupported);
  }
}

TEST(Frame, PartsThatAreNotServedAreUnsupported) {
  const Slice frame = without_size(encode_request({ApiKey::kEndTxn, 1, 1, {}}, EndTxnRequest{}));
  EXPECT_EQ(open_request(frame, {}).error().code, Errc::kUnsupported);
  EXPECT_TRUE(open_request(frame, {.transactions = true}).has_value());

  const auto offers = [](ServedParts parts, ApiKey key) {
    const ApiVersionsResponse response = offered_apis(parts);
    return std::ranges::any_of(response.api_keys, [&](const auto& r) { return r.api_key == key; });
  };
  EXPECT_FALSE(offers({}, ApiKey::kEndTxn));
  EXPECT_TRUE(offers({}, ApiKey::kInitProducerId));
  EXPECT_TRUE(offers({}, ApiKey::kSaslHandshake));
  EXPECT_EQ(offered_apis(kEveryPart).api_keys.size(), apis().size());
}

TEST(Frame, ApiVersionsOfAnUnknownVersionIsAnsweredInVersionZero) {
  const auto incoming = open_request(unhex("0012 0063 00000009 ff"), {});
  ASSERT_TRUE(incoming.has_value());
  EXPECT_FALSE(incoming->version_supported);
  const Slice frame = without_size(encode_unsupported_version(incoming->header, {}));
  const RequestHeader as_zero{ApiKey::kApiVersions, 0, 9, {}};
  const auto body = open_response(as_zero, frame);
  ASSERT_TRUE(body.has_value());
  const auto response = decode_body<ApiVersionsResponse>(*body, 0);
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->error_code, ErrorCode::kUnsupportedVersion);
  EXPECT_EQ(response->api_keys.size(), offered_apis({}).api_keys.size());
}

TEST(Frame, ResponsesOfFlexibleVersionsHaveATagSectionExceptApiVersions) {
  EXPECT_EQ(hex(without_size(encode_response({ApiKey::kHeartbeat, 4, 5, {}}, HeartbeatResponse{}))),
            "00000005"
            "00"
            "00000000"
            "0000"
            "00");
  EXPECT_EQ(hex(without_size(encode_response({ApiKey::kHeartbeat, 3, 5, {}}, HeartbeatResponse{}))),
            "00000005"
            "00000000"
            "0000");
  EXPECT_EQ(
      hex(without_size(encode_response({ApiKey::kApiVersions, 3, 5, {}}, ApiVersionsResponse{}))),
      "00000005"
      "0000"
      "01"
      "00000000"
      "00");
}

TEST(Frame, AResponseToAnotherRequestIsRefused) {
  const RequestHeader header{ApiKey::kHeartbeat, 4, 5, {}};
  const Slice frame = without_size(encode_response(header, HeartbeatResponse{}));
  EXPECT_TRUE(open_response(header, frame).has_value());
  RequestHeader other = header;
  other.correlation_id = 6;
  EXPECT_FALSE(open_response(other, frame).has_value());
  EXPECT_FALSE(open_response(header, frame.sub(0, 3)).has_value());
}

}  // namespace
}  // namespace moraine::kafka
