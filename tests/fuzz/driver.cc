// A fuzzer without libFuzzer: runs every file of a corpus, then a fixed number of seeded mutations
// of them, through LLVMFuzzerTestOneInput. The same arguments always give the same inputs.
//
//   NAME_fuzz [CORPUS_DIR] [--runs N] [--seconds S] [--seed S] [--only K]
//
// A crash prints the seed and the number of the input; `--seed S --only K` runs just that one.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

struct Options {
  std::string corpus;
  std::uint64_t runs = 20'000;
  std::uint64_t seconds = 20;  // slow subjects (sanitizers) stop here; never an error
  std::uint64_t seed = 1;
  std::uint64_t only = 0;
};

// Written before each run, read by the crash handler: plain bytes, no allocation.
char crash_note[160];
std::size_t crash_note_size = 0;

void on_crash(int signal) {
  const ssize_t written = ::write(STDERR_FILENO, crash_note, crash_note_size);
  static_cast<void>(written);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

using Input = std::string;

std::vector<Input> read_corpus(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  if (!folder.empty() && std::filesystem::is_directory(folder)) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file()) paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Input> inputs{Input{}};
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return inputs;
}

class Mutator {
 public:
  Mutator(const std::vector<Input>& corpus, std::uint64_t seed) : corpus_(corpus), random_(seed) {}

  Input next() {
    Input input = below(8) == 0 ? noise() : corpus_[below(corpus_.size())];
    for (std::size_t times = 1 + below(6); times > 0; --times) change(input);
    return input;
  }

 private:
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(random_() % bound); }
  char byte() { return static_cast<char>(below(256)); }

  Input noise() {
    Input input(below(200), '\0');
    for (char& c : input) c = byte();
    return input;
  }

  void change(Input& input) {
    const std::size_t at = below(input.size() + 1);
    switch (below(6)) {
      case 0:  // flip
        if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << below(8)));
        break;
      case 1:
        input.insert(at, 1 + below(4), byte());
        break;
      case 2:
        input.erase(at, 1 + below(16));
        break;
      case 3: {  // a piece of another input, in the middle of this one
        const Input& other = corpus_[below(corpus_.size())];
        const std::size_t from = below(other.size() + 1);
        input.insert(at, other.substr(from, 1 + below(64)));
        break;
      }
      case 4: {  // what parsers dislike
        static constexpr std::string_view tokens[] = {"\0",
                                                      "\xff",
                                                      "\xc0\x80",
                                                      "\"",
                                                      "\\",
                                                      "{",
                                                      "}",
                                                      "[",
                                                      ",",
                                                      ":",
                                                      "-1",
                                                      "1e999",
                                                      "%00",
                                                      "18446744073709551616",
                                                      "\r\n",
                                                      "\n  ",
                                                      "'",
                                                      "null",
                                                      "\xf0\x9f\x98\x80"};
        input.insert(at, tokens[below(std::size(tokens))]);
        break;
      }
      default:  // repeat a piece
        if (at < input.size()) input.insert(at, input.substr(at, 1 + below(256)));
        break;
    }
    if (input.size() > 64 * 1024) input.resize(64 * 1024);
  }

  const std::vector<Input>& corpus_;
  std::mt19937_64 random_;
};

void run(const Input& input, std::uint64_t seed, const char* what, std::uint64_t number) {
  const int size = std::snprintf(
      crash_note, sizeof crash_note, "\nfuzz: died on %s %llu (%zu bytes) of seed %llu\n", what,
      static_cast<unsigned long long>(number), input.size(), static_cast<unsigned long long>(seed));
  crash_note_size = size > 0 ? static_cast<std::size_t>(size) : 0;
  // An exact heap copy, so that a sanitizer sees a read past the end.
  const std::vector<std::uint8_t> bytes(input.begin(), input.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (!word.starts_with("--")) {
      options.corpus = word;
      continue;
    }
    if (i + 1 == argc) return false;
    const std::uint64_t value = std::strtoull(argv[++i], nullptr, 10);
    if (word == "--runs") {
      options.runs = value;
    } else if (word == "--seconds") {
      options.seconds = value;
    } else if (word == "--seed") {
      options.seed = value;
    } else if (word == "--only") {
      options.only = value;
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (std::getenv("DLO_SOAK") != nullptr) {
    options.runs = UINT64_MAX;
    options.seconds = 100;
  }
  if (!parse(argc, argv, options)) {
    std::fprintf(stderr, "usage: %s [CORPUS_DIR] [--runs N] [--seconds S] [--seed S] [--only K]\n",
                 argv[0]);
    return 2;
  }
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGBUS, SIGILL}) {
    std::signal(signal, on_crash);
  }

  const std::vector<Input> corpus = read_corpus(options.corpus);
  if (options.only == 0) {
    for (std::size_t i = 0; i < corpus.size(); ++i) run(corpus[i], options.seed, "corpus file", i);
  }
  Mutator mutator(corpus, options.seed);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(options.seconds);
  std::uint64_t done = 0;
  for (std::uint64_t number = 1; number <= options.runs; ++number) {
    const Input input = mutator.next();
    if (options.only != 0 && number != options.only) continue;
    run(input, options.seed, "mutation", number);
    ++done;
    if (number == options.only || std::chrono::steady_clock::now() >= until) break;
  }
  std::printf("%zu corpus inputs, %llu mutations of seed %llu\n", corpus.size(),
              static_cast<unsigned long long>(done), static_cast<unsigned long long>(options.seed));
  return 0;
}
