#include "report/scale/published.h"

#include "report/scale/exchange.h"
#include "report/scale/published_models.h"

namespace towerflow::report {
namespace {

using Points = std::vector<PublishedPoint>;

constexpr double kGigabit = 1e9 / 8;

/// PCI Express 3.0 with 16 lanes carries 15.75 GB/s with its headers, and about 12 GB/s of data.
constexpr double kPciExpress = 12e9;

// The tables of TensorFlow's page on performance; https://github.com/tensorflow/docs, file
// site/en/r1/guide/performance/benchmarks.md.
constexpr const char* kTensorFlow = "TensorFlow, Benchmarks, May 2017";
// README.md before pull request 44 of https://github.com/horovod/horovod.
constexpr const char* kHorovod16 = "Horovod, README.md, September 2017";
// README.md of October 2017, and docs/benchmarks.rst.
constexpr const char* kLaunches =
    "more is lost than the links explain; that kernels which exchange and kernels which compute "
    "share the processors of a card is not simulated";
constexpr const char* kCongestion =
    "the rate falls with the number of hosts as if the network became slower; stalls of a large "
    "network and the traffic of others are not simulated";
constexpr const char* kGrpc =
    "the links could carry more than was measured; copies and threads of TensorFlow's servers are "
    "not simulated";
constexpr const char* kCards =
    "a tenth is lost on 8 cards of one host already, where links explain nothing";
constexpr const char* kHorovod = "Horovod, README.md, 2017 and 2018";

/// An NVIDIA DGX-1: 8 Tesla P100, two of them on each switch to the processors, whose two sockets
/// have four channels of DDR4-2400 each.
Cluster dgx1() {
  return {.towers_per_host = 8,
          .inside = {kPciExpress, 5e-6},
          .between = {100 * kGigabit, 5e-6},
          .towers_per_uplink = 2,
          .tower_memory = 732e9,
          .host_memory = 153.6e9};
}

/// Hosts with 4 Pascal cards on 25 Gbit/s Ethernet with RoCE. Its packets carry 1024 bytes in 1106
/// bytes of line time. The latencies are those that NCCL 2.5 reckons with for a ring.
Cluster horovod_hosts() {
  return {.towers_per_host = 4,
          .inside = {kPciExpress, 5.7e-6},
          .between = {25 * kGigabit * 1024 / 1106, 6.6e-6},
          .tower_memory = 732e9,
          .host_memory = 153.6e9};
}

/// Amazon's p2.8xlarge: 8 halves of Tesla K80 on 10 Gbit/s Ethernet with packets of 9001 bytes.
Cluster p2_hosts() {
  return {.towers_per_host = 8,
          .inside = {kPciExpress, 5e-6},
          .between = {10 * kGigabit * 8949 / 9039, 5e-5},
          .towers_per_uplink = 2,
          .tower_memory = 240e9,
          .host_memory = 76.8e9};
}

/// A published curve without its profile, which follows from its points.
struct Published {
  const char* name;
  const char* source;
  double batch;
  double alone;  ///< examples per second of one tower
  std::vector<ProfiledLayer> layers;
  Points points;
  const char* differs = "";
};

PublishedCurve with_profile(const Published& one, const Cluster& cluster,
                            const ScaleOptions& options) {
  double elements = 0;
  for (const ProfiledLayer& layer : one.layers) elements += layer.elements;
  const double update = kUpdatePasses * 4 * elements / cluster.tower_memory;
  return {one.name,
          one.source,
          profile_of_layers(one.name, one.batch, one.batch / one.alone - update, one.layers),
          cluster,
          options,
          one.points,
          one.differs};
}

void add_dgx1(std::vector<PublishedCurve>& all) {
  const auto inception3 = inception3_layers(), resnet50 = resnet_layers({3, 4, 6, 3}),
             resnet152 = resnet_layers({3, 8, 36, 3});
  for (const Published& one : std::vector<Published>{{"Inception v3, 64, DGX-1",
                                                      kTensorFlow,
                                                      64,
                                                      142,
                                                      inception3,
                                                      {{1, 142}, {2, 284}, {4, 569}, {8, 1131}}},
                                                     {"ResNet-50, 64, DGX-1",
                                                      kTensorFlow,
                                                      64,
                                                      219,
                                                      resnet50,
                                                      {{1, 219}, {2, 422}, {4, 852}, {8, 1734}}},
                                                     {"ResNet-152, 64, DGX-1",
                                                      kTensorFlow,
                                                      64,
                                                      91.8,
                                                      resnet152,
                                                      {{1, 91.8}, {2, 181}, {4, 356}, {8, 716}}},
                                                     {"Inception v3, 32, DGX-1",
                                                      kTensorFlow,
                                                      32,
                                                      128,
                                                      inception3,
                                                      {{1, 128}, {2, 259}, {4, 520}, {8, 995}}},
                                                     {"ResNet-50, 32, DGX-1",
                                                      kTensorFlow,
                                                      32,
                                                      195,
                                                      resnet50,
                                                      {{1, 195}, {2, 368}, {4, 768}, {8, 1485}}},
                                                     {"ResNet-152, 32, DGX-1",
                                                      kTensorFlow,
                                                      32,
                                                      82.7,
                                                      resnet152,
                                                      {{1, 82.7}, {2, 160}, {4, 317}, {8, 632}}}}) {
    all.push_back(with_profile(
        one, dgx1(), {.strategy = scale_strategy("parameter_server"), .read_at_start = true}));
  }
  // NCCL sends each gradient by itself, over NVLink.
  Cluster nvlink = dgx1();
  nvlink.inside = {20e9, 3.4e-6};
  for (const Published& one :
       std::vector<Published>{{"VGG-16, 64, DGX-1",
                               kTensorFlow,
                               64,
                               154,
                               vgg16_layers(),
                               {{1, 154}, {2, 295}, {4, 584}, {8, 1081, true}},
                               kLaunches},
                              {"AlexNet, 512, DGX-1",
                               kTensorFlow,
                               512,
                               2987,
                               alexnet_layers(),
                               {{1, 2987}, {2, 5658}, {4, 10509, true}, {8, 17822, true}},
                               kLaunches}}) {
    all.push_back(
        with_profile(one, nvlink, {.strategy = scale_strategy("rotated_ring"), .bucket_bytes = 1}));
  }
}

void add_horovod(std::vector<PublishedCurve>& all) {
  const auto points = [](double alone, double at_16, double share_128, double share_512,
                         bool differs = false) {
    return Points{{16, at_16},
                  {128, share_128 * 128 * alone, differs},
                  {512, share_512 * 512 * alone, differs}};
  };
  for (const Published& one :
       std::vector<Published>{{"Inception v3, Horovod", kHorovod, 64, 134.4, inception3_layers(),
                               points(134.4, 2022.6, 0.9, 0.9)},
                              {"ResNet-101, Horovod", kHorovod, 64, 119.4,
                               resnet_layers({3, 4, 23, 3}), points(119.4, 1746.2, 0.9, 0.9)},
                              {"VGG-16, Horovod", kHorovod, 64, 130.9, vgg16_layers(),
                               points(130.9, 1787.4, 0.79, 0.68, true), kCongestion}}) {
    // Tensor fusion hands over up to 64 MiB at a time.
    all.push_back(with_profile(
        one, horovod_hosts(),
        {.strategy = scale_strategy("rotated_ring"), .bucket_bytes = 64 << 20, .in_turn = true}));
  }
}

void add_parameter_servers(std::vector<PublishedCurve>& all) {
  for (const Published& one : std::vector<Published>{
           {"Inception v3, servers",
            kHorovod16,
            64,
            134.4,
            inception3_layers(),
            {{16, 1576.4, true}},
            kGrpc},
           {"ResNet-101, servers",
            kHorovod16,
            64,
            119.4,
            resnet_layers({3, 4, 23, 3}),
            {{16, 1168.8, true}},
            kGrpc},
           {"VGG-16, servers", kHorovod16, 64, 130.9, vgg16_layers(), {{16, 79.5, true}}, kGrpc}}) {
    all.push_back(
        with_profile(one, horovod_hosts(),
                     {.strategy = scale_strategy("parameter_server"), .read_at_start = true}));
  }
}

void add_p2(std::vector<PublishedCurve>& all) {
  const auto add = [&](int servers, const Published& one) {
    all.push_back(with_profile(one, p2_hosts(),
                               {.strategy = scale_strategy("parameter_server"),
                                .servers = servers,
                                .add_in_host = true,
                                .read_at_start = true}));
  };
  add(6, {"Inception v3, 64, EC2",
          kTensorFlow,
          64,
          29.7,
          inception3_layers(),
          {{1, 29.7}, {8, 229}, {16, 459}, {32, 902}, {64, 1783}}});
  add(0, {"ResNet-50, 64, EC2",
          kTensorFlow,
          64,
          52.4,
          resnet_layers({3, 4, 6, 3}),
          {{1, 52.4}, {8, 378, true}, {16, 751, true}, {32, 1388, true}, {64, 2744, true}},
          kCards});
  add(4, {"ResNet-152, 32, EC2",
          kTensorFlow,
          32,
          19.4,
          resnet_layers({3, 8, 36, 3}),
          {{1, 19.4}, {8, 146}, {16, 291}, {32, 565}, {64, 981, true}},
          kGrpc});
}

}  // namespace

std::vector<PublishedCurve> published_curves() {
  std::vector<PublishedCurve> all;
  add_dgx1(all);
  add_horovod(all);
  add_parameter_servers(all);
  add_p2(all);
  return all;
}

}  // namespace towerflow::report
