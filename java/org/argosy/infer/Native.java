package org.argosy.infer;

import java.nio.ByteBuffer;

/**
 * The functions of libargosy_jni.so: argosy_jni.cc says what they take. It is looked for in the folder
 * of the property argosy.library.path, else in java.library.path. Callers have checked sizes: these
 * functions read and write as much memory as shapes say.
 */
final class Native {
  static {
    final String folder = System.getProperty("argosy.library.path");
    if (folder == null) {
      System.loadLibrary("argosy_jni");
    } else {
      System.load(new java.io.File(folder, "libargosy_jni.so").getAbsolutePath());
    }
  }

  private Native() {}

  static native long create(
      byte[] model,
      byte[] weights,
      byte[] programBytes,
      byte[] weightBytes,
      int threads,
      long memoryLimit,
      double timeLimit,
      long keptShapes,
      boolean optimize);

  static native long duplicate(long predictor);

  static native void destroy(long predictor);

  static native byte[][] names(long predictor, boolean outputs);

  /** The data type, then the sizes: -1 for any. */
  static native long[] describe(long predictor, boolean output, int place);

  static native void copyInput(long predictor, int place, int dataType, long[] shape, Object array);

  static native void borrowInput(
      long predictor, int place, int dataType, long[] shape, ByteBuffer buffer);

  static native void run(long predictor);

  /** Of the last run's result: the data type, then the sizes. */
  static native long[] result(long predictor, int place);

  /** array has as many bytes as the result. */
  static native void copyOutput(long predictor, int place, Object array, long bytes);

  static native void releaseMemory(long predictor);
}
