package org.argosy.infer;

import java.lang.ref.Cleaner;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * A loaded model that answers.
 *
 * <p>It may be called by several threads, whose calls take turns; for calls at the same time each thread
 * takes a predictor of its own by {@link #duplicate}, which shares the weights.
 *
 * <pre>{@code
 * try (Predictor predictor = new Predictor(new Config("model"))) {
 *   predictor.input("x").copyFrom(new float[] {1, 2}, 1, 2);
 *   predictor.run();
 *   float[] y = predictor.output(0).toFloats();
 * }
 * }</pre>
 */
public final class Predictor implements AutoCloseable {
  private static final Cleaner CLEANER = Cleaner.create();

  /** The predictor of the library; guarded by itself. A forgotten one is freed by the cleaner. */
  private static final class Handle implements Runnable {
    private long address;

    Handle(long address) {
      this.address = address;
    }

    @Override
    public synchronized void run() {
      if (address != 0) {
        Native.destroy(address);
        address = 0;
      }
    }

    long get() {
      if (address == 0) {
        throw new IllegalStateException("the predictor is closed. Do this: make another one.");
      }
      return address;
    }
  }

  private final Handle handle;
  private final Cleaner.Cleanable cleanable;
  private final List<String> inputs;
  private final List<String> outputs;
  private final ByteBuffer[] borrowed; // by input: what the library reads where it is

  /**
   * Loads a model.
   *
   * @throws ArgosyException there is no such file, it is damaged, or has operations that are not known
   */
  public Predictor(Config config) {
    this(
        Native.create(
            config.model.getBytes(StandardCharsets.UTF_8),
            config.weights.getBytes(StandardCharsets.UTF_8),
            config.programBytes,
            config.weightBytes,
            config.threads,
            config.memoryLimit,
            config.timeLimit,
            config.keptShapes,
            config.optimize));
  }

  private Predictor(long address) {
    handle = new Handle(address);
    cleanable = CLEANER.register(this, handle);
    inputs = names(false);
    outputs = names(true);
    borrowed = new ByteBuffer[inputs.size()];
  }

  /** Another predictor with the same weights, without values. */
  public Predictor duplicate() {
    synchronized (handle) {
      return new Predictor(Native.duplicate(handle.get()));
    }
  }

  public List<String> inputNames() {
    return inputs;
  }

  public List<String> outputNames() {
    return outputs;
  }

  public Tensor input(String name) {
    return input(place(inputs, name, "input"));
  }

  public Tensor input(int place) {
    return new Tensor(this, inputs, false, place);
  }

  public Tensor output(String name) {
    return output(place(outputs, name, "output"));
  }

  public Tensor output(int place) {
    return new Tensor(this, outputs, true, place);
  }

  /**
   * Computes the outputs.
   *
   * @throws ArgosyException an input has no value, or shapes do not fit
   */
  public void run() {
    synchronized (handle) {
      Native.run(handle.get());
    }
  }

  /** Gives back the memory of runs. */
  public void releaseMemory() {
    synchronized (handle) {
      Native.releaseMemory(handle.get());
    }
  }

  /** Frees the predictor; a second call does nothing. */
  @Override
  public void close() {
    cleanable.clean();
  }

  // --- for Tensor ---

  long[] describe(boolean output, int place) {
    synchronized (handle) {
      return Native.describe(handle.get(), output, place);
    }
  }

  void copyInput(int place, DataType type, long[] shape, Object array) {
    synchronized (handle) {
      Native.copyInput(handle.get(), place, type.number, shape, array);
      borrowed[place] = null;
    }
  }

  void borrowInput(int place, DataType type, long[] shape, ByteBuffer buffer) {
    synchronized (handle) {
      Native.borrowInput(handle.get(), place, type.number, shape, buffer);
      borrowed[place] = buffer;
    }
  }

  long[] result(int place) {
    synchronized (handle) {
      return Native.result(handle.get(), place);
    }
  }

  /** What makes an array for so many elements of a type; refuses other types. */
  interface Room {
    Object of(DataType type, int count);
  }

  Object copyOutput(int place, Room room) {
    synchronized (handle) {
      final long[] found = Native.result(handle.get(), place);
      final DataType type = DataType.of(found[0]);
      final long count = Tensor.count(Arrays.copyOfRange(found, 1, found.length));
      if (count > Integer.MAX_VALUE - 8) {
        throw new IllegalStateException(
            "the result has " + count + " elements, more than an array of Java holds");
      }
      final Object array = room.of(type, (int) count);
      Native.copyOutput(handle.get(), place, array, count * type.bytes());
      return array;
    }
  }

  private List<String> names(boolean output) {
    synchronized (handle) {
      final byte[][] bytes = Native.names(handle.get(), output);
      final String[] names = new String[bytes.length];
      for (int i = 0; i < names.length; ++i) {
        names[i] = new String(bytes[i], StandardCharsets.UTF_8);
      }
      return Collections.unmodifiableList(Arrays.asList(names));
    }
  }

  private static int place(List<String> names, String name, String what) {
    final int place = names.indexOf(name);
    if (place < 0) {
      throw new IllegalArgumentException(
          "there is no " + what + " '" + name + "'. Do this: use one of " + names);
    }
    return place;
  }
}
