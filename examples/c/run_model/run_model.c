/* run_model MODEL: runs a saved model on ones, with 1 for sizes that it leaves open, and prints the
 * first elements of its float32 outputs. */
#include <argosy.h>
#include <stdio.h>
#include <stdlib.h>

static int failed(const char *what) {
  fprintf(stderr, "run_model: %s: %s\n", what, argosy_last_error());
  return 1;
}

static int fill_input(argosy_predictor *predictor, size_t i) {
  const char *name;
  argosy_view view;
  void *data;
  int64_t count = 1, k;
  int32_t d;
  if (argosy_predictor_describe_input(predictor, i, &name, &view) != ARGOSY_OK)
    return failed("describe_input");
  for (d = 0; d < view.rank; ++d) {
    if (view.shape[d] < 0) view.shape[d] = 1;
    count *= view.shape[d];
  }
  if (argosy_predictor_input_memory(predictor, i, view.rank, view.shape, &data) != ARGOSY_OK)
    return failed(name);
  for (k = 0; k < count; ++k) {
    if (view.dtype == ARGOSY_FLOAT32)
      ((float *)data)[k] = 1;
    else if (view.dtype == ARGOSY_INT64)
      ((int64_t *)data)[k] = 1;
    else
      return fprintf(stderr, "run_model: %s has another dtype\n", name), 1;
  }
  return 0;
}

static int print_output(argosy_predictor *predictor, size_t i) {
  const char *name;
  argosy_view view;
  size_t k;
  int32_t d;
  if (argosy_predictor_describe_output(predictor, i, &name, NULL) != ARGOSY_OK ||
      argosy_predictor_view_output(predictor, i, &view) != ARGOSY_OK)
    return failed("view_output");
  printf("%s: [", name);
  for (d = 0; d < view.rank; ++d) printf(d ? ", %ld" : "%ld", (long)view.shape[d]);
  printf("] =");
  if (view.dtype == ARGOSY_FLOAT32)
    for (k = 0; k < view.bytes / sizeof(float) && k < 8; ++k)
      printf(" %g", ((const float *)view.data)[k]);
  printf("\n");
  return 0;
}

int main(int argc, char **argv) {
  argosy_options *options = NULL;
  argosy_predictor *predictor = NULL;
  argosy_status status;
  int bad = 0;
  size_t i;
  if (argc != 2) return fprintf(stderr, "usage: %s MODEL\n", argv[0]), 2;
  if (argosy_options_create(ARGOSY_ABI_VERSION, &options) != ARGOSY_OK) return failed("options");
  status = argosy_options_set_model(options, argv[1], NULL);
  if (status == ARGOSY_OK) status = argosy_predictor_create(options, &predictor);
  argosy_options_destroy(options);
  if (status != ARGOSY_OK) return failed(argv[1]);
  for (i = 0; i < argosy_predictor_input_count(predictor) && !bad; ++i)
    bad = fill_input(predictor, i);
  if (!bad && argosy_predictor_run(predictor) != ARGOSY_OK) bad = failed("run");
  for (i = 0; i < argosy_predictor_output_count(predictor) && !bad; ++i)
    bad = print_output(predictor, i);
  argosy_predictor_destroy(predictor);
  return bad;
}
