#include <tuple>

#include "models/resnet20/resnet20.h"
#include "towerflow/tf.h"

namespace towerflow::models::resnet20 {
namespace {

/// Returns the image and the label of a serialized example.
///
/// shapes   image [32, 32, 3] (float32), label [] (int32)
std::tuple<Tensor, Tensor> parse_example(const Tensor& serialized_example) {
  auto features = tf::parse_single_example(
      serialized_example, {{"image", tf::FixedLenFeature{.shape = {}, .dtype = tf::string}},
                           {"label", tf::FixedLenFeature{.shape = {}, .dtype = tf::int64}}});
  Tensor image = tf::decode_raw(features["image"], tf::uint8);
  image.set_shape({3 * kImageSize * kImageSize});
  const Tensor planes = tf::reshape(image, {3, kImageSize, kImageSize});
  image = tf::cast(tf::transpose(planes, {1, 2, 0}), tf::float32);
  return {image, tf::cast(features["label"], tf::int32)};
}

/// Returns the image, padded by 4 pixels on each side, cropped at random and flipped or not, and
/// its label.
std::tuple<Tensor, Tensor> distorted_example(const Tensor& serialized_example) {
  const auto [image, label] = parse_example(serialized_example);
  const Tensor wide = tf::image::resize_image_with_crop_or_pad(image, 40, 40);
  const Tensor part = tf::random_crop(wide, {kImageSize, kImageSize, 3});
  return {tf::image::random_flip_left_right(part), label};
}

}  // namespace

data::Iterator distorted_batches(const InputOptions& options) {
  const auto cpu = tf::device("/cpu:0");
  const std::int64_t batch_size = options.batch_size * options.num_towers;
  tf::data::Dataset records = tf::data::TFRecordDataset(options.files);
  if (options.share.count > 1) records = records.shard(options.share.count, options.share.index);
  records = records.repeat(options.num_epochs.value_or(-1));
  const tf::data::Dataset images =
      records.map(distorted_example, {.num_parallel_calls = options.num_threads})
          .prefetch(2 * batch_size);
  const auto min_queue_examples =
      static_cast<std::int64_t>(static_cast<double>(options.examples) * 0.4);
  return images.shuffle(min_queue_examples + 3 * batch_size)
      .batch(batch_size, {.drop_remainder = options.num_epochs.has_value()})
      .make_one_shot_iterator();
}

BatchFunction dealt_inputs(const data::Iterator& batches, const InputOptions& options) {
  const auto cpu = tf::device("/cpu:0");
  const auto [image_batch, label_batch] = batches.get_next().unpack<2>();
  std::vector<Batch> shards;
  if (options.num_towers == 1) {
    shards.push_back({image_batch, label_batch});
  } else {
    const auto num_shards = static_cast<std::size_t>(options.num_towers);
    const int batch_size = static_cast<int>(options.batch_size) * options.num_towers;
    const std::vector<Tensor> images = tf::unstack(image_batch, batch_size);
    const std::vector<Tensor> labels = tf::unstack(label_batch, batch_size);
    std::vector<std::vector<Tensor>> feature_shards(num_shards), label_shards(num_shards);
    for (std::size_t i = 0; i < images.size(); ++i) {
      feature_shards[i % num_shards].push_back(images[i]);
      label_shards[i % num_shards].push_back(labels[i]);
    }
    for (const auto& shard : feature_shards) shards.push_back({tf::parallel_stack(shard), {}});
    for (std::size_t i = 0; i < num_shards; ++i) {
      shards[i].labels = tf::parallel_stack(label_shards[i]);
    }
  }
  return [shards, next = std::size_t{0}]() mutable { return shards.at(next++); };
}

Batch inputs(const std::vector<std::string>& files, std::int64_t batch_size) {
  const auto cpu = tf::device("/cpu:0");
  const auto batches = tf::data::TFRecordDataset(files)
                           .map(parse_example)
                           .batch(batch_size)
                           .make_one_shot_iterator();
  const auto [images, labels] = batches.get_next().unpack<2>();
  return {images, labels};
}

Batch batch_in_memory(std::int64_t batch_size) {
  const auto cpu = tf::device("/cpu:0");
  const Tensor pixels = tf::random_uniform({batch_size, kImageSize, kImageSize, 3},
                                           {.minval = 0.0, .maxval = 255.0, .seed = 1});
  Array classes(tf::int32, Shape{batch_size});
  for (std::int64_t i = 0; i < batch_size; ++i) {
    classes.data<std::int32_t>()[i] = static_cast<std::int32_t>(i % 10);
  }
  const Variable images(pixels, {.trainable = false, .name = "images"});
  const Variable labels(classes, {.trainable = false, .name = "labels"});
  return {images, labels};
}

}  // namespace towerflow::models::resnet20
