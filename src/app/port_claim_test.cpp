#include "app/port_claim.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

namespace moraine::app {
namespace {

struct Listener {
  Listener() {
    const auto address = resolve_numeric({"127.0.0.1", 0});
    EXPECT_TRUE(address);
    fd = open_listener(*address).value_or(-1);
    port = local_port(fd).value_or(0);
  }
  int fd = -1;
  std::uint16_t port = 0;
};

TEST(PortClaims, AnAddressThatIsReleasedSoonIsWaitedFor) {
  Listener other;
  std::thread release([&other] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    close(other.fd);
  });
  PortClaims claims;
  const auto claimed = claims.add("--http", {"127.0.0.1", other.port}, 60s);
  release.join();
  EXPECT_TRUE(claimed) << claimed.error().context;
}

TEST(PortClaims, AnAddressInUseIsRefusedByTheNameOfItsOption) {
  const Listener other;
  PortClaims claims;
  const auto refused = claims.add("--kafka", {"127.0.0.1", other.port}, Duration::zero());
  close(other.fd);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kConflict);
  EXPECT_TRUE(refused.error().context.contains("--kafka")) << refused.error().context;
}

TEST(PortClaims, AListenerOfTheSameProcessBindsBesideAClaim) {
  std::uint16_t port = 0;
  {
    const Listener other;
    port = other.port;
    close(other.fd);
  }
  PortClaims claims;
  ASSERT_TRUE(claims.add("--http", {"127.0.0.1", port}));
  const auto listening = open_listener(*resolve_numeric({"127.0.0.1", port}));
  ASSERT_TRUE(listening) << listening.error().context;
  close(*listening);
}

TEST(PortClaims, OneAddressIsNotGivenTwice) {
  PortClaims claims;
  std::uint16_t port = 0;
  {
    const Listener other;
    port = other.port;
    close(other.fd);
  }
  ASSERT_TRUE(claims.add("--http", {"127.0.0.1", port}));
  const auto twice = claims.add("--kafka", {"127.0.0.1", port});
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code, Errc::kInvalidArgument);
  EXPECT_TRUE(twice.error().context.contains("--http and --kafka")) << twice.error().context;
  EXPECT_TRUE(claims.add("--http", {"127.0.0.1", 0}));
  EXPECT_TRUE(claims.add("--kafka", {"127.0.0.1", 0}));
  EXPECT_EQ(claims.add("--kafka", {"192.0.2.1", 9}).error().code, Errc::kInvalidArgument);
}

}  // namespace
}  // namespace moraine::app
