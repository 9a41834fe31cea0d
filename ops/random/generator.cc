#include "ops/random/generator.h"

namespace towerflow::random {
namespace {

struct Generator final : Resource {
  explicit Generator(const Seeds& seeds) : philox(seeds.seed, seeds.seed2) {}
  GuardedPhilox philox;
};

}  // namespace

GuardedPhilox& generator_of(const LaunchArgs& args, const std::string& node, const Seeds& seeds) {
  return args.run->resources
      .resource<Generator>(node, [&seeds] { return std::make_unique<Generator>(seeds); })
      .philox;
}

}  // namespace towerflow::random
