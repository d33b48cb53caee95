package org.argosy.infer;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;

/**
 * An input or output of a predictor: dense, row by row.
 *
 * <p>Arrays are copied. Types of the model that Java does not have are given as the bits of a type of the
 * same size: copyFrom(DataType.FLOAT16, short[], ..).
 */
public final class Tensor {
  private final Predictor predictor;
  private final String name;
  private final boolean output;
  private final int place;

  Tensor(Predictor predictor, List<String> names, boolean output, int place) {
    if (place < 0 || place >= names.size()) {
      throw new IndexOutOfBoundsException(
          "expected a place below " + names.size() + ", got " + place);
    }
    this.predictor = predictor;
    this.name = names.get(place);
    this.output = output;
    this.place = place;
  }

  public String name() {
    return name;
  }

  /** The type that the model declares. */
  public DataType dataType() {
    return DataType.of(predictor.describe(output, place)[0]);
  }

  /**
   * Of an input the sizes that the model declares, -1 for any, none where it leaves open how many
   * there are; of an output those of the last run.
   */
  public long[] shape() {
    final long[] found = output ? predictor.result(place) : predictor.describe(false, place);
    return Arrays.copyOfRange(found, 1, found.length);
  }

  // --- inputs ---

  public void copyFrom(float[] data, long... shape) {
    copy(DataType.FLOAT32, data, data.length, 4, shape);
  }

  public void copyFrom(double[] data, long... shape) {
    copy(DataType.FLOAT64, data, data.length, 8, shape);
  }

  public void copyFrom(int[] data, long... shape) {
    copy(DataType.INT32, data, data.length, 4, shape);
  }

  public void copyFrom(long[] data, long... shape) {
    copy(DataType.INT64, data, data.length, 8, shape);
  }

  public void copyFrom(boolean[] data, long... shape) {
    copy(DataType.BOOL, data, data.length, 1, shape);
  }

  public void copyFrom(DataType type, byte[] data, long... shape) {
    copy(type, data, data.length, 1, shape);
  }

  public void copyFrom(DataType type, short[] data, long... shape) {
    copy(type, data, data.length, 2, shape);
  }

  /**
   * Each run reads the buffer where it is, until the input gets another value.
   *
   * @param buffer a direct one, in the byte order of the machine, read from its position on
   */
  public void borrow(DataType type, ByteBuffer buffer, long... shape) {
    needInput();
    if (!buffer.isDirect()) {
      throw new IllegalArgumentException(
          "the buffer is in the heap of Java. Do this: make it by ByteBuffer.allocateDirect.");
    }
    final long bytes = Math.multiplyExact(count(shape), (long) type.bytes());
    if (buffer.remaining() < bytes) {
      throw new IllegalArgumentException(
          "the shape " + Arrays.toString(shape) + " takes " + bytes + " bytes, the buffer has "
              + buffer.remaining());
    }
    predictor.borrowInput(
        place, type, shape.clone(), buffer.slice().order(ByteOrder.nativeOrder()));
  }

  // --- outputs: of the last run ---

  public float[] toFloats() {
    return (float[]) read((type, count) -> expect(type, DataType.FLOAT32, new float[count]));
  }

  public double[] toDoubles() {
    return (double[]) read((type, count) -> expect(type, DataType.FLOAT64, new double[count]));
  }

  public int[] toInts() {
    return (int[]) read((type, count) -> expect(type, DataType.INT32, new int[count]));
  }

  public long[] toLongs() {
    return (long[]) read((type, count) -> expect(type, DataType.INT64, new long[count]));
  }

  public boolean[] toBooleans() {
    return (boolean[]) read((type, count) -> expect(type, DataType.BOOL, new boolean[count]));
  }

  /** The elements of any type, in the byte order of the machine. */
  public byte[] toBytes() {
    return (byte[])
        read((type, count) -> new byte[Math.multiplyExact(count, type.bytes())]);
  }

  static long count(long[] shape) {
    long count = 1;
    for (long size : shape) {
      if (size < 0) {
        throw new IllegalArgumentException(
            "the shape " + Arrays.toString(shape) + " has a size below 0");
      }
      count = Math.multiplyExact(count, size);
    }
    return count;
  }

  private void copy(DataType type, Object data, int length, int width, long[] shape) {
    needInput();
    final long bytes = Math.multiplyExact(count(shape), (long) type.bytes());
    if (bytes != (long) length * width) {
      throw new IllegalArgumentException(
          "the shape " + Arrays.toString(shape) + " of " + type + " takes " + bytes
              + " bytes, the array has " + (long) length * width);
    }
    predictor.copyInput(place, type, shape.clone(), data);
  }

  private void needInput() {
    if (output) {
      throw new IllegalStateException("'" + name + "' is an output: only inputs are given values");
    }
  }

  private Object read(Predictor.Room room) {
    if (!output) {
      throw new IllegalStateException("'" + name + "' is an input: only outputs are read");
    }
    return predictor.copyOutput(place, room);
  }

  private Object expect(DataType found, DataType wanted, Object array) {
    if (found != wanted) {
      throw new IllegalStateException(
          "'" + name + "' is of " + found + ", not " + wanted + ". Do this: read it as that, or by"
              + " toBytes.");
    }
    return array;
  }
}
