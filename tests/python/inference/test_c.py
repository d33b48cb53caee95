"""argosy.h: programs in C and C++ that use nothing but it and libargosy_infer.so."""

import pathlib
import shutil
import subprocess

import numpy as np
import pytest
from tests.python.onnx import files as onnx_files

import argosy as paddle
from argosy import _core, static

ROOT = pathlib.Path(__file__).resolve().parents[3]
HEADER = ROOT / "src/argosy/infer/c"
LIBRARY = pathlib.Path(_core.__file__).parent / "lib" / "libargosy_infer.so"

pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="libargosy_infer.so is not built")

WRONG_USE = r"""
#include <argosy.h>
#include <string.h>
#include <stdio.h>
#define EXPECT(call, status, text)                                                    \
  if ((call) != (status) || !strstr(argosy_last_error(), text))                       \
    return printf("line %d: %d, %s\n", __LINE__, (int)(call), argosy_last_error()), 1
int main(int argc, char **argv) {
  argosy_options *o = 0;
  argosy_predictor *p = 0, *clone = 0;
  argosy_view view;
  size_t i;
  int64_t good[] = {2, 40}, bad[] = {2, 41}, negative[] = {-2, 40};
  float x[82], y[6], z[6];
  for (i = 0; i < 82; ++i) x[i] = (float)i / 82;
  EXPECT(argosy_options_create(ARGOSY_ABI_VERSION + 1, &o), ARGOSY_ABI_MISMATCH, "another version");
  EXPECT(argosy_options_create(ARGOSY_ABI_VERSION, 0), ARGOSY_INVALID_ARGUMENT, "null");
  if (argosy_options_create(ARGOSY_ABI_VERSION, &o)) return 2;
  EXPECT(argosy_predictor_create(0, &p), ARGOSY_INVALID_ARGUMENT, "null");
  argosy_options_set_model(o, "/nowhere/model", 0);
  EXPECT(argosy_predictor_create(o, &p), ARGOSY_NOT_FOUND, "/nowhere/model");
  argosy_options_set_model_memory(o, "rubbish", 7, 0, 0);
  EXPECT(argosy_predictor_create(o, &p), ARGOSY_INVALID_ARGUMENT, "no format");
  EXPECT(argosy_options_set_threads(o, 0), ARGOSY_INVALID_ARGUMENT, "1 to 4096");
  argosy_options_set_model(o, argv[argc - 1], 0);
  if (argosy_predictor_create(o, &p)) return 3;
  argosy_options_destroy(o);
  EXPECT(argosy_predictor_run(p), ARGOSY_INVALID_ARGUMENT, "'x' has no value");
  EXPECT(argosy_predictor_view_output(p, 0, &view), ARGOSY_RUNTIME, "no output yet");
  EXPECT(argosy_predictor_find_input(p, "z", &i), ARGOSY_NOT_FOUND, "use one of x");
  EXPECT(argosy_predictor_borrow_input(p, 1, ARGOSY_FLOAT32, 2, good, x), ARGOSY_INVALID_ARGUMENT, "below 1");
  EXPECT(argosy_predictor_borrow_input(p, 0, ARGOSY_FLOAT32, 2, bad, x), ARGOSY_INVALID_ARGUMENT, "[2, 41]");
  EXPECT(argosy_predictor_borrow_input(p, 0, ARGOSY_FLOAT32, 2, negative, x), ARGOSY_INVALID_ARGUMENT, "-2");
  EXPECT(argosy_predictor_borrow_input(p, 0, ARGOSY_INT64, 2, good, x), ARGOSY_INVALID_ARGUMENT, "got int64");
  EXPECT(argosy_predictor_borrow_input(p, 0, (argosy_dtype)99, 2, good, x), ARGOSY_INVALID_ARGUMENT, "no dtype 99");
  EXPECT(argosy_predictor_borrow_input(p, 0, ARGOSY_FLOAT32, 99, good, x), ARGOSY_INVALID_ARGUMENT, "rank 99");
  if (argosy_predictor_borrow_input(p, 0, ARGOSY_FLOAT32, 2, good, x)) return 4;
  if (argosy_predictor_run(p) || argosy_predictor_copy_output(p, 0, y, sizeof(y))) return 5;
  EXPECT(argosy_predictor_copy_output(p, 0, y, 4), ARGOSY_INVALID_ARGUMENT, "room for 4");
  if (argosy_predictor_clone(p, &clone)) return 6;
  argosy_predictor_destroy(p);
  if (argosy_predictor_copy_input(clone, 0, ARGOSY_FLOAT32, 2, good, x)) return 7;
  memset(x, 0, sizeof(x));
  if (argosy_predictor_run(clone) || argosy_predictor_copy_output(clone, 0, z, sizeof(z))) return 8;
  if (memcmp(y, z, sizeof(y))) return 9;
  argosy_predictor_destroy(clone);
  argosy_predictor_destroy(0);
  return 0;
}
"""


@pytest.fixture
def model(tmp_path):
    net = paddle.nn.Sequential(
        paddle.nn.Linear(40, 120), paddle.nn.ReLU(), paddle.nn.Linear(120, 3)
    )
    net.eval()
    spec = [static.InputSpec([None, 40], "float32", "x")]
    paddle.jit.save(net, str(tmp_path / "net"), input_spec=spec)
    return tmp_path / "net", net


def build(source, target, compiler):
    command = [*compiler, "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{HEADER}", str(source)]
    command += [
        "-o",
        str(target),
        str(LIBRARY),
        f"-Wl,-rpath,{LIBRARY.parent}",
        "-Wl,--allow-shlib-undefined",
    ]
    subprocess.run(command, check=True, timeout=300)
    return target


LANGUAGES = {"c99": ["cc", "-std=c99"], "c++11": ["c++", "-std=c++11", "-x", "c++"]}


@pytest.mark.parametrize("language", LANGUAGES)
def test_wrong_use_gives_statuses(model, tmp_path, language):
    if not shutil.which(LANGUAGES[language][0]):
        pytest.skip("no compiler")
    source = tmp_path / "wrong.c"
    source.write_text(WRONG_USE)
    compiler = LANGUAGES[language]
    if language == "c++11":
        object_file = tmp_path / "wrong.o"
        subprocess.run([*compiler, "-Wall", "-Wextra", "-Werror", f"-I{HEADER}", "-c", str(source), "-o", str(object_file)], check=True, timeout=300)  # fmt: skip
        program = build(object_file, tmp_path / "wrong", ["c++"])
    else:
        program = build(source, tmp_path / "wrong", compiler)
    done = subprocess.run([program, str(model[0])], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)


TWO_THREADS = r"""
#include <argosy.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
static argosy_predictor *shared;
static int refused[2], ran[2];
static float wanted[6];
/* Runs until both threads have been refused while the other was in a call. */
static void *work(void *arg) {
  const int me = *(int *)arg;
  const time_t end = time(NULL) + 200;
  while (!(refused[0] && refused[1]) && time(NULL) < end) {
    const argosy_status status = argosy_predictor_run(shared);
    if (status == ARGOSY_OK) {
      ++ran[me];
    } else if (status == ARGOSY_RUNTIME && strstr(argosy_last_error(), "another thread")) {
      __atomic_store_n(&refused[me], 1, __ATOMIC_SEQ_CST);
    } else {
      return printf("%d: %s\n", (int)status, argosy_last_error()), (void *)1;
    }
  }
  return NULL;
}
int main(int argc, char **argv) {
  int names[2] = {0, 1}, i;
  int64_t shape[] = {2, 40};
  float x[80], y[6];
  void *wrong[2];
  argosy_options *o;
  argosy_predictor *first;
  pthread_t threads[2];
  for (i = 0; i < 80; ++i) x[i] = (float)i / 80;
  if (argosy_options_create(ARGOSY_ABI_VERSION, &o) || argosy_options_set_model(o, argv[argc - 1], 0)) return 2;
  if (argosy_predictor_create(o, &first) || argosy_predictor_clone(first, &shared)) return 3;
  argosy_options_destroy(o);
  if (argosy_predictor_borrow_input(first, 0, ARGOSY_FLOAT32, 2, shape, x)) return 4;
  if (argosy_predictor_run(first) || argosy_predictor_copy_output(first, 0, wanted, sizeof(y))) return 5;
  argosy_predictor_destroy(first);
  if (argosy_predictor_borrow_input(shared, 0, ARGOSY_FLOAT32, 2, shape, x)) return 6;
  for (i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, &names[i]);
  for (i = 0; i < 2; ++i) pthread_join(threads[i], &wrong[i]);
  if (wrong[0] || wrong[1] || !refused[0] || !refused[1] || !ran[0] || !ran[1]) return 7;
  if (argosy_predictor_run(shared) || argosy_predictor_copy_output(shared, 0, y, sizeof(y))) return 8;
  argosy_predictor_destroy(shared);
  return memcmp(y, wanted, sizeof(y)) ? 9 : 0;
}
"""


def test_two_threads_in_one_predictor(model, tmp_path):
    """One of them is told so; a clone outlives the predictor that it was made of."""
    if not shutil.which("cc"):
        pytest.skip("no compiler")
    source = tmp_path / "threads.c"
    source.write_text(TWO_THREADS)
    program = build(source, tmp_path / "threads", ["cc", "-std=c99", "-pthread"])
    done = subprocess.run([program, str(model[0])], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)


ENDLESS = r"""
#include <argosy.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#define EXPECT(call, status, text)                                          \
  if ((call) != (status) || !strstr(argosy_last_error(), text))             \
    return printf("line %d: %s\n", __LINE__, argosy_last_error()), 1
static int over;
static void *interrupt(void *predictor) {
  const struct timespec pause = {0, 50000000};
  while (!__atomic_load_n(&over, __ATOMIC_SEQ_CST)) {
    nanosleep(&pause, NULL);
    if (argosy_predictor_interrupt(predictor)) return predictor;
  }
  return NULL;
}
int main(int argc, char **argv) {
  const float x[4] = {0, 1, 2, 3};
  const int64_t four = 4;
  unsigned char more = 1;
  argosy_options *o;
  argosy_predictor *limited, *free_one;
  argosy_view y;
  pthread_t thread;
  void *wrong;
  if (argosy_options_create(ARGOSY_ABI_VERSION, &o) || argosy_options_set_model(o, argv[argc - 1], 0)) return 2;
  EXPECT(argosy_options_set_time_limit(o, -1), ARGOSY_INVALID_ARGUMENT, "0 or more seconds, got -1");
  EXPECT(argosy_predictor_interrupt(0), ARGOSY_INVALID_ARGUMENT, "null");
  if (argosy_predictor_create(o, &free_one)) return 3;
  if (argosy_options_set_time_limit(o, 0.1) || argosy_predictor_create(o, &limited)) return 4;
  argosy_options_destroy(o);
  argosy_predictor_borrow_input(limited, 0, ARGOSY_FLOAT32, 1, &four, x);
  argosy_predictor_borrow_input(limited, 1, ARGOSY_BOOL, 0, NULL, &more);
  EXPECT(argosy_predictor_run(limited), ARGOSY_TIMEOUT, "longer than its limit");
  argosy_predictor_borrow_input(free_one, 0, ARGOSY_FLOAT32, 1, &four, x);
  argosy_predictor_borrow_input(free_one, 1, ARGOSY_BOOL, 0, NULL, &more);
  pthread_create(&thread, NULL, interrupt, free_one);
  EXPECT(argosy_predictor_run(free_one), ARGOSY_RUNTIME, "interrupted");
  __atomic_store_n(&over, 1, __ATOMIC_SEQ_CST);
  pthread_join(thread, &wrong);
  more = 0;
  if (wrong || argosy_predictor_run(free_one) || argosy_predictor_view_output(free_one, 0, &y)) return 5;
  if (memcmp(y.data, x, sizeof(x)) || argosy_predictor_run(limited)) return 6;
  argosy_predictor_destroy(limited);
  argosy_predictor_destroy(free_one);
  return 0;
}
"""


@pytest.mark.parametrize("op", ["Sin", "Identity"])
def test_a_run_without_end_is_ended(tmp_path, op):
    """By its limit, and by another thread; the predictor goes on."""
    if not shutil.which("cc"):
        pytest.skip("no compiler")
    source, file = tmp_path / "endless.c", tmp_path / "endless.onnx"
    source.write_text(ENDLESS)
    file.write_bytes(onnx_files.endless(op))
    program = build(source, tmp_path / "endless", ["cc", "-std=gnu99", "-pthread"])
    done = subprocess.run([program, str(file)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)


OPEN_MODEL = r"""
#include <argosy.h>
#include <stdio.h>
#define NEED(call) \
  if (call) return printf("line %d: %s\n", __LINE__, argosy_last_error()), 1
int main(int argc, char **argv) {
  const float x[24] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24};
  const int64_t forms[3][3] = {{2, 3, 4}, {4, 6, 0}, {24, 0, 0}}, one = 1, axes[3] = {2, 1, 0};
  argosy_options *options;
  argosy_predictor *predictor;
  argosy_view view;
  int32_t i;
  NEED(argosy_options_create(ARGOSY_ABI_VERSION, &options));
  NEED(argosy_options_set_model(options, argv[argc - 1], NULL));
  NEED(argosy_predictor_create(options, &predictor));
  argosy_options_destroy(options);
  NEED(argosy_predictor_describe_input(predictor, 0, NULL, &view));
  if (view.rank != -1) return 2;
  NEED(argosy_predictor_describe_output(predictor, 0, NULL, &view));
  if (view.rank != -1) return 3;
  for (i = 0; i < 3; ++i) {
    NEED(argosy_predictor_borrow_input(predictor, 0, ARGOSY_FLOAT32, 3 - i, forms[i], x));
    NEED(argosy_predictor_borrow_input(predictor, 1, ARGOSY_INT64, 1, &one, axes + i));
    NEED(argosy_predictor_run(predictor));
    NEED(argosy_predictor_view_output(predictor, 0, &view));
    if (view.rank != 2 - i) return 4;
    printf("%g ", ((const float *)view.data)[0]);
  }
  argosy_predictor_destroy(predictor);
  return 0;
}
"""


def test_a_model_whose_shapes_decide_its_program(tmp_path):
    """Sums of x, which may have any number of dimensions, over an axis that is fed."""
    if not shutil.which("cc"):
        pytest.skip("no compiler")
    inputs = [onnx_files.value("x", "float32", None), onnx_files.value("axes", "int64", [1])]
    nodes = [onnx_files.node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)]
    file = tmp_path / "net.onnx"
    file.write_bytes(onnx_files.model(nodes, inputs, [onnx_files.value("y", "float32", None)]))
    source = tmp_path / "open.c"
    source.write_text(OPEN_MODEL)
    program = build(source, tmp_path / "open", LANGUAGES["c99"])
    done = subprocess.run([program, str(file)], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "10 21 300 "), done.stdout + done.stderr


@pytest.fixture
def example(tmp_path):
    """examples/c/run_model, built against this package laid out as it is installed."""
    if not shutil.which("cmake"):
        pytest.skip("no cmake")
    stage, folder = tmp_path / "stage", tmp_path / "build"
    (stage / "include").mkdir(parents=True)
    (stage / "cmake").mkdir()
    (stage / "lib").symlink_to(LIBRARY.parent)
    shutil.copy(HEADER / "argosy.h", stage / "include")
    shutil.copy(ROOT / "cmake/argosyConfig.cmake", stage / "cmake")
    source = ROOT / "examples/c/run_model"
    for command in (
        ["cmake", "-S", source, "-B", folder, f"-DCMAKE_PREFIX_PATH={stage}"],
        ["cmake", "--build", folder],
    ):
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder / "run_model"


def test_the_example(model, example):
    program = example
    done = subprocess.run([program, str(model[0])], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    name, values = done.stdout.split(": [1, 3] =")
    wanted = model[1](paddle.ones([1, 40])).numpy()[0]
    assert name == "output_0"
    np.testing.assert_allclose([float(v) for v in values.split()], wanted, 1e-4, 1e-4)
    missing = subprocess.run([program, "/nowhere"], capture_output=True, text=True, timeout=300)
    assert missing.returncode == 1 and "there is no model at '/nowhere'" in missing.stderr


def shown(library, kind):
    listed = subprocess.run(
        ["nm", "-D", f"--{kind}-only", str(library)], capture_output=True, text=True, check=True
    )
    return {line.split()[-1].split("@")[0] for line in listed.stdout.splitlines()}


def test_only_the_header_is_shown_and_what_formats_need():
    names = shown(LIBRARY, "defined")
    of_c = {name for name in names if name.startswith("argosy_")}
    text = (HEADER / "argosy.h").read_text()
    assert of_c and all(name + "(" in text for name in of_c)
    needed = set()
    for format in ("onnx", "paddle"):
        needed |= shown(LIBRARY.with_name(f"libargosy_infer_{format}.so"), "undefined")
    assert names - of_c <= needed


def needed_by(library):
    listed = subprocess.run(
        ["readelf", "-d", str(library)], capture_output=True, text=True, check=True
    )
    return {
        line.split("[")[1].rstrip("]") for line in listed.stdout.splitlines() if "NEEDED" in line
    }


def test_what_runs_models_brings_nothing_of_training():
    of_core = needed_by(LIBRARY)
    of_formats = needed_by(LIBRARY.with_name("libargosy_infer_onnx.so"))
    assert not any(
        "python" in name or "protobuf" in name or name == "libargosy.so" for name in of_core
    )
    assert "libargosy_infer.so" in of_formats and "libargosy.so" not in of_formats


def test_models_of_other_formats(model, example, tmp_path):
    net = model[1]
    spec = [static.InputSpec([None, 40], "float32", "x")]
    paddle.onnx.export(net, str(tmp_path / "net"), input_spec=spec, opset_version=17)
    paddle.jit.save(net, str(tmp_path / "net"), input_spec=spec, format="paddle")
    wanted = net(paddle.ones([1, 40])).numpy()[0]
    for file in ("net.onnx", "net.json"):
        done = subprocess.run(
            [example, str(tmp_path / file)], capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        values = done.stdout.split("] =")[1]
        np.testing.assert_allclose([float(v) for v in values.split()], wanted, 1e-4, 1e-4)
    (tmp_path / "bad.onnx").write_bytes(b"\x08\x08\xff\xff\xff")
    done = subprocess.run(
        [example, str(tmp_path / "bad.onnx")], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 1 and "no whole ONNX model" in done.stderr
