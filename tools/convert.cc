// `towerflow convert`: converts published data sets to the TFRecord files that training reads.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "data/cifar10_convert.h"
#include "data/jpeg_convert.h"
#include "data/mnist_convert.h"
#include "tools/command.h"
#include "tools/options.h"
#include "tools/progress.h"

namespace towerflow::tools {
namespace {

constexpr const char* kConvertMnistHelp =
    "IDX_DIR holds the four files of MNIST, plain or with .gz:\n"
    "  train-images-idx3-ubyte  train-labels-idx1-ubyte\n"
    "  t10k-images-idx3-ubyte   t10k-labels-idx1-ubyte\n"
    "DIR gets train.tfrecords, validation.tfrecords and test.tfrecords, of 55000, 5000 and 10000\n"
    "digits; the validation set is the start of the training set. An earlier conversion there is\n"
    "replaced. Each record is a tf.train.Example with image_raw (784 bytes), label, height, width\n"
    "and depth.\n"
    "\n"
    "Example: towerflow convert mnist --from downloads --to data/mnist --compression gzip";

constexpr const char* kConvertCifar10Help =
    "BIN_DIR holds the files of CIFAR-10's binary version, plain or with .gz:\n"
    "  data_batch_1.bin .. data_batch_5.bin  test_batch.bin\n"
    "DIR gets train.tfrecords (batches 1 to 4), validation.tfrecords (batch 5) and eval.tfrecords\n"
    "(the test batch), made of the files that are there; an earlier conversion is replaced.\n"
    "Each record is a tf.train.Example with image (3072 bytes: the red, green and blue planes) "
    "and\n"
    "label.\n"
    "\n"
    "Example: towerflow convert cifar10 --from cifar-10-batches-bin --to data/cifar10_records";

constexpr const char* kConvertInception3Help =
    "JPEG_DIR has a subfolder of JPEGs for each label: roses/1.jpg, tulips/2.jpg, ..\n"
    "DIR gets train-00000-of-00002, .., and validation-00000-of-00002, .. of the images of\n"
    "--validation; an earlier conversion there is replaced. labels.txt lists the labels: the "
    "first\n"
    "is class 1, since class 0 is the background. Each record is a tf.train.Example of ImageNet's\n"
    "schema with the JPEG as it is; images are in random order, the same each time. A file that "
    "is\n"
    "no JPEG is an error; names that begin with a dot are ignored.\n"
    "\n"
    "Example: towerflow convert inception3 --from flowers/train --validation flowers/validation "
    "--to runs/flowers";

constexpr const char* kConvertHelp =
    "Training reads TFRecord files, one Example a record, since they are read front to back,\n"
    "checked by checksums and shuffled by a queue. `towerflow inspect FILE` says what is in one.\n"
    "\n"
    "Example: towerflow convert mnist --from downloads --to data/mnist";

/// What every conversion takes.
struct Folders {
  std::string from, to;
  bool json = false;
};

void add_folders(CLI::App& app, Folders& folders, const char* from, const char* type) {
  add_text(app, "--from", folders.from, from, {.type = type, .required = true});
  add_text(app, "--to", folders.to, "folder to write to, made where absent",
           {.type = "DIR", .required = true});
}

struct ConvertArguments : Folders {
  std::string compression = "none";
  data::MnistConvertOptions options;
  bool without_geometry = false;
};

data::Compression compression_named(const std::string& name) {
  if (name == "gzip") return data::Compression::gzip;
  return name == "zlib" ? data::Compression::zlib : data::Compression::none;
}

void convert_mnist(ConvertArguments arguments) {
  Progress progress("converting");
  arguments.options.compression = compression_named(arguments.compression);
  arguments.options.with_geometry = !arguments.without_geometry;
  arguments.options.progress = [&](std::int64_t done, std::int64_t total) {
    progress.update(done, total);
  };
  const data::MnistCounts counts =
      data::convert_mnist(arguments.from, arguments.to, arguments.options);
  progress.finish();
  fmt::print("Wrote to {}: {} training, {} validation and {} test digits.\n", arguments.to,
             counts.train, counts.validation, counts.test);
  if (arguments.json) {
    fmt::print("{{\"dataset\": \"mnist\", \"train\": {}, \"validation\": {}, \"test\": {}}}\n",
               counts.train, counts.validation, counts.test);
  }
}

void add_convert_mnist(CLI::App& convert) {
  CLI::App& app = add_subcommand(convert, "mnist", "handwritten digits, from their IDX files",
                                 kConvertMnistHelp);
  const auto arguments = std::make_shared<ConvertArguments>();
  add_folders(app, *arguments, "folder of the IDX files", "IDX_DIR");
  add_choice(app, "--compression", arguments->compression,
             "none, gzip (adds .gz to the names) or zlib", {"none", "gzip", "zlib"});
  data::MnistConvertOptions& options = arguments->options;
  add_integer(app, "--validation-size", options.validation_size,
              "digits of the training set that become the validation set", {.least = 0});
  add_integer(app, "--max-train", options.max_train, "write at most N training digits",
              {.least = 0});
  add_integer(app, "--max-validation", options.max_validation, "write at most N validation digits",
              {.least = 0});
  add_integer(app, "--max-test", options.max_test, "write at most N test digits", {.least = 0});
  add_flag(app, "--without-geometry", arguments->without_geometry,
           "leave height, width and depth out of the records");
  add_json(app, arguments->json);
  set_action(app, [arguments] { convert_mnist(*arguments); });
}

void convert_cifar10(const Folders& arguments) {
  Progress progress("converting");
  const data::Cifar10Counts counts = data::convert_cifar10(
      arguments.from, arguments.to,
      [&](std::int64_t done, std::int64_t total) { progress.update(done, total); });
  progress.finish();
  fmt::print("Wrote to {}: {} training, {} validation and {} evaluation images.\n", arguments.to,
             counts.train, counts.validation, counts.eval);
  if (arguments.json) {
    fmt::print("{{\"dataset\": \"cifar10\", \"train\": {}, \"validation\": {}, \"eval\": {}}}\n",
               counts.train, counts.validation, counts.eval);
  }
}

void add_convert_cifar10(CLI::App& convert) {
  CLI::App& app = add_subcommand(convert, "cifar10",
                                 "small images of ten classes, from their binary "
                                 "files",
                                 kConvertCifar10Help);
  const auto arguments = std::make_shared<Folders>();
  add_folders(app, *arguments, "folder of the binary files", "BIN_DIR");
  add_json(app, arguments->json);
  set_action(app, [arguments] { convert_cifar10(*arguments); });
}

struct JpegArguments : Folders {
  std::string validation, labels;
  data::JpegConvertOptions options;
};

void convert_inception3(JpegArguments arguments) {
  Progress progress("converting");
  data::JpegConvertOptions& options = arguments.options;
  if (!arguments.validation.empty()) options.validation_dir = arguments.validation;
  if (!arguments.labels.empty()) options.labels_file = arguments.labels;
  options.progress = [&](std::int64_t done, std::int64_t total) { progress.update(done, total); };
  const data::JpegCounts counts = data::convert_jpegs(arguments.from, arguments.to, options);
  progress.finish();
  fmt::print("Wrote to {}: {} training and {} validation images of {} labels.\n", arguments.to,
             counts.train, counts.validation, counts.labels);
  if (arguments.json) {
    fmt::print(
        "{{\"dataset\": \"inception3\", \"train\": {}, \"validation\": {}, \"labels\": {}}}\n",
        counts.train, counts.validation, counts.labels);
  }
}

void add_convert_inception3(CLI::App& convert) {
  CLI::App& app =
      add_subcommand(convert, "inception3", "JPEGs for Inception v3, from a folder for each label",
                     kConvertInception3Help);
  const auto arguments = std::make_shared<JpegArguments>();
  add_folders(app, *arguments, "folder of the training images", "JPEG_DIR");
  add_text(app, "--validation", arguments->validation, "folder of the validation images",
           {.type = "JPEG_DIR"});
  add_text(app, "--labels", arguments->labels,
           "file with a label a line, numbered from 1; subfolders that it does not name are left "
           "out. By default the names of the subfolders of --from, sorted",
           {.type = "FILE"});
  constexpr IntegerRange kShards{.most = 99999};
  data::JpegConvertOptions& options = arguments->options;
  add_integer(app, "--train-shards", options.train_shards,
              "files of the training set, at most one an image", kShards);
  add_integer(app, "--validation-shards", options.validation_shards,
              "files of the validation set, at most one an image", kShards);
  add_json(app, arguments->json);
  set_action(app, [arguments] { convert_inception3(*arguments); });
}

}  // namespace

void add_convert(CLI::App& app) {
  CLI::App& convert = add_subcommand(
      app, "convert", "convert a published data set to TFRecord files", kConvertHelp);
  require_subcommand(convert);
  add_convert_mnist(convert);
  add_convert_cifar10(convert);
  add_convert_inception3(convert);
}

}  // namespace towerflow::tools
