// Any bytes from another node get a reply, and nothing crashes.
#include "base/checksum.h"
#include "base/coding.h"
#include "base/invariant.h"
#include "blob/endpoint/envelope.h"
#include "blob/endpoint/fake_disk.h"
#include "blob/endpoint/node_service.h"
#include "io/sim/sim_world.h"

using namespace moraine;
using namespace moraine::blob;

namespace {

struct Cluster {
  Cluster() : node(world.add_node()), disk(std::make_shared<FakeDisk>(node.world().executor)) {
    services.add({node.id(), 1, 0}, disk);
  }
  void send(Slice frame) {
    const Instant deadline = world.executor().now() + 1s;
    const auto answer = world.run(node.world().network.call(node.id(), std::move(frame), deadline));
    INVARIANT(answer.has_value(), "no reply: {}", answer.error().message());
    const auto envelope = open_envelope(*answer);
    INVARIANT(envelope.has_value(), "no envelope: {}", envelope.error().message());
    const auto reply = decode_reply(envelope->content);
    INVARIANT(reply.has_value(), "no sound reply: {}", reply.error().message());
  }

  SimWorld world{1};
  SimNode& node;
  DiskServices services;
  std::shared_ptr<FakeDisk> disk;
  NodeService service{node.world().network, node.world().executor, services};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Cluster& cluster = *new Cluster;
  const ByteSpan bytes(reinterpret_cast<const std::byte*>(data), size);
  cluster.send(Slice::copy_of(bytes));
  // The bytes as the header of a request with a valid checksum.
  Encoder request;
  request.u8(1).u8(1).sized(bytes);
  request.u32(crc32c(request.span()));
  cluster.send(seal({cluster.node.id(), 1, 0}, {request.slice()}));
  return 0;
}
