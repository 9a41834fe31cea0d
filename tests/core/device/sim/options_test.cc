// Valid and invalid values of `--devices sim:...`, and the errors for invalid ones.
#include "core/device/sim/sim_options.h"

#include <doctest/doctest.h>

#include "core/graph/error.h"

namespace towerflow {
namespace {

TEST_CASE("simulated devices: a count and what is said of them") {
  const SimulatedDevices plain = parse_simulated_devices("3");
  CHECK(plain.count == 3);
  CHECK(plain.bandwidth == SimulatedDevices{}.bandwidth);
  const SimulatedDevices all = parse_simulated_devices(
      "2,bandwidth=8GB/"
      "s,latency=25us,slow=1:2.5,slow=0:1,memory=512MiB,jitter=1ms,fault=1:upload:17");
  CHECK(all.bandwidth == 8e9);
  CHECK(all.latency == doctest::Approx(25e-6));
  CHECK(all.slow == std::map<int, double>{{0, 1.0}, {1, 2.5}});
  CHECK(all.memory == std::size_t{512} << 20);
  CHECK(all.jitter == doctest::Approx(1e-3));
  CHECK(all.fault == SimulatedFault{1, Lane::upload, 17});
  CHECK(plain.fault.task == -1);
}

TEST_CASE("simulated devices: what does not fit is named with what was wanted") {
  for (const char* bad : {"",
                          "0",
                          "-1",
                          "x",
                          "2x",
                          "2,",
                          "2,speed=1",
                          "2,bandwidth",
                          "2,bandwidth=",
                          "2,bandwidth=8",
                          "2,bandwidth=8GB",
                          "2,bandwidth=0GB/s",
                          "2,bandwidth=-1GB/s",
                          "2,latency=nans",
                          "2,latency=2s",
                          "2,slow=1",
                          "2,slow=2:2",
                          "2,slow=0:0.5",
                          "2,slow=0:x",
                          "2,memory=1kB",
                          "2,memory=1e30GiB",
                          "2,jitter=2s",
                          "2,fault=1:1",
                          "2,fault=2:compute:0",
                          "2,fault=0:computer:0",
                          "2,fault=0:compute:-1",
                          "2,fault=0:compute:1x",
                          "1025",
                          "99999999999999999999"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(parse_simulated_devices(bad), ValueError);
  }
  CHECK_THROWS_WITH_AS(parse_simulated_devices("2,bandwidth=8"),
                       doctest::Contains("bandwidth=8 of a simulated accelerator: wanted a number "
                                         "and one of B/s, kB/s"),
                       ValueError);
}

}  // namespace
}  // namespace towerflow
