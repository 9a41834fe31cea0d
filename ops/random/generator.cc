#include "ops/random/generator.h"

namespace towerflow::random {
namespace {

struct Generator final : Resource {
  explicit Generator(const Seeds& seeds) : philox(seeds.seed, seeds.seed2) {}
  GuardedPhilox philox;
};

}  // namespace

GuardedPhilox& generator_of(const LaunchArgs& args, const std::string& node, const Seeds& seeds) {
  Resource& resource = args.run->resources.resource(
      node, [&seeds]() -> std::unique_ptr<Resource> { return std::make_unique<Generator>(seeds); });
  return static_cast<Generator&>(resource).philox;
}

}  // namespace towerflow::random
