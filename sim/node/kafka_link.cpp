#include "sim/node/kafka_link.h"

#include "queue/kafka/reader.h"

namespace moraine::sim {

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
