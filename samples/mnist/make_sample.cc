// Makes the sample in this folder: make_mnist_sample IDX_DIR OUT_DIR. See README.md.
#include <cstdio>

#include "data/mnist_convert.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s IDX_DIR OUT_DIR\n", argv[0]);
    return 2;
  }
  try {
    const towerflow::data::MnistCounts counts =
        towerflow::data::convert_mnist(argv[1], argv[2],
                                       {.compression = towerflow::data::Compression::gzip,
                                        .level = 9,
                                        .max_train = 5000,
                                        .max_validation = 0,
                                        .max_test = 1000,
                                        .with_geometry = false});
    std::printf("%lld training and %lld test digits\n", static_cast<long long>(counts.train),
                static_cast<long long>(counts.test));
    return 0;
  } catch (const towerflow::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
