#include "bench/lanes/lane_server.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "app/kafka_error.h"
#include "cluster/local/cluster_file.h"

namespace moraine::bench {
namespace {

constexpr Duration kTimeout = std::chrono::seconds(20);
constexpr std::string_view kMetricsRequest = "GET /metrics HTTP/1.0\r\nHost: bench\r\n\r\n";
constexpr std::string_view kOk = " 200 ";

}  // namespace

Result<std::unique_ptr<LaneServer>> LaneServer::start(const Setting& setting, std::uint32_t lanes) {
  std::unique_ptr<LaneServer> server(
      new LaneServer(setting.folder.file(fmt::format("lanes-{}", lanes))));
  TRY(server->broker_,
      Broker::start(BrokerKind::kMoraine, server->folder_, {"--lanes", std::to_string(lanes)}));
  TRY_VOID(server->broker_->wait_for_address());
  TRY(const TcpAddress address, parse_address(server->broker_->address()));
  TRY(app::KafkaClient client, app::KafkaClient::connect(address, kTimeout));
  server->kafka_.emplace(std::move(client));
  return server;
}

LaneServer::~LaneServer() {
  kafka_.reset();
  broker_.reset();
  discard(folder_);
}

TopicLoad LaneServer::load(const std::string& topic, std::uint32_t partitions) const {
  return {broker_->address(), topic, static_cast<std::int32_t>(partitions)};
}

Result<std::uint64_t> LaneServer::end_offsets(const std::string& topic, std::uint32_t partitions) {
  kafka::ListOffsetsRequest request;
  kafka::ListOffsetsRequest::Topic& asked = request.topics.emplace_back();
  asked.name = topic;
  for (std::uint32_t i = 0; i < partitions; ++i) {
    asked.partitions.emplace_back().partition_index = static_cast<std::int32_t>(i);
  }
  TRY(const kafka::ListOffsetsResponse response, kafka_->call(request));
  std::uint64_t sum = 0;
  for (const kafka::ListOffsetsResponse::Topic& answered : response.topics) {
    for (const kafka::ListOffsetsResponse::Partition& one : answered.partitions) {
      TRY_VOID(app::check_answer(one.error_code, topic));
      sum += static_cast<std::uint64_t>(one.offset);
    }
  }
  return sum;
}

Result<std::string> LaneServer::metrics() const {
  TRY(const TcpAddress address, parse_address(broker_->http_address()));
  TRY(app::Socket socket, app::Socket::connect(address, kTimeout));
  TRY_VOID(socket.send(as_bytes(kMetricsRequest)));
  std::string page;
  std::array<char, 16'384> part;
  for (;;) {
    const ssize_t count = ::recv(socket.fd(), part.data(), part.size(), 0);
    if (count < 0) return fail(Errc::kUnavailable, std::strerror(errno));
    if (count == 0) break;
    page.append(part.data(), static_cast<std::size_t>(count));
  }
  const std::string_view status = std::string_view(page).substr(0, page.find('\r'));
  if (!status.contains(kOk)) return fail(Errc::kUnavailable, fmt::format("/metrics: {}", status));
  return page;
}

}  // namespace moraine::bench
