#include "models/inception3/inception3.h"

#include <doctest/doctest.h>

#include "tests/data/support.h"
#include "towerflow/tf.h"

namespace {

using namespace towerflow;
namespace inception3 = models::inception3;

TEST_CASE("the graph's seed decides the distortions of inception3, with one thread") {
  const testing::ScratchFolder folder;
  inception3::kImages.make(folder.path().string());
  const auto files = inception3::kImages.files_of(folder.path().string(), models::Part::train);
  const auto batch_of = [&](std::int64_t seed) {
    Graph graph;
    const auto guard = graph.as_default();
    tf::set_random_seed(seed);
    const models::Batch batch = inception3::distorted_inputs(
        {.files = files, .examples = 64, .batch_size = 3, .num_threads = 1})();
    Session session(graph);
    session.run(tf::local_variables_initializer());
    tf::train::Coordinator coordinator;
    const auto threads = tf::train::start_queue_runners(session, {.coord = &coordinator});
    const Array images = session.run(batch.features);
    coordinator.request_stop();
    coordinator.join(threads);
    const auto pixels = images.flat<float>();
    return std::vector<float>(pixels.begin(), pixels.end());
  };
  const std::vector<float> once = batch_of(1);
  CHECK(once.size() == 3 * 299 * 299 * 3);
  CHECK(batch_of(1) == once);
  CHECK(batch_of(2) != once);
}

}  // namespace
