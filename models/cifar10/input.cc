#include <algorithm>

#include "data/cifar10.h"
#include "models/cifar10/cifar10.h"
#include "towerflow/tf.h"

namespace towerflow::models::cifar10 {
namespace {

/// Part of an epoch that the shuffling queue holds at least.
constexpr double kMinFractionInQueue = 0.4;

std::int32_t int32_of(std::int64_t number) { return static_cast<std::int32_t>(number); }

/// Reads the next image, of 32 x 32 pixels, as float32, and its label.
Batch read_image(const QueueBase& filename_queue, tf::data::RecordShare share = {}) {
  const auto read_input = tf::read_cifar10(filename_queue, share);
  return {tf::cast(read_input.image, tf::float32), read_input.label};
}

}  // namespace

Batch distorted_batch(const InputOptions& options) {
  const auto scope = tf::name_scope("data_augmentation");
  const auto filename_queue =
      tf::train::string_input_producer(options.files, {.num_epochs = options.num_epochs});
  const auto [image, label] = read_image(filename_queue, options.share);

  Tensor distorted_image = tf::random_crop(image, {kImageSize, kImageSize, 3});
  distorted_image = tf::image::random_flip_left_right(distorted_image);
  distorted_image = tf::image::random_brightness(distorted_image, 63);
  distorted_image = tf::image::random_contrast(distorted_image, 0.2, 1.8);
  Tensor float_image = tf::image::per_image_standardization(distorted_image);
  float_image.set_shape({kImageSize, kImageSize, 3});

  const auto kept =
      static_cast<std::int64_t>(static_cast<double>(options.examples) * kMinFractionInQueue);
  const auto batch =
      tf::train::shuffle_batch({float_image, label}, {.batch_size = options.batch_size,
                                                      .capacity = kept + 3 * options.batch_size,
                                                      .min_after_dequeue = kept,
                                                      .num_threads = options.num_threads});
  tf::summary::image("images", batch[0]);
  return {batch[0], tf::reshape(batch[1], {int32_of(options.batch_size)})};
}

BatchFunction distorted_inputs(const InputOptions& options) {
  const Batch batch = distorted_batch(options);
  const auto scope = tf::name_scope("data_augmentation/");  // again
  const auto batch_queue = tf::slim::prefetch_queue({batch.features, batch.labels},
                                                    {.capacity = 2 * options.num_towers});
  return [batch_queue] {
    const auto next = batch_queue.dequeue();
    return Batch{next[0], next[1]};
  };
}

Batch inputs(const std::vector<std::string>& files, std::int64_t batch_size) {
  const auto scope = tf::name_scope("input");
  const auto filename_queue =
      tf::train::string_input_producer(files, {.num_epochs = 1, .shuffle = false});
  const auto [image, label] = read_image(filename_queue);
  const Tensor resized_image =
      tf::image::resize_image_with_crop_or_pad(image, kImageSize, kImageSize);
  Tensor float_image = tf::image::per_image_standardization(resized_image);
  float_image.set_shape({kImageSize, kImageSize, 3});
  const auto batch = tf::train::batch(
      {float_image, label},
      {.batch_size = batch_size, .capacity = 4 * batch_size, .allow_smaller_final_batch = true});
  return {batch[0], tf::reshape(batch[1], {-1})};
}

Batch batch_in_memory(std::int64_t batch_size) {
  const auto cpu = tf::device("/cpu:0");
  const Tensor pixels = tf::random_normal({batch_size, kImageSize, kImageSize, 3}, {.seed = 1});
  Array classes(tf::int32, Shape{batch_size});
  for (std::int64_t i = 0; i < batch_size; ++i) {
    classes.data<std::int32_t>()[i] = int32_of(i % kClasses);
  }
  const Variable images(pixels, {.trainable = false, .name = "images"});
  const Variable labels(classes, {.trainable = false, .name = "labels"});
  return {images, labels};
}

}  // namespace towerflow::models::cifar10
