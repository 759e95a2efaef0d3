#include "sim/node/client_link.h"

namespace moraine::sim {

bool ClientLink::open(SeededRandom& random) {
  if (!connected()) connection_ = machines_.connect(door_, random);
  return connected();
}

bool ClientLink::open_lane(std::size_t lane) {
  close();
  connection_ = machines_.connect_lane(door_, lane);
  return connected();
}

void ClientLink::close() {
  if (connection_.stream) connection_.stream->close();
  connection_ = {};
}

void ClientLink::watch(const std::shared_ptr<ByteStream>& stream,
                       std::shared_ptr<const bool> done) {
  world_.executor().schedule(world_.executor().now() + kAnswerTime,
                             [stream, done = std::move(done)] {
                               if (!*done) stream->close();
                             });
}

Task<Result<void>> ClientLink::write(std::vector<Slice> bytes) {
  const std::shared_ptr<ByteStream> stream = connection_.stream;
  const auto done = std::make_shared<bool>(false);
  watch(stream, done);
  const auto written = co_await stream->write(std::move(bytes));
  *done = true;
  co_return written;
}

}  // namespace moraine::sim
