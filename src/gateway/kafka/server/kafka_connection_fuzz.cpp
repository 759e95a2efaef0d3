// Whatever a client sends, in any pieces, the connection ends with the client, holds nothing
// afterwards and does not crash.
#include "base/invariant.h"
#include "gateway/kafka/server/server_test_util.h"

using namespace moraine;
using namespace moraine::kafka;

namespace {

Task<void> send_all(std::shared_ptr<ByteStream> client, Slice bytes) {
  std::vector<Slice> slices;
  slices.push_back(std::move(bytes));
  co_await client->write(std::move(slices));
}

Task<void> read_all(std::shared_ptr<ByteStream> client) {
  Buffer buffer(4096);
  while (true) {
    const auto read = co_await client->read(buffer.span());
    if (!read || *read == 0) co_return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const ScopedLogCapture quiet(0);
  SimWorld world(1);
  Executor& executor = world.executor();
  MetricRegistry registry;
  FakeTopics topics(executor);
  FakeGroups groups(executor);
  FakeProducerIds producer_ids;
  SimNode& node = world.add_node();
  std::ignore = world.run(topics.create("t", TopicSpec{}));
  topics.fake(topics.find("t")->id, 0)->store_batch(batch_with({"a", "b"}), 2);
  KafkaService service(
      KafkaParts{topics, groups, producer_ids, executor, node.world().clock, registry}, {});
  SimStreamOptions options;
  options.read_bytes_max = 1 + data[0] * 16;
  auto [client, server] = make_sim_streams(executor, options);
  TaskScope tasks;
  tasks.spawn(serve_kafka(service)(std::move(server)));
  if (data[1] % 4 != 0) tasks.spawn(read_all(client));  // Else it reads nothing.
  const ByteSpan bytes(reinterpret_cast<const std::byte*>(data) + 2, size - 2);
  tasks.spawn(send_all(client, Slice::copy_of(bytes)));
  world.run_for(10s);
  client->close();
  world.run_for(kFetchWaitMax);
  INVARIANT(tasks.live() == 0, "{} tasks live on", tasks.live());
  INVARIANT(service.requests().used() == 0, "{} bytes of requests", service.requests().used());
  INVARIANT(service.responses().used() == 0, "{} bytes of answers", service.responses().used());
  world.run_for(1h);
  client.reset();
  world.shutdown();
  return 0;
}
