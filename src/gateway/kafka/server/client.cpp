#include "gateway/kafka/server/client.h"

namespace moraine::kafka {

std::string Client::host() const {
  std::string host = peer_.substr(0, peer_.rfind(':'));
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  return "/" + host;
}

void Client::leave() {
  disconnected_ = true;
  auto hooks = std::exchange(hooks_, {});
  for (auto& [number, hook] : hooks) hook();
}

std::uint64_t Client::on_disconnect(Callback callback) {
  hooks_.emplace(next_hook_, std::move(callback));
  return next_hook_++;
}

}  // namespace moraine::kafka
