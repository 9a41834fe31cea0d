// Writes the seeds in tests/fuzz/corpus: small valid files of every kind. Run it from the project's
// root: build-fuzz/tests/fuzz/engine/make_corpus. TensorFlow's files are copied from the tests'
// golden files.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>

#include "data/cifar10.h"
#include "data/example.h"
#include "tests/fuzz/bundle.h"
#include "tests/fuzz/records.h"
#include "tests/fuzz/scratch.h"
#include "tests/ops/cases/image_samples.h"
#include "towerflow/towerflow.h"
#include "train/checkpoint/bundle_writer.h"
#include "train/summary/event.h"

namespace towerflow::fuzz {
namespace {

namespace fs = std::filesystem;

using data::Compression;

std::string bytes_of_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_seed(const std::string& target, const std::string& name, std::string_view bytes) {
  const fs::path folder = fs::path("tests/fuzz/corpus") / target;
  fs::create_directories(folder);
  std::ofstream out(folder / name, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) throw std::runtime_error("cannot write " + (folder / name).string());
  std::cout << folder.string() << '/' << name << ": " << bytes.size() << " bytes\n";
}

/// Writes a seed for `target` and for `inspect`.
void write_both_seeds(const std::string& target, const std::string& name, std::string_view bytes) {
  write_seed(target, name, bytes);
  write_seed("inspect", target + "_" + name, bytes);
}

std::vector<std::string> examples() {
  const auto example = [](std::vector<std::int64_t> ints, const std::string& text) {
    return data::ExampleBuilder()
        .int64_list("ints", ints)
        .float_list("floats", {1.5F, -2, 0, 1e30F})
        .bytes("bytes", text)
        .serialize();
  };
  return {example({1, -2, 300}, "text"), example({}, ""),
          data::ExampleBuilder().bytes_list("bytes", {"a", "", "bc"}).serialize()};
}

/// Returns an Example with integers in unpacked fields, as older writers encode them.
std::string unpacked_example() {
  const auto delimited = [](char field, const std::string& bytes) {
    return std::string(1, static_cast<char>(field << 3 | 2)) + static_cast<char>(bytes.size()) +
           bytes;
  };
  const std::string ints = delimited(3, std::string("\x08\x05\x08\x06\x08\x07", 6));
  const std::string entry = delimited(1, "ints") + delimited(2, ints);
  return delimited(1, delimited(1, entry));
}

void make_records() {
  const std::vector<std::string> messages = examples();
  const std::string plain = join_records(messages);
  write_both_seeds("tfrecord", "examples", plain);
  write_both_seeds("tfrecord", "gzip", packed(plain, Compression::gzip));
  write_both_seeds("tfrecord", "zlib", packed(plain, Compression::zlib));
  write_seed("tfrecord", "two_members",
             packed(join_records({"one"}), Compression::gzip) +
                 packed(join_records({"two", ""}), Compression::gzip));
  write_seed("tfrecord", "lines", "one\r\ntwo\n\nfour");
  for (std::size_t i = 0; i < messages.size(); ++i)
    write_seed("example", fmt::format("packed_{}", i), messages[i]);
  write_seed("example", "unpacked", unpacked_example());
}

void make_images() {
  using namespace towerflow::testing;
  const std::pair<const char*, const char*> samples[] = {{"jpeg_colour", kJpegColour},
                                                         {"jpeg_grey", kJpegGrey},
                                                         {"jpeg_progressive", kJpegProgressive},
                                                         {"jpeg_cmyk", kJpegCmyk},
                                                         {"png_colour", kPngColour},
                                                         {"png_grey_alpha", kPngGreyAlpha},
                                                         {"png_palette", kPngPalette},
                                                         {"png_one_bit", kPngOneBit},
                                                         {"png_deep", kPngDeep},
                                                         {"png_interlaced", kPngInterlaced}};
  for (const auto& sample : samples) {
    std::string bytes;
    const std::string_view digits = sample.second;
    for (std::size_t i = 0; i < digits.size(); i += 2)
      bytes += static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16));
    write_seed("image", sample.first, bytes);
  }
}

std::string idx(char type, const std::vector<char>& sizes, const std::string& values) {
  std::string bytes = {0, 0, type, static_cast<char>(sizes.size())};
  for (const char size : sizes) bytes += {0, 0, 0, size};
  return bytes + values;
}

void make_arrays() {
  const std::string pictures = idx(8, {2, 3, 2}, "012345ABCDEF");
  write_both_seeds("idx", "uint8", pictures);
  write_both_seeds("idx", "gzip", packed(pictures, Compression::gzip));
  write_seed("idx", "int16", idx(11, {3}, std::string("\0\1\xff\xfe\x7f\xff", 6)));
  write_seed("idx", "float64", idx(14, {1, 1}, std::string("\x3f\xf8\0\0\0\0\0\0", 8)));
  write_seed("idx", "empty", idx(13, {0, 4}, ""));
  std::string picture(static_cast<std::size_t>(data::kCifar10RecordBytes), '\x40');
  picture[0] = 7;
  write_seed("cifar10", "two", packed(picture + picture, Compression::gzip));
}

Bundle write_bundle(const std::vector<std::pair<std::string, Array>>& tensors) {
  const fs::path prefix = scratch_folder() / "seed";
  TensorBundleWriter writer(prefix);
  for (const auto& [name, value] : tensors) writer.add(name, value);
  writer.finish();
  return {bytes_of_file(prefix.string() + ".index"),
          bytes_of_file(prefix.string() + ".data-00000-of-00001")};
}

void make_checkpoints() {
  const Bundle some = write_bundle(
      {{"conv/weights", Array::of<float>(Shape{2, 2}, {1, 2, 3, 4})},
       {"global_step", Array::scalar<std::int64_t>(7)},
       {"flag", Array::scalar(true)},
       {"names", Array::of<std::string>(Shape{3}, std::vector<std::string>{"a", "", "long"})}});
  write_both_seeds("checkpoint", "some", join_bundle(some));
  write_seed("checkpoint", "none", join_bundle(write_bundle({})));
  std::vector<std::pair<std::string, Array>> many;
  for (int i = 0; i < 40; ++i) many.emplace_back(fmt::format("layer_{}/bias", i), Array::scalar(i));
  const Bundle blocks = write_bundle(many);
  write_seed("checkpoint", "snappy_blocks",
             join_bundle({make_table(table_records(blocks.index), true), blocks.data}));
  const std::string golden = "tests/train/checkpoint/golden/";
  for (const std::string name : {"all", "sliced"})
    write_seed("checkpoint", "tf_" + name,
               join_bundle({bytes_of_file(golden + name + ".ckpt.index"),
                            bytes_of_file(golden + name + ".ckpt.data-00000-of-00001")}));
  write_seed("checkpoint", "tf_sharded",
             join_bundle({bytes_of_file(golden + "sharded.ckpt.index"),
                          bytes_of_file(golden + "sharded.ckpt.data-00000-of-00002")}));
  for (const std::string name : {"absolute_folder", "relative_folder"})
    write_both_seeds("state", name, bytes_of_file(golden + name + ".txt"));
  write_seed("state", "all_fields",
             "model_checkpoint_path: \"m-2\"\nall_model_checkpoint_paths: \"m-1\"\n"
             "all_model_checkpoint_paths: \"m-2\"\nall_model_checkpoint_timestamps: 1.5\n"
             "all_model_checkpoint_timestamps: 2e9\nlast_preserved_timestamp: 1.25\n");
}

void make_events() {
  using namespace summary;
  const HistogramData histogram{-1, 2, 3, 1.5, 4.25, {0, 1, 1e308}, {1, 1, 1}};
  std::vector<std::string> records = {
      serialize({.wall_time = 1.7e9, .file_version = "brain.Event:2"}),
      serialize({.wall_time = 1.7e9, .step = 1, .summary = {{{"loss", 0.5F}}}}),
      serialize({.step = 2, .summary = {{{"loss", 0.25F}, {"h", std::nullopt, histogram}}}}),
      serialize({.session_log = SessionLog{SessionLog::START, "model-1", "going on"}}),
      // A GraphDef with two nodes: name, op, input.
      serialize({.graph_def = "\n\x0a\n\x01"
                              "a\x12\x05"
                              "Const\n\x0f\n\x01"
                              "b\x12\x07"
                              "Reshape\x1a\x01"
                              "a"})};
  write_both_seeds("events", "some", join_records(records));
  write_both_seeds("events", "tensorflow", bytes_of_file("tests/data/fixtures/events.tfevents"));
}

void write_graph_seed(const std::string& name, const std::function<void()>& build) {
  Graph graph;
  const auto guard = graph.as_default();
  build();
  write_seed("graph", name, graph.as_graph_def().SerializeToString());
}

void make_graphs() {
  write_graph_seed("training", [] {
    const Tensor x = placeholder(float32, {.shape = {None, 2}, .name = "x"});
    const Variable w = get_variable("w", {2, 3});
    const Tensor y = nn::softmax(matmul(x, w));
    train::MomentumOptimizer(0.1, 0.9).minimize(reduce_mean(square(y)));
  });
  write_graph_seed("images", [] {
    const Tensor images = placeholder(float32, {.shape = {2, 8, 8, 1}, .name = "images"});
    const Tensor filter = constant(Array::zeros(float32, Shape{3, 3, 1, 2}));
    const Tensor y = nn::conv2d(images, filter, 2, "SAME");
    nn::max_pool(nn::relu(nn::bias_add(y, {1.0, 2.0})), 2, 2, "VALID");
  });
  write_graph_seed("shapes", [] {
    const Tensor x = placeholder(float32, {.shape = {4, 6}, .name = "x"});
    const std::vector<Tensor> parts = split(x, 3, 1);
    const Tensor y = concat({parts[0], parts[2]}, 1);
    const Tensor z = stack(unstack(transpose(reshape(y, {2, -1, 2}), {1, 0, 2})), {.axis = -1});
    strided_slice(pad(z, {{1, 1}, {0, 2}, {0, 0}}), {0, 1, 0}, {3, 4, 2}, {1, 2, 1});
    one_hot(argmax(x, 1), 6);
    tile(expand_dims(cumsum(x), 0), {2, 1, 1});
    gather(x, {1, 0});
  });
  write_graph_seed("queues", [] {
    const FIFOQueue names(4, {string}, {.shapes = {Shape{}}});
    names.enqueue_many(OperandList({Operand(constant({"a", "b"}))}));
    const KeyValue read = TFRecordReader().read(names);
    const RandomShuffleQueue records(8, 2, {string, int32}, {.shapes = {Shape{}, Shape{}}});
    records.enqueue({read.value, constant(1)});
    decode_raw(records.dequeue_many(2)[0], uint8);
    records.close();
  });
}

}  // namespace
}  // namespace towerflow::fuzz

int main() {
  towerflow::fuzz::make_records();
  towerflow::fuzz::make_images();
  towerflow::fuzz::make_arrays();
  towerflow::fuzz::make_checkpoints();
  towerflow::fuzz::make_events();
  towerflow::fuzz::make_graphs();
}
