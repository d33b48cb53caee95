#include <cmath>

#include "argosy/kernels/cpu/skip_gram.h"
#include "argosy/op/cost.h"
#include "argosy/op/define.h"

namespace argosy::ops {
namespace {

using op::Cost;
using op::cost_of_shapes;
using op::InferContext;
using op::KernelFrame;

struct SkipGramAttrs {
  int64_t window = 5;
  int64_t negatives = 5;
  op::Scalar learning_rate = 0.025;
};
ARGOSY_ATTRS(SkipGramAttrs, window, negatives, learning_rate)

constexpr int64_t kMostNegatives = 63;

void skip_gram_infer(InferContext& c, const SkipGramAttrs& a) {
  const Tensor &words = c.in[0], &contexts = c.in[1];
  ARGOSY_CHECK(words.rank() == 2 && contexts.rank() == 2 &&
                   (words.shape()[1] == contexts.shape()[1] || words.shape()[1] < 0 ||
                    contexts.shape()[1] < 0),
               invalid_argument)
      << "[skip_gram] word_vectors and context_vectors: expected two tables of rows of one width, "
         "got shapes "
      << words.shape() << " and " << contexts.shape()
      << ". Do this: make both [words, dimensions].";
  ARGOSY_CHECK(c.in[2].rank() == 1 && c.in[3].rank() == 1, invalid_argument)
      << "[skip_gram] tokens and lengths: expected one dimension each, got shapes "
      << c.in[2].shape() << " and " << c.in[3].shape()
      << ". Do this: put the sentences one after the other, and their lengths into a list.";
  ARGOSY_CHECK(a.window >= 1 && a.window <= 1'000'000, invalid_argument)
      << "[skip_gram] window: expected at least 1, got " << a.window << ". Do this: 5 is usual.";
  ARGOSY_CHECK(a.negatives >= 0 && a.negatives <= kMostNegatives, invalid_argument)
      << "[skip_gram] negatives: expected 0 to " << kMostNegatives << ", got " << a.negatives
      << ". Do this: 5 to 20 are usual.";
  c.out[0] = {Shape{}, DType::float64};
  c.out[1] = {Shape{}, DType::int64};
}

void skip_gram_run(KernelFrame& f, const SkipGramAttrs& a) {
  const Tensor &words = f.in[0], &contexts = f.in[1], &tokens = f.in[2], &lengths = f.in[3];
  const Tensor &threshold = f.in[4], &alias = f.in[5];
  const int64_t vocabulary = std::min(words.shape()[0], contexts.shape()[0]);
  const int64_t noise_words = threshold.numel();
  ARGOSY_CHECK(threshold.numel() == alias.numel() && (a.negatives == 0 || noise_words > 0),
               invalid_argument)
      << "[skip_gram] noise_threshold and noise_alias: expected one number each for every word "
         "that negatives are drawn from, got "
      << threshold.numel() << " and " << alias.numel()
      << ". Do this: make both by incubate.skip_gram_noise(counts).";
  const auto check_words = [&](const char* name, const int64_t* ids, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      ARGOSY_CHECK(ids[i] >= 0 && ids[i] < vocabulary, index)
          << "[skip_gram] " << name << '[' << i << "]: expected a word in [0, " << vocabulary
          << "), got " << ids[i] << ". Do this: leave out words that have no row.";
    }
  };
  check_words("tokens", tokens.data<int64_t>(), tokens.numel());
  check_words("noise_alias", alias.data<int64_t>(), alias.numel());
  ARGOSY_CHECK(noise_words <= vocabulary, index)
      << "[skip_gram] noise_threshold: expected at most " << vocabulary << " words, got "
      << noise_words << ". Do this: count the words of the same vocabulary.";
  int64_t total = 0;
  for (int64_t i = 0; i < lengths.numel(); ++i) {
    const int64_t n = lengths.data<int64_t>()[i];
    ARGOSY_CHECK(n >= 0 && n <= tokens.numel() - total, invalid_argument)
        << "[skip_gram] lengths: expected sentence lengths that add up to " << tokens.numel()
        << " tokens, got " << n << " at " << i << " after " << total
        << ". Do this: give one length for each sentence.";
    total += n;
  }
  ARGOSY_CHECK(total == tokens.numel(), invalid_argument)
      << "[skip_gram] lengths: expected a sum of " << tokens.numel() << ", the tokens, got "
      << total << ". Do this: give one length for each sentence.";

  cpu::SkipGram s{words.data<float>(),
                  contexts.data<float>(),
                  words.shape()[1],
                  static_cast<int>(a.window),
                  static_cast<int>(a.negatives),
                  static_cast<float>(a.learning_rate.real()),
                  {threshold.data<float>(), alias.data<int64_t>(), noise_words}};
  auto state = static_cast<uint64_t>(f.in[6].data<int64_t>()[0]);
  const int64_t* sentence = tokens.data<int64_t>();
  cpu::SkipGramResult sum;
  for (int64_t i = 0; i < lengths.numel(); ++i) {
    const int64_t n = lengths.data<int64_t>()[i];
    const cpu::SkipGramResult r = cpu::train_skip_gram(s, sentence, n, &state);
    sum.loss += r.loss;
    sum.pairs += r.pairs;
    sentence += n;
  }
  f.out[0].data<double>()[0] = sum.loss;
  f.out[1].data<int64_t>()[0] = sum.pairs;
  words.wrote("skip_gram");
  contexts.wrote("skip_gram");
}

Cost skip_gram_cost(const InferContext& c, const SkipGramAttrs& a) {
  const int64_t tokens = c.in[2].numel(), dim = c.in[0].shape()[1];
  return cost_of_shapes(c,
                        static_cast<double>(tokens * (a.window + 1) * (a.negatives + 1) * dim * 6));
}

ARGOSY_OP(skip_gram, SkipGramAttrs)
    .python(
        "incubate.skip_gram(word_vectors, context_vectors, tokens, lengths, noise_threshold, "
        "noise_alias, seed, window=5, negatives=5, learning_rate=0.025, name=None)")
    .doc(
        "Trains word vectors in place on sentences: for each word and each neighbour within a "
        "window drawn from 1 to `window`, one SGD step on -log s(v.u) - sum of log s(-v.n), where "
        "v is the neighbour's row of word_vectors [words, D], u the word's row of context_vectors "
        "[words, D], n the rows of `negatives` words drawn from the noise, and s the sigmoid. "
        "tokens int64 [T] are the sentences one after the other, lengths int64 [S] theirs; "
        "noise_threshold float32 and noise_alias int64 are the alias table of "
        "incubate.skip_gram_noise; seed int64 of one element says which windows and words are "
        "drawn. Gives the loss summed over pairs, and their number. Several threads may train "
        "the same tables at a time (Hogwild).")
    .shape(
        "word_vectors [v,d], context_vectors [v,d], tokens [t], lengths [l], noise_threshold [v], "
        "noise_alias [v], seed [] -> [], []")
    .example(R"(>>> words, contexts = argosy.rand([5, 4]), argosy.rand([5, 4])
>>> tokens, lengths = argosy.arange(5), argosy.to_tensor([5], dtype="int64")
>>> threshold, alias = argosy.ones([5]), argosy.arange(5)
>>> seed = argosy.to_tensor(1, dtype="int64")
>>> loss, pairs = argosy.incubate.skip_gram(words, contexts, tokens, lengths, threshold, alias, seed)
>>> loss.shape
paddle.Size([]))")
    .paper("Mikolov et al. 2013, Distributed Representations of Words and Phrases")
    .input("word_vectors", only(DType::float32))
    .input("context_vectors", only(DType::float32))
    .input("tokens", only(DType::int64))
    .input("lengths", only(DType::int64))
    .input("noise_threshold", only(DType::float32))
    .input("noise_alias", only(DType::int64))
    .input("seed", only(DType::int64))
    .index_output("loss")
    .index_output("pairs")
    .updates({0, 1})
    .infer(skip_gram_infer)
    .cost(skip_gram_cost)
    .kernel("sequential", skip_gram_run)
    .done();

}  // namespace
}  // namespace argosy::ops
