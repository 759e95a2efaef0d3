#include "sim/node/kafka_link.h"

#include "queue/kafka/reader.h"

namespace moraine::sim {

bool KafkaLink::open(SeededRandom& random) {
  if (!connected()) connection_ = machines_.connect(random);
  return connected();
}

bool KafkaLink::open_lane(std::size_t lane) {
  close();
  connection_ = machines_.connect_lane(lane);
  return connected();
}

void KafkaLink::close() {
  if (connection_.stream) connection_.stream->close();
  connection_ = {};
}

void KafkaLink::watch(const std::shared_ptr<ByteStream>& stream, std::shared_ptr<const bool> done) {
  world_.executor().schedule(world_.executor().now() + kAnswerTime,
                             [stream, done = std::move(done)] {
                               if (!*done) stream->close();
                             });
}

Task<Result<void>> KafkaLink::write(std::vector<Slice> frame) {
  const std::shared_ptr<ByteStream> stream = connection_.stream;
  const auto done = std::make_shared<bool>(false);
  watch(stream, done);
  const auto written = co_await stream->write(std::move(frame));
  *done = true;
  co_return written;
}

Task<Result<void>> KafkaLink::read_full(ByteStream& stream, MutableByteSpan into) {
  for (std::size_t have = 0; have < into.size();) {
    CO_TRY(const std::size_t got, co_await stream.read(into.subspan(have)));
    if (got == 0) co_return fail(Errc::kUnavailable, "the end of the connection");
    have += got;
  }
  co_return Result<void>();
}

Task<Result<Slice>> KafkaLink::read_frame(std::shared_ptr<ByteStream> stream) {
  const auto done = std::make_shared<bool>(false);
  watch(stream, done);
  Buffer prefix(kafka::kSizePrefixBytes);
  Result<void> got = co_await read_full(*stream, prefix.span());
  Buffer body(got ? kafka::load_big<std::uint32_t>(prefix.data()) : 0);
  if (got) got = co_await read_full(*stream, body.span());
  *done = true;
  if (!got) co_return std::unexpected(std::move(got).error());
  co_return std::move(body).freeze();
}

}  // namespace moraine::sim
