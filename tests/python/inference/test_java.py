"""The classes for Java: programs that use nothing but argosy.jar and libargosy_jni.so."""

import pathlib
import re
import shutil
import subprocess

import numpy as np
import pytest
from tests.python.onnx import files as onnx_files

import argosy as paddle
from argosy import _core, static

ROOT = pathlib.Path(__file__).resolve().parents[3]
LIBRARIES = pathlib.Path(_core.__file__).parent / "lib"
JAR = LIBRARIES / "argosy.jar"

pytestmark = [
    pytest.mark.skipif(not shutil.which("javac"), reason="no JDK on this machine"),
    pytest.mark.skipif(not JAR.exists(), reason="the build found no JDK"),
]

USE = r"""
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.argosy.infer.*;

public final class Use {
  interface Call { void run() throws Exception; }

  static void fails(Class<?> type, String text, Call call) throws Exception {
    try {
      call.run();
    } catch (Exception e) {
      if (type.isInstance(e) && String.valueOf(e.getMessage()).contains(text)) return;
      throw e;
    }
    throw new AssertionError("no failure: " + text);
  }

  static void wants(Status status, String text, Call call) throws Exception {
    fails(ArgosyException.class, text, () -> {
      try {
        call.run();
      } catch (ArgosyException e) {
        if (e.status() != status) throw new AssertionError(e.status() + ": " + e.getMessage());
        throw e;
      }
    });
  }

  static void check(boolean holds, String what) {
    if (!holds) throw new AssertionError(what);
  }

  public static void main(String[] arguments) throws Exception {
    final String model = arguments[0];
    wants(Status.NOT_FOUND, "/nowhere/mödel\uD83D\uDE80", () -> new Predictor(new Config("/nowhere/mödel\uD83D\uDE80")));
    wants(Status.INVALID_ARGUMENT, "no format", () -> new Predictor(new Config("rubbish".getBytes(), null)));
    fails(IllegalArgumentException.class, "number 0", () -> new Config("a\0b"));
    fails(IllegalArgumentException.class, "1 or more", () -> new Config(model).threads(0));
    fails(IllegalArgumentException.class, "0 or more", () -> new Config(model).timeLimit(-1));
    try (Predictor endless = new Predictor(new Config(arguments[1]).timeLimit(0.1))) {
      endless.input("x").copyFrom(new float[4], 4);
      endless.input("more").copyFrom(new boolean[] {true});
      wants(Status.TIMEOUT, "longer than its limit", endless::run);
    }
    wants(Status.INVALID_ARGUMENT, "1 to 4096", () -> new Predictor(new Config(model).threads(5000)));

    final Predictor p = new Predictor(new Config(model).threads(1).keptShapes(4));
    check(p.inputNames().equals(Arrays.asList("x")), p.inputNames().toString());
    check(Arrays.equals(p.input("x").shape(), new long[] {-1, 40}), "shape");
    check(p.input(0).dataType() == DataType.FLOAT32, "type");
    final float[] x = new float[80];
    for (int i = 0; i < x.length; ++i) x[i] = i / 80f;
    wants(Status.INVALID_ARGUMENT, "has no value", p::run);
    wants(Status.RUNTIME, "no output yet", () -> p.output(0).toFloats());
    fails(IllegalArgumentException.class, "use one of [x]", () -> p.input("z"));
    fails(IndexOutOfBoundsException.class, "below 1", () -> p.input(1));
    fails(IndexOutOfBoundsException.class, "below 1", () -> p.input(-1));
    fails(IllegalArgumentException.class, "takes 324 bytes", () -> p.input(0).copyFrom(x, 1, 81));
    fails(IllegalArgumentException.class, "below 0", () -> p.input(0).copyFrom(x, -2, -40));
    fails(ArithmeticException.class, "overflow", () -> p.input(0).copyFrom(x, 1L << 40, 1L << 40));
    wants(Status.INVALID_ARGUMENT, "got int64", () -> p.input(0).copyFrom(new long[80], 2, 40));
    wants(Status.INVALID_ARGUMENT, "rank", () -> p.input(0).copyFrom(new float[1], 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1));
    fails(IllegalStateException.class, "only outputs are read", () -> p.input(0).toFloats());
    fails(IllegalStateException.class, "only inputs", () -> p.output(0).copyFrom(x, 2, 40));

    p.input("x").copyFrom(x, 2, 40);
    p.run();
    final float[] y = p.output("output_0").toFloats();
    check(Arrays.equals(p.output(0).shape(), new long[] {2, 3}), "output's shape");
    fails(IllegalStateException.class, "not INT32", () -> p.output(0).toInts());
    check(p.output(0).toBytes().length == 24, "bytes");
    System.out.println(Arrays.toString(y));

    final ByteBuffer direct = ByteBuffer.allocateDirect(320).order(ByteOrder.nativeOrder());
    direct.asFloatBuffer().put(x);
    fails(IllegalArgumentException.class, "allocateDirect", () -> p.input(0).borrow(DataType.FLOAT32, ByteBuffer.allocate(320), 2, 40));
    fails(IllegalArgumentException.class, "has 320", () -> p.input(0).borrow(DataType.FLOAT32, direct, 3, 40));
    final Predictor twin = p.duplicate();
    twin.input(0).borrow(DataType.FLOAT32, direct, 2, 40);
    twin.run();
    check(Arrays.equals(twin.output(0).toFloats(), y), "a duplicate differs");
    p.close();
    p.close();
    fails(IllegalStateException.class, "closed", p::run);
    fails(IllegalStateException.class, "closed", p::duplicate);
    fails(IllegalStateException.class, "closed", () -> p.output(0).toFloats());
    twin.releaseMemory();
    twin.run();
    check(Arrays.equals(twin.output(0).toFloats(), y), "weights went with the first");

    // Closed by one thread while others run: an answer or an exception.
    final Thread[] threads = new Thread[4];
    for (int t = 0; t < threads.length; ++t) {
      threads[t] = new Thread(() -> {
        try {
          for (int i = 0; i < 2000; ++i) {
            twin.run();
            check(twin.output(0).toFloats().length == 6, "a short answer");
          }
        } catch (IllegalStateException e) {
          // closed
        }
      });
      threads[t].start();
    }
    Thread.sleep(20);
    twin.close();
    for (Thread thread : threads) thread.join();

    try (Predictor held = new Predictor(new Config(
        Files.readAllBytes(Path.of(model + ".argosy")), Files.readAllBytes(Path.of(model + ".safetensors"))))) {
      held.input(0).copyFrom(x, 2, 40);
      held.run();
      check(Arrays.equals(held.output(0).toFloats(), y), "a model in memory differs");
    }
    for (int i = 0; i < 200; ++i) new Predictor(new Config(model));  // forgotten ones are freed
    System.gc();
  }
}
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    net = paddle.nn.Sequential(
        paddle.nn.Linear(40, 120), paddle.nn.ReLU(), paddle.nn.Linear(120, 3)
    )
    net.eval()
    spec = [static.InputSpec([None, 40], "float32", "x")]
    path = tmp_path_factory.mktemp("java") / "net"
    paddle.jit.save(net, str(path), input_spec=spec)
    return path, net


def run(source, folder, *arguments, options=()):
    """What a program prints."""
    build = ["javac", "-Xlint:all", "-Werror", "-encoding", "UTF-8", "-cp", str(JAR), "-d", str(folder), str(source)]  # fmt: skip
    done = subprocess.run(build, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    command = ["java", *options, f"-Dargosy.library.path={LIBRARIES}", "-cp", f"{JAR}:{folder}", source.stem]  # fmt: skip
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def numbers(text):
    return [float(v) for v in re.findall(r"-?[\d.]+(?:E-?\d+)?", text)]


def test_use_and_wrong_use(model, tmp_path):
    source = tmp_path / "Use.java"
    source.write_text(USE, encoding="utf-8")
    endless = tmp_path / "endless.onnx"
    endless.write_bytes(onnx_files.endless())
    done = run(
        source,
        tmp_path,
        str(model[0]),
        str(endless),
        options=["-Xcheck:jni", "-Dfile.encoding=UTF-8"],
    )
    assert "WARNING in native method" not in done.stdout + done.stderr
    x = np.arange(80, dtype="float32").reshape(2, 40) / np.float32(80)
    wanted = model[1](paddle.to_tensor(x)).numpy().ravel()
    np.testing.assert_allclose(numbers(done.stdout.splitlines()[-1]), wanted, 1e-4, 1e-5)


def test_the_example(model, tmp_path):
    done = run(ROOT / "examples/java/RunModel.java", tmp_path, str(model[0]))
    name, values = done.stdout.split(": [1, 3] =")
    assert name == "output_0"
    wanted = model[1](paddle.ones([1, 40])).numpy()[0]
    np.testing.assert_allclose(numbers(values), wanted, 1e-4, 1e-4)


def test_models_of_other_formats(model, tmp_path):
    spec = [static.InputSpec([None, 40], "float32", "x")]
    paddle.onnx.export(model[1], str(tmp_path / "net"), input_spec=spec, opset_version=17)
    paddle.jit.save(model[1], str(tmp_path / "paddle"), input_spec=spec, format="paddle")
    wanted = model[1](paddle.ones([1, 40])).numpy()[0]
    for path in ("net.onnx", "paddle.json"):
        done = run(ROOT / "examples/java/RunModel.java", tmp_path, str(tmp_path / path))
        np.testing.assert_allclose(numbers(done.stdout.split("] =")[1]), wanted, 1e-4, 1e-4)
