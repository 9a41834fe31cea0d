#include <algorithm>

#include "models/inception3/inception3.h"
#include "towerflow/tf.h"

namespace towerflow::models::inception3 {
namespace {

/// Examples that the shuffling queue holds at least, if an epoch has as many.
constexpr std::int64_t kExamplesInQueue = 16 * 1024;
constexpr int kReaders = 4;
constexpr int kEvaluationThreads = 4;

std::int32_t int32_of(std::int64_t number) { return static_cast<std::int32_t>(number); }

struct Example {
  Tensor image_buffer;  ///< a JPEG
  Tensor label;         ///< int32 [1]
  Tensor bbox;          ///< [1, boxes, 4]
};

Example parse_example_proto(const Tensor& example_serialized) {
  const tf::VarLenFeature side{.dtype = tf::float32};
  const auto features = tf::parse_single_example(
      example_serialized,
      tf::MixedFeatures{
          {"image/encoded", tf::FixedLenFeature{.dtype = tf::string,
                                                .default_value = Array::scalar<std::string>("")}},
          {"image/class/label",
           tf::FixedLenFeature{
               .shape = {1}, .dtype = tf::int64, .default_value = Array::scalar<std::int64_t>(-1)}},
          {"image/class/text",
           tf::FixedLenFeature{.dtype = tf::string,
                               .default_value = Array::scalar<std::string>("")}},
          {"image/object/bbox/xmin", side},
          {"image/object/bbox/ymin", side},
          {"image/object/bbox/xmax", side},
          {"image/object/bbox/ymax", side}});
  const Tensor label = tf::cast(features["image/class/label"], tf::int32);
  const auto row = [&](const char* key) {
    return tf::expand_dims(features.sparse(std::string("image/object/bbox/") + key).values, 0);
  };
  const Tensor xmin = row("xmin"), ymin = row("ymin"), xmax = row("xmax"), ymax = row("ymax");
  Tensor bbox = tf::concat({ymin, xmin, ymax, xmax}, 0);
  bbox = tf::transpose(tf::expand_dims(bbox, 0), {0, 2, 1});
  return {features["image/encoded"], label, bbox};
}

/// Returns pixels from 0 to 1.
Tensor decode_jpeg(const Tensor& image_buffer) {
  const auto scope = tf::name_scope("decode_jpeg");
  const Tensor image = tf::image::decode_jpeg(image_buffer, {.channels = 3});
  return tf::image::convert_image_dtype(image, tf::float32);
}

/// Changes the colours in an order that depends on the thread, since the changes do not commute.
Tensor distort_color(Tensor image, int thread_id) {
  const auto scope = tf::name_scope("distort_color");
  image = tf::image::random_brightness(image, 32. / 255.);
  if (thread_id % 2 == 0) {
    image = tf::image::random_saturation(image, 0.5, 1.5);
    image = tf::image::random_hue(image, 0.2);
    image = tf::image::random_contrast(image, 0.5, 1.5);
  } else {
    image = tf::image::random_contrast(image, 0.5, 1.5);
    image = tf::image::random_saturation(image, 0.5, 1.5);
    image = tf::image::random_hue(image, 0.2);
  }
  return tf::clip_by_value(image, 0.0, 1.0);
}

Tensor distort_image(const Tensor& image, const Tensor& bbox, int thread_id) {
  const auto scope = tf::name_scope("distort_image");
  const auto show = [&](const char* name, const Tensor& one) {
    if (thread_id == 0) tf::summary::image(name, tf::expand_dims(one, 0));
  };
  const auto show_boxes = [&](const char* name, const Tensor& boxes) {
    if (thread_id != 0) return;
    const Tensor images = tf::expand_dims(image, 0);
    tf::summary::image(name, tf::image::draw_bounding_boxes(images, boxes));
  };
  show_boxes("image_with_bounding_boxes", bbox);
  const Tensor size = tf::shape(image);
  // In TensorFlow this op alone ignores the graph's seed.
  const std::optional<std::int64_t> seed = tf::get_default_graph().seed;
  const auto box =
      tf::image::sample_distorted_bounding_box(size, bbox,
                                               {.seed = seed.value_or(0),
                                                .seed2 = seed ? thread_id + 1 : 0,
                                                .min_object_covered = 0.1,
                                                .use_image_if_no_bounding_boxes = true});
  show_boxes("images_with_distorted_bounding_box", box.bboxes);
  Tensor distorted_image = tf::slice(image, box.begin, box.size);
  distorted_image = tf::image::resize_images(distorted_image, {kImageSize, kImageSize},
                                             static_cast<tf::image::ResizeMethod>(thread_id % 4));
  distorted_image.set_shape({kImageSize, kImageSize, 3});
  show("cropped_resized_image", distorted_image);
  distorted_image = tf::image::random_flip_left_right(distorted_image);
  distorted_image = distort_color(distorted_image, thread_id);
  show("final_distorted_image", distorted_image);
  return distorted_image;
}

/// Returns the middle of an image, resized.
Tensor eval_image(Tensor image) {
  const auto scope = tf::name_scope("eval_image");
  image = tf::image::central_crop(image, 0.875);
  image = tf::expand_dims(image, 0);
  image = tf::image::resize_bilinear(image, {kImageSize, kImageSize});
  return tf::squeeze(image, {.axis = {0}});
}

/// Scales pixels from 0 .. 1 to -1 .. 1.
Tensor scaled(const Tensor& image) {
  const Tensor centred = tf::subtract(image, 0.5);
  return tf::multiply(centred, 2.0);
}

Batch reshaped(const std::vector<Tensor>& batch, std::int64_t batch_size) {
  Tensor images = tf::cast(batch[0], tf::float32);
  images = tf::reshape(images, {int32_of(batch_size), kImageSize, kImageSize, 3});
  tf::summary::image("images", images);
  return {images, tf::reshape(batch[1], {int32_of(batch_size)})};
}

/// Returns serialized examples in random order.
Tensor shuffled_examples(const InputOptions& options, std::int64_t batch_size) {
  const auto filename_queue = tf::train::string_input_producer(
      options.files, {.num_epochs = options.num_epochs, .capacity = 16});
  const std::int64_t min_queue_examples = std::min(kExamplesInQueue, options.examples);
  const tf::RandomShuffleQueue examples_queue(min_queue_examples + 3 * batch_size,
                                              min_queue_examples, {tf::string});
  std::vector<Operation> enqueue_ops;
  for (int i = 0; i < kReaders; ++i) {
    const tf::TFRecordReader reader;
    const auto [key, value] = reader.read(filename_queue, {.share = options.share});
    enqueue_ops.push_back(examples_queue.enqueue({value}));
  }
  tf::train::add_queue_runner(tf::train::QueueRunner(examples_queue, enqueue_ops));
  return examples_queue.dequeue();
}

}  // namespace

BatchFunction distorted_inputs(const InputOptions& options) {
  const int num_preprocess_threads = options.num_threads * options.num_towers;
  const std::int64_t batch_size = options.batch_size * options.num_towers;
  const Batch batch = [&] {
    const auto device = tf::device("/cpu:0");
    const auto scope = tf::name_scope("batch_processing");
    const Tensor example_serialized = shuffled_examples(options, batch_size);
    std::vector<std::vector<Tensor>> images_and_labels;
    for (int thread_id = 0; thread_id < num_preprocess_threads; ++thread_id) {
      const Example example = parse_example_proto(example_serialized);
      Tensor image = decode_jpeg(example.image_buffer);
      image = distort_image(image, example.bbox, thread_id);
      images_and_labels.push_back({scaled(image), example.label});
    }
    return reshaped(tf::train::batch_join(images_and_labels,
                                          {.batch_size = batch_size,
                                           .capacity = 2 * num_preprocess_threads * batch_size}),
                    batch_size);
  }();
  const auto images_splits = tf::split(batch.features, options.num_towers, 0);
  const auto labels_splits = tf::split(batch.labels, options.num_towers, 0);
  return [images_splits, labels_splits, tower = std::size_t{0}]() mutable {
    const Batch next{images_splits[tower], labels_splits[tower]};
    ++tower;
    return next;
  };
}

Batch inputs(const std::vector<std::string>& files, std::int64_t batch_size) {
  const auto device = tf::device("/cpu:0");
  const auto scope = tf::name_scope("batch_processing");
  const auto filename_queue =
      tf::train::string_input_producer(files, {.num_epochs = 1, .shuffle = false, .capacity = 1});
  const tf::TFRecordReader reader;
  const auto [key, example_serialized] = reader.read(filename_queue);
  std::vector<std::vector<Tensor>> images_and_labels;
  for (int thread_id = 0; thread_id < kEvaluationThreads; ++thread_id) {
    const Example example = parse_example_proto(example_serialized);
    const Tensor image = eval_image(decode_jpeg(example.image_buffer));
    images_and_labels.push_back({scaled(image), example.label});
  }
  return reshaped(
      tf::train::batch_join(images_and_labels, {.batch_size = batch_size,
                                                .capacity = 2 * kEvaluationThreads * batch_size,
                                                .allow_smaller_final_batch = true}),
      -1);
}

Batch batch_in_memory(std::int64_t batch_size) {
  const auto cpu = tf::device("/cpu:0");
  const Tensor pixels = tf::random_normal({batch_size, kImageSize, kImageSize, 3}, {.seed = 1});
  Array classes(tf::int32, Shape{batch_size});
  for (std::int64_t i = 0; i < batch_size; ++i) {
    classes.data<std::int32_t>()[i] = int32_of(1 + i % kClasses);
  }
  const Variable images(pixels, {.trainable = false, .name = "images"});
  const Variable labels(classes, {.trainable = false, .name = "labels"});
  return {images, labels};
}

}  // namespace towerflow::models::inception3
