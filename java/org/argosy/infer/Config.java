package org.argosy.infer;

import java.util.Objects;

/**
 * Which model is loaded, and how.
 *
 * <pre>{@code
 * Predictor predictor = new Predictor(new Config("model").threads(2));
 * }</pre>
 */
public final class Config {
  String model = "";
  String weights = "";
  byte[] programBytes;
  byte[] weightBytes;
  int threads;
  long memoryLimit;
  double timeLimit;
  long keptShapes;
  boolean optimize = true;

  /**
   * @param model the file, folder or prefix of a model of Argosy, ONNX or Paddle
   */
  public Config(String model) {
    this(model, "");
  }

  /**
   * @param weights the file of its weights, or an empty text: beside the model
   */
  public Config(String model, String weights) {
    this.model = path(model);
    this.weights = path(weights);
  }

  /**
   * @param program what the file of the model holds
   * @param weights what the file of its weights holds; null if the model has none of its own
   */
  public Config(byte[] program, byte[] weights) {
    this.programBytes = program.clone();
    this.weightBytes = weights == null ? new byte[0] : weights.clone();
  }

  /** Threads of the process that compute, for all predictors; set when one is made. */
  public Config threads(int count) {
    if (count < 1) {
      throw new IllegalArgumentException("threads: expected 1 or more, got " + count);
    }
    threads = count;
    return this;
  }

  /** Bytes that the values of a run may take; 0: no limit. */
  public Config memoryLimit(long bytes) {
    memoryLimit = notNegative("memoryLimit", bytes);
    return this;
  }

  /** Seconds that a run may take, e.g. of a model whose loops never end; 0: no limit. */
  public Config timeLimit(double seconds) {
    if (!(seconds >= 0)) {
      throw new IllegalArgumentException("timeLimit: expected 0 or more, got " + seconds);
    }
    timeLimit = seconds;
    return this;
  }

  /** For how many different shapes of inputs plans are kept; 0: as the library has it. */
  public Config keptShapes(long count) {
    keptShapes = notNegative("keptShapes", count);
    return this;
  }

  /** false: results are those of the model bit for bit; nothing is packed or fused. */
  public Config optimize(boolean on) {
    optimize = on;
    return this;
  }

  private static long notNegative(String name, long value) {
    if (value < 0) {
      throw new IllegalArgumentException(name + ": expected 0 or more, got " + value);
    }
    return value;
  }

  // The library would read a path up to its first zero.
  private static String path(String text) {
    if (Objects.requireNonNull(text, "path").indexOf('\0') >= 0) {
      throw new IllegalArgumentException("a path has a character of number 0");
    }
    return text;
  }
}
