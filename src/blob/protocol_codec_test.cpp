#include "blob/protocol_codec.h"

#include <gtest/gtest.h>

#include "base/checksum.h"
#include "base/coding.h"

namespace moraine::blob {
namespace {

constexpr std::size_t kPrefixBytes = 6;
const TabletId kTablet{72075186224037888};
const BlobId kBlob(kTablet, 3, 17, 1, 4000, 5);
const TabletGeneration kFence{TabletId{9}, 4};
const VDiskId kTarget{GroupId{0x82000000}, 3, {0, 7, 1}};

GroupConfig sample_config() {
  GroupConfig config;
  config.id = GroupId{0x82000000};
  config.generation = 4;
  config.geometry = Geometry::standard(Species::kBlock42);
  for (std::uint32_t i = 0; i < config.geometry.disks(); ++i) {
    config.disks.push_back({NodeId{i + 1}, 1, 0});
  }
  return config;
}

std::vector<DiskRequest> sample_requests() {
  Slice data = Slice::copy_of("some bytes of a part");
  std::vector<RequestBody> bodies;
  bodies.push_back(PutPart{kBlob.with_part(2), data, true, {kFence, {kTablet, 2}}});
  bodies.push_back(PutPart{kBlob.with_part(6), {}, false, {}});
  bodies.push_back(GetParts{{{kBlob, 0, 0}, {kBlob.with_part(6), 32, 64}}, true, kFence, kFence});
  bodies.push_back(GetParts{});
  bodies.push_back(BlockTablet{kTablet, 8, 0x1234567890abcdef});
  bodies.push_back(GetBlock{kTablet});
  bodies.push_back(Collect{kTablet, 2, 8, 99, GenStep{7, 100}, true, {kBlob}, {kBlob, BlobId()}});
  bodies.push_back(Collect{});
  bodies.push_back(RangeIndex{BlobId::lowest(kTablet, 0), BlobId::highest(kTablet, 0), 10, kFence});
  bodies.push_back(GetStatus{});
  bodies.push_back(Configure{sample_config()});
  bodies.push_back(ExchangeGuid{31, GuidState::kInProgress, 77});
  bodies.push_back(PullFacts{4, 10, 20, Slice::copy_of("cursor")});
  std::vector<DiskRequest> requests;
  for (RequestBody& body : bodies) requests.push_back({kTarget, std::move(body), 77});
  return requests;
}

DiskReply carried_out(ReplyBody body) {
  return {Status::kOk, "", 42, Colour::kGreen, {}, std::move(body)};
}

std::vector<DiskReply> sample_replies() {
  std::vector<ReplyBody> bodies;
  bodies.push_back(std::monostate{});
  bodies.push_back(PutPartReply{true});
  bodies.push_back(GetPartsReply{{{0, Status::kOk, 1, Slice::copy_of("first"), {5}},
                                  {0, Status::kNotYet, 6, {}, {}},
                                  {9'999, Status::kOk, 2, Slice::copy_of("second"), {6}}},
                                 true});
  bodies.push_back(BlockTabletReply{8});
  bodies.push_back(GetBlockReply{7});
  bodies.push_back(CollectReply{});
  bodies.push_back(RangeIndexReply{{{kBlob, {3}, 63, true}, {BlobId(), {}, 0, false}}, true, 12});
  bodies.push_back(GetStatusReply{true, false, 1, 2, 3, 4, true, "why", true, 5, 6, 7});
  bodies.push_back(ConfigureReply{});
  bodies.push_back(ExchangeGuidReply{GuidState::kFinal, 78, 79, 80});
  bodies.push_back(PullFactsReply{1,
                                  true,
                                  {BlobFact{kBlob, {7}}, BlockFact{kTablet, 3},
                                   BarrierFact{kTablet, 1, true, 5, 6, {7, 8}, 0x80000001}},
                                  99,
                                  Slice::copy_of("next"),
                                  true});
  std::vector<DiskReply> replies;
  for (ReplyBody& body : bodies) {
    replies.push_back(carried_out(std::move(body)));
  }
  replies.push_back({Status::kRace, "newer config", 43, Colour::kBlack, sample_config(), {}});
  return replies;
}

// The same frame with `change` applied to its header and a valid checksum.
template <class Change>
Slice rewritten(const Slice& frame, Change change) {
  const auto header_size = load<std::uint32_t>(frame.data() + 2);
  std::vector<std::byte> header(frame.data() + kPrefixBytes,
                                frame.data() + kPrefixBytes + header_size);
  change(header);
  Encoder to;
  to.raw(frame.span().first(2)).u32(static_cast<std::uint32_t>(header.size())).raw(header);
  to.u32(crc32c(to.span()));
  to.raw(frame.span().subspan(kPrefixBytes + header_size + 4));
  return to.slice();
}

Slice with_byte(const Slice& frame, std::size_t at_in_header, std::uint8_t value) {
  return rewritten(frame, [&](std::vector<std::byte>& header) {
    ASSERT_LT(at_in_header, header.size());
    header[at_in_header] = std::byte{value};
  });
}

Slice with_u32(const Slice& frame, std::size_t at_in_header, std::uint32_t value) {
  return rewritten(frame, [&](std::vector<std::byte>& header) {
    ASSERT_LE(at_in_header + 4, header.size());
    store(header.data() + at_in_header, value);
  });
}

template <class Message>
std::string problem(const Result<Message>& decoded) {
  if (decoded) return "it decodes";
  EXPECT_EQ(decoded.error().code, Errc::kCorrupt);
  return decoded.error().context;
}

// Every byte string has at most one meaning and every meaning one byte string, so a message that
// encodes to the bytes it was decoded from is the same message.
template <class Message, class Decode>
void expect_round_trip(const Message& message, Decode decode) {
  const Slice frame = encode(message);
  EXPECT_LE(frame.size(), kFrameBytesMax);
  const Result<Message> again = decode(frame);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->body.index(), message.body.index());
  EXPECT_TRUE(equal(encode(*again), frame));
}

TEST(ProtocolCodec, EveryRequestAndReplyComesBackFromItsBytes) {
  for (const DiskRequest& request : sample_requests()) expect_round_trip(request, decode_request);
  for (const DiskReply& reply : sample_replies()) expect_round_trip(reply, decode_reply);
}

TEST(ProtocolCodec, KeepsTheFieldsOfAPut) {
  const DiskRequest request = sample_requests().front();
  auto again = decode_request(encode(request));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->target, kTarget);
  const auto& put = std::get<PutPart>(again->body);
  EXPECT_EQ(put.id, kBlob.with_part(2));
  EXPECT_EQ(put.data.joined().text(), "some bytes of a part");
  EXPECT_TRUE(put.ignore_block);
  EXPECT_EQ(put.extra_blocks, (std::vector<TabletGeneration>{kFence, {kTablet, 2}}));
}

TEST(ProtocolCodec, KeepsTheFieldsOfAGetAndItsReply) {
  auto request = decode_request(encode(sample_requests()[2]));
  ASSERT_TRUE(request);
  const auto& get = std::get<GetParts>(request->body);
  ASSERT_EQ(get.queries.size(), 2u);
  EXPECT_EQ(get.queries[1].id, kBlob.with_part(6));
  EXPECT_EQ(get.queries[1].shift, 32u);
  EXPECT_EQ(get.queries[1].size, 64u);
  EXPECT_TRUE(get.index_only);
  EXPECT_EQ(get.force_block, kFence);
  EXPECT_EQ(get.reader, kFence);

  auto reply = decode_reply(encode(sample_replies()[2]));
  ASSERT_TRUE(reply);
  const auto& answers = std::get<GetPartsReply>(reply->body).answers;
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(answers[0].data.text(), "first");
  EXPECT_EQ(answers[1].status, Status::kNotYet);
  EXPECT_EQ(answers[1].part, 6u);
  EXPECT_TRUE(answers[1].data.empty());
  EXPECT_EQ(answers[2].query, 9'999u);
  EXPECT_EQ(answers[2].data.text(), "second");
  EXPECT_EQ(answers[2].ingress, Ingress{6});
}

TEST(ProtocolCodec, KeepsTheFieldsOfFactsAndOfTheReplyItself) {
  auto facts = decode_reply(encode(sample_replies()[10]));
  ASSERT_TRUE(facts);
  const auto& pulled = std::get<PullFactsReply>(facts->body);
  EXPECT_EQ(pulled.cursor.text(), "next");
  EXPECT_EQ(pulled.position, 99u);
  const auto& barrier = std::get<BarrierFact>(pulled.facts.at(2));
  EXPECT_EQ(barrier.barrier, (GenStep{7, 8}));
  EXPECT_EQ(barrier.seen, 0x80000001);

  auto race = decode_reply(encode(sample_replies().back()));
  ASSERT_TRUE(race);
  EXPECT_EQ(race->status, Status::kRace);
  EXPECT_EQ(race->reason, "newer config");
  EXPECT_EQ(race->incarnation, 43u);
  EXPECT_EQ(race->colour, Colour::kBlack);
  EXPECT_EQ(race->config, sample_config());
}

TEST(ProtocolCodec, DecodedDataSharesTheFrame) {
  const Slice put_frame = encode(sample_requests().front());
  auto put = decode_request(put_frame);
  ASSERT_TRUE(put);
  const Slice data = std::get<PutPart>(put->body).data.joined();
  EXPECT_GE(data.data(), put_frame.data());
  EXPECT_EQ(data.data() + data.size(), put_frame.data() + put_frame.size());

  const Slice get_frame = encode(sample_replies()[2]);
  auto get = decode_reply(get_frame);
  ASSERT_TRUE(get);
  const auto& answers = std::get<GetPartsReply>(get->body).answers;
  EXPECT_EQ(answers[2].data.data() + answers[2].data.size(), get_frame.data() + get_frame.size());
}

TEST(ProtocolCodec, PiecesAreTheBytesOfTheFrameAndShareTheData) {
  const DiskRequest request = sample_requests().front();
  const std::vector<Slice> pieces = encode_pieces(request);
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[1].data(), std::get<PutPart>(request.body).data.joined().data());
  EXPECT_TRUE(equal(concatenate({}, pieces), encode(request)));
  EXPECT_EQ(concatenate(as_bytes("ab"), pieces).text().substr(0, 2), "ab");
}

TEST(ProtocolCodec, DataInSeveralSlicesIsSentAsItIs) {
  DiskRequest request = sample_requests().front();
  const Slice whole = std::get<PutPart>(request.body).data.joined();
  const Slice expected = encode(request);
  ByteChain chain(whole.sub(0, 3));
  chain.append(whole.sub(3, whole.size() - 3));
  std::get<PutPart>(request.body).data = chain;
  EXPECT_EQ(encode_pieces(request).size(), 3u);
  EXPECT_TRUE(equal(encode(request), expected));
}

TEST(ProtocolCodec, RefusesEveryTruncation) {
  for (const DiskRequest& request : sample_requests()) {
    const Slice frame = encode(request);
    for (std::size_t size = 0; size < frame.size(); ++size) {
      EXPECT_NE(problem(decode_request(frame.sub(0, size))), "it decodes") << size;
    }
  }
  for (const DiskReply& reply : sample_replies()) {
    const Slice frame = encode(reply);
    for (std::size_t size = 0; size < frame.size(); ++size) {
      EXPECT_NE(problem(decode_reply(frame.sub(0, size))), "it decodes") << size;
    }
  }
}

TEST(ProtocolCodec, RefusesEveryFlippedBitOfTheHeader) {
  const auto flip_all = [](const Slice& frame, auto decode) {
    const std::size_t checked = kPrefixBytes + load<std::uint32_t>(frame.data() + 2) + 4;
    for (std::size_t bit = 0; bit < checked * 8; ++bit) {
      Buffer copy(frame.size());
      std::ranges::copy(frame.span(), copy.data());
      copy.data()[bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8);
      EXPECT_NE(problem(decode(std::move(copy).freeze())), "it decodes") << bit;
    }
  };
  for (const DiskRequest& request : sample_requests()) flip_all(encode(request), decode_request);
  for (const DiskReply& reply : sample_replies()) flip_all(encode(reply), decode_reply);
}

TEST(ProtocolCodec, HeadersCutShortOrGrownAreRefusedAlsoWithARightChecksum) {
  const auto cut_all = [](const Slice& frame, auto decode) {
    const std::size_t header_size = load<std::uint32_t>(frame.data() + 2);
    for (std::size_t size = 0; size < header_size; ++size) {
      const Slice cut = rewritten(frame, [&](auto& header) { header.resize(size); });
      EXPECT_NE(problem(decode(cut)), "it decodes") << size;
    }
    const Slice grown = rewritten(frame, [&](auto& header) { header.resize(header_size + 1); });
    EXPECT_NE(problem(decode(grown)).find("1 bytes too many in the header"), std::string::npos);
  };
  for (const DiskRequest& request : sample_requests()) cut_all(encode(request), decode_request);
  for (const DiskReply& reply : sample_replies()) cut_all(encode(reply), decode_reply);
}

TEST(ProtocolCodec, SaysWhatIsWrongWithAFrame) {
  const Slice put = encode(sample_requests().front());
  EXPECT_EQ(problem(decode_request({})), "request: only 0 bytes");
  EXPECT_EQ(problem(decode_reply(put)), "reply: kind 1 is not 2");
  Encoder newer;
  newer.u8(3).raw(put.span().subspan(1));
  EXPECT_EQ(problem(decode_request(newer.slice())), "request: version 3 is unknown");
  Encoder longer;
  longer.raw(put).u8(0);
  EXPECT_EQ(problem(decode_request(longer.slice())),
            "request (put): 1 bytes too many after the header");
  EXPECT_EQ(problem(decode_request(put.sub(0, put.size() - 1))),
            "request (put): data of 20 bytes, but only 19 are left");
}

// Offsets in the header of a request: target 0..10, digest 11..14, tag 15, body from 16.
TEST(ProtocolCodec, SaysWhatIsWrongWithARequest) {
  const std::vector<DiskRequest> requests = sample_requests();
  const Slice put = encode(requests[0]);
  EXPECT_EQ(problem(decode_request(with_byte(put, 9, 32))),
            "request (put): domain 32 is over its maximum 31");
  EXPECT_NE(problem(decode_request(with_byte(put, 15, 0))).find("request tag 0 is unknown"),
            std::string::npos);
  EXPECT_NE(problem(decode_request(with_byte(put, 15, 11))).find("request tag 11 is unknown"),
            std::string::npos);
  const auto last_of_id = static_cast<std::uint8_t>(put.data()[kPrefixBytes + 16 + 24]);
  for (const std::uint8_t part : {0, 7, 15}) {
    const auto changed = static_cast<std::uint8_t>((last_of_id & 0xf0) | part);
    EXPECT_NE(problem(decode_request(with_byte(put, 16 + 24, changed))).find("is not in 1..6"),
              std::string::npos);
  }
  EXPECT_EQ(problem(decode_request(with_byte(put, 16 + 25 + 4, 2))),
            "request (put): flag 2 is neither 0 nor 1");
  EXPECT_EQ(problem(decode_request(with_u32(put, 16 + 25, kBlobSizeMax + 1))),
            "request (put): data of 10485761 bytes, over the maximum 10485760");

  const Slice guid = encode(requests[11]);
  EXPECT_EQ(problem(decode_request(with_byte(guid, 16 + 4, 3))),
            "request (guid): guid state 3 is unknown");
  EXPECT_EQ(problem(decode_request(with_u32(guid, 16, 32))),
            "request (guid): order 32 is over its maximum 31");
  const Slice configure = encode(requests[10]);
  EXPECT_EQ(problem(decode_request(with_byte(configure, 24, 0xff))),
            "request (config): group config: the checksum does not match");
}

TEST(ProtocolCodec, SaysWhatIsWrongWithAReply) {
  const std::vector<DiskReply> replies = sample_replies();
  const Slice none = encode(replies[0]);
  EXPECT_EQ(problem(decode_reply(with_byte(none, 0, 3))), "reply (no body): status 3 is unknown");
  EXPECT_EQ(problem(decode_reply(with_byte(none, 1, 9))), "reply (no body): colour 9 is unknown");
  EXPECT_EQ(problem(decode_reply(with_byte(none, 15, 11))),
            "reply (no body): reply tag 11 is unknown");
  const Slice get = encode(replies[2]);  // The body starts at 16.
  EXPECT_EQ(problem(decode_reply(with_byte(get, 20 + 4, 99))), "reply (get): status 99 is unknown");
  EXPECT_EQ(problem(decode_reply(with_byte(get, 20 + 5, 7))),
            "reply (get): part 7 is over its maximum 6");
  const Slice pull = encode(replies[10]);
  EXPECT_EQ(problem(decode_reply(with_byte(pull, 16 + 8 + 1 + 4, 3))),
            "reply (pull): fact 3 is unknown");
}

TEST(ProtocolCodec, CountsAreBoundedBeforeAnythingIsReserved) {
  const Slice get = encode(sample_requests()[2]);
  EXPECT_EQ(problem(decode_request(with_u32(get, 16, 0xffffffff))),
            "request (get): 4294967295 queries, over the maximum 10000");
  EXPECT_NE(problem(decode_request(with_u32(get, 16, 10'000))).find("10000 queries in"),
            std::string::npos);
  const Slice range = encode(sample_replies()[6]);
  EXPECT_EQ(problem(decode_reply(with_u32(range, 16, 8'097))),
            "reply (range): 8097 items, over the maximum 8096");
}

TEST(ProtocolCodec, TakesWhatIsExactlyAtALimitAndNothingPastIt) {
  const auto request = [](RequestBody body) {
    return problem(decode_request(encode(DiskRequest{kTarget, std::move(body)})));
  };
  const auto reply = [](ReplyBody body) {
    return problem(decode_reply(encode(carried_out(std::move(body)))));
  };
  const auto collect = [&](std::size_t keep, std::size_t drop) {
    Collect body;
    body.keep.resize(keep, kBlob);
    body.do_not_keep.resize(drop, kBlob);
    return request(body);
  };
  EXPECT_EQ(collect(4'000, 6'000), "it decodes");
  EXPECT_EQ(collect(4'001, 6'000), "request (collect): 10001 flags, over the maximum 10000");
  GetParts get;
  get.queries.resize(kPartQueriesMax, {kBlob, 0, 0});
  EXPECT_EQ(request(get), "it decodes");
  get.queries.resize(kPartQueriesMax + 1);
  EXPECT_NE(request(get), "it decodes");
  PullFactsReply facts;
  facts.facts.resize(kSyncFactsMax, BarrierFact{});
  EXPECT_EQ(reply(facts), "it decodes");
  facts.facts.emplace_back();
  EXPECT_NE(reply(facts), "it decodes");

  const Slice part = Buffer::zeroed(8u << 20).freeze();
  GetPartsReply parts;
  parts.answers.resize(3, {0, Status::kOk, 1, part, {}});
  EXPECT_EQ(reply(parts), "it decodes");
  parts.answers.push_back({0, Status::kOk, 1, Slice::copy_of("x"), {}});
  EXPECT_EQ(reply(parts), "reply (get): data of 25165825 bytes, over the maximum 25165824");
}

TEST(ProtocolCodec, TheLargestReplyFitsAFrame) {
  GetPartsReply parts;
  parts.answers.resize(kPartQueriesMax * kPartsMax, {0, Status::kOk, 1, {}, {}});
  const Slice frame = encode(carried_out(parts));
  EXPECT_LE(frame.size() + kGetReplyBytesMax, kFrameBytesMax);
}

TEST(ProtocolCodec, ALongReasonIsCut) {
  DiskReply reply;
  reply.reason.assign(kReasonBytesMax + 1, 'x');
  auto again = decode_reply(encode(reply));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->reason, std::string(kReasonBytesMax, 'x'));
}

}  // namespace
}  // namespace moraine::blob
