#include "models/three_stage_gan/three_stage_gan.h"
#include "towerflow/tf.h"

namespace towerflow::models::three_stage_gan {
namespace {

/// Returns 1 at the kHoleSize positions of a row or column that begin at `start`, else 0.
///
/// shapes   start [N, 1] -> [N, 28]
Tensor inside(const Tensor& start) {
  const Tensor places = tf::range(kImageSize);
  return tf::cast(
      tf::logical_and(tf::greater_equal(places, start), tf::less(places, start + kHoleSize)),
      tf::float32);
}

}  // namespace

Input holed_digits(const Batch& batch, bool random_hole) {
  constexpr int kPlaces = kImageSize - kHoleSize;
  const Tensor images = tf::reshape(batch.features + 0.5, {-1, kImageSize, kImageSize, 1});
  Tensor top = tf::constant({{kPlaces / 2}}), left = top;
  if (random_hole) {
    const Tensor shape = tf::stack({tf::shape(images)[0], 1});
    const auto place = [&] {
      return tf::random_uniform(shape, {.minval = 0, .maxval = kPlaces + 1, .dtype = tf::int32});
    };
    top = place();
    left = place();
  }
  const Tensor rows = tf::reshape(inside(top), {-1, kImageSize, 1, 1});
  const Tensor columns = tf::reshape(inside(left), {-1, 1, kImageSize, 1});
  return {images, 1.0 - rows * columns};
}

}  // namespace towerflow::models::three_stage_gan
